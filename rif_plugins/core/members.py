"""The editable tokens and phrases of all texts of I(v), under common numbers.

The position of a token is its character offset in the *original*, so that the same number means the same
token of the sentence in every similar text. Phrases are numbered behind them, from the length of the
original, in the order of their place in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.core.phrases import PhraseMap, Phrases
from rif_plugins.core.sides import align_tokens
from rif_plugins.core.tokens import word_spans


def member_spans(
    text: str,
    pairs: Sequence[Pair],
    sensitive_spans: Callable[[str], Sequence[Span]],
    phrases: Phrases | None = None,
) -> list[dict[int, Span]]:
    """Editable tokens, and phrases, of the original and of every similar text.

    A token that touches a sensitive span or a swap of any pair is left out everywhere. A phrase is left out
    everywhere when one of its tokens is closed in any of the texts.

    Args:
        text: The original.
        pairs: Its pairs, all with this original.
        sensitive_spans: Sensitive spans of a text, in order.
        phrases: The phrases of a text that have replacements; it is asked once about each unedited text.
            None: tokens only.

    Returns:
        For the original, then for each pair's similar text: position to span; the tokens in reading order,
        then the phrases that this text has of its own.
    """
    swapped = [Span(s.start, s.end) for pair in pairs for s in pair.swaps]
    closed = [_Closed([*sensitive_spans(text), *swapped])]
    free = [span for span in word_spans(text) if not closed[0].touches(span)]
    members = [{span.start: span for span in free}]
    for pair in pairs:
        alignment = align_tokens(pair)
        closed_here = _Closed(sensitive_spans(pair.similar))
        closed.append(closed_here)
        members.append(
            {
                first.start: second
                for first, second in zip(alignment.original, alignment.similar, strict=True)
                if first.start in members[0] and not closed_here.touches(second)
            }
        )
    if phrases is not None:
        _add_phrases([text, *(pair.similar for pair in pairs)], members, closed, phrases)
    return members


def _add_phrases(
    texts: Sequence[str], members: Sequence[dict[int, Span]], closed: Sequence[_Closed], phrases: Phrases
) -> None:
    """Number the phrases of all texts, and add to each text those that it has replacements for."""
    shared = [position for position in members[0] if all(position in spans for spans in members)]
    tokens = [[spans[position] for position in shared] for spans in members]
    there = [PhraseMap(texts[0], other, tokens[0], found) for other, found in zip(texts, tokens, strict=True)]

    def is_open(phrase: Span) -> bool:
        spans = [of(phrase) for of in there]
        return all(s is not None and not c.touches(s) for s, c in zip(spans, closed, strict=True))

    found: list[dict[Span, Span]] = []
    for text, here in zip(texts, tokens, strict=True):
        back = PhraseMap(text, texts[0], here, tokens[0])
        own = {Span(start, end): back(Span(start, end)) for start, end in phrases(text)}
        found.append({first: span for span, first in own.items() if first is not None})
    known = sorted(set().union(*found), key=lambda phrase: (phrase.start, phrase.end))
    numbers = {phrase: len(texts[0]) + k for k, phrase in enumerate(filter(is_open, known))}
    for spans, own_spans in zip(members, found, strict=True):
        spans.update({n: own_spans[phrase] for phrase, n in numbers.items() if phrase in own_spans})


class _Closed:
    """Stretches of a text that no edit may touch, merged where they overlap."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for span in sorted(spans, key=lambda s: s.start):
            if span.start >= span.end:
                continue
            if self.ends and span.start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], span.end)
            else:
                self.starts.append(span.start)
                self.ends.append(span.end)

    def touches(self, span: Span) -> bool:
        """Whether a span shares a character with one of them."""
        last = bisect_left(self.starts, span.end) - 1
        return last >= 0 and self.ends[last] > span.start
