"""Bootstrap over examples: the pairs of one example are drawn together, because they are not independent.

Every quantity here is a ratio of two sums over units (pairs, records, steps), so that one matrix product a
set of resamples gives all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.metrics.rates import Estimate, Rate, wilson_interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
N_RESAMPLES = 1000
CONFIDENCE = 0.95
_DIGITS = 12  # sums of floats differ beyond that with the number of threads
_MIN_RESAMPLES = 200
_MAX_DRAWS = 5_000_000
_CHUNK_DRAWS = 2_000_000


@dataclass(frozen=True, slots=True)
class Ratio:
    """``numerator.sum() / denominator.sum()`` over ``n`` units.

    Attributes:
        numerator, denominator: Each ``(n,)``.
        cluster: The example that each unit belongs to, ``(n,)``.
        is_share: The sums are whole numbers of successes and trials: the interval is Wilson's. Otherwise
            it is bootstrapped.
    """

    numerator: FloatArray
    denominator: FloatArray
    cluster: IntArray
    is_share: bool = True

    @property
    def rate(self) -> Rate:
        """The share with both of its counts."""
        return Rate(round(float(self.numerator.sum())), round(float(self.denominator.sum())))

    @property
    def value(self) -> float | None:
        """The ratio; None when the denominator is zero."""
        total = float(self.denominator.sum())
        return float(self.numerator.sum()) / total if total else None


class ClusterBootstrap:
    """Resamples of a fixed set of examples, the same ones for everything that is asked of it.

    Args:
        clusters: The examples that occur, in a stable order, as whole numbers.
        seed: Seed of the draws.
        n_resamples: How many; with very many examples fewer are drawn (200 at least), because their
            percentiles hardly move any more.

    Raises:
        UsageError: ``n_resamples`` is below 2.
    """

    def __init__(self, clusters: IntArray, *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> None:
        if n_resamples < 2:
            raise UsageError(f"n_resamples is {n_resamples}, expected 2 or more")
        self.clusters = np.unique(clusters)
        self._seed = seed
        most = max(_MIN_RESAMPLES, _MAX_DRAWS // max(1, len(self.clusters)))
        self.n_resamples = min(n_resamples, most)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of ``values`` ``(n_clusters, m)`` in every resample, ``(n_resamples, m)``."""
        n = len(self.clusters)
        generator = np.random.default_rng(self._seed)
        rows = max(1, _CHUNK_DRAWS // max(1, n))
        parts = []
        for start in range(0, self.n_resamples, rows):
            size = min(rows, self.n_resamples - start)
            drawn = generator.integers(0, n, size=(size, n), dtype=np.int32)
            counts = np.stack([np.bincount(draw, minlength=n) for draw in drawn]).astype(np.float64)
            parts.append(counts @ values)
        return np.concatenate(parts)

    def replicates(self, ratios: Mapping[str, Ratio]) -> dict[str, FloatArray]:
        """The value of each ratio in every resample, NaN where its denominator is zero there."""
        if not ratios:
            return {}
        columns = [
            self._by_cluster(part, ratio.cluster)
            for ratio in ratios.values()
            for part in (ratio.numerator, ratio.denominator)
        ]
        sums = self.sums(np.stack(columns, axis=1))
        found = {}
        for index, name in enumerate(ratios):
            numerator, denominator = sums[:, 2 * index], sums[:, 2 * index + 1]
            values = np.full(self.n_resamples, np.nan)
            np.divide(numerator, denominator, out=values, where=denominator > 0)
            found[name] = values
        return found

    def estimates(self, ratios: Mapping[str, Ratio]) -> dict[str, Estimate]:
        """Each ratio with its percentile interval."""
        wanted = {name: ratio for name, ratio in ratios.items() if ratio.value is not None}
        drawn = self.replicates(wanted) if len(self.clusters) > 1 else {}
        found = {}
        for name, ratio in ratios.items():
            low, high = percentile_interval(drawn[name]) if name in drawn else (None, None)
            value = None if ratio.value is None else round(ratio.value, _DIGITS)
            found[name] = Estimate(value, low, high, _whole(float(ratio.denominator.sum())))
        return found

    def _by_cluster(self, values: FloatArray, cluster: IntArray) -> FloatArray:
        where = np.searchsorted(self.clusters, cluster)
        summed = np.bincount(where, weights=values, minlength=len(self.clusters))
        return np.asarray(summed, dtype=np.float64)


def percentile_interval(
    values: FloatArray, confidence: float = CONFIDENCE
) -> tuple[float, float] | tuple[None, None]:
    """The middle ``confidence`` of resampled values; NaN are left out, (None, None) where nothing is left."""
    kept = values[~np.isnan(values)]
    if not len(kept):
        return None, None
    low, high = np.quantile(kept, [(1 - confidence) / 2, (1 + confidence) / 2])
    return round(float(low), _DIGITS), round(float(high), _DIGITS)


def quantile_estimate(values: FloatArray, quantile: float, confidence: float = CONFIDENCE) -> Estimate:
    """A quantile of independent values with an interval that assumes no distribution.

    The interval runs between the empirical quantiles at the ends of the Wilson interval of ``quantile`` at
    this number of values.
    """
    n = len(values)
    if not n:
        return Estimate(None, None, None, 0)
    low, high = wilson_interval(quantile * n, n, confidence)
    found = [round(float(value), _DIGITS) for value in np.quantile(values, [quantile, low, high])]
    return Estimate(found[0], found[1], found[2], n) if n > 1 else Estimate(found[0], None, None, n)


def _whole(value: float) -> float:
    return int(value) if value == int(value) else round(value, _DIGITS)
