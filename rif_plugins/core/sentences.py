"""Where the sentences of a text stand; all offsets are character offsets, end exclusive."""

from __future__ import annotations

import re
from itertools import pairwise

from rif_plugins.core.pairs import Span

LONGEST_PASSAGE = 600

# The lookbehind tries a run of dots once, not once from each dot: quadratic on "....".
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s)|\n+")
_SPACE = re.compile(r"\s*")
_CHUNK = re.compile(r"\S+")
_ABBREVIATION_NAMES = "mr mrs ms dr prof st jr sr vs etc e.g i.e u.s u.k no inc ltd"
_ABBREVIATIONS = frozenset(_ABBREVIATION_NAMES.split())


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences, which together cover ``text``; white space belongs to the sentence before."""
    cuts = [0]
    for match in _SENTENCE_END.finditer(text):
        after = _SPACE.match(text, match.end())
        place = after.end() if after else match.end()
        if place >= len(text):
            break
        before = text[max(0, match.start() - 20) : match.start()].split()[-1:] or [""]
        free_standing = match.start() > 0 and text[match.start() - 1].isspace()
        abbreviation = before[0].lower() in _ABBREVIATIONS or (len(before[0]) == 1 and before[0].isupper())
        if "\n" in match.group() or free_standing or not (abbreviation or text[place].islower()):
            cuts.append(place)
    return list(pairwise([*dict.fromkeys(cuts), len(text)])) if text else []


def passages(text: str, longest: int = LONGEST_PASSAGE) -> list[Span]:
    """The sentences without the white space around them, long ones cut between two words.

    Args:
        text: Any text.
        longest: Most characters of a passage; a longer word is a passage of its own.

    >>> [text[p.start : p.end] for text in ("It works.  Try it!",) for p in passages(text)]
    ['It works.', 'Try it!']
    """
    found: list[Span] = []
    for first, last in sentence_spans(text):
        start = end = None
        for chunk in _CHUNK.finditer(text, first, last):
            if start is not None and end is not None and chunk.end() - start > longest:
                found.append(Span(start, end))
                start = None
            start = chunk.start() if start is None else start
            end = chunk.end()
        if start is not None and end is not None:
            found.append(Span(start, end))
    return found
