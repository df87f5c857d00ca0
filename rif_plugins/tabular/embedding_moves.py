"""The best change of one field by its gradient: another category, or a step of a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rif_plugins.tables import ColumnSpec
from rif_plugins.tabular.moves import own_step

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FieldMove:
    """The best change of one field in each of some rows.

    Attributes:
        place: New place within the domain, of a category, ``(m,)``.
        value: New number, of a numeric field, ``(m,)``.
        score: First-order change of the objective, ``(m,)``; infinite where there is no candidate.
    """

    place: IntArray
    value: FloatArray
    score: FloatArray


def category_move(gradient: FloatArray, vectors: FloatArray, current: IntArray) -> FieldMove:
    """``argmin_j G . (E_j - E_current)`` over a field's own values, the current one excluded.

    Args:
        gradient: ``G_i``, ``(m, k)``.
        vectors: ``E`` of the domain, ``(j, k)``.
        current: Current places, ``(m,)``.
    """
    rows = np.arange(len(current))
    scores = gradient @ vectors.T
    scores = scores - scores[rows, current][:, None]
    scores[rows, current] = np.inf
    place = scores.argmin(axis=1).astype(np.int64)
    return FieldMove(place, np.zeros(len(rows)), scores[rows, place])


def number_move(
    derivative: FloatArray, current: FloatArray, column: ColumnSpec, step: float | None = None
) -> FieldMove:
    """One step against the derivative, clipped and rounded to what the column allows.

    Args:
        derivative: ``dl/dvalue``, ``(m,)``.
        current: Current numbers, ``(m,)``.
        column: Its step, bounds and grid.
        step: Size of the step; None: the column's own.
    """
    wanted = current - np.sign(derivative) * (own_step(column) if step is None else step)
    value = column.nearest(wanted[:, None])[:, 0]
    moved = np.abs(value - current) > column.tolerance
    score = np.where(moved, derivative * (value - current), np.inf)
    return FieldMove(np.zeros(len(current), dtype=np.int64), value, score)
