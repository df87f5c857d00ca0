"""Rows of a candidate table, read one by one, each with the place where it stands in the file."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rif_plugins.errors import DataError

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_NUMBERS = ("forward", "backward", "score")
_MAX_CHARACTERS = 200  # a token or a phrase; a whole paragraph here is a column mixed up
_MAX_LINE_BYTES = 1 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a candidate table.

    Attributes:
        token: The word to replace; looked up without regard to case.
        candidate: The replacement, lower case unless it has capitals of its own.
        context_hash: :attr:`TokenContext.hash` of the only place it is for; ``""`` for any.
        source: Who made it; ``"table"`` when the column is absent.
        forward, backward, score: Entailment both ways and their product, in [0, 1]; None when absent.
        accepted: False where whoever made the table has refused the candidate.
    """

    token: str
    candidate: str
    context_hash: str = ""
    source: str = "table"
    forward: float | None = None
    backward: float | None = None
    score: float | None = None
    accepted: bool = True


class TableFile:
    """A ``.jsonl``/``.ndjson`` (an object a line), ``.csv`` or ``.tsv`` file (with header) of rows.

    Args:
        path: The file.

    Raises:
        DataError: The name has another ending.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._suffix = path.suffix.lower()
        self._columns: tuple[str, ...] = ()
        if self._suffix not in (*_DELIMITERS, *_JSON_LINES):
            raise DataError(
                f"candidate table {path}: unknown kind {self._suffix!r}; expected a name that ends in "
                f"{', '.join((*_JSON_LINES, *_DELIMITERS))}"
            )

    def rows(self) -> Iterator[tuple[int, int, TableRow]]:
        """Start and end of each row in bytes, and the row.

        Raises:
            DataError: The file is missing or empty, or a row is broken; with the line number.
        """
        path, is_empty = self.path, True
        try:
            with path.open("rb") as file:
                lines = _Lines(file)
                records = self._json(lines) if self._suffix in _JSON_LINES else self._csv(lines)
                for start, end, record in records:
                    is_empty = False
                    try:
                        yield start, end, _row(record)
                    except _CellError as error:
                        raise DataError(f"{self._place(lines.number)}: {error}") from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DataError(f"cannot read the candidate table {path}: {reason}") from error
        except UnicodeDecodeError as error:
            raise DataError(
                f"candidate table {path} is not UTF-8 ({error.reason}); save it as UTF-8"
            ) from error
        if is_empty:
            raise DataError(f"candidate table {path} has no rows; expected token and candidate in each")

    def row(self, data: bytes) -> TableRow:
        """One row again, from the bytes where it stands.

        Raises:
            DataError: The bytes are no row: the file is not the one that :meth:`rows` has read.
        """
        try:
            text = data.decode("utf-8")
            if self._suffix in _JSON_LINES:
                record = json.loads(text)
            else:
                reader = csv.reader(io.StringIO(text, newline=""), delimiter=_DELIMITERS[self._suffix])
                record = dict(zip(self._columns, next(filter(None, reader)), strict=True))
            if not isinstance(record, dict):
                raise ValueError
            return _row(record)
        except (ValueError, StopIteration, RecursionError, csv.Error) as error:
            raise DataError(
                f"candidate table {self.path} has changed since it was read: start again"
            ) from error

    def _place(self, line: int) -> str:
        return f"candidate table {self.path} line {line}"

    def _json(self, lines: _Lines) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        for line in lines:
            if line.strip():
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(f"{self._place(lines.number)}: broken JSON ({error})") from error
                if not isinstance(record, dict):
                    raise DataError(
                        f"{self._place(lines.number)}: expected an object with token and candidate, "
                        f"got {type(record).__name__}"
                    )
                yield lines.start, lines.position, record

    def _csv(self, lines: _Lines) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
        reader = csv.reader(lines, delimiter=_DELIMITERS[self._suffix], strict=True)
        try:
            self._columns = tuple(next(filter(None, reader), ()))
            missing = [name for name in ("token", "candidate") if name not in self._columns]
            if missing and self._columns:
                raise DataError(
                    f"{self._place(1)}: the header lacks {' and '.join(missing)}; "
                    f"expected token, candidate and optional columns, got {', '.join(self._columns)}"
                )
            start = lines.position
            for cells in reader:
                if len(cells) not in (0, len(self._columns)):
                    raise DataError(
                        f"{self._place(lines.number)}: expected {len(self._columns)} fields as "
                        f"in the header, got another number; quote fields that hold the delimiter"
                    )
                if cells:
                    yield start, lines.position, dict(zip(self._columns, cells, strict=True))
                start = lines.position
        except csv.Error as error:
            raise DataError(f"{self._place(lines.number)}: {error}") from error


class _Lines:
    """Lines of a file as text; tells the number, start and end of the line that was read last."""

    def __init__(self, file: BinaryIO) -> None:
        self.number = 0
        self.start = 0
        self.position = 0
        self._file = file

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(_MAX_LINE_BYTES + 1):
            self.number += 1
            if len(line) > _MAX_LINE_BYTES:
                raise DataError(
                    f"candidate table {self._file.name}, line {self.number}: more than {_MAX_LINE_BYTES} "
                    "bytes, expected one row a line"
                )
            if self.number == 1 and line.startswith(_BOM):
                self.position += len(_BOM)
                line = line[len(_BOM) :]
            self.start = self.position
            self.position += len(line)
            yield line.decode("utf-8")


def read_table(path: Path) -> Iterator[TableRow]:
    """Read rows one by one from ``.jsonl``/``.ndjson`` (an object a line), ``.csv``, ``.tsv`` (with header).

    Raises:
        DataError: The file is missing, empty, of another kind, or a row is broken; with the line number.
    """
    for _, _, row in TableFile(path).rows():
        yield row


def can_stand_in_table(text: str) -> bool:
    """Whether a token or a candidate can be written into a table that :func:`read_table` accepts."""
    return bool(text.strip()) and len(text) <= _MAX_CHARACTERS and _CONTROL.search(text) is None


_TRUTHS = {
    **dict.fromkeys(("true", "1", "1.0", "yes", ""), True),
    **dict.fromkeys(("false", "0", "0.0", "no"), False),
}


class _CellError(ValueError):
    """A cell that cannot be used; the message does not tell its row."""


def _row(record: Mapping[str, Any]) -> TableRow:
    """The row of a record.

    Raises:
        _CellError: A cell cannot be used.
    """
    token, candidate = _text(record, "token"), _text(record, "candidate")
    context_hash, source = _optional_text(record, "context_hash"), _optional_text(record, "source")
    forward, backward, score = (_number(name, record.get(name)) for name in _NUMBERS)
    return TableRow(
        token,
        candidate,
        context_hash,
        source or "table",
        forward,
        backward,
        score,
        accepted=_truth(record.get("accepted", True)),
    )


def _truth(value: Any) -> bool:
    """True or false as JSON, spreadsheets and people write it; an empty cell of a CSV file is true."""
    word = str(value).strip().casefold()
    if word not in _TRUTHS:
        raise _CellError(f"accepted must be true or false, got {str(value)[:40]!r}")
    return _TRUTHS[word]


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        raise _CellError(f"{name} must be a text, got {value!r}")
    if len(text) > _MAX_CHARACTERS:
        raise _CellError(
            f"{name} may have {_MAX_CHARACTERS} characters, "
            f"got {len(text)}: put one word or a short phrase there"
        )
    control = _CONTROL.search(text)
    if control is not None:
        raise _CellError(
            f"{name} holds the control character U+{ord(control.group()):04X}; "
            f"expected plain text: take it out"
        )
    return text


def _optional_text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _CellError(f"{name} must be a text, got {value!r}")
    return value.strip()


def _number(name: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value) if isinstance(value, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= 1:
        raise _CellError(f"{name} must be a number from 0 to 1, got {value!r}")
    return number
