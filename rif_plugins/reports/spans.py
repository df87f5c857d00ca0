"""Where the sensitive tokens and the edits of a record stand, checked against its texts.

A record carries spans of its unedited texts. Records that came from elsewhere may carry none, or spans that
do not lead to the recorded texts; for those the words are compared instead, so that what a reader sees as
changed is always what changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from rif_plugins.core.results import Record

Side = Literal["original", "similar"]
SIDES: tuple[Side, Side] = ("original", "similar")
_PIECE = re.compile(r"\s+|\w+|[^\w\s]")
_MAX_PIECES = 2000  # comparing is quadratic in the worst case; beyond this one replacement is shown


@dataclass(frozen=True, slots=True)
class Replacement:
    """``text[start:end]`` of an unedited text becomes ``target``."""

    start: int
    end: int
    target: str


def edits_of(record: Record, side: Side) -> list[Replacement]:
    """The edits of one side, in order, such that applying them gives the perturbed text exactly."""
    before: str = getattr(record, side)
    after: str = getattr(record, f"perturbed_{side}") or before
    recorded = sorted(
        (
            Replacement(int(edit["start"]), int(edit["end"]), str(edit["to"]))
            for edit in record.edits
            if edit.get("side") == side
        ),
        key=lambda item: (item.start, item.end),
    )
    return recorded if apply(before, recorded) == after else word_changes(before, after)


def sensitive_of(record: Record, side: Side) -> list[tuple[int, int]]:
    """Spans of one unedited text that hold what differs between the two similar texts."""
    swaps = sorted(
        (Replacement(int(swap["start"]), int(swap["end"]), str(swap["to"])) for swap in record.swaps),
        key=lambda item: (item.start, item.end),
    )
    if apply(record.original, swaps) != record.similar:
        swaps = word_changes(record.original, record.similar)
    if side == "original":
        return [(swap.start, swap.end) for swap in swaps if swap.end > swap.start]
    spans, shift = [], 0
    for swap in swaps:
        start = swap.start + shift
        shift += len(swap.target) - (swap.end - swap.start)
        if swap.target:
            spans.append((start, start + len(swap.target)))
    return spans


def apply(text: str, replacements: Iterable[Replacement]) -> str | None:
    """The text after all replacements; None where they overlap or stand outside the text."""
    parts, position = [], 0
    for item in replacements:
        if not position <= item.start <= item.end <= len(text):
            return None
        parts += [text[position : item.start], item.target]
        position = item.end
    return "".join([*parts, text[position:]])


def word_changes(before: str, after: str) -> list[Replacement]:
    """Replacements of whole words that turn one text into the other.

    >>> word_changes("He is a good cook.", "He is an able cook.")
    [Replacement(start=6, end=7, target='an'), Replacement(start=8, end=12, target='able')]
    """
    if before == after:
        return []
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    start = sum(map(len, old[:head]))
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old) + len(new) > _MAX_PIECES:
        return [Replacement(start, start + sum(map(len, old)), "".join(new))]
    offsets = [start]
    for piece in old:
        offsets.append(offsets[-1] + len(piece))
    return [
        Replacement(offsets[i], offsets[j], "".join(new[k:m]))
        for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    length = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        length += 1
    return length


def utf16_offsets(text: str, positions: Iterable[int]) -> list[int]:
    r"""Offsets in characters as offsets in UTF-16 units, which is what a browser counts.

    >>> utf16_offsets("a\U0001f600b", [0, 1, 2, 3])
    [0, 1, 3, 4]
    """
    wanted = list(positions)
    if text.isascii() or max(text) < "\U00010000":
        return wanted
    wide = [index for index, character in enumerate(text) if character > "\uffff"]
    return [position + sum(index < position for index in wide) for position in wanted]
