"""Does a loss rise or fall along a run: the slope of a median regression, and the outcome that it points to.

Source: Li et al., RobustFair, quantile regression of loss curves:
``(b0, b1) = argmin sum_t 1/2 |l_t - b0 - b1 t|``, solved as a linear program. One wild step does not turn the
slope, as it does with least squares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import CodeArray, FloatArray

NO_TREND = -1
"""The code of a pair in which a curve neither rises nor falls."""


def median_line(losses: ArrayLike) -> FloatArray:
    """Intercepts and slopes of the median regression of loss curves on the step number.

    Args:
        losses: Losses of steps 0, 1, ..., ``(n, T)`` or ``(T,)`` with T of 2 or more.

    Returns:
        ``(n, 2)`` or ``(2,)``: intercept and slope. Where several lines are best, one of them.

    Raises:
        UsageError: Fewer than two steps, or NaN.
    """
    values = np.asarray(losses, dtype=np.float64)
    curves = values[None] if values.ndim == 1 else values
    if curves.ndim != 2 or curves.shape[1] < 2:
        raise UsageError(f"losses has shape {values.shape}, expected (n, steps) with two steps or more")
    if not np.isfinite(curves).all():
        raise UsageError("losses holds NaN or infinity: stop the curve where the loss is defined")
    lines = np.stack([_median_line(curve) for curve in curves]) if len(curves) else np.zeros((0, 2))
    return np.asarray(lines[0] if values.ndim == 1 else lines, dtype=np.float64)


def _median_line(curve: FloatArray) -> FloatArray:
    from scipy.optimize import linprog

    n = len(curve)
    # l_t = b0 + b1 t + u_t - w_t with u, w >= 0; at the optimum u + w is the absolute residual.
    design = np.hstack([np.ones((n, 1)), np.arange(n)[:, None], np.eye(n), -np.eye(n)])
    cost = np.concatenate([[0.0, 0.0], np.full(2 * n, 0.5)])
    bounds = [(None, None)] * 2 + [(0, None)] * (2 * n)
    scale = float(np.abs(curve).max()) or 1.0
    solution = linprog(cost, A_eq=design, b_eq=curve / scale, bounds=bounds, method="highs")
    if not solution.success:
        raise UsageError(f"the median regression found no line: {solution.message}")
    return np.asarray(solution.x[:2] * scale, dtype=np.float64)


def median_objective(losses: ArrayLike, line: ArrayLike) -> float:
    """``sum_t 1/2 |l_t - b0 - b1 t|`` of one curve ``(T,)`` and its line ``(2,)``."""
    curve = np.asarray(losses, dtype=np.float64)
    intercept, slope = np.asarray(line, dtype=np.float64)
    return float(0.5 * np.abs(curve - intercept - slope * np.arange(len(curve))).sum())


def trend_outcomes(slope: ArrayLike, similar_slope: ArrayLike, *, min_slope: float = 1e-6) -> CodeArray:
    """The outcome that both loss curves point to.

    Falling and falling is ``robust_fair``, falling and rising ``robust_biased``, rising and rising
    ``unrobust_fair``, rising and falling ``unrobust_biased``.

    Args:
        slope: Slopes of the rows' losses ``(n,)``.
        similar_slope: Slopes of their counterparts' losses ``(n,)``.
        min_slope: Slopes up to this size count as flat.

    Returns:
        Codes ``(n,)`` into ``confusion.OUTCOMES``, :data:`NO_TREND` where a curve is flat.
    """
    if min_slope < 0:
        raise UsageError(f"min_slope is {min_slope}, expected 0 or more")
    first, second = _signs(slope, min_slope), _signs(similar_slope, min_slope)
    if first.shape != second.shape:
        raise UsageError(f"slope {first.shape} and similar_slope {second.shape} differ in shape")
    codes = np.where(first < 0, np.where(second < 0, 0, 1), np.where(second > 0, 2, 3))
    return np.where((first == 0) | (second == 0), NO_TREND, codes).astype(np.int8)


def _signs(slope: ArrayLike, min_slope: float) -> NDArray[np.int8]:
    values = np.atleast_1d(np.asarray(slope, dtype=np.float64))
    if not np.isfinite(values).all():
        raise UsageError("a slope is NaN or infinite: fit it with median_line")
    return np.where(np.abs(values) <= min_slope, 0, np.sign(values)).astype(np.int8)
