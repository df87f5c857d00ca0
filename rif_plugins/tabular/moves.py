"""One step along a direction, column by column: a number by its step, a code to the next one, a category.

With the domain kept, a move ends on a valid row. Without it the move is the papers' plain ``v + p·dir``,
clipped to bounds if there are any.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rif_plugins.tables.schema import ColumnSpec, TableSchema

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_DEFAULT_FRACTION = 0.01
_TIE_BREAK = 1.5


class Moves:
    """Moves of rows in the features of a schema.

    Args:
        schema: Columns, bounds, steps.
        step_size: Size of a step of every number, in array units; None: each column's own ``step``, else a
            hundredth of its range (a whole number or a grid point for integers).
        domain: Project onto valid rows after each step.
        clip_values: Bounds ``(low, high)`` of all features, or arrays ``(d,)``, applied without a domain.
    """

    def __init__(
        self,
        schema: TableSchema,
        *,
        step_size: float | None = None,
        domain: bool = True,
        clip_values: tuple[float | FloatArray, float | FloatArray] | None = None,
    ) -> None:
        self.schema = schema
        self.domain = domain
        self.clip_values = clip_values
        self.steps = np.concatenate([_steps(c, step_size, domain) for c in schema.columns])
        frozen = schema.frozen_features
        self._coded = [pair for pair in coded_features(schema) if domain and not frozen[pair[0]]]

    def apply(self, x: FloatArray, direction: FloatArray, editable: BoolArray) -> FloatArray:
        """Rows after one step.

        Args:
            x: ``(n, d)`` rows as they are; valid rows where the domain is kept.
            direction: ``(n, d)`` -1, 0 or 1 a feature.
            editable: ``(n, d)`` which features may move. A row whose move would carry along another feature,
                through the repair of a relation, stays where it is.
        """
        direction = np.where(editable, direction, 0.0)
        moved = x + self.steps * direction
        if not self.domain:
            return moved if self.clip_values is None else np.clip(moved, *self.clip_values)
        for feature, codes in self._coded:
            place = np.searchsorted((codes[1:] + codes[:-1]) / 2, x[:, feature])
            place = place + np.sign(direction[:, feature]).astype(np.int64)
            moved[:, feature] = codes[np.clip(place, 0, len(codes) - 1)]
        out = np.asarray(self.schema.project(moved, x), dtype=np.float64)
        carried = ((out != x) & ~editable).any(axis=1)
        out[carried] = x[carried]
        return out


def _steps(column: ColumnSpec, step_size: float | None, domain: bool) -> FloatArray:
    if not domain and step_size is not None:
        return np.full(column.width, step_size)
    if column.kind == "one_hot":
        # More than 1, so that a category that is switched on beats the one that was on.
        return np.full(column.width, _TIE_BREAK if domain else 1.0)
    own = own_step(column)
    if step_size is None:
        return np.full(1, own)
    return np.full(1, max(step_size, column.grid or 1.0) if column.kind == "integer" else step_size)


def coded_features(schema: TableSchema) -> list[tuple[int, FloatArray]]:
    """Features that hold one of a list of codes, with the codes in ascending order."""
    return [
        (schema.slice_of(column.name).start, np.sort(np.asarray(column.values, dtype=np.float64)))
        for column in schema.columns
        if column.values is not None
    ]


def own_step(column: ColumnSpec) -> float:
    """Size of one move of a column of width 1, in array units."""
    if column.values is not None and len(column.values) > 1:
        return float(np.diff(np.sort(column.values)).min())
    if column.kind == "integer":
        return max(column.step or 0.0, column.grid or 1.0)
    if column.step is not None:
        return column.step
    if column.low is not None and column.high is not None and column.high > column.low:
        return _DEFAULT_FRACTION * (column.high - column.low)
    return _DEFAULT_FRACTION
