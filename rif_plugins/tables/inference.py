"""Guess a schema from a DataFrame, and print it for a reader to confirm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rif_plugins.errors import DataError
from rif_plugins.tables.columns import KINDS, ColumnKind, ColumnSpec

_STEPS = 100
_MANY_VALUES = 100
_FEW_NUMBERS = 10


def infer_columns(
    frame: Any,
    sensitive: Sequence[str],
    immutable: Sequence[str],
    label: str | None,
    kinds: Mapping[str, ColumnKind],
) -> tuple[ColumnSpec, ...]:
    """The columns of a DataFrame; see :meth:`rif_plugins.tables.schema.TableSchema.infer`.

    Raises:
        DataError: A missing value, an unknown name, or a column of a type that no model reads.
    """
    _check_names(frame, sensitive, immutable, label, kinds)
    columns = []
    for name in frame.columns:
        if name == label:
            continue
        column = infer_column(
            frame[name], kinds.get(name), is_sensitive=name in sensitive, is_immutable=name in immutable
        )
        columns.append(column)
    if not columns:
        raise DataError("the table has no column beside the label: give the features too")
    return tuple(columns)


def _check_names(
    frame: Any,
    sensitive: Sequence[str],
    immutable: Sequence[str],
    label: str | None,
    kinds: Mapping[str, ColumnKind],
) -> None:
    if not hasattr(frame, "columns"):
        raise DataError(f"the table is {type(frame).__name__}, expected a pandas DataFrame: name its columns")
    present = list(frame.columns)
    for name in present:
        if not isinstance(name, str):
            raise DataError(f"the column name {name!r} is no string: rename the columns")
        if present.count(name) > 1:
            raise DataError(f"the table has two columns called {name!r}: rename one")
    asked = [("label", [label] if label is not None else []), ("sensitive", sensitive)]
    asked += [("immutable", immutable), ("kinds", list(kinds))]
    for role, names in asked:
        for name in names:
            if name not in present:
                raise DataError(
                    f"{role} names the column {name!r}, which the table does not have: "
                    f"it has {', '.join(present)}"
                )
    if label is not None and label in (*sensitive, *immutable):
        raise DataError(f"the label column {label!r} cannot be sensitive or immutable: drop it from the list")
    if not len(frame):
        raise DataError("the table has no row: a schema is inferred from training rows")


def infer_column(
    series: Any, kind: ColumnKind | None = None, *, is_sensitive: bool = False, is_immutable: bool = False
) -> ColumnSpec:
    """Guess one column from a pandas Series."""
    name = str(series.name)
    missing = series.isna().to_numpy()
    if missing.any():
        raise DataError(
            f"column {name!r} misses {int(missing.sum())} of {len(series)} values, the first in row "
            f"{int(np.flatnonzero(missing)[0])}: drop or fill them, or make `missing` a category"
        )
    if kind is not None and (kind not in KINDS or kind == "one_hot"):
        raise DataError(
            f"column {name!r}: kind {kind!r} cannot be inferred: expected numeric, integer, categorical or "
            "ordinal (TableEncoder makes one-hot groups)"
        )
    marks: dict[str, Any] = {"sensitive": is_sensitive, "immutable": is_immutable}
    if is_number(series):
        return _number(name, series.to_numpy(dtype=np.float64), kind, marks)
    if kind in ("numeric", "integer"):
        raise DataError(f"column {name!r} holds no numbers, so it cannot be {kind}: take another kind")
    return _category(name, series, kind, marks)


def is_number(series: Any) -> bool:
    """True for integer and floating columns; truth values are categories."""
    from pandas.api import types

    return bool(types.is_numeric_dtype(series) and not types.is_bool_dtype(series))


def _number(name: str, values: Any, kind: ColumnKind | None, marks: dict[str, Any]) -> ColumnSpec:
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r} holds infinity: drop or bound these rows")
    is_whole = bool((values == np.rint(values)).all())
    low, high = float(values.min()), float(values.max())
    if kind in ("categorical", "ordinal"):
        codes = tuple(float(code) for code in np.unique(values))
        labels = tuple(label_of(code) for code in codes)
        return ColumnSpec(name, kind, values=codes, labels=labels, **marks)
    if kind == "integer" and not is_whole:
        raise DataError(f"column {name!r} holds fractions, so it cannot be integer: take numeric")
    if is_whole and kind != "numeric":
        step = max(1.0, float(round((high - low) / _STEPS)))
        return ColumnSpec(name, "integer", low, high, step=step, **marks)
    if marks["sensitive"]:
        raise DataError(
            f"the sensitive column {name!r} holds fractions, but similar individuals need a list of values: "
            "cut it into groups first"
        )
    return ColumnSpec(name, "numeric", low, high, step=(high - low) / _STEPS or None, **marks)


def _category(name: str, series: Any, kind: ColumnKind | None, marks: dict[str, Any]) -> ColumnSpec:
    from pandas.api import types

    if types.is_datetime64_any_dtype(series) or types.is_timedelta64_dtype(series):
        raise DataError(f"column {name!r} holds times, expected numbers or categories: turn it into a number")
    is_category = hasattr(series.dtype, "categories")
    is_ordered = is_category and bool(series.dtype.ordered)
    raw = list(series.dtype.categories) if is_category else list(series.unique())
    labels = [label_of(value) for value in raw]
    if len(set(labels)) != len(labels):
        twice = next(text for text in labels if labels.count(text) > 1)
        raise DataError(f"column {name!r} holds {twice!r} as text and as a number: make them one type")
    if not is_ordered:
        labels.sort()
    chosen: ColumnKind = kind or ("ordinal" if is_ordered else "categorical")
    codes = tuple(float(code) for code in range(len(labels)))
    return ColumnSpec(name, chosen, values=codes, labels=tuple(labels), **marks)


def label_of(value: Any) -> str:
    """The readable name of a raw value; 3, 3.0 and numpy's 3 have the same name."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def describe_columns(columns: Iterable[ColumnSpec], relation_names: Iterable[str] = ()) -> str:
    """The columns as a table of text: name, kind, what it allows, step, marks and remarks."""
    from rif_plugins.tables.schema import column_domain_text

    head = ("column", "kind", "allows", "step", "marks", "remark")
    rows = [head]
    for column in columns:
        marks = [word for word in ("sensitive", "immutable") if getattr(column, word)]
        step = "" if column.step is None else f"{column.step:g}"
        kind = column.kind if column.width == 1 else f"{column.kind} x{column.width}"
        rows.append((column.name, kind, column_domain_text(column), step, ", ".join(marks), _remark(column)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [f"relation: {name}" for name in relation_names]
    return "\n".join(line.rstrip() for line in lines)


def _remark(column: ColumnSpec) -> str:
    if column.low is not None and column.low == column.high:
        return "constant"
    n_values = len(column.values) if column.values is not None else None
    if n_values == 1:
        return "constant"
    if n_values is not None and n_values > _MANY_VALUES:
        return f"{n_values} values: an identifier? leave it out"
    if column.kind == "integer" and (column.high or 0) - (column.low or 0) <= _FEW_NUMBERS:
        return "few values: if they are codes, say kind categorical"
    return ""
