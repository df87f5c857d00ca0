"""From texts to the rows of a candidate table: propose for every word, put in, compare, keep."""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rif_plugins.core.pairs import Span
from rif_plugins.core.sentences import sentence_spans
from rif_plugins.core.tokens import word_spans
from rif_plugins.entailment import CosineScorer, EntailmentFilter, Verdict
from rif_plugins.errors import DataError
from rif_plugins.proposers import Candidate, Proposer, TokenContext
from rif_plugins.proposers.table_rows import can_stand_in_table
from rif_plugins.similar import PairSource
from rif_plugins.similar.pair_source import untouched

Row = dict[str, Any]
Pair = tuple[str, str]
_UNFILTERED = Verdict(1.0, 1.0, 1.0, accepted=True)
_BELOW = Verdict(0.0, 0.0, 0.0, accepted=False, reason="below min_equivalence")


@dataclass
class CandidateCounts:
    """What a build has done.

    Attributes:
        examples: Data rows.
        left_out: Of them, without a sensitive token.
        texts: Different texts that were searched.
        tokens: Words, and phrases, that candidates were asked for.
        unanswered: Of them, those for which a proposer failed.
        tokens_with_candidates: Of them, with a candidate that the filter accepts.
        proposed, accepted, vetoed: Candidates.
        unwritable: Candidates that no table can hold, such as very long ones.
        rows: Rows written.
        sources: By source: candidates proposed and accepted.
        entailment_rows: Rows that the filter's model was asked for.
        seconds: How long it took.
    """

    examples: int = 0
    left_out: int = 0
    texts: int = 0
    tokens: int = 0
    unanswered: int = 0
    tokens_with_candidates: int = 0
    proposed: int = 0
    accepted: int = 0
    vetoed: int = 0
    unwritable: int = 0
    rows: int = 0
    sources: dict[str, list[int]] = field(default_factory=dict)
    entailment_rows: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CandidateCounts:
        """Read what :meth:`to_dict` gave.

        Raises:
            DataError: These are other values.
        """
        known = cls().to_dict()
        for name, value in values.items():
            if name not in known or not _is_like(known[name], value):
                shown = f"{name} = {value!r}"[:80]
                raise DataError(
                    f"counts of a candidate table: unexpected {shown}: begin again with --overwrite"
                )
        return cls(**values)

    def add(self, judged: Sequence[tuple[Candidate, Verdict]]) -> None:
        """Count the judged candidates of one token."""
        self.tokens_with_candidates += any(verdict.accepted for _, verdict in judged)
        for candidate, verdict in judged:
            source = self.sources.setdefault(candidate.source, [0, 0])
            source[0] += 1
            source[1] += verdict.accepted
            self.proposed += 1
            self.accepted += verdict.accepted
            self.vetoed += verdict.reason.startswith("veto")


def _is_like(known: Any, value: Any) -> bool:
    """Whether a value read back is one that counting gives in this place."""
    if isinstance(known, dict):
        return isinstance(value, dict) and all(
            isinstance(pair, list) and len(pair) == 2 and all(_is_like(0, number) for number in pair)
            for pair in value.values()
        )
    kinds = (int, float) if isinstance(known, float) else (int,)
    # A comparison with NaN is false.
    return isinstance(value, kinds) and not isinstance(value, bool) and 0 <= value < math.inf


class RowMaker:
    """Makes the rows of texts and counts what it did.

    Args:
        source: Tells which words are sensitive.
        proposer: Generates.
        entailment: Filters; None admits every candidate.
        cosine: Fills the column ``cosine``; None leaves it empty unless the filter is a cosine.
        keep_refused: Also make rows of refused candidates.
        keep_texts: Add the sentence that holds the token.

    Attributes:
        unanswered: Words and phrases of the last call of :meth:`rows` for which the proposer failed, with
            the reason.
        n_asked: Texts of that call with something to ask for.
    """

    def __init__(
        self,
        source: PairSource,
        proposer: Proposer,
        entailment: EntailmentFilter | None,
        *,
        cosine: EntailmentFilter | None = None,
        keep_refused: bool = False,
        keep_texts: bool = False,
    ) -> None:
        self.source = source
        self.proposer = proposer
        self.entailment = entailment
        self.cosine = cosine
        self.keep_refused = keep_refused
        self.keep_texts = keep_texts
        self.unanswered: dict[TokenContext, str] = {}
        self.n_asked = 0
        self.is_cosine = entailment is not None and isinstance(entailment.scorer, CosineScorer)

    def rows(self, texts: Sequence[str], counts: CandidateCounts) -> list[Row]:
        """The rows of texts, in the order of texts, words and candidates."""
        contexts = [context for text in texts for context in self._contexts(text)]
        proposed = self.proposer.propose(contexts)
        counts.texts += len(texts)
        counts.tokens += len(contexts)
        self.n_asked = len({context.text for context in contexts})
        self.unanswered = dict(getattr(self.proposer, "last_failures", {}))
        counts.unanswered += len(self.unanswered)
        asked = []
        for context, candidates in zip(contexts, proposed, strict=True):
            kept = [candidate for candidate in candidates if can_stand_in_table(candidate.text)]
            counts.unwritable += len(candidates) - len(kept)
            asked.append((context, kept))
        pairs = [_pair(context, candidate) for context, kept in asked for candidate in kept]
        before = 0 if self.entailment is None else self.entailment.rows
        verdicts = self._verdicts(pairs)
        counts.entailment_rows += 0 if self.entailment is None else self.entailment.rows - before
        cosines = self._cosines(verdicts)
        rows = []
        for context, kept in asked:
            judged = [(candidate, verdicts[_pair(context, candidate)]) for candidate in kept]
            counts.add(judged)
            for candidate, verdict in judged:
                if verdict.accepted or self.keep_refused:
                    rows.append(self._row(context, candidate, verdict, cosines))
        counts.rows += len(rows)
        return rows

    def _contexts(self, text: str) -> Iterator[TokenContext]:
        """The words of a text that an edit may touch, then the phrases that the proposer sees in it."""
        phrases = getattr(self.proposer, "phrases", None)
        sensitive = self.source.sensitive_spans(text)
        spans = word_spans(text)
        free = untouched(spans, sensitive)
        if phrases is not None:
            longer = [Span(start, end) for start, end in sorted(phrases(text))]
            spans, free = [*spans, *longer], [*free, *untouched(longer, sensitive)]
        for span, is_free in zip(spans, free, strict=True):
            if is_free and can_stand_in_table(text[span.start : span.end]):
                yield TokenContext(text, span.start, span.end)

    def _verdicts(self, pairs: Sequence[Pair]) -> dict[Pair, Verdict]:
        if self.entailment is None:
            return dict.fromkeys(pairs, _UNFILTERED)
        if self.keep_refused:
            return dict(zip(pairs, self.entailment.check_many(pairs), strict=True))
        # One direction refutes most candidates, and the other one then costs nothing.
        veto = self.entailment.veto
        found = {}
        for pair in pairs:
            reason = None if veto is None else veto.reason(*pair)
            found[pair] = _BELOW if reason is None else dataclasses.replace(_BELOW, reason=f"veto: {reason}")
        open_pairs = [pair for pair, verdict in found.items() if verdict is _BELOW]
        passed = self.entailment.accepts(open_pairs)
        accepted = [pair for pair, is_accepted in zip(open_pairs, passed, strict=True) if is_accepted]
        found.update(zip(accepted, self.entailment.check_many(accepted), strict=True))
        return found

    def _cosines(self, verdicts: Mapping[Pair, Verdict]) -> dict[Pair, float]:
        wanted = [pair for pair, verdict in verdicts.items() if verdict.accepted or self.keep_refused]
        if self.is_cosine:
            return {pair: verdicts[pair].score for pair in wanted}
        if self.cosine is None:
            return {}
        return {p: verdict.score for p, verdict in zip(wanted, self.cosine.check_many(wanted), strict=True)}

    def _row(
        self, context: TokenContext, candidate: Candidate, verdict: Verdict, cosines: Mapping[Pair, float]
    ) -> Row:
        is_filtered = self.entailment is not None
        is_entailment = is_filtered and not self.is_cosine
        row: Row = {
            "token": context.token,
            "context_hash": context.hash,
            "candidate": candidate.text,
            "source": candidate.source,
            "forward": _number(verdict.forward if is_entailment else None),
            "backward": _number(verdict.backward if is_entailment else None),
            "score": _number(verdict.score if is_filtered else None),
            "cosine": _number(cosines.get(_pair(context, candidate))),
        }
        if self.keep_refused:
            row |= {"accepted": verdict.accepted, "reason": verdict.reason}
        if self.keep_texts:
            row["sentence"] = _sentence(context)
        return row


def _pair(context: TokenContext, candidate: Candidate) -> Pair:
    text = context.text
    return text, text[: context.start] + candidate.text + text[context.end :]


def _sentence(context: TokenContext) -> str:
    starts, ends = _sentence_borders(context.text)
    start, end = bisect_right(starts, context.start) - 1, bisect_left(ends, context.end)
    return context.text[
        starts[start] if start >= 0 else 0 : ends[end] if end < len(ends) else len(context.text)
    ].strip()


@lru_cache(maxsize=1)  # rows come text by text
def _sentence_borders(text: str) -> tuple[list[int], list[int]]:
    """Where the sentences of a text begin and where they end, both rising."""
    spans = sentence_spans(text)
    return [start for start, _ in spans], [end for _, end in spans]


def _number(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)
