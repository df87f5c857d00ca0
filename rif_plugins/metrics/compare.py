"""Rank models on robustness, fairness and RIF, on the pairs that all of their runs share.

The order of models may change with the axis: that is what a comparison on three axes is for (Li et al., KDD
2026, figure on resistance; January 2026, Tables 1 and 6). Every number here is recomputed on the shared pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import FAIRNESS_ONLY, ROBUSTNESS_ONLY
from rif_plugins.errors import UsageError
from rif_plugins.metrics.bootstrap import N_RESAMPLES, ClusterBootstrap, percentile_interval
from rif_plugins.metrics.comparison_text import markdown_of, text_of
from rif_plugins.metrics.rates import Rate
from rif_plugins.metrics.record_table import RIF_TARGETS

AXES = ("robustness", "fairness", "rif")
"""What the ranks are on: the share of pairs that stand under each kind of attack."""
CLEAN_AXES = ("accuracy", "individual_fairness")
"""Shown beside them, without ranks: the same pairs before any edit."""
SIGNIFICANCE = 0.05
PairKey = tuple[str, str, str]
Verdicts = dict[PairKey, bool]


class Run(Protocol):
    """What a comparison needs of a run."""

    @property
    def records(self) -> Sequence[Record]:
        """The records of the run."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """Its summary."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One model on one axis: its share of shared pairs that stand, and its rank (1 is best, ties share)."""

    name: str
    rate: Rate
    rank: int


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


@dataclass(frozen=True, slots=True)
class OrderChange:
    """Two models that stand in opposite order on two axes.

    Attributes:
        better, worse: Names, by their order on ``axis``.
        axis, other_axis: On the other axis ``worse`` stands before ``better``.
        is_supported: True when the corrected paired tests tell them apart on both axes.
    """

    better: str
    worse: str
    axis: str
    other_axis: str
    is_supported: bool


@dataclass(frozen=True)
class Comparison:
    """Several models on the pairs that their runs share.

    Attributes:
        names: The models, in the order they were given.
        n_pairs: Evaluated pairs of each run.
        n_shared: Pairs that all runs share.
        n_shared_examples: Examples of those.
        rif_targets: Targets that make up the RIF axis, common to all runs.
        axes: By axis the models from best to worst; an axis for which a run has no records is empty.
        clean: By clean axis the models in the order they were given (rank 0).
        tests: Paired tests of every two models on every axis.
        order_changes: Two models whose order changes between two axes.
    """

    names: tuple[str, ...]
    n_pairs: dict[str, int]
    n_shared: int
    n_shared_examples: int
    rif_targets: tuple[str, ...]
    axes: dict[str, tuple[Standing, ...]]
    clean: dict[str, tuple[Standing, ...]]
    tests: tuple[PairedTest, ...]
    order_changes: tuple[OrderChange, ...]

    @property
    def ties(self) -> tuple[PairedTest, ...]:
        """The tests of models whose intervals overlap on that axis: their ranks are not to be relied on."""
        return tuple(test for test in self.tests if test.intervals_overlap)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "schema": "rif-comparison/1",
            "names": list(self.names),
            "n_pairs": self.n_pairs,
            "n_shared": self.n_shared,
            "n_shared_examples": self.n_shared_examples,
            "rif_targets": list(self.rif_targets),
            "axes": {axis: [_standing(row) for row in rows] for axis, rows in self.axes.items()},
            "clean": {
                axis: [{"name": row.name, "rate": row.rate.to_dict()} for row in rows]
                for axis, rows in self.clean.items()
            },
            "tests": [_fields(test) for test in self.tests],
            "ties": [{"axis": t.axis, "models": [t.first, t.second]} for t in self.ties],
            "order_changes": [_fields(change) for change in self.order_changes],
        }

    def to_text(self) -> str:
        """A plain table and sentences."""
        return text_of(self.to_dict())

    def to_markdown(self) -> str:
        """The same as Markdown."""
        return markdown_of(self.to_dict())

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def compare_runs(
    runs: Sequence[Run], names: Sequence[str], *, seed: int = 0, n_resamples: int = N_RESAMPLES
) -> Comparison:
    """Compare two or more runs on the pairs that all of them evaluated.

    McNemar's test takes pairs as independent; the bootstrap draws examples, so its interval is the one to
    trust where an example has several counterparts.

    Args:
        runs: Finished runs (``RunResult``, or anything with ``records``).
        names: What to call each model.
        seed: Seed of the bootstrap.
        n_resamples: Resamples of the bootstrap.

    Raises:
        UsageError: Fewer than two runs, names that do not fit, or no pair that all runs share.
    """
    labels = _checked_names(runs, names)
    folded = [_fold(run.records) for run in runs]
    shared = set.intersection(*(set(pairs) for pairs, _ in folded))
    counts = {name: len(pairs) for name, (pairs, _) in zip(labels, folded, strict=True)}
    if not shared:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(
            f"the runs share 0 pairs (pairs evaluated: {listed}), expected the same texts and counterparts: "
            "audit every model with the same --data, --sensitive, --counterparts and --seed"
        )
    targets = set.intersection(*(found for _, found in folded))
    kept = tuple(name for name in RIF_TARGETS if name in targets)
    keys = sorted(shared)
    verdicts = {
        axis: [
            {key: v for key in keys if (v := _verdict(pairs[key], axis, kept)) is not None}
            for pairs, _ in folded
        ]
        for axis in (*AXES, *CLEAN_AXES)
    }
    axes = {axis: _standings(labels, verdicts[axis]) for axis in AXES}
    clean = {
        axis: tuple(Standing(row.name, row.rate, 0) for row in _standings(labels, verdicts[axis], False))
        for axis in CLEAN_AXES
    }
    tests = _tests(labels, {axis: verdicts[axis] for axis in AXES}, seed, n_resamples)
    return Comparison(
        names=labels,
        n_pairs=counts,
        n_shared=len(shared),
        n_shared_examples=len({key[0] for key in shared}),
        rif_targets=kept,
        axes=axes,
        clean=clean,
        tests=tests,
        order_changes=_order_changes(axes, tests),
    )


def _checked_names(runs: Sequence[Run], names: Sequence[str]) -> tuple[str, ...]:
    if len(runs) < 2:
        raise UsageError(f"got {len(runs)} run to compare, expected two or more: give two folders or more")
    if len(names) != len(runs):
        raise UsageError(f"got {len(names)} names for {len(runs)} runs, expected one name a run")
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise UsageError(f"two runs are called {twice!r}, expected different names: rename one")
    return tuple(names)


def _fold(records: Iterable[Record]) -> tuple[dict[PairKey, dict[str, Record]], set[str]]:
    """Records of each pair by target, and the RIF targets of the run."""
    pairs: dict[PairKey, dict[str, Record]] = {}
    targets: set[str] = set()
    for record in records:
        if record.is_evaluated:
            key = (record.example, record.original, record.similar)
            pairs.setdefault(key, {})[record.target] = record
            if record.target in RIF_TARGETS:
                targets.add(record.target)
    return pairs, targets


def _verdict(by_target: Mapping[str, Record], axis: str, rif_targets: Sequence[str]) -> bool | None:
    """Whether a pair stands on an axis; None where it was not tried."""
    if axis in ("robustness", "fairness"):
        record = by_target.get(ROBUSTNESS_ONLY if axis == "robustness" else FAIRNESS_ONLY)
        return None if record is None else record.status == "failed"
    if axis == "rif":
        tried = [by_target[name] for name in rif_targets if name in by_target]
        if not tried or len(tried) < len(rif_targets):
            return None
        met = {outcome for record in tried for outcome in (record.clean_outcome, record.outcome)}
        return met == {str(Outcome.ROBUST_FAIR)}
    clean = next((record.clean_outcome for record in by_target.values() if record.clean_outcome), "")
    if not clean:
        return None
    return Outcome(clean).is_robust if axis == "accuracy" else Outcome(clean).is_fair


def _common(verdicts: Sequence[Verdicts]) -> list[PairKey]:
    """Pairs with a verdict of every run, in order."""
    return [key for key in verdicts[0] if all(key in other for other in verdicts[1:])]


def _standings(
    names: Sequence[str], verdicts: Sequence[Verdicts], is_ranked: bool = True
) -> tuple[Standing, ...]:
    keys = _common(verdicts)
    if not keys:
        return ()
    stands = [sum(run[key] for key in keys) for run in verdicts]
    rows = [
        Standing(name, Rate(count, len(keys)), 1 + sum(other > count for other in stands))
        for name, count in zip(names, stands, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: row.rank)) if is_ranked else tuple(rows)


def _tests(
    names: Sequence[str], verdicts: Mapping[str, Sequence[Verdicts]], seed: int, n_resamples: int
) -> tuple[PairedTest, ...]:
    raw: list[dict[str, Any]] = []
    for axis, runs in verdicts.items():
        keys = _common(runs)
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


def _order_changes(
    axes: Mapping[str, Sequence[Standing]], tests: Sequence[PairedTest]
) -> tuple[OrderChange, ...]:
    significant = {(test.axis, frozenset((test.first, test.second))): test.is_significant for test in tests}
    changes = []
    for axis, other in combinations(axes, 2):
        here = {row.name: row.rank for row in axes[axis]}
        there = {row.name: row.rank for row in axes[other]}
        for better, worse in combinations(here if there else (), 2):
            if here[better] < here[worse] and there[better] > there[worse]:
                pair = frozenset((better, worse))
                supported = significant[axis, pair] and significant[other, pair]
                changes.append(OrderChange(better, worse, axis, other, supported))
    return tuple(changes)


def _standing(row: Standing) -> dict[str, Any]:
    return {"name": row.name, "rank": row.rank, "rate": row.rate.to_dict()}


def _fields(row: PairedTest | OrderChange) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in row.__slots__}
    if isinstance(row, PairedTest):
        values["is_significant"] = row.is_significant
    return values
