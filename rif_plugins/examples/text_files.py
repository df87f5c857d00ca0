"""CSV, TSV and JSON Lines, row by row, in memory that does not grow with the file."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.errors import DataError
from rif_plugins.examples.cells import MAX_CHARACTERS, check_names, shown

MAX_LINE_BYTES = 64 << 20
_SAMPLE = '{"text": "...", "label": 0}'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
Row = tuple[str, Sequence[Any]]


class CsvTable:
    """A comma-separated file with a header; cells may be quoted and hold line breaks.

    Blank lines are passed over.  A row is named by its number, header not counted, and by its last line.

    Raises:
        DataError: The file cannot be read, is empty, or its header repeats a name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        _, header = next(self._records(), (0, None))
        if header is None:
            raise DataError(f"{self.name} is empty: expected a header with column names, and rows")
        self.columns: tuple[str, ...] = tuple(cell.strip() for cell in header)
        check_names(self.columns, self.name)

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """Files of text give their labels no second names."""
        del column
        return None

    def rows(self, names: Sequence[str], offset: int = 0) -> Iterator[Row]:
        """File and row for messages, and the cells of the columns ``names``.

        Args:
            names: Columns to read.
            offset: Rows to pass over.

        Raises:
            DataError: A row is broken; the message names it.
        """
        places = [self.columns.index(name) for name in names]
        records = self._records()
        next(records, None)
        for number, (line, record) in enumerate(records, start=1):
            if len(record) != len(self.columns):
                raise DataError(
                    f"{self.name} row {number} (line {line}): expected {len(self.columns)} cells as in the "
                    f"header, got {len(record)}: quote cells that hold the separator or a line break"
                )
            if number > offset:
                yield f"{self.name} row {number} (line {line})", [record[place] for place in places]

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Line number of its end, and cells of each record, the header among them."""
        lines = _Lines(self.path)
        reader = csv.reader(lines, strict=True)
        number = -1
        while True:
            number += 1
            try:
                record = _next_record(reader)
            except csv.Error as error:
                raise DataError(
                    f"{lines.where(number)}: broken CSV ({error}): "
                    "put cells with commas, quotes or line breaks into quotes, and double the quotes inside"
                ) from error
            except _LineError as error:
                raise DataError(f"{lines.where(number)}: {error}") from error
            if record is None:
                return
            if record:
                yield lines.number, record
            else:
                number -= 1


class TsvTable(CsvTable):
    """A tab-separated file with a header.

    A row is a line.  A cell that is quoted as in CSV loses its quotes; any other quote is part of the text,
    so that files written without quoting keep their quotation marks.
    """

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        lines = _Lines(self.path)
        number = 0
        try:
            for line in lines:
                if text := line.rstrip("\r\n"):
                    yield lines.number, _tab_cells(text)
                    number += 1
        except _LineError as error:
            raise DataError(f"{lines.where(number)}: {error}") from error


class JsonLinesTable:
    """One JSON object a line; the first one names the columns.  Blank lines are passed over.

    Raises:
        DataError: The file cannot be read, is empty, or its first row is broken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        _, first = next(self._records(), ("", None))
        if first is None:
            raise DataError(f"{self.name} is empty: expected one JSON object a line")
        self.columns: tuple[str, ...] = tuple(first)

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """Files of text give their labels no second names."""
        del column
        return None

    def rows(self, names: Sequence[str], offset: int = 0) -> Iterator[Row]:
        """File and row for messages, and the values under ``names``; see :meth:`CsvTable.rows`."""
        for number, (where, record) in enumerate(self._records(), start=1):
            if number <= offset:
                continue
            for name in names:
                if name not in record:
                    raise DataError(
                        f"{where}: no {shown(name)}, which the first row has: add it to every row"
                    )
            yield where, [record[name] for name in names]

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        lines = _Lines(self.path)
        number = 0
        try:
            for line in lines:
                if line.strip():
                    yield lines.where(number + 1), _json_object(line)
                    number += 1
        except _LineError as error:
            raise DataError(f"{lines.where(number + 1)}: {error}") from error


class _LineError(Exception):
    """What is wrong with the line at hand; the reader adds file and row."""


class _Lines:
    """Decoded lines with their ends, each of bounded length; counts them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._pieces = self._read()

    def where(self, row: int) -> str:
        """File, row and line, for messages."""
        return f"{self.path.name} row {row} (line {self.number})" if row else f"{self.path.name} line 1"

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    def _read(self) -> Iterator[str]:
        try:
            with self.path.open("rb") as file:
                while raw := file.readline(MAX_LINE_BYTES + 1):
                    self.number += 1
                    if self.number == 1:
                        raw = raw.removeprefix(_BYTE_ORDER_MARK)
                    text = _decoded(raw)
                    # Old files end lines with a bare carriage return.
                    yield from (
                        re.split(r"(?<=\r)(?!\n)(?=.)", text, flags=re.DOTALL) if "\r" in text else (text,)
                    )
        except OSError as error:
            raise DataError(f"cannot read {shown(self.path.name)} ({error.strerror})") from error


def _decoded(raw: bytes) -> str:
    if len(raw) > MAX_LINE_BYTES:
        raise _LineError(f"a line of more than {MAX_LINE_BYTES} bytes: shorten it")
    if b"\0" in raw:
        raise _LineError("a NUL character, expected text in UTF-8 (is it UTF-16?): save the file as UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _LineError(
            f"byte {error.start + 1} of the line is no UTF-8 ({error.reason}): save the file as UTF-8"
        ) from None


def _next_record(reader: Iterator[list[str]]) -> list[str] | None:
    # The limit belongs to the process, so it is put back at once.
    before = csv.field_size_limit(MAX_CHARACTERS)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _tab_cells(line: str) -> list[str]:
    return [
        cell[1:-1].replace('""', '"') if cell.startswith('"') and _QUOTED.fullmatch(cell) else cell
        for cell in line.split("\t")
    ]


def _json_object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_unique)
    except _LineError:
        raise
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:100]
        raise _LineError(f"broken JSON ({reason}): expected one object a line") from None
    if not isinstance(record, dict):
        raise _LineError(f"{shown(record)}, expected a JSON object such as {_SAMPLE}")
    return record


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _LineError(f"two values are called {shown(twice)}: give each a name of its own")
    return record
