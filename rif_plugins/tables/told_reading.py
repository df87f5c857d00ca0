"""Reading a told row back: the words of every field, found by the texts that stand between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rif_plugins.errors import DataError
from rif_plugins.tables.templates import ARTICLES, PERSONS, Slot, Template
from rif_plugins.tables.told_values import OPEN, ValueCodec, quote_end


class MisreadError(DataError):
    """A text that a template did not tell; ``place`` is where that shows."""

    place = -1


@dataclass(frozen=True, slots=True)
class Said:
    """What stands in a text for one field: its article, without the space, and its words."""

    article: str
    words: str


@dataclass(frozen=True)
class Script:
    """A template for one person: the slots and the texts around them, one more than there are slots."""

    name: str
    texts: tuple[str, ...]
    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, template: Template, person: str) -> Script:
        """The script of a template for one of ``PERSONS``."""
        texts, slots = [""], []
        for part in template.parts:
            if isinstance(part, Slot):
                slots.append(part)
                texts.append("")
            else:
                texts[-1] += part if isinstance(part, str) else part.forms[PERSONS.index(person)]
        return cls(template.name, tuple(texts), tuple(slots))

    def followers(self, column: str) -> tuple[str, bool]:
        """The text behind a column's value, and whether it ends the whole text."""
        place = [slot.column for slot in self.slots].index(column)
        return self.texts[place + 1], place + 1 == len(self.slots)

    def read(self, text: str, codecs: Mapping[str, ValueCodec]) -> dict[str, Said]:
        """The words of every column; either article is taken before a value.

        Args:
            text: The text.
            codecs: The columns, which know their values.

        Raises:
            MisreadError: The text has other words between the fields.
        """
        said: dict[str, Said] = {}
        place = self._passed(text, 0, self.texts[0])
        for slot, follows in zip(self.slots, self.texts[1:], strict=True):
            article = _article(text, place) if slot.has_article else ""
            start = place + len(article)
            if text.startswith(OPEN, start):
                end = quote_end(text, start)
            elif slot is self.slots[-1]:
                end = len(text) - len(follows)
            else:
                end = codecs[slot.column].end(text, start, follows)
            if end < start:
                raise self._misread(text, start, f"a value and {follows!r}")
            said[slot.column] = Said(article[:-1], text[start:end])
            place = self._passed(text, end, follows)
        if place != len(text):
            raise self._misread(text, place, "the end")
        return said

    def _passed(self, text: str, place: int, expected: str) -> int:
        if not text.startswith(expected, place):
            raise self._misread(text, place, repr(expected))
        return place + len(expected)

    def _misread(self, text: str, place: int, expected: str) -> MisreadError:
        error = MisreadError(
            f"the text was not told by the template {self.name}: expected {expected} at character "
            f"{place + 1}, got {text[place : place + 30]!r}"
        )
        error.place = place
        return error


def _article(text: str, place: int) -> str:
    return next((article for article in ARTICLES if text.startswith(article, place)), "")


def farthest(errors: Sequence[DataError]) -> DataError:
    """The error of the reading that came farthest; an error of a value counts as far."""
    return max(errors, key=lambda error: error.place if isinstance(error, MisreadError) else 1 << 60)
