"""A text cut into words, with what stands between them: what every context rule looks at."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from typing import Literal

Link = Literal["space", "hyphen", "clitic", "quote", "paren", "slash", "comma", "break"]

# Combining marks, joiners and the soft hyphen belong to the word they follow: \w leaves them out.
_MARKS = "\u00ad\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20ff\ufe20-\ufe2f"
WORD = re.compile(rf"[\w{_MARKS}]+")
HYPHENS = "-\u2010\u2011"
APOSTROPHES = "'\u2019\u02bc\uff07"
_OPENING_QUOTES = frozenset("\"'`\u00ab\u00b4\u2018\u201a\u201c\u201e")
_CLITICS = frozenset({"s", "d", "ll", "m", "re", "ve", "t"})
_CHUNK = re.compile(r"\S+")
_ADDRESS = re.compile(r"://|@\w|\bwww\.", re.IGNORECASE)


def lookup_form(word: str) -> str:
    """Lower case, and one spelling for accents however they are encoded."""
    return word.lower() if word.isascii() else unicodedata.normalize("NFC", word.lower())


class WordView:
    """Words of one text by index, with their lower-case form and the links between neighbours.

    Args:
        text: Any string.

    Attributes:
        text: The text itself.
        words: Lower-case words in order.
        starts, ends: Their character offsets in ``text``.
    """

    __slots__ = ("_lower", "_protected", "ends", "starts", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        found = list(WORD.finditer(text))
        self.words: list[str] = [lookup_form(match.group()) for match in found]
        self.starts: list[int] = [match.start() for match in found]
        self.ends: list[int] = [match.end() for match in found]
        self._lower: bool | None = None
        self._protected: list[tuple[int, int]] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def index_at(self, start: int) -> int:
        """Index of the first word that starts at ``start`` or later."""
        return bisect_left(self.starts, start)

    def raw(self, index: int) -> str:
        """The word as it is written."""
        return self.text[self.starts[index] : self.ends[index]]

    def gap(self, index: int) -> str:
        """Characters between the words ``index`` and ``index + 1``."""
        return self.text[self.ends[index] : self.starts[index + 1]]

    @property
    def is_lower_case(self) -> bool:
        """True when no letter of the text is upper case, as in tokenised data sets."""
        if self._lower is None:
            self._lower = not any(c.isupper() for c in self.text)
        return self._lower

    def link(self, index: int) -> Link:
        """How the words ``index`` and ``index + 1`` hang together; ``break`` at the ends of the text."""
        if index < 0 or index + 1 >= len(self.words):
            return "break"
        gap = self.gap(index)
        mark = gap.strip()
        if not mark:
            return "break" if gap.count("\n") > 1 else "space"
        if mark in HYPHENS:
            return "hyphen" if mark == gap else "break"
        if mark in APOSTROPHES and gap.endswith(mark):
            clitic = self.words[index + 1] in _CLITICS or mark == gap
            return "clitic" if clitic else "quote"
        if mark == ",":
            return "comma"
        if mark == "/":
            return "slash"
        if gap[0].isspace() and all(c in _OPENING_QUOTES for c in mark):
            return "quote"
        return "paren" if mark in "([{" else "break"

    def after(self, index: int, steps: int = 1) -> str:
        """The word ``steps`` to the right, or ``""`` where punctuation or the end comes first."""
        for step in range(steps):
            if self.link(index + step) in ("break", "comma"):
                return ""
        return self.words[index + steps]

    def before(self, index: int, steps: int = 1) -> str:
        """The word ``steps`` to the left, or ``""`` where punctuation or the start comes first."""
        for step in range(steps):
            if self.link(index - step - 1) in ("break", "comma"):
                return ""
        return self.words[index - steps]

    def follows(self, index: int, phrase: str) -> bool:
        """True when the words of ``phrase``, joined by ``_``, stand right after ``index``."""
        parts = phrase.split("_")
        return all(self.after(index, step) == part for step, part in enumerate(parts, start=1))

    def precedes(self, index: int, phrase: str) -> bool:
        """True when the words of ``phrase``, joined by ``_``, stand right before ``index``."""
        parts = phrase.split("_")[::-1]
        return all(self.before(index, step) == part for step, part in enumerate(parts, start=1))

    def is_capital(self, index: int) -> bool:
        """True for a word written ``Like`` this: one capital first, not all of them."""
        word = self.raw(index)
        return word[:1].isupper() and not (len(word) > 1 and word.isupper())

    def starts_sentence(self, index: int) -> bool:
        """True when nothing, a sentence end, or a line break stands before the word."""
        if index == 0:
            return True
        gap = self.gap(index - 1)
        return "\n" in gap or any(c in ".!?:;…" for c in gap)

    def is_protected(self, index: int) -> bool:
        """True inside an address (URL, e-mail, @name), or glued to one letter as in ``s/he``."""
        if self._protected is None:
            chunks = _CHUNK.finditer(self.text) if _ADDRESS.search(self.text) else ()
            self._protected = [chunk.span() for chunk in chunks if _ADDRESS.search(chunk.group())]
        start = self.starts[index]
        if any(a <= start < b for a, b in self._protected):
            return True
        if index == 0 or len(self.words[index - 1]) > 1:
            return False
        return self.gap(index - 1) in ("/", ")") and self.words[index - 1].isalpha()
