"""ε-RIF of a text: the largest prediction error over its similar texts and the edits tried.

A classifier satisfies ε-RIF at a text ``v`` with label ``y`` when, for every similar text and every
admissible edit, ``1 - p_y`` stays within ε on both sides; this implies robustness and 2ε individual fairness.
What a search meets gives an estimate of ε **from below**, so it stands beside the number of edits behind it.

Source: Li et al., "Perturbation Effects on Robustness and Individual Fairness", KDD 2026.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.results import Record
from rif_plugins.metrics.bootstrap import quantile_estimate
from rif_plugins.metrics.rates import Rate
from rif_plugins.metrics.steps import total_variation

FloatArray = NDArray[np.float64]
EPSILON_FIELDS = ("lowest_p", "highest_p", "largest_gap", "edited_states")
_SIDE_PAIRS = (("original", "similar"), ("perturbed_original", "perturbed_similar"))
ROUNDING = 1e-6
"""Probabilities are stored with eight decimals; checks allow for that."""


@dataclass(frozen=True, slots=True)
class TextEpsilon:
    """The estimate for one text.

    Attributes:
        epsilon: Largest ``1 - p_y`` met over I(v) and the edits tried.
        largest_gap: Largest distance between the two sides of a pair at the same moment (total variation
            over all classes where all are recorded), or between any two ``p_y`` met, if that is larger.
        n_edits: Edited states behind it, over all pairs and targets.
    """

    epsilon: float
    largest_gap: float
    n_edits: int

    @property
    def implied_gap(self) -> float:
        """The individual fairness that ε-RIF implies: 2ε."""
        return 2.0 * self.epsilon

    @property
    def holds(self) -> bool:
        """True when the gaps met stay within 2ε, as they must for probabilities that sum to one."""
        return self.largest_gap <= self.implied_gap + ROUNDING


def error_measures(record: Record) -> tuple[float, ...]:
    """What one evaluated record adds to the ε of its text, in the order of ``EPSILON_FIELDS``.

    Returns:
        Smallest and largest ``p_y`` met (NaN when the record has no label or no probabilities), the largest
        gap between the sides, and the number of edited states.
    """
    label, known = record.label, record.probabilities
    if label is None or label < 0 or not known:
        return math.nan, math.nan, math.nan, 0.0
    met = [row[label] for row in known.values()]
    if record.n_tried:
        met.append(1.0 - record.largest_error)  # of all texts that the search saw, recorded or not
    gap = 0.0
    for first, second in _SIDE_PAIRS:
        if first in known and second in known:
            gap = max(gap, total_variation(known[first], known[second]))
    low, high, edited = min(met), max(met), 0
    before: Mapping[str, float] | None = None
    for point in record.trajectory:
        a, b = point["p_original"], point["p_similar"]
        # Plain comparisons: this loop sees every step of every record.
        if a < b:
            low, high, gap = min(low, a), max(high, b), max(gap, b - a)
        else:
            low, high, gap = min(low, b), max(high, a), max(gap, a - b)
        if before is not None:
            edited += (a != before["p_original"]) + (b != before["p_similar"])
        before = point
    if edited == 0 and record.edits:
        edited = len({edit["side"] for edit in record.edits})
    return low, high, gap, float(edited)


def epsilon_by_text(records: Iterable[Record]) -> dict[str, TextEpsilon]:
    """The estimate of every example that has an evaluated record with probabilities."""
    measures: dict[str, list[tuple[float, ...]]] = {}
    for record in records:
        if record.is_evaluated:
            values = error_measures(record)
            if not math.isnan(values[0]):
                measures.setdefault(record.example, []).append(values)
    return {example: _combine(rows) for example, rows in measures.items()}


def _combine(rows: list[tuple[float, ...]]) -> TextEpsilon:
    low, high = min(row[0] for row in rows), max(row[1] for row in rows)
    gap = max(high - low, max(row[2] for row in rows))
    return TextEpsilon(1.0 - low, gap, int(sum(row[3] for row in rows)))


def summarise_epsilon(
    example: NDArray[np.int64], low: FloatArray, high: FloatArray, gap: FloatArray, edited: FloatArray
) -> dict[str, Any]:
    """Distribution of ε over texts, and the 2ε fairness that it implies, checked on the same numbers.

    Args:
        example: The text that each record belongs to, ``(n,)``.
        low: Smallest ``p_y`` of each record, ``(n,)``, as ``error_measures`` gives it; NaN is left out.
        high: Largest ``p_y``, ``(n,)``.
        gap: Largest distance between the sides, ``(n,)``.
        edited: Number of edited states, ``(n,)``.
    """
    known = ~np.isnan(low)
    texts, where = np.unique(example[known], return_inverse=True)
    lowest, highest = np.full(len(texts), np.inf), np.full(len(texts), -np.inf)
    largest = np.zeros(len(texts))
    np.minimum.at(lowest, where, low[known])
    np.maximum.at(highest, where, high[known])
    np.maximum.at(largest, where, gap[known])
    epsilon = 1.0 - lowest
    gaps = np.maximum(largest, highest - lowest)
    return {
        "n_texts": len(texts),
        "n_edits": int(edited[known].sum()),
        "median": quantile_estimate(epsilon, 0.5).to_dict(),
        "percentile_90": quantile_estimate(epsilon, 0.9).to_dict(),
        "largest": float(epsilon.max()) if len(texts) else None,
        "implied_fairness": {
            "largest_gap": float(gaps.max()) if len(texts) else None,
            "median_gap": quantile_estimate(gaps, 0.5).to_dict(),
            "median_implied_gap": quantile_estimate(2.0 * epsilon, 0.5).to_dict(),
            "holds_rate": Rate(int((gaps <= 2.0 * epsilon + ROUNDING).sum()), len(texts)).to_dict(),
        },
    }
