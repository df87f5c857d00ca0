"""Seeds by K-Means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tabular.seed_selection import KMeansSeeds

CENTRES = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
SIZES = (50, 30, 15, 5)
GROUP = np.repeat(np.arange(4), SIZES)
X = CENTRES[GROUP] + np.random.default_rng(0).normal(0, 0.3, (100, 2))
Y = (GROUP % 2).astype(int)


def test_clusters_centroids_and_mean_labels() -> None:
    chosen = KMeansSeeds().select(X, Y)
    assert len(chosen.index) == 100
    for centroid, label in zip(chosen.centroids, chosen.centroid_labels, strict=True):
        group = int(np.argmin(np.abs(CENTRES - centroid).sum(axis=1)))
        assert centroid == pytest.approx(X[group == GROUP].mean(axis=0))
        assert label == group % 2
    for one in range(4):
        assert len(set(GROUP[chosen.index[chosen.cluster == one]].tolist())) == 1


def test_a_large_cluster_gives_many_seeds_or_an_equal_share() -> None:
    by_share = KMeansSeeds(n_seeds=2000).select(X, Y)
    counts = np.bincount(GROUP[by_share.index], minlength=4) / 2000
    assert counts == pytest.approx(np.array(SIZES) / 100, abs=0.04)
    equal = KMeansSeeds(n_seeds=102, sampling="per_cluster").select(X, Y)
    assert sorted(np.bincount(GROUP[equal.index], minlength=4).tolist()) == [25, 25, 26, 26]


def test_the_seed_decides() -> None:
    assert (KMeansSeeds(seed=1).select(X, Y).index == KMeansSeeds(seed=1).select(X, Y).index).all()
    assert (KMeansSeeds(seed=1).select(X, Y).index != KMeansSeeds(seed=2).select(X, Y).index).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be 1 or more, got 0"),
        ({"n_seeds": 0}, "n_seeds must be 1 or more, got 0"),
        ({"sampling": "all"}, "sampling 'all' does not exist: expected proportional or per_cluster"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        KMeansSeeds(**settings)


def test_fewer_different_rows_than_clusters() -> None:
    with pytest.raises(DataError, match="x has 1 different rows, expected 4 or more"):
        KMeansSeeds().select(np.ones((20, 2)), np.ones(20))
