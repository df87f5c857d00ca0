"""The signed objective whose sign pattern aims at one outcome.

``J = a_v L(y, p) + a_v' L(y, p') + b D(p, p')`` with ``L(c, p) = -log(p_c + 1e-8)``, minimised.
Source: KDD 2026 page of RIFair, "Hyperparameters for the three RIF violations".
Success is never read from ``J``: it is the outcome of the returned pair (see ``outcomes``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]
Distance = Literal["label_gap", "total_variation"]

EPSILON = 1e-8
_SIGNS: dict[Outcome, tuple[int, int, int]] = {
    Outcome.ROBUST_BIASED: (+1, -1, -1),
    Outcome.UNROBUST_FAIR: (-1, -1, +1),
    Outcome.UNROBUST_BIASED: (-1, +1, -1),
}


def loss(probabilities: FloatArray, label: int) -> FloatArray:
    """Cross-entropy of one label, ``-log(p_label + 1e-8)``; shape ``(..., k)`` to ``(...)``."""
    return np.asarray(-np.log(probabilities[..., label] + EPSILON), dtype=np.float64)


def label_gap(p: FloatArray, p_similar: FloatArray, label: int) -> FloatArray:
    """``|p_y - p'_y|``, the distance of the paper."""
    return np.asarray(np.abs(p[..., label] - p_similar[..., label]), dtype=np.float64)


def total_variation(p: FloatArray, p_similar: FloatArray) -> FloatArray:
    """Half the L1 distance over all classes; equals the label gap for two classes."""
    return np.asarray(0.5 * np.abs(p - p_similar).sum(axis=-1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Objective:
    """The objective of one target.

    Attributes:
        target: The outcome it aims at.
        alpha_original, alpha_similar, beta: The signs of the three terms.
        distance: ``"label_gap"`` (default, paper) or ``"total_variation"``.
    """

    target: Outcome
    alpha_original: int
    alpha_similar: int
    beta: int
    distance: Distance = "label_gap"

    @classmethod
    def for_target(cls, target: str | Outcome, distance: Distance = "label_gap") -> Objective:
        """Build the objective of a target by its name.

        Raises:
            UsageError: The name is no target, or the distance is unknown.
        """
        names = ", ".join(str(t) for t in TARGETS)
        try:
            outcome = Outcome(target)
            signs = _SIGNS[outcome]
        except (ValueError, KeyError):
            raise UsageError(f"target {str(target)!r} does not exist: expected one of {names}") from None
        if distance not in ("label_gap", "total_variation"):
            raise UsageError(f"distance {distance!r} does not exist: expected label_gap or total_variation")
        return cls(outcome, *signs, distance=distance)

    def __call__(self, p: ArrayLike, p_similar: ArrayLike, label: int, wrong_label: int | None = None) -> Any:
        """Value of ``J``; the lower, the nearer to the target.

        Args:
            p: Class probabilities of the original side, shape ``(..., k)``.
            p_similar: Those of the similar side; the two shapes broadcast.
            label: The right label ``y``.
            wrong_label: ``unrobust_fair`` with more than two classes aims at this one wrong label on
                both sides: ``-L(y, .)`` becomes ``+L(wrong_label, .)``. Ignored otherwise.

        Returns:
            A float for single vectors, else an array of the broadcast shape without the class axis.
        """
        first = np.asarray(p, dtype=np.float64)
        second = np.asarray(p_similar, dtype=np.float64)
        if self.needs_wrong_label(first.shape[-1]) and wrong_label is not None:
            value = loss(first, wrong_label) + loss(second, wrong_label)
        else:
            value = self.alpha_original * loss(first, label) + self.alpha_similar * loss(second, label)
        value = value + self.beta * self._distance(first, second, label)
        return float(value) if np.ndim(value) == 0 else value

    def needs_wrong_label(self, n_labels: int) -> bool:
        """True when both sides must meet in one wrong label out of several."""
        return self.target is Outcome.UNROBUST_FAIR and n_labels > 2

    def _distance(self, p: FloatArray, p_similar: FloatArray, label: int) -> FloatArray:
        if self.distance == "total_variation":
            return total_variation(p, p_similar)
        return label_gap(p, p_similar, label)


def runner_up(p: ArrayLike, p_similar: ArrayLike, label: int) -> int:
    """The wrong label with the highest probability summed over both sides; ties go to the lower label."""
    total = np.asarray(p, dtype=np.float64) + np.asarray(p_similar, dtype=np.float64)
    total = total.copy()
    total[label] = -np.inf
    return int(np.argmax(total))
