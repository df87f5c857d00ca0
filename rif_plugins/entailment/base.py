"""What an entailment scorer is, and the equivalence score made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

LABELS = ("entailment", "neutral", "contradiction")
ENTAILMENT = LABELS.index("entailment")


# What a scorer answers about a pair whose difference its model cannot see.
NEUTRAL = (0.0, 1.0, 0.0)


def scalar(text: str) -> str:
    """``text`` without lone surrogates, which no tokenizer can encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


@runtime_checkable
class EntailmentScorer(Protocol):
    """Anything that gives the probabilities of a natural language inference model."""

    @property
    def name(self) -> str:
        """How the scorer is asked for, such as ``"embedded"``; goes into run records."""
        ...

    @property
    def version(self) -> str:
        """Which weights answered; goes into run records."""
        ...

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Probabilities, shape (n, 3): entailment, neutral, contradiction of (premise, hypothesis) pairs.

        A row must depend on its own pair only, not on the others of the call.
        """
        ...


def equivalence_directions(scorer: EntailmentScorer, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """P(a entails b) and P(b entails a) of each pair (a, b), shape (n, 2)."""
    if not pairs:
        return np.zeros((0, 2))
    both = [*pairs, *((b, a) for a, b in pairs)]
    entailed = np.asarray(scorer.probabilities(both), dtype=np.float64)[:, ENTAILMENT]
    return np.stack((entailed[: len(pairs)], entailed[len(pairs) :]), axis=1)


def equivalence(scorer: EntailmentScorer, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Equivalence score of each pair, shape (n,), in [0, 1] and symmetric.

    ``S_eq(a, b) = P(a entails b) * P(b entails a)``.
    """
    return np.asarray(equivalence_directions(scorer, pairs).prod(axis=1), dtype=np.float64)
