"""Rank models on robustness, fairness and RIF, on the pairs that all of their runs share.

The order of models may change with the axis: that is what a comparison on three axes is for (Li et al., KDD
2026, figure on resistance; January 2026, Tables 1 and 6). Every number is recomputed on the shared pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import FAIRNESS_ONLY, ROBUSTNESS_ONLY
from rif_plugins.errors import UsageError
from rif_plugins.metrics.bootstrap import N_RESAMPLES
from rif_plugins.metrics.comparison_text import markdown_of, text_of
from rif_plugins.metrics.paired_tests import PairedTest, PairKey, Verdicts, common_pairs, paired_tests
from rif_plugins.metrics.rates import Rate
from rif_plugins.metrics.record_table import RIF_TARGETS

AXES = ("robustness", "fairness", "rif")
"""What the ranks are on: the share of pairs that stand under each kind of attack."""
CLEAN_AXES = ("accuracy", "individual_fairness")
"""Shown beside them, without ranks: the same pairs before any edit."""


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
        n_label_conflicts: Shared pairs whose label is not the same in all runs (predicted labels).
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
    n_label_conflicts: int
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
            "n_label_conflicts": self.n_label_conflicts,
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
    tests = paired_tests(labels, {axis: verdicts[axis] for axis in AXES}, seed, n_resamples)
    return Comparison(
        names=labels,
        n_pairs=counts,
        n_shared=len(shared),
        n_shared_examples=len({key[0] for key in shared}),
        n_label_conflicts=sum(
            len({record.label for pairs, _ in folded for record in pairs[key].values()}) > 1 for key in keys
        ),
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


def _standings(
    names: Sequence[str], verdicts: Sequence[Verdicts], is_ranked: bool = True
) -> tuple[Standing, ...]:
    keys = common_pairs(verdicts)
    if not keys:
        return ()
    stands = [sum(run[key] for key in keys) for run in verdicts]
    rows = [
        Standing(name, Rate(count, len(keys)), 1 + sum(other > count for other in stands))
        for name, count in zip(names, stands, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: row.rank)) if is_ranked else tuple(rows)


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
