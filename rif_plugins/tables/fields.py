"""Embedding inputs: one field a column, an index into a vocabulary and a value beside it.

A number has one slot and its own value; a category has one slot a code and the value 1. Slots are numbered
through all fields from 1 on, so that no two fields share one (0 stays free); a model's embedding is
``value * E[index]``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.columns import ColumnSpec, FloatArray
from rif_plugins.tables.schema import TableSchema

IndexArray = NDArray[np.int64]


class FieldLayout:
    """How the rows of a schema become ``(index, value)``, each ``(n, F)``, and back.

    Args:
        schema: The schema of the array.

    Attributes:
        offsets: First slot of every field, shape ``(F,)``.
        sizes: Number of slots of every field, shape ``(F,)``.
        vocabulary_size: Number of slots in all, the free slot 0 included.
        is_categorical: Which fields choose among slots, shape ``(F,)``.
        sensitive, frozen: Which fields are sensitive; which may not be changed, shape ``(F,)``.
    """

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.is_categorical = np.asarray([_has_slots(column) for column in schema.columns], dtype=np.bool_)
        self.sizes: IndexArray = np.asarray(
            [len(column.domain()) if _has_slots(column) else 1 for column in schema.columns], dtype=np.int64
        )
        self.offsets: IndexArray = np.concatenate(([1], 1 + np.cumsum(self.sizes)[:-1])).astype(np.int64)
        self.vocabulary_size = int(self.sizes.sum()) + 1
        self.sensitive = np.asarray([column.sensitive for column in schema.columns], dtype=np.bool_)
        self.frozen = np.asarray([c.sensitive or c.immutable for c in schema.columns], dtype=np.bool_)

    @property
    def n_fields(self) -> int:
        """Number of fields ``F``, one a column."""
        return len(self.schema.columns)

    def slots(self, field: int) -> IndexArray:
        """The vocabulary indices of one field, in the order of its domain."""
        if not 0 <= field < self.n_fields:
            raise UsageError(f"there is no field {field}: expected 0 to {self.n_fields - 1}")
        return np.arange(self.offsets[field], self.offsets[field] + self.sizes[field], dtype=np.int64)

    @cached_property
    def _domains(self) -> list[FloatArray]:
        return [c.domain() if _has_slots(c) else np.zeros((1, c.width)) for c in self.schema.columns]

    def split(self, x: ArrayLike) -> tuple[IndexArray, FloatArray]:
        """Rows ``(n, d)`` to vocabulary indices and values, each ``(n, F)``.

        Raises:
            DataError: A category holds a number that is none of its codes.
        """
        rows = self.schema.as_rows(x).astype(np.float64)
        index = np.tile(self.offsets, (len(rows), 1))
        value = np.ones((len(rows), self.n_fields), dtype=np.float64)
        for field, column in enumerate(self.schema.columns):
            part = rows[:, self.schema.slice_of(column.name)]
            if not self.is_categorical[field]:
                value[:, field] = part[:, 0]
                continue
            distance = np.abs(self._domains[field][None] - part[:, None, :]).max(axis=2)
            place = np.argmin(distance, axis=1)
            bad = ~(distance[np.arange(len(rows)), place] <= column.tolerance)
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                raise DataError(
                    f"column {column.name!r} holds {part[row].tolist()} in row {row}, which is no code: "
                    "project the rows onto the schema first"
                )
            index[:, field] += place
        return index, value

    def join(self, index: ArrayLike, value: ArrayLike) -> FloatArray:
        """Vocabulary indices and values, each ``(n, F)``, to rows ``(n, d)``.

        Raises:
            DataError: An index belongs to another field.
        """
        slots = np.asarray(index, dtype=np.int64)
        values = np.asarray(value, dtype=np.float64)
        if slots.ndim != 2 or slots.shape[1] != self.n_fields or values.shape != slots.shape:
            raise UsageError(
                f"index has shape {slots.shape} and value {values.shape}, expected both (n, {self.n_fields})"
            )
        place = slots - self.offsets
        bad = (place < 0) | (place >= self.sizes)
        if bad.any():
            row, field = (int(i) for i in np.argwhere(bad)[0])
            raise DataError(
                f"index {slots[row, field]} in row {row} is no slot of {self.schema.names[field]!r}: "
                f"expected {self.offsets[field]} to {self.offsets[field] + self.sizes[field] - 1}"
            )
        parts = [
            self._domains[f][place[:, f]] if self.is_categorical[f] else values[:, f : f + 1]
            for f in range(self.n_fields)
        ]
        return np.concatenate(parts, axis=1)

    def pack(self, x: ArrayLike) -> FloatArray:
        """Rows ``(n, d)`` to one array ``(n, 2F)``: indices, then values."""
        index, value = self.split(x)
        return np.concatenate([index.astype(np.float64), value], axis=1)

    def unpack(self, packed: ArrayLike) -> FloatArray:
        """The inverse of :meth:`pack`; indices are rounded."""
        both: NDArray[Any] = np.asarray(packed, dtype=np.float64)
        if both.ndim != 2 or both.shape[1] != 2 * self.n_fields:
            raise UsageError(f"the packed rows have shape {both.shape}, expected (n, {2 * self.n_fields})")
        return self.join(np.rint(both[:, : self.n_fields]), both[:, self.n_fields :])


def _has_slots(column: ColumnSpec) -> bool:
    return column.kind in ("categorical", "ordinal", "one_hot")
