"""Rates of a model before and after retraining, on the same examples, with paired intervals.

Both models are searched afresh on the same held-out examples. Examples are drawn together for both (a paired
bootstrap), and the seeds of the retraining are averaged, so an interval is about other examples, for these
seeds; how far the seeds differ among themselves is told beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import ALL_TARGETS, Outcome
from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.metrics.bootstrap import N_RESAMPLES, ClusterBootstrap, Ratio, percentile_interval

FloatArray = NDArray[np.float64]
Counts = Mapping[str, tuple[float, float]]
"""By example: numerator and denominator of a rate."""
_CLEAN = str(Outcome.ROBUST_FAIR)


@dataclass(frozen=True, slots=True)
class Change:
    """One rate before and after.

    Attributes:
        name: The rate, such as ``"robust_biased.induced_rate"``.
        before: The rate of the first, averaged over its seeds; None where there is nothing to divide by.
        after: The same of the second.
        by_seed: The second, seed by seed.
        difference: ``after - before``.
        low, high: 95 % interval of the difference, bootstrapped over examples; None for a single example.
        n_before: Denominator of ``before``.
        n_after: Mean denominator of ``after``.
    """

    name: str
    before: float | None
    after: float | None
    by_seed: tuple[float | None, ...]
    difference: float | None
    low: float | None
    high: float | None
    n_before: float
    n_after: float

    @property
    def spread(self) -> float | None:
        """Standard deviation over the seeds; None for fewer than two."""
        known = [value for value in self.by_seed if value is not None]
        return float(np.std(known, ddof=1)) if len(known) > 1 else None

    @property
    def is_clear(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        return self.low is not None and self.high is not None and (self.high < 0 or self.low > 0)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            **asdict(self),
            "by_seed": list(self.by_seed),
            "spread": self.spread,
            "is_clear": self.is_clear,
        }


def rate_counts(records: Sequence[Record]) -> dict[str, dict[str, tuple[float, float]]]:
    """Numerators and denominators by example of the rates of each target.

    ``found_rate``: pairs in the target after the search, of all evaluated pairs; ``natural_rate``: pairs in
    it unedited; ``induced_rate``: found from a clean ``robust_fair`` pair, of the clean ``robust_fair``
    pairs. ``clean_accuracy``: right answers on the unedited originals, one an example.
    """
    found: dict[str, dict[str, list[float]]] = {}
    accuracy: dict[str, tuple[float, float]] = {}

    def add(name: str, example: str, hit: bool, counted: bool) -> None:
        cell = found.setdefault(name, {}).setdefault(example, [0.0, 0.0])
        cell[0] += hit
        cell[1] += counted

    for record in records:
        if not record.is_evaluated:
            continue
        example, target = record.example, record.target
        is_clean = record.clean_outcome == _CLEAN
        add(f"{target}.induced_rate", example, record.status == "induced", is_clean)
        add(f"{target}.natural_rate", example, record.status == "natural", True)
        add(f"{target}.found_rate", example, record.is_found, True)
        accuracy[example] = (float(Outcome(record.clean_outcome).is_robust), 1.0)
    counts = {name: {k: (v[0], v[1]) for k, v in cells.items()} for name, cells in found.items()}
    return {**counts, "clean_accuracy": accuracy}


def changes(
    before: Sequence[Sequence[Record]],
    after: Sequence[Sequence[Record]],
    *,
    extra: Mapping[str, tuple[Sequence[Counts], Sequence[Counts]]] | None = None,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> tuple[Change, ...]:
    """Compare the records of two models, or of two ways to train one, on the same examples.

    Args:
        before: Records of the first, one sequence a seed; a model that is given has one.
        after: Records of the second on the same examples, likewise.
        extra: Further rates by name: counts by example, one mapping a seed, before and after.
        seed: Seed of the bootstrap.
        n_resamples: Resamples.

    Returns:
        Targets in the usual order, each with induced, found and natural rate, then the other rates.

    Raises:
        UsageError: A side has no sequence of records, or no example was evaluated.
    """
    if not before or not after:
        raise UsageError("there is nothing to compare: expected records of one seed or more on both sides")
    first, others = [rate_counts(r) for r in before], [rate_counts(r) for r in after]
    names = [
        f"{target}.{rate}"
        for target in ALL_TARGETS
        for rate in ("induced_rate", "found_rate", "natural_rate")
        if any(f"{target}.{rate}" in counts for counts in first)
    ]
    pairs: dict[str, tuple[Sequence[Counts], Sequence[Counts]]] = {
        name: ([c.get(name, {}) for c in first], [c.get(name, {}) for c in others])
        for name in (*names, "clean_accuracy")
    }
    pairs.update(extra or {})
    return tuple(_change(name, *counts, seed, n_resamples) for name, counts in pairs.items())


def _change(
    name: str, before: Sequence[Counts], after: Sequence[Counts], seed: int, n_resamples: int
) -> Change:
    examples = sorted(set().union(*before, *after))
    if not examples:
        raise UsageError(f"{name}: no example was evaluated, neither before nor after")
    sides = [
        {f"{side} {number}": _ratio(counts, examples) for number, counts in enumerate(runs)}
        for side, runs in enumerate((before, after))
    ]
    values = [tuple(ratio.value for ratio in side.values()) for side in sides]
    means = [_mean(side) for side in values]
    low = high = difference = None
    if means[0] is not None and means[1] is not None:
        difference = means[1] - means[0]
        if len(examples) > 1:
            clusters = np.arange(len(examples), dtype=np.int64)
            bootstrap = ClusterBootstrap(clusters, seed=seed, n_resamples=n_resamples)
            drawn = bootstrap.replicates({**sides[0], **sides[1]})
            first, second = (np.mean([drawn[key] for key in side], axis=0) for side in sides)
            low, high = percentile_interval(np.asarray(second - first, dtype=np.float64))
    totals = [float(np.mean([ratio.denominator.sum() for ratio in side.values()])) for side in sides]
    return Change(name, means[0], means[1], values[1], difference, low, high, totals[0], totals[1])


def _ratio(counts: Counts, examples: Sequence[str]) -> Ratio:
    rows = np.array([counts.get(example, (0.0, 0.0)) for example in examples], dtype=np.float64)
    return Ratio(rows[:, 0], rows[:, 1], np.arange(len(examples), dtype=np.int64), is_share=False)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
