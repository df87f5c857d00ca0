"""Words of a text with their character spans, cut exactly as TextAttack cuts them.

The command line, the Python interface and the TextAttack recipes must see the same positions, so
the rule is that of ``textattack.shared.utils.words_from_text``: runs of word characters with inner
apostrophes, hyphens, underscores, asterisks and at signs. A test compares the two.
"""

from __future__ import annotations

import re

from rif_plugins.core.pairs import Span

_INNER = "'-_*@"
# Characters that imitate Latin letters without being word characters themselves; the host keeps
# them inside words so that homoglyph attacks do not split a word.
_IMITATIONS = "˗`×"
_RUN = re.compile(rf"[\w{_IMITATIONS}'\-_*@]+")
_CHUNK = re.compile(r"\S+")


def word_spans(text: str) -> list[Span]:
    """Spans of the words of ``text``, in order.

    >>> [("He's a well-known 'actor'."[s.start:s.end]) for s in word_spans("He's a well-known 'actor'.")]
    ["He's", 'a', 'well-known', 'actor']
    """
    spans = []
    for chunk in _CHUNK.finditer(text):
        inner = _strip(text, chunk.start(), chunk.end())
        for run in _RUN.finditer(text, inner.start, inner.end):
            span = _strip(text, run.start(), run.end())
            if span.start < span.end:
                spans.append(span)
    return spans


def words(text: str) -> list[str]:
    """The words themselves."""
    return [text[span.start : span.end] for span in word_spans(text)]


def replace_spans(text: str, replacements: dict[Span, str]) -> str:
    """Replace disjoint spans of ``text``; everything else stays as it is."""
    parts = []
    position = 0
    for span in sorted(replacements, key=lambda s: s.start):
        parts.append(text[position : span.start])
        parts.append(replacements[span])
        position = span.end
    parts.append(text[position:])
    return "".join(parts)


def remove_span(text: str, span: Span) -> str:
    """Delete one span with one neighbouring space, the way the host deletes a word."""
    before, after = text[: span.start], text[span.end :]
    if before.endswith(" "):
        before = before[:-1]
    elif not before and after.startswith(" "):
        after = after[1:]
    return before + after


def _strip(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in _INNER:
        start += 1
    while end > start and text[end - 1] in _INNER:
        end -= 1
    return Span(start, end)
