"""Small worlds for tests of the sweep: texts "he a b", an additive victim, a counting filter."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from fakes.toy import WordVictim
from hypothesis import strategies as st

from rif_plugins.core.outcomes import classify
from rif_plugins.core.pairs import Span
from rif_plugins.core.requests import Coroutine, drive
from rif_plugins.core.sides import SpanSide
from rif_plugins.core.tokens import word_spans
from rif_plugins.core.victim import Budget, VictimEngine

R = TypeVar("R")
WORDS = ("a", "b", "c", "d")
FIRSTS = ("he", "she", "they")


class CountingJudge:
    """Refuses texts that hold a refused word or a refused couple of words; counts what it saw."""

    def __init__(self, refused: Iterable[str] = (), couples: Iterable[frozenset[str]] = ()) -> None:
        self.refused = frozenset(refused)
        self.couples = tuple(couples)
        self.rows = 0
        self.known: dict[str, bool] = {}

    def __call__(self, unedited: str, texts: Sequence[str]) -> list[bool]:
        self.rows += len(texts)
        return [self.known.setdefault(text, self.accepts(text)) for text in texts]

    def accepts(self, text: str) -> bool:
        words = set(text.split())
        return not words & self.refused and not any(couple <= words for couple in self.couples)


def member(
    text: str,
    candidates: Mapping[str, Sequence[str]],
    judge: Callable[[str, Sequence[str]], Sequence[bool]] | None = None,
    *,
    side: str = "original",
) -> SpanSide:
    """One text of I(v): its first word is sensitive, the position of every other word is its number."""
    spans: dict[int, Span] = dict(enumerate(word_spans(text)[1:]))
    return SpanSide(text, side, spans, lambda t, a, b: candidates.get(t[a:b], ()), judge)  # type: ignore[arg-type]


def members_of(
    words: str,
    candidates: Mapping[str, Sequence[str]],
    judge: Callable[[str, Sequence[str]], Sequence[bool]] | None = None,
    firsts: Sequence[str] = ("he", "she"),
) -> list[SpanSide]:
    """The texts "he WORDS", "she WORDS" ..."""
    return [
        member(f"{first} {words}", candidates, judge, side="similar" if number else "original")
        for number, first in enumerate(firsts)
    ]


def alone(
    coroutine: Coroutine[R],
    victim: Callable[[list[str]], Any],
    *,
    budget: int | None = None,
    batch_size: int = 32,
) -> R:
    """Run one search over a fresh engine; what it asks again is asked again."""
    engine, limit = VictimEngine(victim, batch_size=batch_size), Budget(budget)
    return drive(
        coroutine,
        lambda texts: engine.probabilities(texts, budget=limit),
        lambda texts: engine.probabilities(texts, budget=limit, fresh=True),
    )


def log_odds(weights: Mapping[str, float]) -> WordVictim:
    """A victim of two classes whose log odds of class 1 are the sum of word weights."""
    return WordVictim({word: (0.0, value) for word, value in weights.items()})


@dataclass(frozen=True)
class World:
    """A random small world; ``texts`` of I(v) share ``words`` and differ in the first word."""

    weights: dict[str, tuple[float, ...]]
    words: tuple[str, ...]
    candidates: dict[str, tuple[str, ...]]
    refused: frozenset[str]
    label: int
    n_labels: int
    firsts: tuple[str, ...] = FIRSTS
    couples: tuple[frozenset[str], ...] = field(default=())

    @property
    def judge(self) -> CountingJudge:
        return CountingJudge(self.refused, self.couples)

    def victim(self) -> WordVictim:
        return WordVictim(self.weights, self.n_labels)

    def members(self, judge: CountingJudge | None = None) -> list[SpanSide]:
        return members_of(" ".join(self.words), self.candidates, judge or self.judge, self.firsts)

    def admissible(self, first: str, max_edits: int | None = None) -> list[str]:
        """All admissible texts of one member, by brute force with an eager filter."""
        judge = self.judge
        found = []
        for chosen in itertools.product(*([word, *self.candidates.get(word, ())] for word in self.words)):
            n_edits = sum(a != b for a, b in zip(chosen, self.words, strict=True))
            text = " ".join((first, *chosen))
            if max_edits is not None and n_edits > max_edits:
                continue
            if n_edits == 0 or judge.accepts(text):
                found.append(text)
        return found

    def labels(self, first: str, max_edits: int | None = None) -> set[int]:
        """The exact reach of one member."""
        return {int(p.argmax()) for p in self.victim()(self.admissible(first, max_edits))}

    def outcomes(self, similar: str, max_edits: int | None = None) -> set[str]:
        """All outcomes of the pair of the first member and ``similar``."""
        pairs = itertools.product(self.labels(self.firsts[0], max_edits), self.labels(similar, max_edits))
        return {str(classify(self.label, a, b)) for a, b in pairs}


weight = st.integers(-12, 12).map(lambda value: value / 8)


@st.composite
def worlds(draw: st.DrawFn, n_labels: int | None = None, couples: bool = False) -> World:
    """Worlds whose filter looks at single words only, or at couples of words too."""
    k = n_labels or draw(st.sampled_from([2, 3]))
    new = [word + str(i) for word in WORDS for i in range(3)]
    vocabulary = [*FIRSTS, *WORDS, *new]
    # A different last digit for every word: ties would be decided by rounding.
    weights = {
        word: tuple(draw(weight) + 1e-3 * np.sin(7 * i + c) for c in range(k))
        for i, word in enumerate(vocabulary)
    }
    return World(
        weights=weights,
        words=tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True))),
        candidates={w: tuple(w + str(i) for i in range(draw(st.integers(0, 3)))) for w in WORDS},
        refused=frozenset(draw(st.sets(st.sampled_from(new)))),
        label=draw(st.integers(0, k - 1)),
        n_labels=k,
        firsts=FIRSTS[: draw(st.integers(2, 3))],
        couples=tuple(draw(st.lists(st.frozensets(st.sampled_from(new), min_size=2, max_size=2), max_size=3)))
        if couples
        else (),
    )
