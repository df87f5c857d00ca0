"""From the value of ``--data`` to examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol

from rif_plugins.errors import DataError, UsageError
from rif_plugins.examples import sentences
from rif_plugins.examples.base import Example, ExampleSet, Naming
from rif_plugins.examples.cells import Columns, checked_text, choose_columns, shown
from rif_plugins.examples.columnar import ParquetTable, load_dataset_table
from rif_plugins.examples.labels import LabelReader, read_label_map
from rif_plugins.examples.text_files import CsvTable, JsonLinesTable, Row, TsvTable

EMBEDDED_LABELS = ("not offensive", "offensive")
LabelSource = Literal["given", "predicted"]


class Table(Protocol):
    """Rows with named columns."""

    name: str
    columns: tuple[str, ...]

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """Names that the data gives to the numbers of a column."""
        ...

    def rows(self, names: Sequence[str], offset: int = 0) -> Iterator[Row]:
        """Place and cells of each row from ``offset`` on."""
        ...


_FILES: Mapping[str, Callable[[Path], Table]] = {
    ".csv": CsvTable,
    ".tsv": TsvTable,
    ".jsonl": JsonLinesTable,
    ".ndjson": JsonLinesTable,
    ".parquet": ParquetTable,
}


def load_examples(
    spec: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    similar_column: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    offset: int = 0,
    label_names: Sequence[str] | None = None,
    label_map: Path | str | Mapping[str, int | str] | None = None,
    labels: LabelSource = "given",
) -> ExampleSet:
    """Read the examples that ``spec`` names; no more rows than asked for are read, where the format allows.

    Args:
        spec: ``"embedded"``; a ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file; a folder or a hub name
            for the package ``datasets``.
        text_column: Column of the texts; ``None`` takes one with a usual name.
        label_column: Column of the labels; ``None`` takes one with a usual name.
        similar_column: A column with ready similar texts; ``None`` for none.
        split: Split of a data set.
        limit: Most examples; ``None`` for all.
        offset: Rows to pass over at the start.
        label_names: The victim's class names, in the order of its columns.
        label_map: From labels of the data to class names or numbers: a file, or a mapping.
        labels: ``"predicted"`` reads no labels; the caller puts the victim's answers in their place.

    Raises:
        DataError: The data cannot be read, a column is missing, or a row is unusable (with its number).
        UsageError: An option does not go with the data, or is out of range.
    """
    if labels not in ("given", "predicted"):
        raise UsageError(f"--labels must be given or predicted, got {labels!r}")
    if limit is not None and limit < 1:
        raise UsageError(f"--limit must be 1 or more, got {limit}")
    if offset < 0:
        raise UsageError(f"the offset must be 0 or more, got {offset}")
    mapping = read_label_map(label_map) if isinstance(label_map, (str, Path)) else label_map
    is_given = labels == "given"
    if str(spec) == "embedded":
        _refuse_options(text_column, label_column, similar_column, split)
        reader = LabelReader(label_names, label_map=mapping, own_names=EMBEDDED_LABELS)
        rows = islice(_embedded(reader if is_given else None), offset, _end(offset, limit))
        return _filled(ExampleSet.of(rows, reader.names, "embedded"), offset)
    table = _open(str(spec), split, limit)
    columns = choose_columns(
        table.columns,
        table.name,
        text=text_column,
        label=label_column,
        similar=similar_column,
        needs_label=is_given,
    )
    own_names = table.class_names(columns.label) if columns.label is not None else None
    reader = LabelReader(label_names, label_map=mapping, own_names=own_names)
    rows = islice(_examples(table, columns, reader, offset), limit)
    return _filled(ExampleSet.of(rows, reader.names, table.name), offset)


def _examples(table: Table, columns: Columns, reader: LabelReader, offset: int) -> Iterator[Example]:
    naming = Naming()
    names = columns.names
    for where, cells in table.rows(names, offset):
        row: dict[str, Any] = dict(zip(names, cells, strict=True))
        text = checked_text(row[columns.text], where, columns.text)
        label = None if columns.label is None else reader.read(row[columns.label], where)
        similar = None if columns.similar is None else row[columns.similar]
        if columns.similar is not None and similar not in (None, ""):
            similar = checked_text(similar, where, columns.similar)
        yield Example(naming.name(text, label), text, label, similar or None)


def _embedded(reader: LabelReader | None) -> Iterator[Example]:
    for number, sentence in enumerate(sentences.load_examples(), start=1):
        label = None if reader is None else reader.read(sentence.label, f"embedded row {number}")
        yield Example(sentence.id, sentence.text, label)


def _open(spec: str, split: str | None, limit: int | None) -> Table:
    if not spec.strip():
        raise UsageError("--data is empty: expected a file, a folder, a name on the hub, or embedded")
    path = Path(spec).expanduser()
    kind = path.suffix.lower()
    if path.is_dir():
        return load_dataset_table(spec, split=split, limit=limit)
    if kind in _FILES or path.exists():
        if kind not in _FILES:
            raise DataError(
                f"{shown(path.name)} is of no known kind: expected a name that ends in {', '.join(_FILES)}"
            )
        if not path.is_file():
            raise DataError(f"no file {shown(spec)}: check the path")
        if split is not None:
            raise UsageError(
                f"--split goes with data sets of the hub, not with the file {path.name}: leave it out"
            )
        return _FILES[kind](path)
    if spec.startswith((".", "/", "~")):
        raise DataError(f"no file or folder {shown(spec)}: check the path")
    return load_dataset_table(spec, split=split, limit=limit)


def _refuse_options(*options: str | None) -> None:
    if any(option is not None for option in options):
        raise UsageError("--data embedded has no columns and splits to choose: leave those options out")


def _end(offset: int, limit: int | None) -> int | None:
    return None if limit is None else offset + limit


def _filled(found: ExampleSet, offset: int) -> ExampleSet:
    if not found.examples:
        after = f" after the first {offset}" if offset else ""
        raise DataError(f"{found.source} has no rows{after}: expected one example a row")
    return found
