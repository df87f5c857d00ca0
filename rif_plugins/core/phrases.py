"""Phrases: positions that cover several tokens, and where they stand in the texts of I(v).

A phrase is given by its characters in one unedited text. It is a position only where it is made of whole
tokens, two or more, none of which is sensitive in any text, and only in texts that hold the same words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.core.sides import TokenAlignment
from rif_plugins.core.tokens import word_spans

Phrases = Callable[[str], Sequence[tuple[int, int]]]
"""``text -> (start, end)`` of stretches of two or more tokens that have replacements."""


class PhraseMap:
    """Finds phrases of one text in another text of I(v).

    Args:
        text: Where the phrases come from.
        other: Where they are looked for.
        tokens: Editable tokens of ``text``.
        others: The same tokens in ``other``, one by one.
    """

    def __init__(self, text: str, other: str, tokens: Iterable[Span], others: Iterable[Span]) -> None:
        self.text = text
        self.other = other
        self._words = word_spans(text)
        self._starts = [word.start for word in self._words]
        self._there = dict(zip(tokens, others, strict=True))

    def __call__(self, phrase: Span) -> Span | None:
        """The phrase in the other text; None where it is no phrase, or not the same words there."""
        words = self._inside(phrase)
        if len(words) < 2 or any(word not in self._there for word in words):
            return None
        shifts = {self._there[word].start - word.start for word in (words[0], words[-1])}
        if len(shifts) != 1:
            return None
        shift = shifts.pop()
        there = Span(phrase.start + shift, phrase.end + shift)
        # Marks between the words and at the ends must be the same, too.
        if there.start < 0 or self.other[there.start : there.end] != self.text[phrase.start : phrase.end]:
            return None
        return there

    def _inside(self, phrase: Span) -> list[Span]:
        """The words of a phrase; none where it cuts one or leaves the text."""
        if not 0 <= phrase.start < phrase.end <= len(self.text):
            return []
        first = bisect_left(self._starts, phrase.start)
        last = bisect_left(self._starts, phrase.end)
        is_cut = first > 0 and self._words[first - 1].end > phrase.start
        words = self._words[first:last]
        return [] if is_cut or not words or words[-1].end > phrase.end else words


def align_phrases(
    pair: Pair,
    alignment: TokenAlignment,
    phrases: Phrases,
    closed: Callable[[str], Sequence[Span]] = lambda text: (),
) -> TokenAlignment:
    """The alignment of a pair with the phrases of both texts behind its tokens.

    Args:
        pair: The pair.
        alignment: Its tokens.
        phrases: Phrases of a text.
        closed: Sensitive spans of a text, which no phrase may touch, in order.
    """
    tokens = (alignment.original, alignment.similar)
    there = PhraseMap(pair.original, pair.similar, *tokens)
    back = PhraseMap(pair.similar, pair.original, *reversed(tokens))
    found: dict[Span, Span] = {}
    for start, end in phrases(pair.original):
        if (other := there(Span(start, end))) is not None:
            found[Span(start, end)] = other
    for start, end in phrases(pair.similar):
        if (other := back(Span(start, end))) is not None:
            found[other] = Span(start, end)
    shut = closed(pair.original), closed(pair.similar)
    kept = [
        both
        for both in sorted(found.items(), key=lambda both: (both[0].start, both[0].end))
        if not any(phrase.overlaps(s) for phrase, spans in zip(both, shut, strict=True) for s in spans)
    ]
    return TokenAlignment(
        (*alignment.original, *(first for first, _ in kept)),
        (*alignment.similar, *(second for _, second in kept)),
    )
