"""Small worlds in which phrases and their tokens can be replaced, with brute force beside them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from fakes.sweep_world import FIRSTS, CountingJudge, weight
from fakes.toy import WordVictim
from hypothesis import strategies as st

from rif_plugins.core.pairs import Span
from rif_plugins.core.sides import SpanSide, TextState
from rif_plugins.core.tokens import word_spans

WORDS = ("a", "b", "c", "d")
NEW = tuple(word + digit for word in "ABCDPQRS" for digit in "01")


def applied(text: str, edits: Sequence[tuple[Span, str]]) -> str:
    """Edits applied from right to left, each to the text that those behind it left."""
    for span, target in sorted(edits, key=lambda edit: -edit[0].start):
        text = text[: span.start] + target + text[span.end :]
    return text


@dataclass(frozen=True)
class PhraseWorld:
    """Texts "FIRST a b c d": the words and some runs of words have candidates.

    Attributes:
        phrases: Runs of two or more of the words, ``(first, last + 1)``.
        candidates: By the stretch that they replace.
    """

    weights: dict[str, tuple[float, ...]]
    words: tuple[str, ...]
    phrases: tuple[tuple[int, int], ...]
    candidates: dict[str, tuple[str, ...]]
    refused: frozenset[str]
    label: int
    n_labels: int
    firsts: tuple[str, ...] = FIRSTS[:2]

    @property
    def judge(self) -> CountingJudge:
        return CountingJudge(self.refused)

    def victim(self) -> WordVictim:
        return WordVictim(self.weights, self.n_labels)

    def spans(self, first: str) -> dict[int, Span]:
        tokens = word_spans(self.text(first))[1:]
        runs = [Span(tokens[a].start, tokens[b - 1].end) for a, b in self.phrases]
        return dict(enumerate([*tokens, *runs]))

    def text(self, first: str) -> str:
        return " ".join((first, *self.words))

    def member(self, first: str, judge: CountingJudge | None = None) -> SpanSide:
        side = "similar" if first != self.firsts[0] else "original"
        return SpanSide(
            self.text(first),
            side,  # type: ignore[arg-type]
            self.spans(first),
            lambda text, start, end: self.candidates.get(text[start:end], ()),
            judge or self.judge,
        )

    def members(self, judge: CountingJudge | None = None) -> list[SpanSide]:
        return [self.member(first, judge) for first in self.firsts]

    def choices(self, first: str, max_edits: int | None = None) -> list[list[tuple[Span, str]]]:
        """All sets of edits that share no character, admissible or not, the empty one first."""
        text, spans = self.text(first), list(self.spans(first).values())
        most = len(spans) if max_edits is None else max_edits
        found = []
        for n in range(most + 1):
            for chosen in itertools.combinations(spans, n):
                if any(a.overlaps(b) for a, b in itertools.combinations(chosen, 2)):
                    continue
                targets = [self.candidates.get(text[s.start : s.end], ()) for s in chosen]
                found += [list(zip(chosen, words, strict=True)) for words in itertools.product(*targets)]
        return found

    def admissible(self, first: str, max_edits: int | None = None) -> list[str]:
        """All admissible texts of one member."""
        judge, text = self.judge, self.text(first)
        edited = [(edits, applied(text, edits)) for edits in self.choices(first, max_edits)]
        return [after for edits, after in edited if not edits or judge.accepts(after)]

    def labels(self, first: str, max_edits: int | None = None) -> set[int]:
        """The exact reach of one member."""
        return {int(p.argmax()) for p in self.victim()(self.admissible(first, max_edits))}


def is_built_right(side: SpanSide, state: TextState) -> bool:
    """Whether a state's edits share no character, stand in order, and make its text."""
    edits = [(Span(edit.start, edit.end), edit.target) for edit in state.edits]
    spans = [span for span, _ in edits]
    return (
        spans == sorted(spans, key=lambda span: span.start)
        and not any(a.overlaps(b) for a, b in itertools.combinations(spans, 2))
        and all(side.unedited[e.start : e.end] == e.source for e in state.edits)
        and state.text == applied(side.unedited, edits)
    )


@st.composite
def phrase_worlds(draw: st.DrawFn, n_labels: int | None = None) -> PhraseWorld:
    """Worlds with up to four words and up to four runs of them, which overlap as they like."""
    k = n_labels or draw(st.sampled_from([2, 3]))
    words = WORDS[: draw(st.integers(2, 4))]
    runs = [(a, b) for a, b in itertools.combinations(range(len(words) + 1), 2) if b - a > 1]
    phrases = tuple(draw(st.lists(st.sampled_from(runs), max_size=4, unique=True)))
    vocabulary = [*FIRSTS, *words, *NEW]
    weights = {
        word: tuple(draw(weight) + 1e-3 * np.sin(7 * i + c) for c in range(k))
        for i, word in enumerate(vocabulary)
    }
    stretches = [*words, *(" ".join(words[a:b]) for a, b in phrases)]
    replacement = st.lists(st.sampled_from(NEW), min_size=1, max_size=2, unique=True).map(" ".join)
    return PhraseWorld(
        weights=weights,
        words=words,
        phrases=phrases,
        candidates={s: tuple(draw(st.lists(replacement, max_size=2, unique=True))) for s in stretches},
        refused=frozenset(draw(st.sets(st.sampled_from(NEW), max_size=4))),
        label=draw(st.integers(0, k - 1)),
        n_labels=k,
    )
