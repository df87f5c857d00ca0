"""The editable tokens of all texts of I(v), under common numbers.

A position is the character offset of the token in the *original*, so that the same number means the same
token of the sentence in every similar text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.core.sides import align_tokens
from rif_plugins.core.tokens import word_spans


def member_spans(
    text: str, pairs: Sequence[Pair], sensitive_spans: Callable[[str], Sequence[Span]]
) -> list[dict[int, Span]]:
    """Editable tokens of the original and of every similar text.

    A token that touches a sensitive span or a swap of any pair is left out everywhere.

    Args:
        text: The original.
        pairs: Its pairs, all with this original.
        sensitive_spans: Sensitive spans of a text, in order.

    Returns:
        For the original, then for each pair's similar text: position to span, in reading order.
    """
    swapped = [Span(s.start, s.end) for pair in pairs for s in pair.swaps]
    closed = _Closed([*sensitive_spans(text), *swapped])
    free = [span for span in word_spans(text) if not closed.touches(span)]
    members = [{span.start: span for span in free}]
    for pair in pairs:
        alignment = align_tokens(pair)
        closed_here = _Closed(sensitive_spans(pair.similar))
        members.append(
            {
                first.start: second
                for first, second in zip(alignment.original, alignment.similar, strict=True)
                if first.start in members[0] and not closed_here.touches(second)
            }
        )
    return members


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
