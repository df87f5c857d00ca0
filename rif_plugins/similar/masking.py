"""The mask M: replace what is sensitive, and what agrees with it, by one placeholder."""

from __future__ import annotations

from collections.abc import Sequence

from rif_plugins.similar.agreement import find_article, find_possessive, takes_possessive
from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.spans import SensitiveSpan, find_spans

PLACEHOLDER = "[SENSITIVE]"


def mask(
    text: str, lexicon: Lexicon, attributes: Sequence[str] | None = None, *, placeholder: str = PLACEHOLDER
) -> str:
    """Replace every sensitive term by ``placeholder``.

    An a/an right before a term is swallowed (*an actor*, *a waitress*), a possessive mark behind a noun is
    written ``'s`` (*men's*, *ladies'*). Two texts are similar iff their masks are equal.

    Args:
        text: Any string.
        lexicon: The terms.
        attributes: Which attributes to mask; all of the lexicon for ``None``.
        placeholder: What is written instead, such as a model's mask token.

    Raises:
        LexiconError: The lexicon lacks one of ``attributes``.
    """
    return mask_spans(text, find_spans(text, lexicon, attributes), placeholder)


def mask_spans(text: str, spans: Sequence[SensitiveSpan], placeholder: str = PLACEHOLDER) -> str:
    """The mask of ``text`` for spans that are already found; overlapping spans share a placeholder."""
    regions: list[tuple[int, int, str]] = []
    for span in sorted(spans):
        article = find_article(text, span.start)
        start, end, written = (article[0] if article else span.start), span.end, placeholder
        if takes_possessive(span.slot):
            mark = find_possessive(text, span.start, span.end)
            if mark is not None:
                end, written = mark.end, f"{placeholder}'s"
        if regions and start < regions[-1][1]:
            before = regions.pop()
            start, end = min(start, before[0]), max(end, before[1])
            written = written if end > before[1] else before[2]
        regions.append((start, end, written))
    pieces: list[str] = []
    position = 0
    for start, end, written in regions:
        pieces += [text[position:start], written]
        position = end
    pieces.append(text[position:])
    return "".join(pieces)
