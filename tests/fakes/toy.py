"""A tiny world for search tests: texts of single letters, a bag-of-letters victim, letter candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rif_plugins.core.objective import Objective
from rif_plugins.core.pair_search import PairSearchResult, SearchSettings, run_search, search_pair
from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.core.sides import TextSide, align_tokens
from rif_plugins.core.victim import Budget, VictimEngine


def pair_of(words: str, first: str = "he", second: str = "she") -> Pair:
    """``"he WORDS"`` and ``"she WORDS"``."""
    swap = Swap(0, len(first), first, second, 0)
    return Pair(f"{first} {words}", f"{second} {words}", (swap,), "gender", "male", "female")


class WordVictim:
    """A softmax over summed word weights, ``(n, k)``; counts rows."""

    def __init__(self, weights: dict[str, Sequence[float]], n_labels: int = 2) -> None:
        self.weights = weights
        self.n_labels = n_labels
        self.rows = 0

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.rows += len(texts)
        logits = np.zeros((len(texts), self.n_labels))
        for row, text in enumerate(texts):
            for word in text.split():
                logits[row] += np.asarray(self.weights.get(word, [0.0] * self.n_labels))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def search(
    pair: Pair,
    victim: Callable[[list[str]], np.ndarray],
    candidates: dict[str, Sequence[str]],
    *,
    target: str = "robust_biased",
    label: int = 1,
    settings: SearchSettings | None = None,
    budget: int | None = None,
    judge: Callable[[str, Sequence[str]], Sequence[bool]] | None = None,
    distance: str = "label_gap",
    seed: int = 0,
    batch_size: int = 32,
) -> PairSearchResult:
    """Search one pair of the toy world."""
    alignment = align_tokens(pair)
    sides = [
        TextSide(pair, side, alignment, lambda text, a, b: candidates.get(text[a:b], ()), judge)
        for side in ("original", "similar")
    ]
    engine = VictimEngine(victim, batch_size=batch_size)
    limit = Budget(budget)
    generator = search_pair(
        sides[0],
        sides[1],
        label=label,
        objective=Objective.for_target(target, distance=distance),
        settings=settings,
        rng=np.random.default_rng(seed),
    )
    return run_search(generator, lambda texts: engine.probabilities(texts, budget=limit))
