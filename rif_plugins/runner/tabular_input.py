"""From the arguments of `rif tabular` to rows, labels, a schema and a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import DataError, UsageError, VictimError
from rif_plugins.optional import require
from rif_plugins.runner.tabular_attacks import ATTACK_NAMES, AttackBudget, RowTarget
from rif_plugins.runner.tabular_labels import class_names, class_numbers, label_column, likely_label
from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.victims.python_file import run_file

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_LONGEST_HEADER = 1 << 20
_LONGEST_CATEGORY = 100_000


@dataclass(frozen=True)
class TabularOptions:
    """What `rif tabular` was asked for; see its ``--help`` for the meaning of each.

    Attributes:
        model, data, schema: Files; no schema: it is inferred.
        attacks: Names, in order.
        budget: What a seed may cost.
        n_seeds: Rows that the attacks start from; None: every row.
    """

    model: Path
    data: Path
    schema: Path | None = None
    attacks: tuple[str, ...] = ATTACK_NAMES
    budget: AttackBudget = field(default_factory=AttackBudget)
    n_seeds: int | None = 100
    seed: int = 0
    sensitive: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    label_column: str | None = None
    label_names: tuple[str, ...] | None = None
    labels: str = "given"
    gradients: str = "auto"
    scaling: str = "identity"
    one_hot: tuple[str, ...] | bool = False
    reads: str = "auto"
    missing: str = "error"
    out_of_range: str = "raise"
    limit: int | None = None
    batch_size: int = 4096
    max_records: int | None = 2000

    def to_dict(self) -> dict[str, Any]:
        """Plain values for ``run.json``; of files only their names."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values |= {"model": self.model.name, "data": self.data.name}
        values["schema"] = None if self.schema is None else self.schema.name
        values["budget"] = vars(self.budget)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


@dataclass(frozen=True)
class TabularInput:
    """Everything that attacks need.

    Attributes:
        options: What was asked for.
        encoder: From raw rows to the array and back.
        x: Rows ``(n, d)``.
        y: Right labels ``(n,)``, or the model's own.
        numbers: ``(n,)`` the row of the file that each comes from, from 1 on, header not counted.
        label_names: Names of the classes.
        target: The classifier.
        reads: What the model is called with.
        is_inferred: The schema was guessed from the data.
        notes: What the user should know, one line each.
    """

    options: TabularOptions
    encoder: TableEncoder
    x: FloatArray
    y: IntArray
    numbers: IntArray
    label_names: tuple[str, ...]
    target: RowTarget
    reads: str
    is_inferred: bool
    notes: tuple[str, ...] = ()

    @classmethod
    def prepare(cls, options: TabularOptions) -> TabularInput:
        """Run the model's file, read the table, describe it, try the model on its first rows.

        Raises:
            UsageError: A file, column, label or setting cannot be used.
        """
        module = run_file(options.model)
        if not hasattr(module, "model"):
            raise VictimError(
                f"{options.model.name} sets no variable `model`: set it to a fitted scikit-learn classifier, "
                "a torch module, a classifier of ART, or a function of rows"
            )
        frame, numbers, notes = read_table(options)
        own = getattr(module, "encoder", None)
        encoder, label, is_inferred = describe_table(options, frame, own, getattr(module, "relations", ()))
        x = encoder.encode(frame, out_of_range=options.out_of_range)  # type: ignore[arg-type]
        encoder.schema.check(x, options.data.name)
        from rif_plugins.tabular.host import import_host

        import_host()
        from rif_plugins.tabular.estimators import as_estimator
        from rif_plugins.tabular.gradients import prediction_source

        found = as_estimator(module.model, encoder, x, reads=options.reads)  # type: ignore[arg-type]
        names = class_names(options.label_names, module, found)
        target = RowTarget(found.plain, encoder.schema, found.packed)
        if label is None:
            y = np.argmax(prediction_source(found.plain, batch_size=options.batch_size).probabilities(x), 1)
        else:
            y = class_numbers(frame[label], names, found.n_labels, numbers)
        if len(np.unique(y)) < 2:
            only = str(y[0]) if names is None else names[int(y[0])]
            notes.append(f"all {len(y)} rows have the label {only}: the rates are those of one class")
        shown = names or tuple(str(number) for number in range(found.n_labels))
        return cls(
            options, encoder, x, y.astype(np.int64), numbers, shown, target, found.reads, is_inferred,
            tuple(notes),
        )  # fmt: skip


def read_table(options: TabularOptions) -> tuple[Any, IntArray, list[str]]:
    """A CSV, TSV or Parquet file with its row numbers and notes.

    Raises:
        DataError: No such file, no such table, no row.
    """
    path = options.data
    if not path.is_file():
        raise DataError(f"no data file {str(path)!r}: expected a CSV, TSV or Parquet file with a header")
    suffix = path.suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            frame = _read_parquet(path)
        elif suffix in (".csv", ".tsv", ".txt"):
            frame = _read_text(path)
        else:
            raise DataError(f"{path.name} ends in {suffix!r}, expected .csv, .tsv or .parquet: convert it")
    except (ValueError, OSError) as error:
        if isinstance(error, DataError):
            raise
        what = " ".join(str(error).split())[:160] or type(error).__name__
        raise DataError(f"cannot read {path.name} as a table ({what}): write the file again") from error
    frame.columns = [str(name).strip() for name in frame.columns]
    numbers = np.arange(1, len(frame) + 1)
    notes = []
    if options.missing == "drop":
        complete = ~frame.isna().any(axis=1).to_numpy()
        if not complete.all():
            notes.append(f"{int((~complete).sum())} of {len(frame)} rows miss a value and were dropped")
        frame, numbers = frame[complete].reset_index(drop=True), numbers[complete]
    if options.limit is not None:
        frame, numbers = frame.iloc[: options.limit].reset_index(drop=True), numbers[: options.limit]
    if not len(frame):
        raise DataError(f"{path.name} holds no row, expected one or more below the header")
    return frame, numbers, notes


def _read_parquet(path: Path) -> Any:
    """A Parquet file, if its texts fit into memory: a few bytes may stand for gigabytes."""
    pandas = require("pandas", purpose="tables")
    parquet = require("pyarrow.parquet", purpose="Parquet files")
    try:
        texts_in = [field.name for field in parquet.read_schema(path) if _is_text(field.type)]
        packed = parquet.ParquetFile(path, read_dictionary=texts_in).read(columns=texts_in)
        for name, column in zip(packed.column_names, packed.columns, strict=True):
            dictionaries = [part.dictionary for part in column.chunks if hasattr(part, "dictionary")]
            texts = (text for values in dictionaries for text in values.to_pylist())
            longest = max((len(text) for text in texts if isinstance(text, (str, bytes))), default=0)
            if longest > _LONGEST_CATEGORY:
                raise DataError(
                    f"{path.name}: column {name!r} holds a text of {longest} characters, "
                    "expected numbers and categories"
                )
        return pandas.read_parquet(path)
    except DataError:
        raise
    except Exception as error:  # of many kinds, by what is broken
        raise OSError(str(error) or type(error).__name__) from error


def _is_text(kind: Any) -> bool:
    types = require("pyarrow.types", purpose="Parquet files")
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _read_text(path: Path) -> Any:
    """A delimited file; the separator is the one that its header holds most of."""
    pandas = require("pandas", purpose="tables")
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(_LONGEST_HEADER + 1)
    if len(line) > _LONGEST_HEADER:
        raise DataError(
            f"the first line of {path.name} has more than {_LONGEST_HEADER} characters, no header"
        )
    options = {"sep": max(",;\t", key=line.count), "skipinitialspace": True, "encoding": "utf-8-sig"}
    # pandas calls the second of two equal columns "name.1" and says nothing.
    names = pandas.read_csv(path, header=None, nrows=1, dtype=str, **options).iloc[0].tolist()
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{path.name} has two columns called {name!r}: rename one")
    return pandas.read_csv(path, **options)


def describe_table(
    options: TabularOptions, frame: Any, own: Any, relations: Sequence[Any]
) -> tuple[TableEncoder, str | None, bool]:
    """The encoder of a table, the name of its label column, and whether the schema was guessed.

    Args:
        options: Schema file and marks.
        frame: The rows.
        own: An encoder that the model's file brought, or None.
        relations: Rules between columns that it brought.

    Raises:
        DataError: The schema does not fit the table, or no column is sensitive.
    """
    if own is not None:
        if not isinstance(own, TableEncoder):
            raise UsageError(f"the variable `encoder` is {type(own).__name__}, expected a TableEncoder")
        if options.schema or options.sensitive or options.immutable or options.categorical:
            raise UsageError(
                "the model's file brings its own `encoder` with a schema: leave --schema, --sensitive, "
                "--immutable and --categorical out"
            )
        return own, label_column(options.labels, options.label_column, frame, own.raw.names), False
    if options.schema is not None:
        raw = TableSchema.from_toml(options.schema, relations)
        label = label_column(options.labels, options.label_column, frame, raw.names)
        raw = _marked(raw, options)
    else:
        if not options.sensitive:
            raise UsageError(
                "without --schema the sensitive columns are needed: say --sensitive NAME,NAME; "
                f"the table has {', '.join(frame.columns)}"
            )
        label = label_column(options.labels, options.label_column, frame, None)
        raw = TableSchema.infer(
            frame,
            sensitive=options.sensitive,
            immutable=options.immutable,
            label=label if label is not None else likely_label(options.label_column, frame),
            kinds=dict.fromkeys(options.categorical, "categorical"),
        )
        raw = TableSchema(raw.columns, tuple(relations))
    if not any(column.sensitive for column in raw.columns):
        raise DataError("no column of the schema is sensitive: mark one with `sensitive = true`")
    encoder = TableEncoder(raw, scaling=options.scaling, one_hot=options.one_hot)  # type: ignore[arg-type]
    return encoder, label, options.schema is None


def _marked(raw: TableSchema, options: TabularOptions) -> TableSchema:
    """The schema with the marks of the command line in place of its own, where there are any."""
    changes: dict[str, dict[str, Any]] = {column.name: {} for column in raw.columns}
    for mark, names in (("sensitive", options.sensitive), ("immutable", options.immutable)):
        for name in names:
            raw.column(name)
        for name in raw.names if names else ():
            changes[name][mark] = name in names
    return raw.with_columns({name: marks for name, marks in changes.items() if marks})
