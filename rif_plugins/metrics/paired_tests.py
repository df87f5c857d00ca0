"""Paired tests of models on the same pairs: exact McNemar with Holm's correction, bootstrapped difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.metrics.bootstrap import ClusterBootstrap, percentile_interval
from rif_plugins.metrics.rates import Rate

SIGNIFICANCE = 0.05
PairKey = tuple[str, str, str]
"""Example, original, similar text."""
Verdicts = dict[PairKey, bool]
"""Whether each pair stands; pairs without a verdict are absent."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two models on the same pairs.

    Attributes:
        axis: The axis.
        first, second: Names of the models.
        only_first, only_second: Pairs that stand with one of them only.
        p_value: Exact McNemar test, two-sided.
        p_adjusted: The same after Holm's correction over all tests of the comparison.
        difference: Rate of the first minus rate of the second.
        low, high: 95 % interval of the difference, bootstrapped over examples; None for a single example.
        intervals_overlap: Whether the two rates' own Wilson intervals overlap.
    """

    axis: str
    first: str
    second: str
    only_first: int
    only_second: int
    p_value: float
    p_adjusted: float
    difference: float
    low: float | None
    high: float | None
    intervals_overlap: bool

    @property
    def is_significant(self) -> bool:
        """True when the corrected test tells the two models apart."""
        return self.p_adjusted < SIGNIFICANCE


def common_pairs(verdicts: Sequence[Verdicts]) -> list[PairKey]:
    """Pairs with a verdict of every run, in order."""
    return [key for key in verdicts[0] if all(key in other for other in verdicts[1:])]


def paired_tests(
    names: Sequence[str], verdicts: Mapping[str, Sequence[Verdicts]], seed: int, n_resamples: int
) -> tuple[PairedTest, ...]:
    """Test every two models on every axis.

    Args:
        names: The models.
        verdicts: By axis, one dictionary a model.
        seed: Seed of the bootstrap.
        n_resamples: Resamples of the bootstrap.
    """
    raw: list[dict[str, Any]] = []
    for axis, runs in verdicts.items():
        keys = common_pairs(runs)
        if not keys:
            continue
        stands = np.array([[run[key] for key in keys] for run in runs], dtype=np.float64)
        examples = np.unique([key[0] for key in keys], return_inverse=True)[1].reshape(-1)
        intervals = _difference_intervals(stands, examples, seed, n_resamples)
        for i, j in combinations(range(len(names)), 2):
            first, second = stands[i] > 0, stands[j] > 0
            only = int((first & ~second).sum()), int((second & ~first).sum())
            rates = [Rate(int(side.sum()), len(keys)).to_dict() for side in (first, second)]
            raw.append(
                {
                    "axis": axis,
                    "first": names[i],
                    "second": names[j],
                    "only_first": only[0],
                    "only_second": only[1],
                    "p_value": mcnemar_p_value(*only),
                    "difference": (only[0] - only[1]) / len(keys),
                    "low": intervals[i, j][0],
                    "high": intervals[i, j][1],
                    "intervals_overlap": rates[0]["low"] <= rates[1]["high"]
                    and rates[1]["low"] <= rates[0]["high"],
                }
            )
    adjusted = holm_correction([test["p_value"] for test in raw])
    return tuple(PairedTest(**test, p_adjusted=p) for test, p in zip(raw, adjusted, strict=True))


def _difference_intervals(
    stands: NDArray[np.float64], examples: NDArray[np.int64], seed: int, n_resamples: int
) -> dict[tuple[int, int], tuple[float, float] | tuple[None, None]]:
    """Intervals of the difference of every two rows of ``stands`` ``(runs, pairs)``."""
    found: dict[tuple[int, int], tuple[float, float] | tuple[None, None]] = {}
    bootstrap = ClusterBootstrap(examples, seed=seed, n_resamples=n_resamples)
    n = len(bootstrap.clusters)
    sums = [np.bincount(examples, weights=row, minlength=n) for row in stands]
    drawn = bootstrap.sums(np.stack([*sums, np.bincount(examples, minlength=n)], axis=1).astype(np.float64))
    for i, j in combinations(range(len(stands)), 2):
        differences = (drawn[:, i] - drawn[:, j]) / drawn[:, -1]
        found[i, j] = percentile_interval(differences) if n > 1 else (None, None)
    return found


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test: the discordant pairs are fair coin throws; 1 where there is none."""
    total = only_first + only_second
    if total == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_first, total, 0.5).pvalue)


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the i-th smallest of n is multiplied by n - i + 1, in rising order."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = largest
    return adjusted
