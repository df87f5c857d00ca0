"""Read the JSON of a model that babbles: fences, prose around it, loose commas, a cut-off end.

Nothing is evaluated; whatever comes out is plain data of bounded size and depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")
MOST_CHARACTERS = 50_000
MOST_DEPTH = 20
_MOST_STARTS = 20
_MOST_DIGITS = 300
_OPEN = re.compile(r"[\[{]")
_SPACE = re.compile(r"\s*")
_DOUBLE = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_SINGLE = re.compile(r"'([^'\\]*(?:(?:\\.|'(?!\s*[,:\]}]))[^'\\]*)*)'(?=\s*[,:\]}])", re.DOTALL)
_CURLY = re.compile(r"[“„]([^“”„]*)[”“]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAMED = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LONE = re.compile("[\ud800-\udfff]")
_ITEM = re.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(\S.*)")


class _NoValueError(ValueError):
    """What stands here is no JSON, not even a cut-off one."""


class _CutError(ValueError):
    """The text ends inside a value that has no complete part."""


def first_json(text: str) -> Any | None:
    r"""The first JSON list or object in ``text``; None where there is none.

    What is cut off gives its complete items. Loose commas, single and curly quotes around strings and bare
    keys are mended. A list of numbers alone, as citations are, counts only where there is nothing else.

    >>> first_json('Sure! ```json\n["big", "great",]\n```')
    ['big', 'great']
    >>> first_json("['it's big', 'great', 'hu")
    ["it's big", 'great']
    >>> first_json('As in [1]: {"answers": [{"id": 1, "words": ["big", "gre')
    {'answers': [{'id': 1, 'words': ['big']}]}
    """
    numbers = None
    for value in _values(text):
        if not (isinstance(value, list) and value and all(isinstance(item, (int, float)) for item in value)):
            return value
        numbers = numbers or value
    return numbers


def strings_of(text: str, limit: int) -> list[str]:
    """The strings that an answer lists, in JSON or else in bulleted or numbered lines.

    Args:
        text: The answer.
        limit: Most strings.
    """
    for value in _values(text):
        strings = _listed(value)
        if strings:
            return strings[:limit]
    lines = (_ITEM.match(line) for line in text[:MOST_CHARACTERS].splitlines())
    items = (_LONE.sub("\ufffd", match[1].strip(" \t*`\"'“”„")) for match in lines if match)
    return [item for item in items if item][:limit]


def _listed(value: Any) -> list[str]:
    """The strings of a list, of a list of objects, or of the first such list in an object."""
    if isinstance(value, dict):
        lists = (_listed(item) for item in value.values() if isinstance(item, list))
        return next((strings for strings in lists if strings), [])
    strings = []
    for item in value:
        if isinstance(item, dict):
            item = next((part for part in item.values() if isinstance(part, str)), None)
        if isinstance(item, str):
            strings.append(item)
    return strings


def _values(text: str) -> Iterator[Any]:
    """Every list and object that stands in ``text``, one after the other."""
    text = text[:MOST_CHARACTERS]
    place = 0
    for _ in range(_MOST_STARTS):
        match = _OPEN.search(text, place)
        if match is None:
            return
        reader = _Reader(text, match.start())
        try:
            value = reader.value(0)
        except (_NoValueError, _CutError):
            place = match.start() + 1
            continue
        place = reader.place
        yield value


class _Reader:
    """Reads one value of ``text`` from ``place`` on and leaves ``place`` behind it.

    Where the text ends too early, lists and objects give what they hold by then.
    """

    def __init__(self, text: str, place: int) -> None:
        self.text = text
        self.place = place

    def value(self, depth: int) -> Any:
        """Any value.

        Raises:
            _NoValueError: It is none, or too deep.
            _CutError: It is cut off and empty.
        """
        char = self._peek()
        if char in "[{":
            if depth >= MOST_DEPTH:
                raise _NoValueError
            self.place += 1
            return self._list(depth) if char == "[" else self._object(depth)
        if char in "\"'“„":
            return self._string(char)
        number = _NUMBER.match(self.text, self.place)
        if number is not None:
            return self._number(number)
        word = self._word()
        if word not in _NAMED:
            raise _NoValueError
        return _NAMED[word]

    def _list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        try:
            while self._peek() != "]":
                items.append(self.value(depth + 1))
                self._separator("]")
        except _CutError:
            return self._kept(items)
        self.place += 1
        return items

    def _object(self, depth: int) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        try:
            while self._peek() != "}":
                key = self._string(self._peek()) if self._peek() in "\"'“„" else self._word()
                if self._peek() != ":":
                    raise _NoValueError
                self.place += 1
                pairs[key] = self.value(depth + 1)
                self._separator("}")
        except _CutError:
            return self._kept(pairs)
        self.place += 1
        return pairs

    def _kept(self, container: T) -> T:
        self.place = len(self.text)
        if not container:
            raise _CutError
        return container

    def _separator(self, closing: str) -> None:
        """Pass a comma; before the closing bracket there may be one or none, and after the end nothing."""
        if self._peek(may_end=True) == ",":
            self.place += 1
        elif self._peek(may_end=True) not in ("", closing):
            raise _NoValueError

    def _peek(self, *, may_end: bool = False) -> str:
        space = _SPACE.match(self.text, self.place)
        self.place = space.end() if space is not None else self.place
        if self.place >= len(self.text) and not may_end:
            raise _CutError
        return self.text[self.place : self.place + 1]

    def _string(self, quote: str) -> str:
        form = {'"': _DOUBLE, "'": _SINGLE}.get(quote, _CURLY)
        match = form.match(self.text, self.place)
        if match is None:
            raise _CutError
        self.place = match.end()
        # Escaped pairs of surrogates are one letter each; a lone one is none, and could not be written.
        units = _ESCAPE.sub(_meant, match[1]).encode("utf-16", "surrogatepass")
        return _LONE.sub("\ufffd", units.decode("utf-16", "surrogatepass"))

    def _number(self, match: re.Match[str]) -> float:
        if match.end() - match.start() > _MOST_DIGITS:
            raise _NoValueError
        self.place = match.end()
        if self.place == len(self.text):
            raise _CutError  # more digits may have been meant
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def _word(self) -> str:
        match = _WORD.match(self.text, self.place)
        if match is None:
            raise _NoValueError
        if match.end() == len(self.text):
            raise _CutError
        self.place = match.end()
        return match[0]


def _meant(match: re.Match[str]) -> str:
    """What an escape stands for; one that JSON does not have stands for its letter."""
    try:
        return str(json.loads(f'"{match[0]}"'))
    except ValueError:
        return match[0][1:]
