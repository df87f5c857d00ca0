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
    """One text of a pair that is edited token by token, or phrase by phrase.

    A position is a token or a phrase of several tokens. Positions may overlap; no two edits of a state do.

    Attributes:
        start: The unedited state.
        positions: Editable tokens and phrases. Equal numbers on both sides mean the same stretch of the
            sentence; sensitive tokens are never in them.
    """

    start: S

    @property
    def positions(self) -> Sequence[int]:
        """Editable tokens in reading order, then phrases in reading order."""
        ...

    def span(self, position: int) -> Span:
        """Where the position stands in the unedited text."""
        ...

    def n_tokens(self, position: int) -> int:
        """How many tokens a position covers: 1, or more for a phrase."""
        ...

    def text(self, state: S) -> str:
        """The text of a state, as the victim sees it."""
        ...

    def without(self, position: int, mask_token: str | None = None) -> str:
        """The unedited text without the position, or with it replaced by ``mask_token``."""
        ...

    def keys(self, position: int) -> Sequence[str]:
        """Replacements of the position in the unedited text; not yet filtered, stable order."""
        ...

    def propose(self, state: S, position: int) -> list[Proposal[S]]:
        """States that replace ``position``; not yet filtered, stable order, none where it was edited."""
        ...

    def combine(self, state: S, position: int, key: str) -> S | None:
        """Put in what was proposed for the unedited text; None where that fails or an edit is there."""
        ...

    def admissible(self, states: Sequence[S]) -> list[bool]:
        """Whether each state keeps the meaning of the unedited text and meets all constraints."""
        ...

    def equivalence(self, states: Sequence[S]) -> list[float]:
        """``S_eq`` of admissible states with the unedited text; 1 for all where nothing measures it."""
        ...


@dataclass(frozen=True, slots=True)
class TokenAlignment:
    """Tokens of both sides that are the same word of the sentence.

    Attributes:
        original, similar: Spans in the two unedited texts, index by index the same token, or the same
            phrase (see ``phrases.align_phrases``).
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
WeighTexts = Callable[[str, Sequence[str]], Sequence[float]]
"""``(unedited, edited texts) -> S_eq``."""


class SpanSide:
    """An ``EditableSide`` over a plain string and numbered spans of it.

    Replacements of a token are proposed for the current text, those of a phrase for the unedited text only.

    Args:
        unedited: The text.
        side: Whose edits these are in a record.
        spans: Editable tokens by position number, in reading order, then phrases; they may overlap.
        propose: Replacements of one token of the current text, or of one phrase of the unedited text.
        judge: The filter; None admits everything.
        weigh: The equivalence that the filter measures; None: all the same.
    """

    def __init__(
        self,
        unedited: str,
        side: Side,
        spans: Mapping[int, Span],
        propose: ProposeWords,
        judge: JudgeTexts | None = None,
        weigh: WeighTexts | None = None,
    ) -> None:
        self.side = side
        self.unedited = unedited
        self.start = TextState(unedited)
        self._spans = spans
        self._propose = propose
        self._judge = judge
        self._weigh = weigh
        self._positions = list(spans)

    @property
    def positions(self) -> Sequence[int]:
        """The position numbers."""
        return self._positions

    def span(self, position: int) -> Span:
        """Where a position stands in the unedited text."""
        return self._spans[position]

    def n_tokens(self, position: int) -> int:
        """How many tokens a position covers."""
        span = self._spans[position]
        return max(1, len(word_spans(self.unedited[span.start : span.end])))

    def text(self, state: TextState) -> str:
        """The text of a state."""
        return state.text

    def without(self, position: int, mask_token: str | None = None) -> str:
        """The unedited text without one position."""
        span = self._spans[position]
        if mask_token is None:
            return remove_span(self.unedited, span)
        return replace_spans(self.unedited, {span: mask_token})

    def keys(self, position: int) -> Sequence[str]:
        """Replacements of one position of the unedited text."""
        span = self._spans[position]
        return self._propose(self.unedited, span.start, span.end)

    def propose(self, state: TextState, position: int) -> list[Proposal[TextState]]:
        """Replace one position of the current text."""
        span = self._spans[position]
        if _is_edited(state, span):
            return []
        if state.edits and self.n_tokens(position) > 1:
            words = self.keys(position)
        else:
            shift = sum(len(e.target) - (e.end - e.start) for e in state.edits if e.end <= span.start)
            words = self._propose(state.text, span.start + shift, span.end + shift)
        return [Proposal(word, self._edited(state, span, word)) for word in words]

    def combine(self, state: TextState, position: int, key: str) -> TextState | None:
        """Put in what was proposed for the unedited text; None where an edit is there already."""
        span = self._spans[position]
        return None if _is_edited(state, span) else self._edited(state, span, key)

    def _edited(self, state: TextState, span: Span, target: str) -> TextState:
        edit = Edit(self.side, span.start, span.end, self.unedited[span.start : span.end], target)
        edits = tuple(sorted((*state.edits, edit), key=lambda e: e.start))
        text = replace_spans(self.unedited, {Span(e.start, e.end): e.target for e in edits})
        return TextState(text, edits)

    def admissible(self, states: Sequence[TextState]) -> list[bool]:
        """Judge states against the unedited text, never against the previous step."""
        if self._judge is None:
            return [True] * len(states)
        return [bool(ok) for ok in self._judge(self.unedited, [state.text for state in states])]

    def equivalence(self, states: Sequence[TextState]) -> list[float]:
        """``S_eq`` of states with the unedited text."""
        if self._weigh is None:
            return [1.0] * len(states)
        return [float(value) for value in self._weigh(self.unedited, [state.text for state in states])]


def _is_edited(state: TextState, span: Span) -> bool:
    return any(edit.start < span.end and span.start < edit.end for edit in state.edits)


class TextSide(SpanSide):
    """One side of a pair as plain strings; positions are indices into the pair's alignment.

    Args:
        pair: The pair.
        side: Which side of it.
        alignment: ``align_tokens(pair)``, shared by both sides; with phrases: that of ``align_phrases``.
        propose: Replacements of one token of the current text, or of one phrase of the unedited text.
        judge: The filter; None admits everything.
        is_editable: Further restriction of the positions by their words, such as stop words.
        weigh: The equivalence that the filter measures; None: all the same.
    """

    def __init__(
        self,
        pair: Pair,
        side: Side,
        alignment: TokenAlignment,
        propose: ProposeWords,
        judge: JudgeTexts | None = None,
        is_editable: Callable[[str], bool] | None = None,
        weigh: WeighTexts | None = None,
    ) -> None:
        text = pair.text(side)
        spans = {
            index: span
            for index, span in enumerate(alignment.spans(side))
            if is_editable is None or is_editable(text[span.start : span.end])
        }
        super().__init__(text, side, spans, propose, judge, weigh)
