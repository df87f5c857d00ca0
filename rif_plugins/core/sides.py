"""What a search needs to know about one side of a pair, whoever provides it.

The same search serves plain strings (``TextSide``) and a host's own text objects: it only moves
opaque states that this protocol can print, edit and judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rif_plugins.core.pairs import Edit, Pair, Side, Span
from rif_plugins.core.tokens import remove_span, replace_spans, word_spans

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Proposal(Generic[S]):
    """One possible next state of a side.

    Attributes:
        key: The replacement word; names the same candidate on both sides in the coupled mode.
        state: The state after the replacement.
    """

    key: str
    state: S


class EditableSide(Protocol[S]):
    """One text of a pair that is edited token by token.

    Attributes:
        start: The unedited state.
        positions: Editable tokens. Equal numbers on both sides mean the same token of the sentence;
            sensitive tokens are never among them.
    """

    start: S

    @property
    def positions(self) -> Sequence[int]:
        """Editable tokens, in reading order."""
        ...

    def span(self, position: int) -> Span:
        """Where the token stands in the unedited text."""
        ...

    def text(self, state: S) -> str:
        """The text of a state, as the victim sees it."""
        ...

    def without(self, position: int, mask_token: str | None = None) -> str:
        """The unedited text without the token, or with it replaced by ``mask_token``."""
        ...

    def keys(self, position: int) -> Sequence[str]:
        """Replacements of the token in the unedited text; not yet filtered, stable order."""
        ...

    def propose(self, state: S, position: int) -> list[Proposal[S]]:
        """States that replace the token at ``position``; not yet filtered, stable order."""
        ...

    def combine(self, state: S, position: int, key: str) -> S | None:
        """Replace the token at ``position`` by a word proposed for the unedited text; None if that fails."""
        ...

    def admissible(self, states: Sequence[S]) -> list[bool]:
        """Whether each state keeps the meaning of the unedited text and meets all constraints."""
        ...


@dataclass(frozen=True, slots=True)
class TokenAlignment:
    """Tokens of both sides that are the same word of the sentence.

    Attributes:
        original, similar: Spans in the two unedited texts, index by index the same token.
    """

    original: tuple[Span, ...]
    similar: tuple[Span, ...]

    def spans(self, side: Side) -> tuple[Span, ...]:
        """The spans of one side."""
        return self.original if side == "original" else self.similar


def align_tokens(pair: Pair) -> TokenAlignment:
    """Align the words of a pair through its swaps, by character offsets.

    Words that touch a swap are left out on both sides. Offsets behind a swap move by the difference
    in length, so longer phrases and changed articles do not shift the rest of the sentence.

    >>> from rif_plugins.core.pairs import Swap
    >>> align_tokens(Pair("he ran", "she ran", (Swap(0, 2, "he", "she", 0),), "gender")).similar
    (Span(start=4, end=7),)
    """
    swaps = sorted(pair.swaps, key=lambda swap: swap.start)
    similar_words = set(word_spans(pair.similar))
    original, similar = [], []
    passed, shift = 0, 0
    for span in word_spans(pair.original):
        while passed < len(swaps) and swaps[passed].end <= span.start:
            shift += len(swaps[passed].target) - (swaps[passed].end - swaps[passed].start)
            passed += 1
        if passed < len(swaps) and swaps[passed].start < span.end:
            continue
        other = Span(span.start + shift, span.end + shift)
        # A word that a swap joins or splits (no space between) is not the same token on both sides.
        word = pair.original[span.start : span.end]
        if other in similar_words and pair.similar[other.start : other.end] == word:
            original.append(span)
            similar.append(other)
    return TokenAlignment(tuple(original), tuple(similar))


@dataclass(frozen=True, slots=True)
class TextState:
    """A plain text and the edits that led to it."""

    text: str
    edits: tuple[Edit, ...] = ()


ProposeWords = Callable[[str, int, int], Sequence[str]]
"""``(text, start, end) -> replacements`` of ``text[start:end]``."""
JudgeTexts = Callable[[str, Sequence[str]], Sequence[bool]]
"""``(unedited, edited texts) -> admissible or not``."""


class SpanSide:
    """An ``EditableSide`` over a plain string and numbered spans of it.

    Args:
        unedited: The text.
        side: Whose edits these are in a record.
        spans: Editable tokens by position number, in reading order.
        propose: Replacements of one token of the current text.
        judge: The filter; None admits everything.
    """

    def __init__(
        self,
        unedited: str,
        side: Side,
        spans: Mapping[int, Span],
        propose: ProposeWords,
        judge: JudgeTexts | None = None,
    ) -> None:
        self.side = side
        self.unedited = unedited
        self.start = TextState(unedited)
        self._spans = spans
        self._propose = propose
        self._judge = judge
        self._positions = list(spans)

    @property
    def positions(self) -> Sequence[int]:
        """The position numbers."""
        return self._positions

    def span(self, position: int) -> Span:
        """Where a token stands in the unedited text."""
        return self._spans[position]

    def text(self, state: TextState) -> str:
        """The text of a state."""
        return state.text

    def without(self, position: int, mask_token: str | None = None) -> str:
        """The unedited text without one token."""
        span = self._spans[position]
        if mask_token is None:
            return remove_span(self.unedited, span)
        return replace_spans(self.unedited, {span: mask_token})

    def keys(self, position: int) -> Sequence[str]:
        """Replacements of one token of the unedited text."""
        span = self._spans[position]
        return self._propose(self.unedited, span.start, span.end)

    def propose(self, state: TextState, position: int) -> list[Proposal[TextState]]:
        """Replace one token of the current text."""
        span = self._spans[position]
        shift = sum(len(e.target) - (e.end - e.start) for e in state.edits if e.end <= span.start)
        words = self._propose(state.text, span.start + shift, span.end + shift)
        return [Proposal(word, self.combine(state, position, word)) for word in words]

    def combine(self, state: TextState, position: int, key: str) -> TextState:
        """Replace one token by a word that was proposed for the unedited text."""
        span = self._spans[position]
        edit = Edit(self.side, span.start, span.end, self.unedited[span.start : span.end], key)
        edits = tuple(sorted((*state.edits, edit), key=lambda e: e.start))
        text = replace_spans(self.unedited, {Span(e.start, e.end): e.target for e in edits})
        return TextState(text, edits)

    def admissible(self, states: Sequence[TextState]) -> list[bool]:
        """Judge states against the unedited text, never against the previous step."""
        if self._judge is None:
            return [True] * len(states)
        return [bool(ok) for ok in self._judge(self.unedited, [state.text for state in states])]


class TextSide(SpanSide):
    """One side of a pair as plain strings; positions are indices into the pair's alignment.

    Args:
        pair: The pair.
        side: Which side of it.
        alignment: ``align_tokens(pair)``, shared by both sides.
        propose: Replacements of one token of the current text.
        judge: The filter; None admits everything.
        is_editable: Further restriction of the positions by word, such as stop words.
    """

    def __init__(
        self,
        pair: Pair,
        side: Side,
        alignment: TokenAlignment,
        propose: ProposeWords,
        judge: JudgeTexts | None = None,
        is_editable: Callable[[str], bool] | None = None,
    ) -> None:
        text = pair.text(side)
        spans = {
            index: span
            for index, span in enumerate(alignment.spans(side))
            if is_editable is None or is_editable(text[span.start : span.end])
        }
        super().__init__(text, side, spans, propose, judge)
