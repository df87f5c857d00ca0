"""Fairness confusion directions: which way to move each feature for each kind of violation.

====================== ==================== =============== =================
signs of g and g'      unrobust_fair (FF)   robust_biased   unrobust_biased
                                            (TB)            (FB)
====================== ==================== =============== =================
s = s' ≠ 0             s                    0               0
s = s' = 0             0                    0               0
s ≠ s', s ≠ 0          0                    -s              s
s = 0, s' ≠ 0          0                    s'              -s'
====================== ==================== =============== =================

Source: RobustFair, algorithms 3, 4 and 5. ``g`` is the gradient of the row's loss, ``g'`` that of its
counterpart's. The last two columns are opposites; both are empty where a model adds up its features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# In the order in which the three chains' results are listed.
KINDS: tuple[str, ...] = (
    str(Outcome.UNROBUST_BIASED),
    str(Outcome.ROBUST_BIASED),
    str(Outcome.UNROBUST_FAIR),
)


def confusion_direction(
    kind: str, gradient: FloatArray, similar_gradient: FloatArray, editable: BoolArray
) -> FloatArray:
    """The direction of one kind of violation.

    Args:
        kind: ``unrobust_fair``, ``robust_biased`` or ``unrobust_biased``.
        gradient: ``(n, d)`` gradients of the rows.
        similar_gradient: ``(n, d)`` gradients of their counterparts, for the same label.
        editable: ``(n, d)`` or ``(d,)``; the direction is 0 elsewhere.

    Returns:
        ``(n, d)`` of -1, 0 and 1.
    """
    own, other = np.sign(gradient), np.sign(similar_gradient)
    if kind == Outcome.UNROBUST_FAIR:
        direction = np.where(own == other, own, 0.0)
    else:
        apart = np.where(own != other, np.where(own != 0, -own, other), 0.0)
        direction = apart if kind == Outcome.ROBUST_BIASED else -apart
    return np.where(editable, direction, 0.0) + 0.0


def agreeing_signs(gradient: FloatArray, similar_gradient: FloatArray, editable: BoolArray) -> FloatArray:
    """Signs where both gradients agree, else 0: the direction of ADF; EIDIG takes its opposite."""
    own = np.sign(gradient)
    return np.where(editable & (own == np.sign(similar_gradient)), own, 0.0)


def ascending_features(
    gradient: FloatArray, direction: FloatArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Features by ascending ``|g|``, those that do not move last; ties by index.

    Args:
        gradient: ``(n, d)``.
        direction: ``(n, d)``; a feature with 0 does not move.

    Returns:
        Orders ``(n, d)``, and how many of each row's features move, ``(n,)``.
    """
    moves = direction != 0
    order = np.argsort(np.where(moves, np.abs(gradient), np.inf), axis=1, kind="stable")
    return order, moves.sum(axis=1)


def single_feature(direction: FloatArray, feature: NDArray[np.int64]) -> FloatArray:
    """A direction with all but one feature a row set to 0; ``feature`` is ``(n,)``."""
    each = np.arange(len(direction))
    single = np.zeros_like(direction)
    single[each, feature] = direction[each, feature]
    return single
