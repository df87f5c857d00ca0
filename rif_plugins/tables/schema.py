"""A table as a float array ``(n, d)``: its columns, who counts as similar, and which rows are valid.

A column covers ``width`` consecutive features: 1, or k for a one-hot group. Similar individuals are the rows
that differ in sensitive columns only: ``I(v)`` is every combination of the sensitive columns' values, put
into ``v``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.columns import BoolArray, ColumnKind, ColumnSpec, FloatArray, Relation

if TYPE_CHECKING:
    import pandas

__all__ = ["ColumnSpec", "Relation", "TableSchema"]

_MAX_TUPLES = 100_000
_REPAIR_ROUNDS = 5


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table in array order, and the relations between them.

    Raises:
        UsageError: No column, a name used twice, or a sensitive column that allows only one value.
    """

    columns: tuple[ColumnSpec, ...]
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise UsageError("the schema has no column: describe one or more")
        names = [column.name for column in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"the schema has two columns called {name!r}: rename one")
        for column in self.columns:
            if column.sensitive and len(column.domain()) < 2:
                raise UsageError(
                    f"the sensitive column {column.name!r} allows one value, so nobody has a counterpart: "
                    "give its other values, or take the mark `sensitive` away"
                )

    @property
    def n_features(self) -> int:
        """Number of array features ``d``."""
        return sum(column.width for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in array order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = list(itertools.accumulate(column.width for column in self.columns))
        return {c.name: slice(end - c.width, end) for c, end in zip(self.columns, ends, strict=True)}

    def slice_of(self, name: str) -> slice:
        """The features of a column.

        Raises:
            UsageError: The schema has no such column.
        """
        if name not in self._slices:
            raise UsageError(f"the schema has no column {name!r}: it has {', '.join(self.names)}")
        return self._slices[name]

    def column(self, name: str) -> ColumnSpec:
        """The description of a column; raises UsageError where there is none."""
        self.slice_of(name)
        return next(column for column in self.columns if column.name == name)

    @property
    def sensitive_features(self) -> BoolArray:
        """Which features belong to sensitive columns, shape ``(d,)``."""
        return self._features([column.sensitive for column in self.columns])

    @property
    def frozen_features(self) -> BoolArray:
        """Which features no attack may change: sensitive or immutable, shape ``(d,)``."""
        return self._features([column.sensitive or column.immutable for column in self.columns])

    @property
    def editable_features(self) -> BoolArray:
        """Which features an attack may change, shape ``(d,)``."""
        return ~self.frozen_features

    def _features(self, marks: Iterable[bool]) -> BoolArray:
        return np.repeat(np.fromiter(marks, dtype=np.bool_), [column.width for column in self.columns])

    @cached_property
    def _tolerances(self) -> FloatArray:
        return np.repeat([c.tolerance for c in self.columns], [c.width for c in self.columns])

    def with_columns(self, changes: Mapping[str, Mapping[str, Any]]) -> TableSchema:
        """A copy with some fields of some columns replaced: ``{"age": {"sensitive": True}}``."""
        import dataclasses

        for name in changes:
            self.slice_of(name)
        columns = tuple(dataclasses.replace(c, **changes.get(c.name, {})) for c in self.columns)
        return dataclasses.replace(self, columns=columns)

    @cached_property
    def _sensitive_tuples(self) -> FloatArray:
        sensitive = [column for column in self.columns if column.sensitive]
        if not sensitive:
            raise UsageError("the schema has no sensitive column: mark one or more as sensitive")
        domains = [column.domain() for column in sensitive]
        size = math.prod(len(domain) for domain in domains)
        if size > _MAX_TUPLES:
            sizes = ", ".join(f"{c.name} {len(d)}" for c, d in zip(sensitive, domains, strict=True))
            raise UsageError(
                f"the sensitive columns have {size} combinations ({sizes}), expected at most {_MAX_TUPLES}: "
                "list fewer values, for example of age groups"
            )
        rows = [np.concatenate(parts) for parts in itertools.product(*domains)]
        return np.asarray(rows, dtype=np.float64)

    def sensitive_tuples(self) -> FloatArray:
        """All combinations of the sensitive columns' values in array form, shape ``(m, d_s)``.

        The order is that of the columns' values, the last column changing fastest.

        Raises:
            UsageError: No sensitive column, one without a finite domain, or more than 100,000 combinations.
        """
        return self._sensitive_tuples.copy()

    def counterparts(self, x: ArrayLike) -> tuple[NDArray[Any], BoolArray]:
        """Every combination of sensitive values put into each row.

        Relations are not looked at: a counterpart keeps all other values by definition.

        Args:
            x: Rows ``(n, d)``.

        Returns:
            Rows ``(n, m, d)`` in the floating type of ``x``, and a mask ``(n, m)`` that is False where the
            combination is the row's own.
        """
        rows = self.as_rows(x)
        tuples = self._sensitive_tuples
        where = self.sensitive_features
        out = np.repeat(rows[:, None, :], len(tuples), axis=1)
        out[:, :, where] = tuples[None]
        own = rows[:, None, where].astype(np.float64)
        mask = (np.abs(tuples[None] - own) > self._tolerances[where]).any(axis=2)
        return out, np.asarray(mask)

    def project(self, x: ArrayLike, original: ArrayLike) -> NDArray[Any]:
        """The nearest valid rows: an attack calls this after each step.

        Numbers are clipped and rounded, codes snapped to the nearest one, one-hot groups set to their largest
        feature, sensitive and immutable columns restored from ``original``. A row that breaks a relation is
        repaired; where that fails it becomes its projected original.

        Args:
            x: Rows ``(n, d)``.
            original: The rows before the attack, same shape.

        Returns:
            Rows ``(n, d)`` in the floating type of ``x``. A second projection changes nothing. A row stays
            outside of the schema only where ``original`` is outside in a frozen column or in a relation.

        Raises:
            UsageError: Other shapes, or NaN or infinity in ``x``.
        """
        rows = self.as_rows(x)
        before = self.as_rows(original)
        if before.shape != rows.shape:
            raise UsageError(f"original has shape {before.shape}, expected {rows.shape} as x")
        self._check_finite(rows)
        start = before.astype(np.float64)
        out = self._mended(self._snapped(rows.astype(np.float64), start), start)
        bad = ~self._related(out)
        if bad.any():
            self._check_finite(before)
            own = self._mended(self._snapped(start[bad], start[bad]), start[bad])
            good = self._related(own)
            own[~good] = start[bad][~good]
            out[bad] = own
        out = out.astype(rows.dtype)
        frozen = self.frozen_features
        out[:, frozen] = before[:, frozen]
        return out

    def _snapped(self, rows: FloatArray, start: FloatArray) -> FloatArray:
        out = rows.copy()
        for column in self.columns:
            part = self._slices[column.name]
            if column.sensitive or column.immutable:
                out[:, part] = start[:, part]
            else:
                out[:, part] = column.nearest(rows[:, part])
        return out

    def _related(self, rows: FloatArray) -> BoolArray:
        good = np.ones(len(rows), dtype=np.bool_)
        for relation in self.relations:
            good &= relation.check(rows)
        return good

    def _mended(self, rows: FloatArray, start: FloatArray) -> FloatArray:
        for _ in range(_REPAIR_ROUNDS if self.relations else 0):
            changed = False
            for relation in self.relations:
                bad = ~relation.check(rows)
                if bad.any() and relation.repair is not None:
                    rows[bad] = self._snapped(relation.mend(rows[bad]), start[bad])
                    changed = True
            if not changed:
                break
        return rows

    def violations(self, x: ArrayLike, original: ArrayLike | None = None) -> BoolArray:
        """Where a row is outside of the schema, shape ``(n,)``; NaN and infinity are outside.

        Args:
            x: Rows ``(n, d)``.
            original: The rows before an attack; with it a moved sensitive or immutable column counts too.
        """
        rows = self.as_rows(x).astype(np.float64)
        finite = np.isfinite(rows).all(axis=1)
        safe = np.where(np.isfinite(rows), rows, 0.0)
        bad = ~finite
        for column in self.columns:
            bad |= self._outside(column, safe)
        bad |= ~self._related(safe)
        if original is not None:
            moved = np.abs(safe - self.as_rows(original).astype(np.float64)) > self._tolerances
            bad |= moved[:, self.frozen_features].any(axis=1)
        return bad

    def _outside(self, column: ColumnSpec, rows: FloatArray) -> BoolArray:
        part = rows[:, self._slices[column.name]]
        return np.asarray((np.abs(part - column.nearest(part)) > column.tolerance).any(axis=1))

    def check(self, x: ArrayLike, what: str = "x") -> NDArray[Any]:
        """The rows, if every one is inside of the schema.

        Raises:
            DataError: A row is outside; the message names the first one and its column or relation.
        """
        rows = self.as_rows(x)
        bad = self.violations(rows)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"{what}: {int(bad.sum())} of {len(rows)} rows are outside of the schema; first row {first}, "
                f"{self._reason(rows[first : first + 1].astype(np.float64))}: mend the data or the schema"
            )
        return rows

    def _reason(self, row: FloatArray) -> str:
        for column in self.columns:
            part = row[:, self._slices[column.name]]
            if not np.isfinite(part).all():
                return f"whose column {column.name!r} holds NaN or infinity"
            if self._outside(column, row)[0]:
                shown = ", ".join(f"{value:g}" for value in part[0])
                return f"whose column {column.name!r} holds {shown} (expected {column_domain_text(column)})"
        broken = next((r.name for r in self.relations if not r.check(row)[0]), "")
        return f"which breaks the relation {broken!r}"

    def as_rows(self, x: ArrayLike) -> NDArray[Any]:
        """The input as a float32 or float64 array ``(n, d)``; its values are not looked at.

        Raises:
            UsageError: Another shape, or something that is no number.
        """
        try:
            rows = np.asarray(x)
            if rows.dtype not in (np.float32, np.float64):
                rows = rows.astype(np.float64)
        except (TypeError, ValueError):
            raise UsageError(
                "the rows hold something that is no number: encode the table first (TableEncoder)"
            ) from None
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise UsageError(
                f"the rows have shape {rows.shape}, expected (n, {self.n_features}) as the schema says"
            )
        return rows

    def _check_finite(self, rows: NDArray[Any]) -> None:
        bad = ~np.isfinite(rows)
        if bad.any():
            row, feature = (int(i) for i in np.argwhere(bad)[0])
            name = next(n for n, part in self._slices.items() if part.start <= feature < part.stop)
            raise UsageError(
                f"row {row} holds {rows[row, feature]} in column {name!r}, expected finite numbers: "
                "drop or fill the row"
            )

    @classmethod
    def from_toml(cls, path: str | Path, relations: Iterable[Relation] = ()) -> TableSchema:
        """Read a schema file; relations are Python functions and are given beside it.

        Raises:
            DataError: The file is missing, is no TOML, or does not describe a schema.
        """
        from rif_plugins.tables.schema_file import read_columns

        return cls(read_columns(Path(path)), tuple(relations))

    def to_toml(self) -> str:
        """The schema as TOML text; of relations only the names, as a comment."""
        from rif_plugins.tables.schema_file import write_columns

        return write_columns(self.columns, [relation.name for relation in self.relations])

    @classmethod
    def infer(
        cls,
        frame: pandas.DataFrame,
        *,
        sensitive: Iterable[str] = (),
        immutable: Iterable[str] = (),
        label: str | None = None,
        kinds: Mapping[str, ColumnKind] | None = None,
    ) -> TableSchema:
        """Guess a schema from training rows; read ``describe()`` before you use it.

        Text, truth values and categories become ``categorical`` (codes 0, 1, ... in the order of their names;
        ordered categories ``ordinal``), whole numbers ``integer``, other numbers ``numeric``, both with a
        step of a hundredth of their range (a whole one for integers, 1 at least). Bounds are those of the
        rows given: give training rows only.

        Args:
            frame: Raw rows, one column a column of the schema.
            sensitive: Names of the columns in which similar individuals differ.
            immutable: Names of the columns that no attack may change.
            label: Name of the label column, which is left out.
            kinds: Kinds of columns that the guess would get wrong, such as numbers that are codes.

        Raises:
            DataError: A missing value, an unknown name, a column of a type that no model reads.
        """
        from rif_plugins.tables.inference import infer_columns

        return cls(infer_columns(frame, tuple(sensitive), tuple(immutable), label, dict(kinds or {})))

    def describe(self) -> str:
        """The columns as a table of text, to read and confirm."""
        from rif_plugins.tables.inference import describe_columns

        return describe_columns(self.columns, [relation.name for relation in self.relations])


def column_domain_text(column: ColumnSpec) -> str:
    """What a column allows, in a few words."""
    if column.kind == "one_hot":
        return f"one 1 among {column.width}"
    if column.values is not None:
        names = column.labels or tuple(f"{value:g}" for value in column.values)
        short = [name if len(name) <= 24 else f"{name[:21]}..." for name in names[:6]]
        shown = ", ".join(short if len(names) <= 6 else short[:4])
        return shown if len(names) <= 6 else f"{shown}, ... ({len(names)})"
    low = "-inf" if column.low is None else f"{column.low:g}"
    high = "inf" if column.high is None else f"{column.high:g}"
    return f"{low} to {high}"
