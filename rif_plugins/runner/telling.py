"""`rif tabular tell`: a table told as texts, with a similar text each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rif_plugins.errors import DataError, UsageError
from rif_plugins.reports.output_file import write_whole
from rif_plugins.runner.tabular_input import TabularOptions, read_table
from rif_plugins.runner.tabular_labels import label_column
from rif_plugins.tables import ColumnSpec, TableSchema
from rif_plugins.tables.datasets import load_adult, load_bank, load_compas, load_employment
from rif_plugins.tables.inference import infer_column, label_of
from rif_plugins.tables.telling import Teller
from rif_plugins.tables.template_library import BUILT_IN, built_in, default_sensitive
from rif_plugins.tables.templates import Template
from rif_plugins.tabular.templates import drawn

_LOADERS: Mapping[str, Callable[..., Any]] = {
    "adult": load_adult,
    "bank": load_bank,
    "compas": load_compas,
    "employment": load_employment,
}
KNOWN_SCHEMAS = tuple(_LOADERS)
COLUMNS = ("text", "label", "similar", "row", "differs")


@dataclass(frozen=True)
class TellOptions:
    """What `rif tabular tell` was asked for; see its ``--help``.

    Attributes:
        data: The table: a file with a header, or where ``schema`` is the name of a data set, its own file.
        out: A ``.csv`` or ``.jsonl`` file.
        schema: A schema file, the name of a data set, or None: the columns are inferred.
        template: Name of a template of the package, a template file, or None: that of the data set, or plain.
        counterparts: Similar texts a row, a line each; None: all.
    """

    data: Path
    out: Path
    schema: str | None = None
    template: str | None = None
    perspective: str = "third"
    counterparts: int | None = 1
    sensitive: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    label_column: str | None = None
    labels: str = "given"
    missing: str = "tell"
    limit: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class ToldTable:
    """What was written.

    Attributes:
        teller: Who told it.
        n_rows, n_lines: Rows of the table, lines of the file.
        n_alone: Rows without a similar individual among the values of the sensitive columns.
        first: The first text.
        notes: What the user should know, one line each.
    """

    teller: Teller
    n_rows: int
    n_lines: int
    n_alone: int
    first: str
    notes: tuple[str, ...] = ()


def tell_table(options: TellOptions) -> ToldTable:
    """Read a table, tell its rows, write them.

    Raises:
        UsageError: An option, the table, the schema or the template cannot be used.
    """
    if options.out.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(f"-o {options.out.name}: expected a name that ends in .csv or .jsonl")
    frame, labels, schema, numbers, notes = _table(options)
    template = _template(options, schema)
    teller = Teller(template, schema, options.perspective)
    lines: list[dict[str, Any]] = []
    n_alone = 0
    for number, label, row in zip(numbers, labels, frame.to_dict("records"), strict=True):
        try:
            found = list(_lines(teller, row, options))
        except DataError as error:
            raise DataError(f"row {number} of {options.data.name}: {error}") from None
        n_alone += not found
        lines += [{"label": label, "row": int(number), **line} for line in found]
    if not lines:
        raise DataError("no row has a similar individual: check the values of the sensitive columns")
    names = [name for name in COLUMNS if name != "label" or options.labels == "given"]
    write_whole(options.out, _written(lines, names, is_csv=options.out.suffix.lower() == ".csv"))
    return ToldTable(teller, len(frame), len(lines), n_alone, lines[0]["text"], tuple(notes))


def _lines(teller: Teller, row: Mapping[str, Any], options: TellOptions) -> Iterator[dict[str, Any]]:
    told = teller.tell(row)
    spans = [[span.start, span.end, span.column] for span in told.spans if span.role == "value"]
    closed = [[span.start, span.end] for span in teller.sensitive_spans(told)]
    for other in drawn(teller, told.row, options.counterparts, options.seed):
        pair = teller.pair(told.row, other)
        differs = pair.attribute.replace("*", ",")
        yield {
            "text": pair.original,
            "similar": pair.similar,
            "differs": differs,
            "spans": spans,
            "sensitive": closed,
        }


def _written(lines: list[dict[str, Any]], names: list[str], *, is_csv: bool) -> bytes:
    if not is_csv:
        more = [*names, "spans", "sensitive"]
        rows = ({name: line[name] for name in more} for line in lines)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([line[name] for name in names] for line in lines)
    return text.getvalue().encode()


def _table(options: TellOptions) -> tuple[Any, list[Any], TableSchema, Iterable[int], list[str]]:
    """Rows, labels, schema, row numbers and notes."""
    if options.schema in _LOADERS:
        return _known_table(options)
    reading = TabularOptions(model=Path(), data=options.data, missing=options.missing)
    frame, numbers, notes = read_table(reading)
    schema = None if options.schema is None else TableSchema.from_toml(options.schema)
    described = None if schema is None else schema.names
    label = label_column(options.labels, options.label_column, frame, described)
    if options.missing == "error" and frame.isna().to_numpy().any():
        raise DataError(f"{options.data.name} misses values: say --missing tell, or --missing drop")
    if schema is None:
        left_out = label or (options.label_column if options.label_column in frame.columns else None)
        schema = TableSchema(_inferred(frame, left_out, options))
    # The values of a column are those of all rows, also of rows that are not told.
    frame, numbers = frame.iloc[: options.limit], numbers[: options.limit]
    labels = [None] * len(frame) if label is None else [label_of(value) for value in frame[label].tolist()]
    if label is not None and frame[label].isna().any():
        raise DataError(
            f"the label of a row of {options.data.name} is missing: fill it, or say --missing drop"
        )
    return frame, labels, _marked(schema, options), numbers, notes


def _known_table(options: TellOptions) -> tuple[Any, list[Any], TableSchema, Iterable[int], list[str]]:
    # The survey has a file for each state and year, so there is no content to expect.
    unchecked = {} if options.schema == "employment" else {"verify": False}
    data = _LOADERS[str(options.schema)](options.data, **unchecked)
    n = len(data.frame) if options.limit is None else min(options.limit, len(data.frame))
    names = ", ".join(f"{number} {name}" for number, name in enumerate(data.label_names))
    notes = [f"labels: {names}"]
    labels = [int(label) for label in data.label[:n]]
    return data.frame.iloc[:n], labels, _marked(data.schema, options), range(1, n + 1), notes


def _inferred(frame: Any, label: str | None, options: TellOptions) -> tuple[ColumnSpec, ...]:
    """Each column from the values that are there: a text can say that one is missing."""
    for name in options.categorical:
        if name not in frame.columns:
            raise DataError(
                f"--categorical {name}: the table has no such column, it has {list(frame.columns)}"
            )
    columns = []
    for name in frame.columns:
        if name == label:
            continue
        values = frame[name].dropna()
        if not len(values):
            raise DataError(f"column {name!r} has no value at all: take it out")
        columns.append(infer_column(values, "categorical" if name in options.categorical else None))
    return tuple(columns)


def _marked(schema: TableSchema, options: TellOptions) -> TableSchema:
    """The schema with the sensitive columns of the command line, else its own, else the template's."""
    wanted = options.sensitive
    if not wanted and not any(column.sensitive for column in schema.columns):
        wanted = default_sensitive(options.template or "plain", schema)
        if not wanted:
            raise UsageError(
                f"no column is sensitive: say --sensitive NAME,NAME; the table has {', '.join(schema.names)}"
            )
    if not wanted:
        return schema
    for name in wanted:
        schema.column(name)
    return schema.with_columns({name: {"sensitive": name in wanted} for name in schema.names})


def _template(options: TellOptions, schema: TableSchema) -> Template:
    name = options.template or (options.schema if options.schema in BUILT_IN else "plain")
    if name in BUILT_IN:
        return built_in(str(name), schema)
    if Path(str(name)).suffix.lower() in (".toml", ".txt"):
        return Template.load(Path(str(name)).expanduser())
    raise UsageError(
        f"template {name!r} does not exist: expected {', '.join(BUILT_IN)}, or a .toml or .txt file"
    )
