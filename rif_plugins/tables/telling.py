"""Rows told as text by a template, with a span for every field; read back exactly; told again for I(v).

Similar individuals of a told row are the rows with other sensitive values, told by the same template: words
that agree with the person (*she*, *he*) and articles follow, and nothing else differs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rif_plugins.core.articles import indefinite_article
from rif_plugins.core.pairs import Pair, Span, Swap
from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tables.templates import PERSONS, PERSPECTIVES, Agreement, Template
from rif_plugins.tables.told_reading import Said, Script, farthest
from rif_plugins.tables.told_values import Value, ValueCodec

Row = dict[str, Value]
Role = Literal["value", "article", "agreement"]
_MAX_TUPLES = 100_000


@dataclass(frozen=True, slots=True)
class FieldSpan:
    """Where the words of a column stand, or words that follow from its value.

    Attributes:
        start, end: Character offsets, end exclusive.
        column: The column.
        role: ``"value"``; ``"article"`` before it; ``"agreement"``: words such as *she*.
    """

    start: int
    end: int
    column: str
    role: Role = "value"


@dataclass(frozen=True)
class ToldRow:
    """A row as text.

    Attributes:
        text: The text.
        row: The row, by column.
        spans: Every value, every article before one, and in the perspective ``she_he`` every word that
            follows from the gender; in order of position.
        pieces: What the text is made of, one after another.
    """

    text: str
    row: Row
    spans: tuple[FieldSpan, ...]
    pieces: tuple[str, ...]


class Teller:
    """Tells the rows of a schema.

    Args:
        template: The template.
        schema: The raw rows: numbers in their own units, categories by their labels.
        perspective: ``"third"``, ``"i"``, ``"you"`` or ``"she_he"``; ``"she"`` and ``"he"`` where no column
            says the gender.

    Raises:
        DataError: The template names a column that the schema lacks, or leaves one of the schema out.
        UsageError: The perspective does not exist, or does not go with the template.
    """

    def __init__(self, template: Template, schema: TableSchema, perspective: str = "third") -> None:
        self.template = template
        self.schema = schema
        self.perspective = _checked_perspective(perspective, template)
        _check_columns(template, schema)
        self.codecs = {
            column.name: ValueCodec(column, template.words.get(column.name, {}), template.name)
            for column in schema.columns
        }
        self._gender = template.gender if self.perspective == "she_he" else None
        persons = ("she", "he", "third") if self._gender else (self.perspective,)
        self._scripts = {person: Script.of(template, person) for person in persons}
        self._followers = {
            name: tuple(dict.fromkeys(script.followers(name) for script in self._scripts.values()))
            for name in template.columns
        }

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return tuple(column.name for column in self.schema.columns if column.sensitive)

    @property
    def gender_column(self) -> str | None:
        """The column that decides about *she* and *he*; None where the perspective is another."""
        return None if self._gender is None else self._gender.column

    def tell(self, row: Mapping[str, Any]) -> ToldRow:
        """Tell a row.

        Args:
            row: A value for each column of the schema; None and NaN are missing. Others are ignored.

        Raises:
            DataError: A column is absent, or a value is none of its column.
        """
        return self._tell(self._normal(row))

    def _normal(self, row: Mapping[str, Any]) -> Row:
        absent = [name for name in self.schema.names if name not in row]
        if absent:
            raise DataError(f"the row has no column {absent[0]!r}: expected {', '.join(self.schema.names)}")
        return {name: codec.normal(row[name]) for name, codec in self.codecs.items()}

    def _tell(self, values: Row, persons: Collection[str] = ()) -> ToldRow:
        for quoted in (False, True):
            said = {name: self.said(name, values[name], quoted=quoted) for name in self.schema.names}
            told = self._written(values, said, persons)
            # Words of another person may stand inside of a value; quoted, they end nothing.
            if len(self._scripts) == 1 or self._reads_back(told):
                return told
        raise DataError(
            f"template {self.template.name}: a row cannot be told apart from others in the perspective "
            f"{self.perspective}: take another perspective, or more text between the fields"
        )

    def _reads_back(self, told: ToldRow) -> bool:
        try:
            return self.read(told.text) == told.row
        except DataError:
            return False

    def said(self, column: str, value: Value, *, quoted: bool = False) -> Said:
        """The words of one normal value, with the article that they would have."""
        words = self.codecs[column].told(value, self._followers[column], quoted=quoted)
        return Said(indefinite_article(words), words)

    def _written(self, values: Row, said: Mapping[str, Said], persons: Collection[str] = ()) -> ToldRow:
        person = self._person_of(values)
        among = {person, *(persons or self._usual_persons)}
        pieces: list[str] = []
        spans: list[FieldSpan] = []
        place = 0

        def add(piece: str, column: str = "", role: Role = "value") -> None:
            nonlocal place
            if column:
                spans.append(FieldSpan(place, place + len(piece), column, role))
            pieces.append(piece)
            place += len(piece)

        for part in self.template.parts:
            if isinstance(part, str):
                add(part)
            elif isinstance(part, Agreement):
                head, tail = _split(part, person, among)
                add(head, self._gender.column if self._gender and head else "", "agreement")
                add(tail)
            else:
                one = said[part.column]
                if part.has_article and one.article:
                    add(one.article, part.column, "article")
                    add(" ")
                add(one.words, part.column)
        return ToldRow("".join(pieces), values, tuple(spans), tuple(pieces))

    def _person_of(self, values: Mapping[str, Value]) -> str:
        if self._gender is None:
            return next(iter(self._scripts))
        column = self._gender.column
        return self._gender.person(self.codecs[column].label(values[column]))

    @cached_property
    def _usual_persons(self) -> frozenset[str]:
        """The persons that the values of the gender column make."""
        if self._gender is None:
            return frozenset(self._scripts)
        codec = self.codecs[self._gender.column]
        return frozenset(self._gender.person(codec.label(value)) for value in codec.domain())

    def read(self, text: str) -> Row:
        """The row that a text tells; either article is taken before a value.

        Raises:
            DataError: The text is none that this template tells.
        """
        return self._read(text)[0]

    def locate(self, text: str) -> ToldRow:
        """As :meth:`read`, with the spans of all fields as they stand in this text.

        Raises:
            DataError: The text is none that this template tells.
        """
        return self._written(*self._read(text))

    def _read(self, text: str) -> tuple[Row, dict[str, Said]]:
        errors: list[DataError] = []
        is_misfit = False
        for person, script in self._scripts.items():
            try:
                said = script.read(text, self.codecs)
                row = {name: self.codecs[name].value(said[name].words) for name in self.schema.names}
            except DataError as error:
                errors.append(error)
                continue
            if self._person_of(row) == person:
                return row, said
            is_misfit = True
        if is_misfit:
            raise DataError(f"the words for the person do not agree with the gender in {text[:60]!r}")
        raise farthest(errors)

    def sensitive_spans(self, told: ToldRow) -> list[Span]:
        """Where sensitive values and the words that follow from them stand, in order; none is empty."""
        sensitive = set(self.sensitive)
        return [Span(s.start, s.end) for s in told.spans if s.column in sensitive and s.start < s.end]

    @cached_property
    def sensitive_values(self) -> list[tuple[Value, ...]]:
        """All combinations of the values of the sensitive columns, the last column changing fastest.

        Raises:
            UsageError: No sensitive column, one without a list of values, or more than 100,000 combinations.
        """
        if not self.sensitive:
            raise UsageError("the schema has no sensitive column: mark one or more as sensitive")
        domains = [self.codecs[name].domain() for name in self.sensitive]
        if math.prod(map(len, domains)) > _MAX_TUPLES:
            raise UsageError(f"the sensitive columns have more than {_MAX_TUPLES} combinations: list fewer")
        return list(itertools.product(*domains))

    def similar_rows(self, row: Mapping[str, Any]) -> Iterator[Row]:
        """The other members of I(v): the row with every other combination of sensitive values."""
        values = self._normal(row)
        own = tuple(values[name] for name in self.sensitive)
        for combination in self.sensitive_values:
            if combination != own:
                yield {**values, **dict(zip(self.sensitive, combination, strict=True))}

    def pair(self, row: Mapping[str, Any], similar: Mapping[str, Any]) -> Pair:
        """Two rows as a pair of texts whose swaps are exactly what differs."""
        rows = self._normal(row), self._normal(similar)
        persons = {self._person_of(one) for one in rows}
        first, second = (self._tell(one, persons) for one in rows)
        swaps, place, other = [], 0, 0
        for source, target in zip(first.pieces, second.pieces, strict=True):
            if source != target:
                swaps.append(Swap(place, place + len(source), source, target, other))
            place, other = place + len(source), other + len(target)
        differing = [name for name in self.schema.names if rows[0][name] != rows[1][name]]
        names = [", ".join(self.codecs[n].label(one[n]) or "" for n in differing) for one in rows]
        return Pair(first.text, second.text, tuple(swaps), "*".join(differing), *names)


def _checked_perspective(perspective: str, template: Template) -> str:
    name = perspective.strip().lower().replace("-", "_").replace("/", "_")
    if name not in PERSPECTIVES:
        raise UsageError(f"perspective {perspective!r} does not exist: expected {', '.join(PERSPECTIVES)}")
    if name == "she_he" and template.gender is None:
        raise UsageError(
            f"template {template.name}: no column says the gender, which she_he needs: say she or he"
        )
    if name in ("she", "he") and template.gender is not None:
        raise UsageError(
            f"template {template.name}: the column {template.gender.column!r} says the gender, so not every "
            f"row can be told as {name}: say she_he"
        )
    return name


def _check_columns(template: Template, schema: TableSchema) -> None:
    absent = [name for name in template.columns if name not in schema.names]
    if absent:
        raise DataError(
            f"template {template.name}: the table has no column {absent[0]!r}, "
            f"it has {', '.join(schema.names)}: mend the field"
        )
    untold = [name for name in schema.names if name not in template.columns]
    if untold:
        raise DataError(
            f"template {template.name}: the column {untold[0]!r} is not told, so a row could not be read "
            "back: add a field for it, or take it out of the table"
        )


def _split(part: Agreement, person: str, among: Collection[str]) -> tuple[str, str]:
    """The words that differ among some persons, and those behind them that do not."""
    own, *others = (part.forms[PERSONS.index(one)] for one in (person, *sorted(among)))
    if all(form == own for form in others):
        return "", own
    shared = 0
    for length, letter in enumerate(reversed(own), 1):
        if letter == " " and all(form.endswith(own[-length:]) for form in others):
            shared = length
    return own[: len(own) - shared], own[len(own) - shared :]
