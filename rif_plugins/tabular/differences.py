"""Gradients of models that have none: differences of outputs, every row of them counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.gradients import GradientSource
from rif_plugins.tabular.losses import FloatArray, IntArray, LossKind, loss_values
from rif_plugins.tabular.moves import coded_features, own_step
from rif_plugins.tabular.row_random import RowRandom

_SMALLEST_RANGE_FRACTION = 0.05


class _Differences(GradientSource):
    """Shared: how far each feature is moved, and where its bounds are."""

    is_black_box = True

    def __init__(
        self, estimator: Any, schema: TableSchema, *, batch_size: int = 4096, output: OutputKind = "auto"
    ) -> None:
        super().__init__(estimator, batch_size=batch_size, output=output)
        self.schema = schema
        self._width = np.concatenate([np.full(c.width, _difference(c)) for c in schema.columns])
        self._low, self._high = feature_bounds(schema)
        self._coded = coded_features(schema)
        self._groups = [schema.slice_of(c.name) for c in schema.columns if c.kind == "one_hot"]

    @property
    def _gradient_batch(self) -> int:
        return max(1, self.batch_size // (2 * self.schema.n_features))

    def _values(self, x: FloatArray, label: IntArray, kind: LossKind) -> FloatArray:
        return loss_values(kind, self.probabilities(x), label)

    def _neighbours(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Every feature's next and previous value, ``(n, d)`` each, within its bounds; codes go to codes."""
        upper = np.clip(x + self._width, self._low, self._high)
        lower = np.clip(x - self._width, self._low, self._high)
        for feature, codes in self._coded:
            place = np.searchsorted((codes[1:] + codes[:-1]) / 2, x[:, feature])
            upper[:, feature] = codes[np.minimum(place + 1, len(codes) - 1)]
            lower[:, feature] = codes[np.maximum(place - 1, 0)]
        return upper, lower


class FiniteDifferences(_Differences):
    """Central differences, one feature at a time: ``2d`` rows of the model a gradient.

    A number moves by its column's step, by a twentieth of its range at least (trees are flat between their
    thresholds), never beyond its bounds; a code moves to its neighbours. A feature of a one-hot
    group is the change that choosing its category would make. So the rows asked are valid rows.
    """

    def _gradient(self, x: FloatArray, label: IntArray, kind: LossKind) -> tuple[FloatArray, FloatArray]:
        n, d = x.shape
        own = self.probabilities(x)
        above, below = self._neighbours(x)
        upper = np.repeat(x[:, None, :], d, axis=1)
        lower = upper.copy()
        each = np.arange(d)
        upper[:, each, each], lower[:, each, each] = above, below
        distance = above - below
        for group in self._groups:
            for feature in range(group.start, group.stop):
                upper[:, feature, group] = 0.0
                upper[:, feature, feature] = 1.0
                lower[:, feature, :] = x
                distance[:, feature] = 1.0
        rows = np.concatenate([upper.reshape(-1, d), lower.reshape(-1, d)])
        values = self._values(rows, np.tile(np.repeat(label, d), 2), kind).reshape(2, n, d)
        change = values[0] - values[1]
        return own, np.divide(change, distance, out=np.zeros_like(change), where=distance > 0)


class ZeroOrderDifferences(_Differences):
    """Simultaneous random differences (Spall 1992): ``2·n_directions`` rows of the model a gradient.

    All features move at once, so rows may lie between the categories of a one-hot group.

    Args:
        estimator: An ART classifier.
        schema: The schema.
        batch_size: Rows a call of the model.
        output: What the model returns.
        n_directions: Random sign vectors a gradient.
        seed: With the row's values it decides the sign vectors.
    """

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        *,
        batch_size: int = 4096,
        output: OutputKind = "auto",
        n_directions: int = 8,
        seed: int = 0,
    ) -> None:
        super().__init__(estimator, schema, batch_size=batch_size, output=output)
        self.n_directions = n_directions
        self.seed = seed

    def _gradient(self, x: FloatArray, label: IntArray, kind: LossKind) -> tuple[FloatArray, FloatArray]:
        n, d = x.shape
        own = self.probabilities(x)
        random = RowRandom(self.seed, x)
        signs = np.stack(
            [
                np.stack([random.signs(direction * d + feature) for feature in range(d)], axis=1)
                for direction in range(self.n_directions)
            ],
            axis=1,
        )
        above, below = (part[:, None, :] for part in self._neighbours(x))
        upper, lower = np.where(signs > 0, above, below), np.where(signs > 0, below, above)
        rows = np.concatenate([upper.reshape(-1, d), lower.reshape(-1, d)])
        labels = np.tile(np.repeat(label, self.n_directions), 2)
        values = self._values(rows, labels, kind).reshape(2, n, self.n_directions)
        change = (values[0] - values[1])[:, :, None]
        distance = upper - lower
        slopes = np.divide(change, distance, out=np.zeros_like(distance), where=distance != 0)
        return own, np.asarray(slopes.mean(axis=1))


def feature_bounds(schema: TableSchema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest value of every feature, ``(d,)`` each; infinite where there is no bound."""
    low, high = [], []
    for column in schema.columns:
        if column.kind == "one_hot":
            low += [0.0] * column.width
            high += [1.0] * column.width
            continue
        low.append(min(column.values) if column.values else _or(column.low, -np.inf))
        high.append(max(column.values) if column.values else _or(column.high, np.inf))
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _difference(column: Any) -> float:
    step = own_step(column)
    if column.values is not None or column.kind == "one_hot" or None in (column.low, column.high):
        return step
    # The slope may be taken over more than one move: an inferred step is often within one leaf of a tree.
    wide = max(step, _SMALLEST_RANGE_FRACTION * float(column.high - column.low))
    spacing = (column.grid or 1.0) if column.kind == "integer" else 0.0
    return float(spacing * round(wide / spacing)) if spacing else wide
