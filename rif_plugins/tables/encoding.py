"""From raw rows to the array that a model sees, and back.

Numbers are scaled by the bounds of the schema, which come from the training rows (``TableSchema.infer``),
never by those of the rows at hand: a test set scaled by itself is another test set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.columns import BoolArray, ColumnSpec, FloatArray, Relation
from rif_plugins.tables.inference import is_number, label_of
from rif_plugins.tables.schema import TableSchema, column_domain_text

if TYPE_CHECKING:
    import pandas

Scaling = Literal["identity", "min_max"]
OutOfRange = Literal["raise", "clip", "keep"]
_FLOAT32 = 2e-7


class TableEncoder:
    """Encodes rows of raw values and decodes arrays.

    Args:
        raw: The schema of the raw rows: numbers in their own units, categories with labels.
        scaling: ``"identity"`` keeps numbers; ``"min_max"`` maps ``low..high`` of numeric and integer columns
            to 0..1 (a constant column to 0).
        one_hot: Categorical columns that become one-hot groups; True means all that are not ordinal.

    Attributes:
        raw: The schema of the raw rows.
        schema: The schema of the array. Relations of ``raw`` are carried over: they see raw arrays.

    Raises:
        UsageError: An unknown scaling or column, or a number without bounds to scale by.
    """

    def __init__(
        self, raw: TableSchema, *, scaling: Scaling = "identity", one_hot: bool | Iterable[str] = False
    ) -> None:
        if scaling not in get_args(Scaling):
            raise UsageError(f"scaling {scaling!r} does not exist: expected identity or min_max")
        self.raw = raw
        self.scaling = scaling
        if isinstance(one_hot, bool):
            groups = {c.name for c in raw.columns if one_hot and c.kind == "categorical"}
        else:
            groups = set(one_hot)
        for name in sorted(groups):
            if raw.column(name).kind not in ("categorical", "ordinal"):
                raise UsageError(
                    f"column {name!r} is {raw.column(name).kind}: only categories become one-hot groups"
                )
        self._groups = groups
        columns = tuple(self._encoded_column(column) for column in raw.columns)
        relations = raw.relations if columns == raw.columns else map(self._encoded_relation, raw.relations)
        self.schema = TableSchema(columns, tuple(relations))

    def _encoded_column(self, column: ColumnSpec) -> ColumnSpec:
        if column.name in self._groups:
            labels = column.labels or tuple(label_of(value) for value in column.values or ())
            return dataclasses.replace(
                column,
                kind="one_hot",
                values=None,
                labels=labels,
                width=len(labels),
                low=None,
                high=None,
                step=None,
            )
        if not self._is_scaled(column):
            return column
        if column.low is None or column.high is None:
            raise UsageError(f"column {column.name!r} has no low and high to scale by: give its bounds")
        width = column.high - column.low or 1.0
        grid = (column.grid or 1.0) / width if column.kind == "integer" and column.values is None else None
        return dataclasses.replace(
            column,
            low=0.0,
            high=(column.high - column.low) / width,
            step=None if column.step is None else column.step / width,
            values=None if column.values is None else tuple((v - column.low) / width for v in column.values),
            grid=grid,
        )

    def _encoded_relation(self, relation: Relation) -> Relation:
        def holds(x: FloatArray) -> BoolArray:
            return relation.check(self.to_raw(x))

        def repair(x: FloatArray) -> FloatArray:
            return self.from_raw(relation.mend(self.to_raw(x)))

        return Relation(relation.name, holds, None if relation.repair is None else repair)

    def _is_scaled(self, column: ColumnSpec) -> bool:
        return self.scaling == "min_max" and column.kind in ("numeric", "integer")

    def encode(
        self, frame: pandas.DataFrame, *, out_of_range: OutOfRange = "raise", dtype: DTypeLike = np.float64
    ) -> NDArray[Any]:
        """Raw rows to an array ``(n, d)``; columns are found by name, others are ignored.

        Args:
            frame: Raw rows with every column of the schema.
            out_of_range: What happens to a number beyond the bounds: an error, the nearest bound, or nothing
                (the row is then outside of the schema).
            dtype: Floating type of the array.

        Raises:
            DataError: A column is absent, a value is missing, a category unknown, a number beyond the bounds.
        """
        if out_of_range not in get_args(OutOfRange):
            raise UsageError(f"out_of_range {out_of_range!r} does not exist: expected raise, clip or keep")
        if not hasattr(frame, "columns"):
            raise DataError(f"the table is {type(frame).__name__}, expected a pandas DataFrame of raw rows")
        absent = [name for name in self.raw.names if name not in frame.columns]
        if absent:
            present = ", ".join(str(name) for name in frame.columns)
            raise DataError(
                f"the table has no column {absent[0]!r}, which the schema names: it has {present}"
            )
        parts = [self._raw_column(column, frame[column.name], out_of_range) for column in self.raw.columns]
        return self.from_raw(np.concatenate(parts, axis=1)).astype(dtype)

    def _raw_column(self, column: ColumnSpec, series: Any, out_of_range: OutOfRange) -> FloatArray:
        missing = series.isna().to_numpy()
        if missing.any():
            raise DataError(
                f"column {column.name!r} misses the value of row {int(np.flatnonzero(missing)[0])} "
                f"({int(missing.sum())} in all): drop or fill them"
            )
        if column.kind == "one_hot":
            raise UsageError(
                f"column {column.name!r}: raw rows hold no one-hot group: describe it as categorical"
            )
        if column.kind in ("categorical", "ordinal"):
            return self._codes(column, series)
        if not is_number(series):
            raise DataError(f"column {column.name!r} holds {label_of(series.iloc[0])!r}, expected numbers")
        values = series.to_numpy(dtype=np.float64)[:, None]
        return self._bounded(column, values, out_of_range)

    def _codes(self, column: ColumnSpec, series: Any) -> FloatArray:
        import pandas

        codes = np.asarray(column.values, dtype=np.float64)
        names = column.labels or tuple(label_of(code) for code in codes)
        place = {name: index for index, name in enumerate(names)}
        inverse, raw = pandas.factorize(series)
        names_found = [label_of(value) for value in raw]
        unknown = [name for name in names_found if name not in place]
        if unknown:
            row = int(np.flatnonzero(inverse == names_found.index(unknown[0]))[0])
            raise DataError(
                f"column {column.name!r} holds the category {unknown[0]!r} (row {row}), expected one of "
                f"{column_domain_text(column)}: mend the row, or add it to the schema and train again"
            )
        index = np.asarray([place[name] for name in names_found], dtype=np.intp)
        return np.asarray(codes[index[inverse]][:, None], dtype=np.float64)

    def _bounded(self, column: ColumnSpec, values: FloatArray, out_of_range: OutOfRange) -> FloatArray:
        if not np.isfinite(values).all():
            raise DataError(f"column {column.name!r} holds infinity: drop or bound these rows")
        nearest = column.nearest(values)
        outside = np.abs(nearest - values)[:, 0] > column.tolerance
        if out_of_range == "keep" or not outside.any():
            return values
        if out_of_range == "clip":
            return np.where(outside[:, None], nearest, values)
        row = int(np.flatnonzero(outside)[0])
        whole = " in whole numbers" if column.kind == "integer" else ""
        raise DataError(
            f"column {column.name!r} holds {values[row, 0]:g} in row {row}, expected "
            f"{column_domain_text(column)}{whole} as in the training rows: "
            "drop the row, or say out_of_range='clip'"
        )

    def from_raw(self, rows: ArrayLike) -> FloatArray:
        """Arrays of the raw schema to arrays of the encoded one."""
        raw = self.raw.as_rows(rows).astype(np.float64)
        parts = []
        for column in self.raw.columns:
            part = raw[:, self.raw.slice_of(column.name)]
            if column.name in self._groups:
                distance = np.abs(part - np.asarray(column.values, dtype=np.float64))
                parts.append(np.eye(len(column.values or ()))[np.argmin(distance, axis=1)])
            elif self._is_scaled(column) and column.low is not None and column.high is not None:
                parts.append((part - column.low) / (column.high - column.low or 1.0))
            else:
                parts.append(part)
        return np.concatenate(parts, axis=1)

    def to_raw(self, x: ArrayLike) -> FloatArray:
        """Arrays of the encoded schema to arrays of the raw one; a group becomes its largest feature."""
        rows = self.schema.as_rows(x).astype(np.float64)
        parts = []
        for before, after in zip(self.raw.columns, self.schema.columns, strict=True):
            part = rows[:, self.schema.slice_of(after.name)]
            if before.name in self._groups:
                part = np.asarray(before.values, dtype=np.float64)[np.argmax(part, axis=1)][:, None]
            elif self._is_scaled(before) and before.low is not None and before.high is not None:
                part = before.low + part * (before.high - before.low)
                if before.is_discrete:
                    # Rounding undoes the scaling; a real fraction stays one, so that nothing is hidden.
                    near = before.nearest(part)
                    close = min(0.25, max(1e-3, _FLOAT32 * (before.high - before.low)))
                    part = np.where(np.abs(near - part) < close, near, part)
            parts.append(part)
        return np.concatenate(parts, axis=1)

    def decode(self, x: ArrayLike) -> pandas.DataFrame:
        """Array rows ``(n, d)`` to raw rows: labels for categories, numbers in their own units.

        Numeric codes that are their own labels come back as numbers, ``False`` and ``True`` as truth values.

        Raises:
            DataError: A feature is no allowed code of its column.
        """
        import pandas

        rows = self.schema.as_rows(x).astype(np.float64)
        if not np.isfinite(rows).all():
            raise DataError("the rows hold NaN or infinity, which cannot be decoded: drop these rows")
        for column in self.raw.columns:
            if column.kind in ("categorical", "ordinal"):
                self._check_codes(column.name, rows)
        raw = self.to_raw(rows)
        columns = {c.name: _decoded(c, raw[:, i]) for i, c in enumerate(self.raw.columns)}
        return pandas.DataFrame(columns)

    def _check_codes(self, name: str, rows: FloatArray) -> None:
        column = self.schema.column(name)
        part = rows[:, self.schema.slice_of(name)]
        bad = np.abs(part - column.nearest(part)).max(axis=1) > column.tolerance
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            shown = ", ".join(f"{value:g}" for value in part[row])
            raise DataError(
                f"column {name!r} holds {shown} in row {row}, which is no code of it: "
                "project the rows onto the schema first"
            )


def _decoded(column: ColumnSpec, values: FloatArray) -> Any:
    if column.kind in ("categorical", "ordinal"):
        distance = np.abs(values[:, None] - np.asarray(column.values, dtype=np.float64))
        return raw_categories(column)[np.argmin(distance, axis=1)]
    is_whole = column.kind == "integer" and bool((values == np.rint(values)).all())
    return values.astype(np.int64) if is_whole else values


def raw_categories(column: ColumnSpec) -> NDArray[Any]:
    """The categories of a column as they stand in the table, in the order of its codes, shape ``(k,)``."""
    codes = column.values or ()
    if column.labels is None or column.labels == tuple(label_of(code) for code in codes):
        whole = all(float(code).is_integer() for code in codes)
        return np.asarray(codes, dtype=np.int64 if whole else np.float64)
    if set(column.labels) <= {"False", "True"}:
        return np.asarray([label == "True" for label in column.labels])
    return np.asarray(column.labels, dtype=object)
