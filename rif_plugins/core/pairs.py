"""Records that describe a pair of similar texts and what was done to it.

All offsets are character offsets into the *unedited* text of the side they belong to, end exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["original", "similar"]
SIDES: tuple[Side, Side] = ("original", "similar")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters ``text[start:end]``."""

    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """True when both spans share a character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Swap:
    """One sensitive replacement that turns the original into the similar text.

    Attributes:
        start, end: Where ``source`` stands in the original text.
        source: The replaced characters of the original, ``original[start:end]``.
        target: What stands there in the similar text.
        similar_start: Where ``target`` starts in the similar text.
    """

    start: int
    end: int
    source: str
    target: str
    similar_start: int

    @property
    def similar_end(self) -> int:
        """End offset of ``target`` in the similar text."""
        return self.similar_start + len(self.target)


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and one similar individual's text: only sensitive tokens differ.

    Attributes:
        original, similar: The two texts.
        swaps: What differs, in order of position; empty only when ``original == similar``.
        attribute: The sensitive attribute that was changed, such as ``"gender"``.
        value_from, value_to: The attribute's value on each side, such as ``"male"``, ``"female"``.
    """

    original: str
    similar: str
    swaps: tuple[Swap, ...]
    attribute: str
    value_from: str = ""
    value_to: str = ""

    def text(self, side: Side) -> str:
        """The unedited text of one side."""
        return self.original if side == "original" else self.similar

    def protected(self, side: Side) -> tuple[Span, ...]:
        """Character spans of one side that no edit may touch."""
        if side == "original":
            return tuple(Span(s.start, s.end) for s in self.swaps)
        return tuple(Span(s.similar_start, s.similar_end) for s in self.swaps)


@dataclass(frozen=True, slots=True)
class Edit:
    """One replaced token of one side, in offsets of that side's unedited text."""

    side: Side
    start: int
    end: int
    source: str
    target: str
