"""What a row attack gives back: pairs before and after perturbation, with their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.metrics.confusion import OUTCOMES, Confusion

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StringArray = NDArray[np.str_]

__all__ = ["OUTCOMES", "PairBatch", "outcome_codes", "outcome_names"]

_NAMES = np.array([str(outcome) for outcome in OUTCOMES])


def outcome_codes(label: IntArray, prediction: IntArray, is_fair: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Positions in ``OUTCOMES`` for arrays of labels: :func:`rif_plugins.core.outcomes.classify` at once.

    Args:
        label: ``(n,)`` right labels.
        prediction: ``(n,)`` predicted labels of the original side.
        is_fair: ``(n,)`` True where every similar row has the same predicted label.
    """
    return np.asarray(2 * (prediction != label) + ~is_fair, dtype=np.int8)


def outcome_names(codes: NDArray[np.int8]) -> StringArray:
    """The string values of outcomes, from their positions in ``OUTCOMES``."""
    return np.asarray(_NAMES[codes])


@dataclass(frozen=True)
class PairBatch:
    """Pairs of rows, original and perturbed. Arrays share their first dimension ``n``.

    Attributes:
        original: ``(n, d)`` the rows that the attack started from.
        similar: ``(n, d)`` the same rows with another sensitive tuple.
        perturbed_original: ``(n, d)`` what the attack made of them.
        perturbed_similar: ``(n, d)`` the perturbed rows with the sensitive tuple of ``similar``.
        label: ``(n,)`` the right labels of the perturbed pairs, which an attack may have to estimate.
        outcome: ``(n,)`` string values of :class:`~rif_plugins.core.outcomes.Outcome` of the perturbed pairs.
        prediction: ``(n,)`` predicted labels of ``perturbed_original``.
        similar_prediction: ``(n,)`` predicted labels of ``perturbed_similar``.
        source: ``(n,)`` which row of the attack's input each pair comes from.
        direction: ``(n,)`` which search direction found it, in the attack's words; empty where it has one.
        phase: ``(n,)`` ``"seed"``, ``"global"`` or ``"local"``.
        step: ``(n,)`` after how many steps of its phase; 0 is the seed itself.
        n_generated: Rows that the search handed over, before duplicates were dropped.
        cost: ``victim_rows`` and ``gradient_rows`` asked of the model, and ``is_black_box``.
    """

    original: FloatArray
    similar: FloatArray
    perturbed_original: FloatArray
    perturbed_similar: FloatArray
    label: IntArray
    outcome: StringArray
    prediction: IntArray
    similar_prediction: IntArray
    source: IntArray
    direction: StringArray
    phase: StringArray
    step: IntArray
    n_generated: int = 0
    cost: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.label)

    @property
    def is_violation(self) -> NDArray[np.bool_]:
        """``(n,)`` True for every pair that is not ``robust_fair``."""
        return np.asarray(self.outcome != str(Outcome.ROBUST_FAIR))

    @property
    def confusion(self) -> Confusion:
        """How many pairs have each outcome, and the rates of that."""
        return Confusion(*(int(np.sum(self.outcome == name)) for name in _NAMES))

    def take(self, index: NDArray[np.generic]) -> PairBatch:
        """Some of the pairs, by positions or by a mask."""
        chosen = {
            item.name: value[index]
            for item in fields(self)
            if isinstance(value := getattr(self, item.name), np.ndarray)
        }
        return replace(self, **chosen)

    def violations(self) -> PairBatch:
        """The pairs that are not ``robust_fair``."""
        return self.take(self.is_violation)
