"""Rows as fields for models without an embedding: each column is a field of its own features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rif_plugins.tables import TableSchema
from rif_plugins.tabular.embedding_space import FieldGradient, FieldSpace
from rif_plugins.tabular.gradients import GradientSource
from rif_plugins.tabular.losses import LossKind

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class PlainSpace(FieldSpace):
    """Rows as they stand in the schema, through any ART classifier.

    Args:
        schema: The columns.
        source: Predictions and gradients of the estimator; for models without gradients these are
            differences of outputs.
    """

    def __init__(self, schema: TableSchema, source: GradientSource) -> None:
        super().__init__(schema)
        self.source = source
        self._slices = [schema.slice_of(column.name) for column in schema.columns]
        self._width = max(column.width for column in schema.columns)

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities ``(n, C)``."""
        return self.source.probabilities(rows)

    def gradient(self, rows: FloatArray, labels: IntArray, loss: LossKind) -> FieldGradient:
        """The gradient by the features, grouped by column."""
        probabilities, flat = self.source.gradient(rows, labels, loss)
        gradient = self._fields(flat)
        return FieldGradient(probabilities, self._fields(rows), gradient, gradient[:, :, 0])

    def vectors(self, rows: FloatArray) -> FloatArray:
        """The features themselves, grouped by column."""
        return self._fields(rows)

    def domain_vectors(self, field: int) -> FloatArray:
        """The codes of a category, or the unit vectors of a one-hot group."""
        domain = self.schema.columns[field].domain()
        return np.pad(domain, ((0, 0), (0, self._width - domain.shape[1])))

    def to_table(self, rows: FloatArray) -> FloatArray:
        """The same rows."""
        return rows

    def place(self, rows: FloatArray, field: int) -> IntArray:
        """The nearest of the column's values."""
        part = rows[:, self._slices[field]]
        domain = self.schema.columns[field].domain()
        distance = np.abs(domain[None] - part[:, None, :]).max(axis=2)
        return np.asarray(distance.argmin(axis=1), dtype=np.int64)

    def with_place(self, rows: FloatArray, field: int, place: IntArray) -> FloatArray:
        """Other codes."""
        out = rows.copy()
        out[:, self._slices[field]] = self.schema.columns[field].domain()[place]
        return out

    def value(self, rows: FloatArray, field: int) -> FloatArray:
        """The feature of the column."""
        return rows[:, self._slices[field].start]

    def with_value(self, rows: FloatArray, field: int, value: FloatArray) -> FloatArray:
        """Other numbers."""
        out = rows.copy()
        out[:, self._slices[field].start] = value
        return out

    def editable(self, features: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Columns all of whose features are open."""
        return np.stack([features[:, part].all(axis=1) for part in self._slices], axis=1)

    def _fields(self, flat: FloatArray) -> FloatArray:
        out = np.zeros((len(flat), len(self._slices), self._width))
        for field, part in enumerate(self._slices):
            out[:, field, : part.stop - part.start] = flat[:, part]
        return out
