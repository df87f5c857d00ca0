from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from rif_plugins.errors import UsageError
from rif_plugins.metrics import wilson_interval
from rif_plugins.metrics.bootstrap import ClusterBootstrap, Ratio, percentile_interval, quantile_estimate


@given(st.integers(0, 500), st.integers(1, 500), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=60, deadline=None)
def test_wilson_agrees_with_scipy(successes: int, total: int, confidence: float) -> None:
    successes = min(successes, total)
    expected = binomtest(successes, total).proportion_ci(confidence, method="wilson")
    assert wilson_interval(successes, total, confidence) == pytest.approx(expected, abs=1e-9)


def ratio_of(values: list[float], clusters: list[int]) -> Ratio:
    array = np.array(values)
    return Ratio(array, np.ones(len(array)), np.array(clusters), is_share=False)


def test_the_units_of_a_cluster_are_drawn_together() -> None:
    # Two clusters of many equal units: a resample is all 0, all 1 or half and half, nothing between.
    ratio = ratio_of([0.0] * 50 + [1.0] * 50, [0] * 50 + [1] * 50)
    bootstrap = ClusterBootstrap(ratio.cluster)
    assert set(bootstrap.replicates({"a": ratio})["a"]) == {0.0, 0.5, 1.0}
    estimate = bootstrap.estimates({"a": ratio})["a"]
    assert (estimate.value, estimate.low, estimate.high, estimate.total) == (0.5, 0.0, 1.0, 100)


def test_the_interval_of_a_mean_is_near_the_normal_one() -> None:
    values = np.random.default_rng(5).normal(10.0, 2.0, size=400)
    ratio = ratio_of(list(values), list(range(400)))
    estimate = ClusterBootstrap(ratio.cluster).estimates({"mean": ratio})["mean"]
    half = 1.96 * values.std() / 20
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.03)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.03)


def test_the_same_seed_gives_the_same_interval() -> None:
    ratio = ratio_of([0.1, 0.5, 0.2, 0.9, 0.4], [0, 1, 2, 3, 4])
    drawn = [ClusterBootstrap(ratio.cluster, seed=s).replicates({"a": ratio})["a"] for s in (1, 1, 2)]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


def test_resamples_without_a_denominator_are_left_out() -> None:
    ratio = Ratio(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 1]), is_share=False)
    estimate = ClusterBootstrap(ratio.cluster).estimates({"a": ratio})["a"]
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 1.0, 1.0)


def test_nothing_and_one_cluster() -> None:
    empty = ratio_of([], [])
    assert ClusterBootstrap(empty.cluster).estimates({"a": empty})["a"].value is None
    one = ratio_of([3.0, 5.0], [7, 7])
    estimate = ClusterBootstrap(one.cluster).estimates({"a": one})["a"]
    assert (estimate.value, estimate.low, str(estimate)) == (4.0, None, "4")
    assert percentile_interval(np.array([np.nan])) == (None, None)


def test_very_many_examples_are_drawn_less_often() -> None:
    assert ClusterBootstrap(np.arange(100)).n_resamples == 1000
    assert ClusterBootstrap(np.arange(100_000)).n_resamples == 200
    with pytest.raises(UsageError, match="n_resamples is 1, expected 2 or more"):
        ClusterBootstrap(np.arange(3), n_resamples=1)


def test_quantiles() -> None:
    values = np.arange(101) / 100
    median = quantile_estimate(values, 0.5)
    low, high = wilson_interval(50.5, 101)
    assert median.value == 0.5
    assert (median.low, median.high) == pytest.approx((low, high))
    assert quantile_estimate(values[:0], 0.5).value is None
    assert quantile_estimate(values[:1], 0.5).low is None
