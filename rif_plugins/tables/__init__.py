"""Rows: the schema of a table, encoders, projection onto valid rows, counterparts. No host, no model."""

from rif_plugins.tables.encoding import TableEncoder
from rif_plugins.tables.fields import FieldLayout
from rif_plugins.tables.schema import ColumnSpec, Relation, TableSchema

__all__ = ["ColumnSpec", "FieldLayout", "Relation", "TableEncoder", "TableSchema"]
