"""The schema of packed rows ``[index | value]``, the one array that ART hands to an embedding model.

ART's estimators take one float array, an embedding model two: which slot of its vocabulary each field is
in, and with which value. Packed, both stand side by side in ``2F`` columns, and the packed array has a schema
too: counterparts, projection and every measure of rows work on it as on any other table.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables import ColumnSpec, FieldLayout, Relation, TableSchema

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PackedSchema(TableSchema):
    """A schema of ``2F`` columns made from one of F columns; build it with :meth:`of`.

    A category is free in its index and fixed to 1 in its value, a number the other way round.

    Attributes:
        table: The schema of the rows before they were packed.
    """

    table: TableSchema | None = None

    @classmethod
    def of(cls, table: TableSchema) -> PackedSchema:
        """The packed form of a schema; a packed one stays as it is."""
        if isinstance(table, PackedSchema):
            return table
        layout = FieldLayout(table)
        fields = range(layout.n_fields)
        columns = [_index_column(layout, field) for field in fields]
        columns += [_value_column(layout, field) for field in fields]
        relations = tuple(_packed_relation(layout, relation) for relation in table.relations)
        return cls(columns=tuple(columns), relations=relations, table=table)

    @property
    def layout(self) -> FieldLayout:
        """Slots of the fields; packs and unpacks rows."""
        if self.table is None:
            raise UsageError(
                "a PackedSchema needs the schema that it packs: build it with PackedSchema.of(schema)"
            )
        return FieldLayout(self.table)


def _index_column(layout: FieldLayout, field: int) -> ColumnSpec:
    column = layout.schema.columns[field]
    is_category = bool(layout.is_categorical[field])
    return ColumnSpec(
        f"{column.name} index",
        "categorical",
        values=tuple(float(slot) for slot in layout.slots(field)),
        labels=column.labels if is_category else None,
        sensitive=column.sensitive and is_category,
        immutable=column.immutable or not is_category,
    )


def _value_column(layout: FieldLayout, field: int) -> ColumnSpec:
    column = layout.schema.columns[field]
    if layout.is_categorical[field]:
        return ColumnSpec(f"{column.name} value", "categorical", values=(1.0,), immutable=True)
    return dataclasses.replace(column, name=f"{column.name} value")


def _packed_relation(layout: FieldLayout, relation: Relation) -> Relation:
    def unpacked(rows: FloatArray) -> FloatArray:
        # Whether an index is a slot of its field is the columns' question, not the relation's.
        safe = rows.copy()
        low, high = layout.offsets, layout.offsets + layout.sizes - 1
        safe[:, : layout.n_fields] = np.clip(np.rint(rows[:, : layout.n_fields]), low, high)
        return layout.unpack(safe)

    def holds(rows: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(relation.holds(unpacked(rows)))

    def repair(rows: FloatArray) -> FloatArray:
        mended = layout.schema.project(relation.mend(unpacked(rows)), unpacked(rows))
        return layout.pack(mended)

    return Relation(relation.name, holds, None if relation.repair is None else repair)
