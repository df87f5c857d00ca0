"""The filter: which edited texts keep the meaning of the original text."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rif_plugins.entailment.base import EntailmentScorer
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


class EntailmentFilter:
    """Accepts an edited text when original and edited text entail each other.

    An edited text, with all its edits so far, is always compared with the original text, never with the step
    before. ``scope="sentence"`` compares the sentences that hold the edits (the whole text when it is short),
    ``scope="word"`` the bare changed words. Identical texts have score 1 and cost nothing.

    Args:
        scorer: Gives the probabilities; see ``load_scorer``.
        min_equivalence: Lowest accepted ``S_eq``, in (0, 1].
        scope: What is compared.
        veto: ``"lexicon"`` refuses antonyms, siblings and cousins of WordNet in addition (see
            ``LexiconVeto``); an object with a method ``reason`` does its own; None: the scorer alone decides.
            ``"auto"`` is ``"lexicon"`` for the embedded scorer, whose precision it raises without loss of
            recall on the development half of Breaking NLI (see ``data/MODEL_CARD.md``), and None for others.
        batch_size: Pairs handed to the scorer at once.

    Attributes:
        rows: Rows the scorer was asked for (a pair in both directions is two).
        cache_hits: Rows answered from the cache or from an earlier row of the same call.

    Raises:
        UsageError: ``min_equivalence``, ``scope``, ``veto`` or ``batch_size`` is out of range.
    """

    def __init__(
        self,
        scorer: EntailmentScorer,
        *,
        min_equivalence: float = 0.8,
        scope: Literal["sentence", "word"] = "sentence",
        veto: Veto | Literal["auto", "lexicon"] | None = "auto",
        batch_size: int = 64,
    ) -> None:
        """Check the settings."""
        if not 0.0 < min_equivalence <= 1.0:
            raise UsageError(f"min_equivalence must be in (0, 1], got {min_equivalence}: 0.8 is usual")
        if scope not in _SCOPES:
            raise UsageError(f"unknown scope {scope!r}: expected sentence or word")
        if isinstance(veto, str) and veto not in ("auto", "lexicon"):
            raise UsageError(
                f"unknown veto {veto!r}: expected 'auto', 'lexicon', an object with a method reason, or None"
            )
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, got {batch_size}")
        self.scorer = scorer
        self.min_equivalence = min_equivalence
        self.scope = scope
        if isinstance(veto, str):
            wanted = veto == "lexicon" or scorer.name == "embedded"
            self.veto: Veto | None = LexiconVeto() if wanted else None
        else:
            self.veto = veto
        self.rows = 0
        self.cache_hits = 0
        self._batch_size = batch_size
        self._cache: OrderedDict[tuple[str, str], float] = OrderedDict()

    def check(self, original: str, edited: Sequence[str]) -> list[Verdict]:
        """One verdict for each edited text against ``original``, in order."""
        return self.check_many([(original, text) for text in edited])

    def clear(self) -> None:
        """Forget all answers; the counters stay."""
        self._cache.clear()

    def check_many(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """One verdict for each pair (original, edited), in order."""
        pieces = {pair: units(*pair, self.scope) for pair in dict.fromkeys(pairs)}
        asked = [piece for pair in pairs for piece in pieces[pair]]
        entails = self._entailment([*asked, *(_turned(piece) for piece in asked)])
        verdicts = {
            pair: self._verdict(pair, [(entails[piece], entails[_turned(piece)]) for piece in found])
            for pair, found in pieces.items()
        }
        return [verdicts[pair] for pair in pairs]

    def accepts(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """``accepted`` of each pair (original, edited), for fewer rows than ``check_many``.

        ``S_eq`` is a product of probabilities, so it is below ``min_equivalence`` wherever one direction is:
        the veto decides first, then the forward direction, and only what is left costs the backward one.
        """
        distinct = dict.fromkeys(pairs)
        open_pairs = [p for p in distinct if self.veto is None or self.veto.reason(*p) is None]
        pieces = {pair: units(*pair, self.scope) for pair in open_pairs}
        forward = self._entailment([piece for pair in open_pairs for piece in pieces[pair]])
        open_pairs = [
            pair for pair in open_pairs if all(forward[p] >= self.min_equivalence for p in pieces[pair])
        ]
        backward = self._entailment([_turned(piece) for pair in open_pairs for piece in pieces[pair]])
        accepted = {
            pair
            for pair in open_pairs
            if all(forward[p] * backward[_turned(p)] >= self.min_equivalence for p in pieces[pair])
        }
        return [pair in accepted for pair in pairs]

    def _verdict(self, pair: tuple[str, str], directions: Sequence[tuple[float, float]]) -> Verdict:
        forward, backward = min(directions, key=lambda both: both[0] * both[1], default=(1.0, 1.0))
        score = forward * backward
        vetoed = self.veto.reason(*pair) if self.veto is not None else None
        if vetoed is not None:
            reason = f"veto: {vetoed}"
        else:
            reason = "" if score >= self.min_equivalence else "below min_equivalence"
        return Verdict(forward, backward, score, accepted=not reason, reason=reason)

    def _entailment(self, ordered: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
        """P(premise entails hypothesis) of each pair; the scorer sees only what is new."""
        distinct = dict.fromkeys(ordered)
        fresh = [pair for pair in distinct if pair not in self._cache]
        found = {pair: self._cache[pair] for pair in distinct if pair in self._cache}
        self.cache_hits += len(ordered) - len(fresh)
        for start in range(0, len(fresh), 2 * self._batch_size):
            part = fresh[start : start + 2 * self._batch_size]
            for pair, row in zip(part, self.scorer.probabilities(part), strict=True):
                found[pair] = self._cache[pair] = float(row[0])
            self.rows += len(part)
        while len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)
        return found


def _turned(pair: tuple[str, str]) -> tuple[str, str]:
    return pair[1], pair[0]
