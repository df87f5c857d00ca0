"""Proposer that reads its candidates from a table made beforehand, such as one written by an LLM run."""

from __future__ import annotations

import csv
import json
import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    TokenContext,
)

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES = (".jsonl", ".ndjson")
_NUMBERS = ("forward", "backward", "score")
_MAX_CHARACTERS = 200  # a token or a phrase; a whole paragraph here is a column mixed up


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a candidate table.

    Attributes:
        token: The word to replace; looked up without regard to case.
        candidate: The replacement, lower case unless it has capitals of its own.
        context_hash: :attr:`TokenContext.hash` of the only place it is for; ``""`` for any.
        source: Who made it; ``"table"`` when the column is absent.
        forward, backward, score: Entailment both ways and their product, in [0, 1]; None when absent.
    """

    token: str
    candidate: str
    context_hash: str = ""
    source: str = "table"
    forward: float | None = None
    backward: float | None = None
    score: float | None = None


def read_table(path: Path) -> Iterator[TableRow]:
    """Read rows one by one from ``.jsonl``/``.ndjson`` (an object a line), ``.csv``, ``.tsv`` (with header).

    Raises:
        DataError: The file is missing, empty, of another kind, or a row is broken; with the line number.
    """
    suffix = path.suffix.lower()
    if suffix not in (*_DELIMITERS, *_JSON_LINES):
        raise DataError(
            f"candidate table {path}: unknown kind {suffix!r}; expected a name that ends in "
            f"{', '.join((*_JSON_LINES, *_DELIMITERS))}"
        )
    records = _json_records(path) if suffix in _JSON_LINES else _csv_records(path, _DELIMITERS[suffix])
    is_empty = True
    try:
        for line, record in records:
            is_empty = False
            yield _row(path, line, record)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"cannot read the candidate table {path}: {reason}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"candidate table {path} is not UTF-8 ({error.reason}); save it as UTF-8") from error
    if is_empty:
        raise DataError(f"candidate table {path} has no rows; expected token and candidate in each")


class TableProposer(BaseProposer):
    """Candidates from a file, in the order of its rows, written in the letter case of the token.

    All rows are held in memory, about half a kilobyte each: a table of a million rows needs some 500 MB, so
    make one table for each data set, not one for a language.

    Args:
        path: The table; see :func:`read_table`.
        min_score: Leave out rows with a ``score`` below it; rows without a score stay.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.

    Raises:
        DataError: The table cannot be read.
        UsageError: A number is out of range.
    """

    name = "table"

    def __init__(
        self,
        path: Path | str,
        *,
        min_score: float = 0.0,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if not 0 <= min_score <= 1:
            raise UsageError(f"min_score must be between 0 and 1, got {min_score}")
        self.path = Path(path)
        self.min_score = min_score
        self._rows: dict[str, list[TableRow]] = {}
        for row in read_table(self.path):
            if row.score is None or row.score >= min_score:
                self._rows.setdefault(row.token.casefold(), []).append(row)

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Rows of each context's token."""
        return [self._candidates(context) for context in contexts]

    def __repr__(self) -> str:
        name, tokens = str(self.path), len(self._rows)
        return f"TableProposer({name!r}, tokens={tokens}, max_candidates={self.max_candidates})"

    def _candidates(self, context: TokenContext) -> Iterator[Candidate]:
        pattern = case_pattern(context.token)
        for row in self._rows.get(context.token.casefold(), ()):
            if not row.context_hash or row.context_hash == context.hash:
                yield Candidate(fit_case(pattern, row.candidate), row.source)


def _json_records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"candidate table {path} line {number}: broken JSON ({error})") from error
            if not isinstance(record, dict):
                raise DataError(
                    f"candidate table {path} line {number}: expected an object with token and candidate, "
                    f"got {type(record).__name__}"
                )
            yield number, record


def _csv_records(path: Path, delimiter: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
        try:
            columns = list(reader.fieldnames or ())
            missing = [name for name in ("token", "candidate") if name not in columns]
            if missing and columns:
                raise DataError(
                    f"candidate table {path} line 1: the header lacks {' and '.join(missing)}; "
                    f"expected token, candidate and optional columns, got {', '.join(columns)}"
                )
            for record in reader:
                if None in record or None in record.values():
                    raise DataError(
                        f"candidate table {path} line {reader.line_num}: expected {len(columns)} fields as "
                        f"in the header, got another number; quote fields that hold the delimiter"
                    )
                yield reader.line_num, record
        except csv.Error as error:
            raise DataError(f"candidate table {path} line {reader.reader.line_num}: {error}") from error


def _row(path: Path, line: int, record: Mapping[str, Any]) -> TableRow:
    texts = {}
    for name in ("token", "candidate", "context_hash", "source"):
        value = record.get(name)
        is_required = name in ("token", "candidate")
        if value is None and not is_required:
            value = ""
        if not isinstance(value, str) or (is_required and not value.strip()):
            raise DataError(f"candidate table {path} line {line}: {name} must be a text, got {value!r}")
        texts[name] = value.strip()
        if is_required:
            _check_text(path, line, name, texts[name])
    numbers = {name: _number(path, line, name, record.get(name)) for name in _NUMBERS}
    return TableRow(
        texts["token"], texts["candidate"], texts["context_hash"], texts["source"] or "table", **numbers
    )


def _check_text(path: Path, line: int, name: str, value: str) -> None:
    if len(value) > _MAX_CHARACTERS:
        raise DataError(
            f"candidate table {path} line {line}: {name} may have {_MAX_CHARACTERS} characters, "
            f"got {len(value)}: put one word or a short phrase there"
        )
    control = next((letter for letter in value if unicodedata.category(letter) == "Cc"), None)
    if control is not None:
        raise DataError(
            f"candidate table {path} line {line}: {name} holds the control character U+{ord(control):04X}; "
            f"expected plain text: take it out"
        )


def _number(path: Path, line: int, name: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value) if isinstance(value, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= 1:
        raise DataError(
            f"candidate table {path} line {line}: {name} must be a number from 0 to 1, got {value!r}"
        )
    return number
