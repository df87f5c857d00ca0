"""Empirical robust individual fairness: prediction deviations against the distance of similar individuals.

Source: Li et al., RIFair white-box, definition "Empirical Evaluation of RIF": ``r = D(y, f(v')) / d(v, v')``,
``K_emp`` the 95th percentile of the finite r, and an instance is fair when ``D <= min(K_emp d, tau)`` for
every v'. The row itself is its own similar individual with d = 0, so it needs D = 0: that is the test of the
hard label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import BoolArray, FloatArray, label_array


@dataclass(frozen=True, slots=True)
class EmpiricalRIF:
    """Result of :func:`empirical_rif`.

    Attributes:
        constant: K_emp.
        is_fair: Which rows satisfy the definition, ``(n,)``.
        n_ratios: Number of finite ratios behind ``constant``.
    """

    constant: float
    is_fair: BoolArray
    n_ratios: int

    @property
    def rate(self) -> float:
        """Share of rows that satisfy the definition; 0 without rows."""
        return float(self.is_fair.mean()) if len(self.is_fair) else 0.0


def empirical_rif(
    deviations: ArrayLike,
    distances: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    max_deviation: float,
    own_deviations: ArrayLike | None = None,
    percentile: float = 95.0,
    constant: float | None = None,
) -> EmpiricalRIF:
    """Which rows are robust and individually fair by the empirical definition.

    Args:
        deviations: D(y, f(v')) of every counterpart, ``(n, m)``; see :func:`label_deviations`.
        distances: d(v, v'), ``(n, m)``.
        mask: Which counterparts count, ``(n, m)``; by default all.
        max_deviation: tau, the largest deviation that is ever allowed; not a decision threshold.
        own_deviations: D(y, f(v)) of the rows themselves, ``(n,)``; where it is not 0 the row fails. None
            leaves accuracy to a separate test.
        percentile: The percentile of the finite ratios that becomes K_emp, linear between two ratios.
        constant: A K_emp from elsewhere, such as a validation set; by default it comes from these rows.

    Raises:
        UsageError: Shapes that do not fit, NaN, negative numbers, or no finite ratio to take K_emp from.
    """
    d_out = _numbers(deviations, "deviations")
    d_in = _numbers(distances, "distances")
    counted = np.ones(d_out.shape, dtype=np.bool_) if mask is None else np.asarray(mask, dtype=np.bool_)
    if d_in.shape != d_out.shape or counted.shape != d_out.shape:
        raise UsageError(
            f"deviations {d_out.shape}, distances {d_in.shape} and mask {counted.shape} differ in shape"
        )
    if not max_deviation > 0:
        raise UsageError(f"max_deviation is {max_deviation}, expected a positive number")
    if not 0 <= percentile <= 100:
        raise UsageError(f"percentile is {percentile}, expected 0 to 100")
    finite = counted & (d_in > 0)
    ratios = d_out[finite] / d_in[finite]
    if constant is None:
        if not len(ratios):
            raise UsageError("no counterpart has a positive distance, so K_emp is undefined: give constant")
        constant = float(np.percentile(ratios, percentile))
    within = ((d_out <= np.minimum(constant * d_in, max_deviation)) | ~counted).all(axis=1)
    is_fair: BoolArray = np.asarray(within, dtype=np.bool_)
    if own_deviations is not None:
        own = np.asarray(own_deviations, dtype=np.float64)
        if own.shape != is_fair.shape:
            raise UsageError(f"own_deviations has shape {own.shape}, expected {is_fair.shape}")
        is_fair &= own == 0
    return EmpiricalRIF(constant, is_fair, len(ratios))


def _numbers(values: ArrayLike, name: str) -> FloatArray:
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    if numbers.ndim != 2 or not (numbers >= 0).all() or not np.isfinite(numbers).all():
        raise UsageError(f"{name} of shape {numbers.shape} must be (n, m) finite numbers of 0 or more")
    return numbers


def label_deviations(label: ArrayLike, outputs: ArrayLike, *, hard: bool = False) -> FloatArray:
    """D(y, f): ``1 - p_y``, or 0 and 1 for a right and a wrong hard label.

    Args:
        label: Right labels ``(n,)``.
        outputs: Class probabilities ``(n, C)`` or, for counterparts, ``(n, m, C)``.
        hard: Compare the predicted label only.

    Returns:
        Deviations ``(n,)`` or ``(n, m)``.
    """
    y = label_array(label, "label")
    p = np.asarray(outputs, dtype=np.float64)
    if p.ndim not in (2, 3) or len(p) != len(y):
        raise UsageError(f"outputs has shape {p.shape}, expected ({len(y)}, [m,] classes)")
    if len(y) and (y.min() < 0 or y.max() >= p.shape[-1]):
        raise UsageError(f"label holds {y.min()} to {y.max()}, expected 0 to {p.shape[-1] - 1}")
    where = y.reshape(-1, *[1] * (p.ndim - 1))
    if hard:
        return np.asarray(p.argmax(axis=-1) != where[..., 0], dtype=np.float64)
    own = np.take_along_axis(p, np.broadcast_to(where, (*p.shape[:-1], 1)), axis=-1)[..., 0]
    return np.asarray(1.0 - own, dtype=np.float64)
