"""The filter: which edited texts keep the meaning of the original text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rif_plugins.entailment.base import EntailmentScorer, equivalence_directions
from rif_plugins.entailment.edits import units
from rif_plugins.entailment.veto import LexiconVeto, Veto
from rif_plugins.errors import UsageError

_SCOPES = ("sentence", "word")
_CACHE_SIZE = 200_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the filter thinks of one edited text.

    Attributes:
        forward: P(original entails edited); the lowest where several pieces were compared.
        backward: P(edited entails original), likewise.
        score: ``S_eq``, the product of both for the piece where it is lowest.
        accepted: ``score`` reached ``min_equivalence`` and nothing vetoed the edit.
        reason: Empty when accepted; ``"veto: antonym (good, bad)"`` or ``"below min_equivalence"``.
    """

    forward: float
    backward: float
    score: float
    accepted: bool
    reason: str = ""


_SAME = (1.0, 1.0, 1.0)


class EntailmentFilter:
    """Accepts an edited text when original and edited text entail each other.

    An edited text, with all its edits so far, is always compared with the original text, never with the step
    before. ``scope="sentence"`` compares the sentences that hold the edits (the whole text when it is short),
    ``scope="word"`` the bare changed words. Identical texts have score 1 and cost nothing.

    Args:
        scorer: Gives the probabilities; see ``load_scorer``.
        min_equivalence: Lowest accepted ``S_eq``, in (0, 1].
        scope: What is compared.
        veto: ``"lexicon"`` refuses antonyms, siblings and one-way pairs of WordNet in addition (see
            ``LexiconVeto``); an object with a method ``reason`` does its own; None: the scorer alone decides.
        batch_size: Pairs handed to the scorer at once.

    Attributes:
        rows: Rows the scorer was asked for (a pair in both directions is two).
        cache_hits: Pairs answered from the cache or from an earlier pair of the same call.

    Raises:
        UsageError: ``min_equivalence``, ``scope``, ``veto`` or ``batch_size`` is out of range.
    """

    def __init__(
        self,
        scorer: EntailmentScorer,
        *,
        min_equivalence: float = 0.8,
        scope: Literal["sentence", "word"] = "sentence",
        veto: Veto | Literal["lexicon"] | None = None,
        batch_size: int = 64,
    ) -> None:
        """Check the settings."""
        if not 0.0 < min_equivalence <= 1.0:
            raise UsageError(f"min_equivalence must be in (0, 1], got {min_equivalence}: 0.8 is usual")
        if scope not in _SCOPES:
            raise UsageError(f"unknown scope {scope!r}: expected sentence or word")
        if isinstance(veto, str) and veto != "lexicon":
            raise UsageError(f"unknown veto {veto!r}: expected 'lexicon', an object with a method reason, or None")
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.scorer = scorer
        self.min_equivalence = min_equivalence
        self.scope = scope
        self.veto: Veto | None = LexiconVeto() if isinstance(veto, str) else veto
        self.rows = 0
        self.cache_hits = 0
        self._batch_size = batch_size
        self._cache: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def check(self, original: str, edited: Sequence[str]) -> list[Verdict]:
        """One verdict for each edited text against ``original``, in order."""
        return self.check_many([(original, text) for text in edited])

    def check_many(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """One verdict for each pair (original, edited), in order."""
        pieces = {pair: units(*pair, self.scope) for pair in dict.fromkeys(pairs)}
        directions = self._directions([piece for pair in pairs for piece in pieces[pair]])
        verdicts = {pair: self._verdict(pair, [directions[p] for p in found]) for pair, found in pieces.items()}
        return [verdicts[pair] for pair in pairs]

    def _verdict(self, pair: tuple[str, str], directions: Sequence[tuple[float, float]]) -> Verdict:
        if not directions:
            return Verdict(*_SAME, accepted=True)
        forward, backward = min(directions, key=lambda both: both[0] * both[1])
        score = forward * backward
        vetoed = self.veto.reason(*pair) if self.veto is not None else None
        if vetoed is not None:
            reason = f"veto: {vetoed}"
        else:
            reason = "" if score >= self.min_equivalence else "below min_equivalence"
        return Verdict(forward, backward, score, accepted=not reason, reason=reason)

    def _directions(self, pieces: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[float, float]]:
        """P(a entails b), P(b entails a) for each distinct piece; the scorer sees only what is new."""
        found: dict[tuple[str, str], tuple[float, float]] = {}
        fresh: list[tuple[str, str]] = []
        for piece in dict.fromkeys(pieces):
            known = self._recall(piece)
            if known is None:
                fresh.append(piece)
            else:
                found[piece] = known
        self.cache_hits += len(pieces) - len(fresh)
        for start in range(0, len(fresh), self._batch_size):
            part = fresh[start : start + self._batch_size]
            self._store(part, equivalence_directions(self.scorer, part), found)
            self.rows += 2 * len(part)
        return found

    def _recall(self, piece: tuple[str, str]) -> tuple[float, float] | None:
        known = self._cache.get(piece)
        if known is None:
            turned = self._cache.get((piece[1], piece[0]))
            known = None if turned is None else (turned[1], turned[0])
        return known

    def _store(
        self,
        pieces: Iterable[tuple[str, str]],
        directions: NDArray[np.float64],
        found: dict[tuple[str, str], tuple[float, float]],
    ) -> None:
        for piece, (forward, backward) in zip(pieces, directions, strict=True):
            found[piece] = self._cache[piece] = (float(forward), float(backward))
        while len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)
