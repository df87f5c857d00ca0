"""The words of one value, and the value of some words: exact in both directions.

A value stands as it is wherever a reader can tell where it ends; else it stands in quotation marks, as does
one that would read as something else, such as a category called *not given*.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.columns import ColumnSpec
from rif_plugins.tables.encoding import raw_categories
from rif_plugins.tables.inference import label_of

MISSING = "not given"
OPEN, CLOSE = "“", "”"
_ESCAPE = "\\"
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)", re.ASCII)
_EXACT_WHOLE = 1e15
Value = str | int | float | bool | None


class ValueCodec:
    """Values of one column as words.

    Args:
        column: The column, of raw rows.
        words: From values to the words that tell them; others are told as they stand in the table.
        template: Name for messages.

    Raises:
        DataError: ``words`` names a value that the column does not have.
        UsageError: The column is a one-hot group.
    """

    def __init__(self, column: ColumnSpec, words: Mapping[str, str], template: str) -> None:
        if column.kind == "one_hot":
            raise UsageError(
                f"column {column.name!r} is a one-hot group, which is no raw value: give the raw schema"
            )
        self.column = column
        self.is_number = column.kind in ("numeric", "integer")
        self._raw: dict[str, Value] = {}
        if not self.is_number:
            raw = raw_categories(column).tolist()
            self._raw = {label_of(value): value for value in raw}
            unknown = sorted(set(words) - self._raw.keys())
            if unknown:
                raise DataError(
                    f"template {template}: words of {column.name!r} names the value {unknown[0]!r}, "
                    f"expected one of {', '.join(list(self._raw)[:8])}"
                )
        self._words = dict(words)
        self._labels = {word: label for label, word in words.items()}

    def normal(self, value: Any) -> Value:
        """The value as :meth:`value` gives it back: plain Python, None where it is missing.

        Raises:
            DataError: It is no number, or no category of the column.
        """
        if is_missing(value):
            return None
        if not self.is_number:
            label = label_of(value)
            if label not in self._raw:
                raise self._error(f"the category {label!r}", f"one of {', '.join(list(self._raw)[:8])}")
            return self._raw[label]
        if hasattr(value, "item"):
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._error(repr(value)[:60], "a number")
        if isinstance(value, float) and value.is_integer():
            return int(value) if self.column.kind == "integer" else value
        return value

    def label(self, value: Value) -> str | None:
        """The value as text in the table; None where it is missing."""
        return None if value is None else self._number(value) if self.is_number else label_of(value)

    def _number(self, value: Any) -> str:
        if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_WHOLE:
            return str(int(value))
        return str(value)

    def told(self, value: Value, followers: Sequence[tuple[str, bool]], *, quoted: bool = False) -> str:
        """The words of a value.

        Args:
            value: A normal value.
            followers: Each text that may stand behind it, and whether it ends the whole text.
            quoted: Quote whatever is not a number.
        """
        label = self.label(value)
        if label is None:
            return MISSING
        words = self._words.get(label, label)
        is_told = label in self._words or words not in self._labels
        is_clear = is_told and words not in ("", MISSING) and words[0] != OPEN
        ends = (self.end(words + text, 0, text) for text, is_last in followers if not is_last)
        if is_clear and (self.is_number or not quoted) and all(end == len(words) for end in ends):
            return words
        escaped = label.replace(_ESCAPE, _ESCAPE * 2).replace(CLOSE, _ESCAPE + CLOSE)
        return f"{OPEN}{escaped}{CLOSE}"

    def end(self, text: str, start: int, follows: str) -> int:
        """Behind the words of a value that stand in ``text``: the first end that makes them known.

        Returns:
            The end; where no words are known, that of the first; -1 where ``follows`` does not come.
        """
        first = place = text.find(follows, start)
        while place >= 0 and not self._is_known(text[start:place]):
            place = text.find(follows, place + 1)
        return place if place >= 0 else first

    def _is_known(self, words: str) -> bool:
        label = self._labels.get(words, words)
        return words == MISSING or (
            _NUMBER.fullmatch(label) is not None if self.is_number else label in self._raw
        )

    def value(self, words: str) -> Value:
        """The value of words that :meth:`told` gave.

        Raises:
            DataError: They tell no value of the column.
        """
        if words == MISSING:
            return None
        label = unquoted(words) if words[:1] == OPEN else self._labels.get(words, words)
        if not self.is_number:
            if label not in self._raw:
                raise self._error(f"the category {label!r}", f"one of {', '.join(list(self._raw)[:8])}")
            return self._raw[label]
        if not _NUMBER.fullmatch(label):
            raise self._error(repr(label)[:60], "a number")
        is_whole = label.removeprefix("-").isdecimal()
        # Beyond that a float cannot tell whole numbers apart.
        is_long = is_whole and abs(int(label)) > _EXACT_WHOLE
        return int(label) if is_long or (is_whole and self.column.kind == "integer") else float(label)

    def domain(self) -> list[Value]:
        """All values of the column.

        Raises:
            UsageError: There is no finite list of them.
        """
        if not self.is_number:
            return list(self._raw.values())
        return [self.normal(float(number)) for number in self.column.domain()[:, 0]]

    def _error(self, got: str, expected: str) -> DataError:
        return DataError(f"column {self.column.name!r} holds {got}, expected {expected}")


def is_missing(value: Any) -> bool:
    """True for None, NaN and the missing values of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def quote_end(text: str, start: int) -> int:
    """Behind the quotation that starts at ``start``; -1 where it is not closed."""
    place = start + 1
    while place < len(text):
        if text[place] == _ESCAPE:
            place += 2
        elif text[place] == CLOSE:
            return place + 1
        else:
            place += 1
    return -1


def unquoted(words: str) -> str:
    """What stands in a quotation."""
    return re.sub(r"\\(.)", r"\1", words[1:-1], flags=re.DOTALL)
