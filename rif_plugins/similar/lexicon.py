"""Lexicons of sensitive terms: embedded ones, users' own, and how they are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from rif_plugins.errors import LexiconError
from rif_plugins.similar.consistency import check_tables
from rif_plugins.similar.lexicon_file import (
    NAME_SLOTS,
    LexiconTable,
    parse_lexicon,
    read_lexicon_file,
    slot_kind,
    term_key,
)

EMBEDDED = ("gender", "race", "religion", "nationality", "age", "orientation", "disability")
# Only loaded when asked for by name: `gender_names` adds first names to the attribute gender.
OPTIONAL = ("marital_status", "gender_names", "names")


_KNOWN = ", ".join((*EMBEDDED, *OPTIONAL))


@dataclass(frozen=True, slots=True)
class Guard:
    """When a term counts: the evidence it needs, and the words beside it that rule it out."""

    needs: str = ""
    not_before: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """One grammatical use of a term and, by value, what is written in its place."""

    slot: str
    targets: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Term:
    """One sensitive term as it is looked up in a text.

    Attributes:
        attribute, value: What the term says about a person.
        text: The spelling of the lexicon, such as ``"Asian"``.
        key: Its lower-case words.
        readings: One or more, by slot, in the order of the lexicon.
        guard: When it counts.
    """

    attribute: str
    value: str
    text: str
    key: tuple[str, ...]
    readings: tuple[Reading, ...]
    guard: Guard

    @property
    def is_name(self) -> bool:
        """True for a person's name, which counts with a capital only."""
        return slot_kind(self.readings[0].slot) in NAME_SLOTS

    def reading(self, slot: str) -> Reading:
        """The reading of one slot; the first where the term has no such slot."""
        return next((r for r in self.readings if r.slot == slot), self.readings[0])


class Lexicon:
    """Sensitive terms of one or more attributes; immutable, picklable, safe to share by threads.

    Build it with :meth:`load` or :meth:`from_tables`.
    """

    __slots__ = ("_index", "_tables", "_terms")

    def __init__(self, tables: Sequence[LexiconTable]) -> None:
        check_tables(tables)
        self._tables = tuple(tables)
        self._terms = _collect_terms(self._tables)
        index: dict[str, list[Term]] = {}
        for term in self._terms:
            index.setdefault(term.key[0], []).append(term)
        self._index = {
            word: tuple(sorted(terms, key=lambda term: -len(term.key))) for word, terms in index.items()
        }

    def __reduce__(self) -> tuple[type[Lexicon], tuple[tuple[LexiconTable, ...]]]:
        return (Lexicon, (self._tables,))

    def __repr__(self) -> str:
        return f"Lexicon({self.version})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lexicon) and self._tables == other._tables

    def __hash__(self) -> int:
        return hash(self.version)

    def __iter__(self) -> Iterator[Term]:
        return iter(self._terms)

    @classmethod
    def load(cls, name_or_path: str | Path | None = None) -> Lexicon:
        """Load embedded attributes or a user's file.

        Args:
            name_or_path: ``None`` for the attributes of :data:`EMBEDDED`; one of them or of
                :data:`OPTIONAL`, such as ``"gender"``; the path of a file; or several, joined by commas.

        Raises:
            LexiconError: No such attribute or file, or the file is malformed.
        """
        if name_or_path is None:
            return _load_all()
        if isinstance(name_or_path, Path):
            if str(name_or_path) in OPTIONAL and not name_or_path.exists():
                return _load_embedded(str(name_or_path))
            return cls((read_lexicon_file(name_or_path),))
        name = name_or_path.strip()
        if name in EMBEDDED or name in OPTIONAL:
            return _load_embedded(name)
        if "," in name and not Path(name).exists():
            parts = [part.strip() for part in name.split(",") if part.strip()]
            if not parts:
                raise LexiconError(f"no attribute in {name_or_path!r}: use some of {_KNOWN}")
            merged = cls.load(parts[0])
            for part in parts[1:]:
                merged = merged.merged_with(cls.load(part))
            return merged
        if not name or not Path(name).exists():
            raise LexiconError(
                f"no embedded attribute and no file is called {name!r}: use one of {_KNOWN}, "
                "or the path of a lexicon file"
            )
        return cls((read_lexicon_file(Path(name)),))

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes, in the order they were loaded."""
        return tuple(dict.fromkeys(table.attribute for table in self._tables))

    @property
    def tables(self) -> tuple[LexiconTable, ...]:
        """The files it was built from."""
        return self._tables

    @property
    def version(self) -> str:
        """Attributes with version and content hash, such as ``gender@1.0.0+1a2b3c4d``."""
        return " ".join(f"{table.attribute}@{table.version}" for table in self._tables)

    def values(self, attribute: str) -> tuple[str, ...]:
        """Values of one attribute, in the order of its columns.

        Raises:
            LexiconError: The lexicon has no such attribute.
        """
        for table in self._tables:
            if table.attribute == attribute:
                return table.values
        raise LexiconError(f"the lexicon has no attribute {attribute!r}: it has {', '.join(self.attributes)}")

    def select(self, attributes: Sequence[str] | None) -> tuple[str, ...]:
        """The asked-for attributes, checked and without repeats; all of them for ``None``.

        Raises:
            LexiconError: The lexicon lacks one of them.
        """
        if attributes is None:
            return self.attributes
        if isinstance(attributes, str):
            attributes = (attributes,)
        for attribute in attributes:
            self.values(attribute)
        return tuple(dict.fromkeys(attributes))

    def merged_with(self, other: Lexicon) -> Lexicon:
        """Both lexicons in one; rows of an attribute that both have are joined.

        Raises:
            LexiconError: Together they contradict each other, or an attribute's values differ.
        """
        known = set(self._tables)
        return Lexicon((*self._tables, *(table for table in other._tables if table not in known)))

    def terms_at(self, word: str) -> tuple[Term, ...]:
        """Terms whose first word is ``word`` (lower case), longest first."""
        return self._index.get(word, ())

    def has_first_word(self, word: str) -> bool:
        """True when a term starts with ``word`` (lower case)."""
        return word in self._index

    def is_sensitive(self, word: str) -> bool:
        """True when ``word`` is or holds a term of any attribute, whatever its context.

        Terms of several words count as a whole: ``"African American"`` does, ``"African"`` does not. Names
        count with a capital only: ``"Mark"`` does, ``"mark"`` does not.
        """
        key, has_capital = term_key(word), word != word.lower()
        for start, first in enumerate(key):
            for term in self._index.get(first, ()):
                if key[start : start + len(term.key)] == term.key and (has_capital or not term.is_name):
                    return True
        return False

    def find_term(self, attribute: str, text: str) -> Term | None:
        """The term of ``attribute`` that is spelled ``text``, in any letter case."""
        key = term_key(text)
        found = self._index.get(key[0], ()) if key else ()
        return next((term for term in found if term.key == key and term.attribute == attribute), None)

    def describe(self) -> tuple[dict[str, str], ...]:
        """Source, licence, version and notes of every file, for records and reports."""
        return tuple(
            {**dict(table.meta), "attribute": table.attribute, "version": table.version, "file": table.name}
            for table in self._tables
        )


def _collect_terms(tables: Sequence[LexiconTable]) -> tuple[Term, ...]:
    readings: dict[tuple[str, str, tuple[str, ...]], list[Reading]] = {}
    spelling: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for table in tables:
        for row in table.rows:
            written = {value: cell.terms[0] for value, cell in row.by_value(table.values) if cell.terms}
            reading = Reading(row.slot, MappingProxyType(written))
            for value, cell in row.by_value(table.values):
                for term in () if cell.is_target_only else cell.terms:
                    where = (table.attribute, value, term_key(term))
                    spelling.setdefault(where, term)
                    readings.setdefault(where, []).append(reading)
    guards = _collect_guards(tables)
    return tuple(
        Term(
            attribute=attribute,
            value=value,
            text=spelling[attribute, value, key],
            key=key,
            readings=tuple(found),
            guard=guards.get((attribute, " ".join(key)), guards.get((attribute, "*"), Guard())),
        )
        for (attribute, value, key), found in readings.items()
    )


def _collect_guards(tables: Sequence[LexiconTable]) -> dict[tuple[str, str], Guard]:
    lines: dict[tuple[str, str], dict[str, list[str]]] = {}
    for table in tables:
        for line in table.guards:
            lines.setdefault((table.attribute, line.term), {}).setdefault(line.key, []).extend(line.words)
    guards: dict[tuple[str, str], Guard] = {}
    for (attribute, term), own in lines.items():
        shared = lines.get((attribute, "*"), {}) if term != "*" else {}
        guards[attribute, term] = Guard(
            needs=(own.get("needs") or shared.get("needs") or [""])[-1],
            not_before=tuple(dict.fromkeys([*shared.get("not-before", ()), *own.get("not-before", ())])),
            not_after=tuple(dict.fromkeys([*shared.get("not-after", ()), *own.get("not-after", ())])),
        )
    return guards


@lru_cache(maxsize=len(EMBEDDED) + len(OPTIONAL))
def _load_embedded(name: str) -> Lexicon:
    return Lexicon((_embedded_table(name),))


@lru_cache(maxsize=1)
def _load_all() -> Lexicon:
    return Lexicon([_embedded_table(name) for name in EMBEDDED])


def _embedded_table(name: str) -> LexiconTable:
    file = resources.files("rif_plugins.core").joinpath("data", "lexicons", f"{name}.tsv")
    return parse_lexicon(file.read_text(encoding="utf-8"), name=f"{name}.tsv", default_attribute=name)
