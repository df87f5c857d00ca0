"""Read a lexicon file: a tab-separated table of terms that stand for one another.

The format is described in ``docs/lexicons.md``. Every complaint names the file, the line, what was
expected and what to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rif_plugins.errors import LexiconError
from rif_plugins.similar.word_classes import class_names
from rif_plugins.similar.word_view import WORD, lookup_form

SLOTS = (
    "subject",
    "object",
    "determiner",
    "possessive",
    "reflexive",
    "title",
    "noun",
    "plural",
    "adjective",
    "word",
    "given",
    "surname",
)
NAME_SLOTS = ("given", "surname")
NEEDS = ("person", "group", "name", "capital", "capital-person", "sure-name")
GUARD_KEYS = ("needs", "not-before", "not-after")
_ABSENT = "-"
_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Cell:
    """Terms of one value in one row; the first is the one that is written.

    Attributes:
        terms: All spellings, the written one first; empty when the row has none for this value.
        is_target_only: The term stands in another row, here it is only written, never looked for.
    """

    terms: tuple[str, ...]
    is_target_only: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: terms of the same grammatical slot, one cell a value."""

    slot: str
    cells: tuple[Cell, ...]
    line: int

    def by_value(self, values: Sequence[str]) -> Iterator[tuple[str, Cell]]:
        """Pairs of value and cell, in the order of the columns."""
        return zip(values, self.cells, strict=True)


@dataclass(frozen=True, slots=True)
class GuardLine:
    """One line that says when a term is not about a person; ``term`` ``*`` means every term."""

    term: str
    key: str
    words: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class LexiconTable:
    """A parsed file, not yet checked for contradictions.

    Attributes:
        name: What messages call it: the file's name.
        attribute: Name of the sensitive attribute.
        values: Names of its values, two or more.
        rows, guards: The lines of the file.
        version: Version from the header and the first eight digits of the content's SHA-256.
        meta: Header entries such as ``licence`` and ``source``; ``notes`` lines joined by a line feed.
    """

    name: str
    attribute: str
    values: tuple[str, ...]
    rows: tuple[Row, ...]
    guards: tuple[GuardLine, ...]
    version: str
    meta: tuple[tuple[str, str], ...]


def slot_kind(slot: str) -> str:
    """The slot without its sub-group: ``"given"`` for ``"given-female"``."""
    kind = slot.partition("-")[0]
    return kind if kind in NAME_SLOTS else slot


def term_key(term: str) -> tuple[str, ...]:
    """The lower-case words of a term: two spellings with the same key are the same term."""
    return tuple(lookup_form(match.group()) for match in WORD.finditer(term))


def read_lexicon_file(path: Path) -> LexiconTable:
    """Parse one lexicon file.

    Raises:
        LexiconError: The file is missing, unreadable, or breaks the format.
    """
    if not path.exists():
        raise LexiconError(f"no lexicon file {path}: check the path, or name an embedded attribute")
    if path.is_dir():
        raise LexiconError(f"{path} is a folder, expected a lexicon file: give the file's path")
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise LexiconError(f"{path} is larger than 16 MB: is it a lexicon? Split it by attribute")
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LexiconError(f"cannot read the lexicon {path}: {reason}: check its permissions") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LexiconError(f"{path.name} line {line}: not UTF-8: save the file as UTF-8") from None
    return parse_lexicon(text, name=path.name, default_attribute=path.stem)


def parse_lexicon(text: str, *, name: str, default_attribute: str = "user") -> LexiconTable:
    """Parse the content of a lexicon file.

    Args:
        text: The whole content.
        name: What messages call it.
        default_attribute: Attribute name when the header gives none.

    Raises:
        LexiconError: The text breaks the format; the message carries the line number.
    """
    meta: dict[str, str] = {}
    header: list[str] | None = None
    rows: list[Row] = []
    guards: list[GuardLine] = []
    for number, line in _lines(text):
        if line.startswith("#"):
            if header is None:
                _read_meta(line, meta)
            continue
        fields = [field.strip() for field in line.split("\t")]
        if header is None:
            header = _header(fields, f"{name} line {number}")
        elif fields[0] == "guard" and header[0] == "slot":
            guards.append(_guard(fields, number, name))
        else:
            row = _row(fields, header, number, name)
            if header[0] == "slot" or not any(_is_reverse(row, other) for other in rows):
                rows.append(row)
    if header is None:
        raise LexiconError(
            f"{name} is empty: expected a header `slot<TAB>value<TAB>value`, then rows of terms"
        )
    if not rows:
        raise LexiconError(f"{name} has a header but no rows: add at least one line of terms")
    digest = hashlib.sha256("\n".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return LexiconTable(
        name=name,
        attribute=meta.get("attribute", "") or default_attribute,
        values=tuple(header[1:] if header[0] == "slot" else header),
        rows=tuple(rows),
        guards=tuple(guards),
        version=f"{meta.get('version', '0')}+{digest}",
        meta=tuple(sorted(meta.items())),
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip("\r").rstrip(" ")
        if line.strip():
            yield number, line


def _read_meta(line: str, meta: dict[str, str]) -> None:
    key, colon, value = line.lstrip("#").partition(":")
    key = key.strip().lower()
    if colon and key.replace("-", "").isalnum():
        value = value.strip()
        meta[key] = f"{meta[key]}\n{value}" if key == "notes" and key in meta else value


def _header(fields: list[str], where: str) -> list[str]:
    if fields == ["from", "to"]:
        return fields
    if fields[0] != "slot":
        hint = " (columns are separated by one tab)" if len(fields) == 1 else ""
        raise LexiconError(
            f"{where}: expected the header `slot<TAB>value<TAB>value` or `from<TAB>to`, "
            f"got {fields[0][:40]!r}{hint}: add it as the first line"
        )
    values = fields[1:]
    if len(values) < 2:
        raise LexiconError(f"{where}: an attribute needs two values or more, got {len(values)}: add a column")
    for value in values:
        if not value:
            raise LexiconError(f"{where}: a value has no name: name every column after `slot`")
        if values.count(value) > 1:
            raise LexiconError(f"{where}: the value {value!r} is named twice: rename one column")
    return fields


def _row(fields: list[str], header: list[str], number: int, name: str) -> Row:
    where = f"{name} line {number}"
    if len(fields) != len(header):
        hint = "; columns are separated by one tab" if len(fields) == 1 else ""
        raise LexiconError(
            f"{where}: expected {len(header)} columns ({', '.join(header)}), got {len(fields)}{hint}: "
            "write `-` where a value has no term"
        )
    is_pair = header[0] == "from"
    slot, values, names = ("word", fields, header) if is_pair else (fields[0], fields[1:], header[1:])
    if slot_kind(slot) not in SLOTS:
        raise LexiconError(f"{where}: unknown slot {slot!r}: use one of {', '.join(SLOTS)} or guard")
    cells = tuple(_cell(text, value, where) for text, value in zip(values, names, strict=True))
    if sum(bool(cell.terms) for cell in cells) < 2:
        raise LexiconError(f"{where}: a row needs terms of two values or more: add a side or drop the row")
    if all(cell.is_target_only or not cell.terms for cell in cells):
        raise LexiconError(f"{where}: every term is marked `>`, so none is ever looked for: unmark one")
    return Row(slot=slot, cells=cells, line=number)


def _is_reverse(row: Row, other: Row) -> bool:
    left, right = ([term_key(term) for term in cell.terms] for cell in row.cells)
    return [right, left] == [[term_key(term) for term in cell.terms] for cell in other.cells]


def _cell(text: str, value: str, where: str) -> Cell:
    if text == _ABSENT:
        return Cell(())
    is_target_only = text.startswith(">")
    terms = tuple(term.strip() for term in text.removeprefix(">").split("|"))
    for term in terms:
        if not term_key(term):
            what = f"{term!r} holds no letter" if term else "the side is empty"
            raise LexiconError(f"{where}: value {value!r}: {what}: write a term, or `-` for none")
    if is_target_only and len(terms) > 1:
        raise LexiconError(f"{where}: value {value!r}: `>` takes one term, got {len(terms)}: keep the first")
    return Cell(terms, is_target_only)


def _guard(fields: list[str], number: int, name: str) -> GuardLine:
    where = f"{name} line {number}"
    if len(fields) != 4 or not all(fields):
        got = len([field for field in fields if field])
        raise LexiconError(
            f"{where}: a guard has four columns (guard, term or *, key, words), got {got}: add them"
        )
    _, term, key, text = fields
    words = tuple(text.split())
    if key not in GUARD_KEYS:
        raise LexiconError(f"{where}: unknown guard key {key!r}: use one of {', '.join(GUARD_KEYS)}")
    if key == "needs" and (len(words) != 1 or words[0] not in NEEDS):
        raise LexiconError(f"{where}: `needs` takes one of {', '.join(NEEDS)}; got {text!r}")
    if key != "needs":
        for word in words:
            known = {"name", "number", *class_names()}
            if word.startswith("@") and word[1:] not in known:
                classes = ", ".join(f"@{name}" for name in sorted(known))
                raise LexiconError(f"{where}: no word class {word!r}: use one of {classes}")
    return GuardLine(term if term == "*" else " ".join(term_key(term)), key, words, number)
