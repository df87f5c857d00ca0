"""Perturbation impact: how strongly (PII) and in which direction (PID) one perturbation moved a prediction.

Source: Li et al., RIFair white-box, section 4.2: ``PII = |Δf| / ‖δ‖``, ``PID = Δf / |Δf|``. For a softmax
output both use the norm of the vector, and PID is a unit vector. ``Δf = PII ‖δ‖ PID`` per step, so the steps
of a run add up to the whole change, coordinate by coordinate (Theorem 2); Theorems 3 and 4 need one output
and a threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import BoolArray, FloatArray

Norm = Literal["rows", "fro"]


def perturbation_size(changes: ArrayLike, norm: Norm = "rows") -> FloatArray:
    """‖δ‖ of embedding changes.

    Args:
        changes: Changes ``(..., F, k)``: one vector a field or token.
        norm: ``"rows"`` sums the L2 norms of the fields (the paper's code); ``"fro"`` is the Frobenius norm.

    Returns:
        Sizes ``(...)``.
    """
    if norm not in get_args(Norm):
        raise UsageError(f"norm {norm!r} does not exist: expected rows or fro")
    delta = np.asarray(changes, dtype=np.float64)
    if delta.ndim < 2:
        raise UsageError(f"changes has shape {delta.shape}, expected (..., fields, components)")
    lengths = np.sqrt((delta**2).sum(axis=-1))
    if norm == "fro":
        return np.asarray(np.sqrt((lengths**2).sum(axis=-1)), dtype=np.float64)
    return np.asarray(lengths.sum(axis=-1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PerturbationImpact:
    """Impact of one perturbation on each of ``n`` predictions, or of ``n`` steps on one.

    Attributes:
        index: PII ``(n,)``, 0 where nothing was perturbed or nothing moved.
        direction: PID, signs ``(n,)`` of a scalar output or unit vectors ``(n, C)``; 0 as above.
        size: ‖δ‖ ``(n,)``.
    """

    index: FloatArray
    direction: FloatArray
    size: FloatArray

    @property
    def change(self) -> FloatArray:
        """Δf = PII ‖δ‖ PID, shape of ``direction``."""
        scale = self.index * self.size
        return np.asarray(scale.reshape(-1, *[1] * (self.direction.ndim - 1)) * self.direction)


def perturbation_impact(before: ArrayLike, after: ArrayLike, size: ArrayLike) -> PerturbationImpact:
    """PII and PID of single perturbations.

    Args:
        before: Predictions before the perturbation, ``(n,)`` for a scalar output or ``(n, C)``.
        after: Predictions after it, same shape.
        size: ‖δ‖, one number or ``(n,)``.

    Raises:
        UsageError: Shapes that do not fit, NaN, or a negative size.
    """
    first = np.asarray(before, dtype=np.float64)
    second = np.asarray(after, dtype=np.float64)
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise UsageError(
            f"before {first.shape} and after {second.shape} must be of one shape, (n,) or (n, classes)"
        )
    try:
        sizes = np.broadcast_to(np.asarray(size, dtype=np.float64), (len(first),)).copy()
    except ValueError:
        raise UsageError(f"size has shape {np.shape(size)}, expected ({len(first)},)") from None
    delta = second - first
    if not np.isfinite(delta).all() or not (sizes >= 0).all() or not np.isfinite(sizes).all():
        raise UsageError("predictions must be finite and sizes finite numbers of 0 or more: check the victim")
    length = np.abs(delta) if delta.ndim == 1 else np.sqrt((delta**2).sum(axis=1))
    moved = (length > 0) & (sizes > 0)
    index = np.divide(length, sizes, out=np.zeros_like(length), where=moved)
    if delta.ndim == 1:
        return PerturbationImpact(index, np.where(moved, np.sign(delta), 0.0), sizes)
    direction = np.divide(delta, length[:, None], out=np.zeros_like(delta), where=moved[:, None])
    return PerturbationImpact(index, direction, sizes)


def trajectory_impact(outputs: ArrayLike, sizes: ArrayLike) -> PerturbationImpact:
    """PII and PID of every step of one run.

    Args:
        outputs: Predictions from the clean input on, ``(T + 1,)`` or ``(T + 1, C)``.
        sizes: ‖δ‖ of the steps, ``(T,)``.
    """
    values = np.asarray(outputs, dtype=np.float64)
    if values.ndim not in (1, 2) or len(values) < 1:
        raise UsageError(f"outputs has shape {values.shape}, expected (steps + 1,) or (steps + 1, classes)")
    return perturbation_impact(values[:-1], values[1:], sizes)


def cumulative_impact(impact: PerturbationImpact) -> FloatArray:
    """Sum of ``PII ‖δ‖ PID`` up to each step (Theorem 2): add it to the clean prediction."""
    return np.asarray(np.cumsum(impact.change, axis=0), dtype=np.float64)


def impact_to_flip(prediction: ArrayLike, decision_threshold: float) -> FloatArray:
    """``tau - f(v)``: the cumulative impact at which the decision ``f >= tau`` flips (Theorem 3).

    A negative decision flips when the cumulative impact reaches this number, a positive one when it falls
    below.
    """
    return np.asarray(decision_threshold - np.asarray(prediction, dtype=np.float64), dtype=np.float64)


def is_flipped(prediction: ArrayLike, cumulative: ArrayLike, decision_threshold: float) -> BoolArray:
    """Whether a cumulative impact flips the decision ``f >= tau`` (Theorem 3); arguments broadcast."""
    needed = impact_to_flip(prediction, decision_threshold)
    total = np.asarray(cumulative, dtype=np.float64)
    return np.asarray(np.where(needed > 0, total >= needed, total < needed), dtype=np.bool_)


def impact_tolerance(prediction: ArrayLike, decision_threshold: float) -> FloatArray:
    """``|tau - f(v)|``: a cumulative impact smaller than this never flips the decision (Theorem 4).

    It is sufficient, not necessary: a larger impact away from the threshold keeps the decision too.
    """
    return np.abs(impact_to_flip(prediction, decision_threshold))
