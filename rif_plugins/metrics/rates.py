"""Counts and rates of a run, with 95 % intervals.

Denominators: natural rate over all evaluated pairs; induced rate over clean ``robust_fair`` pairs;
robustness, fairness and RIF rates (the share of pairs that stand) over all evaluated pairs, natural
violations included. ``shifted`` pairs belong to neither the natural nor the induced rate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.results import STATUSES, Record


def wilson_interval(successes: float, total: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion; (0, 1) when empty.

    ``(p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)`` with ``p = successes / total`` (Wilson 1927).

    Args:
        successes: How many, between 0 and ``total``; need not be whole.
        total: Of how many.
        confidence: Share of intervals that hold the true proportion, above 0 and below 1.
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p = successes / total
    scale = 1.0 + z * z / total
    centre = (p + z * z / (2 * total)) / scale
    half = z * math.sqrt(p * (1.0 - p) / total + z * z / (4.0 * total * total)) / scale
    return min(max(0.0, centre - half), p), max(min(1.0, centre + half), p)


@dataclass(frozen=True, slots=True)
class Rate:
    """``successes`` of ``total``, as a fraction with its 95 % Wilson interval."""

    successes: int
    total: int

    @property
    def value(self) -> float | None:
        """The fraction; None when there is nothing to divide by."""
        return self.successes / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Value, interval and both counts."""
        low, high = wilson_interval(self.successes, self.total)
        return {
            "value": self.value,
            "low": low,
            "high": high,
            "successes": self.successes,
            "total": self.total,
        }

    def __str__(self) -> str:
        if self.value is None:
            return "no pairs"
        low, high = wilson_interval(self.successes, self.total)
        return f"{self.value:.1%} [{low:.1%}, {high:.1%}] ({self.successes} of {self.total})"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean or a ratio of sums with its 95 % interval; all None when there is nothing to divide by.

    Attributes:
        value: The point estimate.
        low, high: The interval, bootstrapped over examples; None where fewer than two examples are there.
        total: The number of units behind it (the denominator of the ratio).
    """

    value: float | None
    low: float | None
    high: float | None
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Value, interval and the number of units."""
        return {"value": self.value, "low": self.low, "high": self.high, "total": self.total}

    def __str__(self) -> str:
        if self.value is None:
            return "none"
        if self.low is None or self.high is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def summarise(records: Iterable[Record]) -> dict[str, Any]:
    """Counts, rates, edits, equivalence and costs of records that share one target.

    Returns:
        A dictionary whose rates are ``Rate`` objects; ``n_*`` are counts, ``mean_*`` averages over the
        found pairs and, for the equivalence, their edited sides (None when there is none).
    """
    rows = list(records)
    status = Counter(row.status for row in rows)
    evaluated = [row for row in rows if row.is_evaluated]
    clean = Counter(row.clean_outcome for row in evaluated)
    final = [Outcome(row.outcome) for row in evaluated]
    found = [row for row in evaluated if row.is_found]
    edited = [row for row in found if row.status != "natural"]
    scores = [
        row.equivalence[side]["score"]
        for row in edited
        for side in ("original", "similar")
        if side in row.equivalence and any(edit["side"] == side for edit in row.edits)
    ]
    summary: dict[str, Any] = {
        "n_examples": len({row.example for row in rows}),
        "n_pairs": len(evaluated),
        "n_skipped": status["skipped"],
        "n_errors": status["error"],
        **{f"n_{name}": status[name] for name in STATUSES if name not in ("skipped", "error")},
        "clean_outcomes": {str(outcome): clean[str(outcome)] for outcome in Outcome},
        "skip_reasons": dict(Counter(row.stop_reason for row in rows if row.status == "skipped")),
        "accuracy": Rate(sum(Outcome(row.clean_outcome).is_robust for row in evaluated), len(evaluated)),
        "individual_fairness_rate": Rate(
            sum(Outcome(row.clean_outcome).is_fair for row in evaluated), len(evaluated)
        ),
        "natural_rate": Rate(status["natural"], len(evaluated)),
        "induced_rate": Rate(status["induced"], clean[str(Outcome.ROBUST_FAIR)]),
        "robustness_rate": Rate(sum(outcome.is_robust for outcome in final), len(final)),
        "fairness_rate": Rate(sum(outcome.is_fair for outcome in final), len(final)),
        "rif_rate": Rate(sum(not outcome.is_violation for outcome in final), len(final)),
        "mean_edits": _mean([len(row.edits) for row in edited]),
        "mean_equivalence": _mean(scores),
        "victim_rows": sum(row.queries.get("victim_rows", 0) for row in rows),
        "cache_hits": sum(row.queries.get("cache_hits", 0) for row in rows),
        "entailment_rows": sum(row.queries.get("entailment_rows", 0) for row in rows),
        "seconds": sum(row.seconds for row in rows),
    }
    return summary


def _mean(values: list[float] | list[int]) -> float | None:
    return float(sum(values)) / len(values) if values else None
