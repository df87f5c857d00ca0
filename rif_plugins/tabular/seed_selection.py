"""Seeds that cover the data: K-Means clusters, and a draw from them.

Source: RobustFair, ``getSeeds``: 4 clusters on the inputs alone, 100 draws with replacement. Its paper draws
"uniformly from each cluster", its code takes a cluster with the probability of its share of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import DataError, UsageError
from rif_plugins.optional import require

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Sampling = Literal["proportional", "per_cluster"]


@dataclass(frozen=True)
class SeedSelection:
    """Chosen seeds.

    Attributes:
        index: ``(n_seeds,)`` positions of the seeds in the data; a row may be drawn twice.
        cluster: ``(n_seeds,)`` the cluster of each.
        centroids: ``(n_clusters, d)`` mean rows.
        centroid_labels: ``(n_clusters,)`` mean labels, for the generative similarity.
    """

    index: IntArray
    cluster: IntArray
    centroids: FloatArray
    centroid_labels: FloatArray


@dataclass(frozen=True)
class KMeansSeeds:
    """Draws seeds from clusters of the data.

    Args:
        n_clusters: Number of clusters.
        n_seeds: Number of draws, with replacement.
        sampling: ``"proportional"``: a cluster with the probability of its share of rows, then one of its
            rows (the released code); ``"per_cluster"``: as many draws from each cluster (the paper).
        seed: Seed of the clustering and of the draws.

    Raises:
        UsageError: A setting is out of its range.
    """

    n_clusters: int = 4
    n_seeds: int = 100
    sampling: Sampling = "proportional"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_clusters", "n_seeds"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, got {getattr(self, name)}")
        if self.sampling not in ("proportional", "per_cluster"):
            raise UsageError(
                f"sampling {self.sampling!r} does not exist: expected proportional or per_cluster"
            )

    def select(self, x: ArrayLike, y: ArrayLike) -> SeedSelection:
        """Cluster rows ``(n, d)`` with labels ``(n,)`` and draw seeds.

        Raises:
            DataError: Fewer different rows than clusters.
            MissingDependencyError: scikit-learn is not installed.
        """
        rows, labels = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        n_different = len(np.unique(rows, axis=0))
        if n_different < self.n_clusters:
            raise DataError(
                f"x has {n_different} different rows, expected {self.n_clusters} or more: "
                "ask for fewer clusters or give more rows"
            )
        cluster = require("sklearn.cluster", package="scikit-learn", purpose="K-Means seeds")
        fitted = cluster.KMeans(n_clusters=self.n_clusters, n_init=10, random_state=self.seed).fit(rows)
        member: IntArray = np.asarray(fitted.labels_, dtype=np.int64)
        index = self._draw(member)
        centres = [
            (rows[member == one].mean(axis=0), labels[member == one].mean()) for one in range(self.n_clusters)
        ]
        return SeedSelection(
            index=index,
            cluster=member[index],
            centroids=np.stack([row for row, _ in centres]),
            centroid_labels=np.asarray([label for _, label in centres], dtype=np.float64),
        )

    def _draw(self, member: IntArray) -> IntArray:
        generator = np.random.default_rng(self.seed)
        if self.sampling == "proportional":
            # A cluster by its share and then a uniform member of it is a uniform row.
            return np.asarray(generator.integers(len(member), size=self.n_seeds))
        quota, rest = divmod(self.n_seeds, self.n_clusters)
        draws = [
            generator.choice(np.flatnonzero(member == one), size=quota + (one < rest), replace=True)
            for one in range(self.n_clusters)
        ]
        return np.concatenate(draws).astype(np.int64)
