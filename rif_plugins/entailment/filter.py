"""The filter: which edited texts keep the meaning of the original text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rif_plugins.core.stores import PredictionStore
from rif_plugins.entailment.answers import FilterCount, Pair, ScorerAnswers
from rif_plugins.entailment.base import EntailmentScorer
from rif_plugins.entailment.edits import units
from rif_plugins.entailment.veto import LexiconVeto, Veto
from rif_plugins.errors import UsageError

_SCOPES = ("sentence", "word")


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
        batch_size: Pairs handed to the scorer at once, those of like length together.
        store: Keeps answers across runs, under the scorer's name, version and answers to a few probe pairs.

    Attributes:
        rows: Rows the scorer was asked for (a pair in both directions is two).
        cache_hits: Rows answered from memory or from an earlier row of the same call.
        stored_hits: Rows answered from the store.

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
        store: PredictionStore | None = None,
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
        self.min_equivalence = min_equivalence
        self.scope = scope
        if isinstance(veto, str):
            wanted = veto == "lexicon" or scorer.name == "embedded"
            self.veto: Veto | None = LexiconVeto() if wanted else None
        else:
            self.veto = veto
        self.answers = ScorerAnswers(scorer, batch_size=batch_size, store=store)

    @property
    def scorer(self) -> EntailmentScorer:
        """Gives the probabilities."""
        return self.answers.scorer

    @property
    def rows(self) -> int:
        """Rows the scorer was asked for."""
        return self.answers.count.rows

    @property
    def cache_hits(self) -> int:
        """Rows answered from memory."""
        return self.answers.count.cache_hits

    @property
    def stored_hits(self) -> int:
        """Rows answered from the store."""
        return self.answers.count.stored_hits

    def use_store(self, store: PredictionStore | None) -> bool:
        """See ``ScorerAnswers.use_store``."""
        return self.answers.use_store(store)

    def check(self, original: str, edited: Sequence[str]) -> list[Verdict]:
        """One verdict for each edited text against ``original``, in order."""
        return self.check_many([(original, text) for text in edited])

    def clear(self) -> None:
        """Forget all answers in memory; counters and store stay."""
        self.answers.clear()

    def check_many(self, pairs: Sequence[tuple[str, str]]) -> list[Verdict]:
        """One verdict for each pair (original, edited), in order."""
        pieces = {pair: units(*pair, self.scope) for pair in dict.fromkeys(pairs)}
        asked = [piece for pair in pairs for piece in pieces[pair]]
        who = [FilterCount()]
        entails = self.answers.entailment([(piece, who) for piece in (*asked, *map(_turned, asked))])
        verdicts = {
            pair: self._verdict(pair, [(entails[piece], entails[_turned(piece)]) for piece in found])
            for pair, found in pieces.items()
        }
        return [verdicts[pair] for pair in pairs]

    def accepts(self, pairs: Sequence[Pair]) -> list[bool]:
        """``accepted`` of each pair (original, edited), for fewer rows than ``check_many``.

        ``S_eq`` is a product of probabilities, so it is below ``min_equivalence`` wherever one direction is:
        the veto decides first, then the forward direction, and only what is left costs the backward one.
        """
        return self.accepts_many([pairs])[0]

    def accepts_many(
        self, requests: Sequence[Sequence[Pair]], counts: Sequence[FilterCount] | None = None
    ) -> list[list[bool]]:
        """``accepts`` for the pairs of many searches, in one pass over the scorer.

        Args:
            requests: The pairs of each search.
            counts: For each search where to count; a row that several searches want is counted as one of the
                first, and as a hit of the others.
        """
        tallies = list(counts) if counts is not None else [FilterCount() for _ in requests]
        wanted: dict[Pair, list[FilterCount]] = {}
        for pairs, tally in zip(requests, tallies, strict=True):
            for pair in pairs:
                wanted.setdefault(pair, []).append(tally)
        if self.veto is not None:
            wanted = {pair: who for pair, who in wanted.items() if self.veto.reason(*pair) is None}
        pieces = {pair: units(*pair, self.scope) for pair in wanted}
        forward = self.answers.entailment(
            [(piece, wanted[pair]) for pair in pieces for piece in pieces[pair]]
        )
        least = self.min_equivalence
        left = [pair for pair, found in pieces.items() if all(forward[piece] >= least for piece in found)]
        backward = self.answers.entailment(
            [(_turned(piece), wanted[pair]) for pair in left for piece in pieces[pair]]
        )
        accepted = {
            pair
            for pair in left
            if all(forward[piece] * backward[_turned(piece)] >= least for piece in pieces[pair])
        }
        return [[pair in accepted for pair in pairs] for pairs in requests]

    def _verdict(self, pair: tuple[str, str], directions: Sequence[tuple[float, float]]) -> Verdict:
        forward, backward = min(directions, key=lambda both: both[0] * both[1], default=(1.0, 1.0))
        score = forward * backward
        vetoed = self.veto.reason(*pair) if self.veto is not None else None
        if vetoed is not None:
            reason = f"veto: {vetoed}"
        else:
            reason = "" if score >= self.min_equivalence else "below min_equivalence"
        return Verdict(forward, backward, score, accepted=not reason, reason=reason)


def _turned(pair: tuple[str, str]) -> tuple[str, str]:
    return pair[1], pair[0]
