"""The candidates of one text, ranked, probed, and handed on to the similar texts.

Every candidate is tried alone on the unedited text of *one* member of I(v). Its effect on the log
probabilities ranks positions (the probe doubles as saliency), and predicts what the same replacement
does in the similar texts, which differ in the sensitive tokens only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.pair_search import TokenSaliency
from rif_plugins.core.reach import Reach, ReachSettings
from rif_plugins.core.requests import Coroutine, Judge, Score
from rif_plugins.core.sides import EditableSide
from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]
S = TypeVar("S")
_CHUNK = 512
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(slots=True, eq=False)
class Candidate(Generic[S]):
    """One replacement of one token of an unedited text.

    Attributes:
        position: Number of the token.
        key: The replacement.
        state: The text with this one edit.
        effect: Change of the log probabilities, ``(k,)``; None until it is known.
        p: Class probabilities of ``state`` where the victim has seen it.
        is_admissible: What the filter says of ``state``; None until it was asked.
    """

    position: int
    key: str
    state: S
    effect: FloatArray | None = None
    p: FloatArray | None = None
    is_admissible: bool | None = None


@dataclass(slots=True)
class CandidateTable(Generic[S]):
    """All candidates of one text by position.

    Attributes:
        saliency: Score of each ranked position; empty where no ranking was needed.
        ranking: The positions that were kept, the most salient first, those that the filter emptied included.
        is_complete: False when the budget ended before all of them were measured.
        had_positions: Whether there was any token with a candidate.
    """

    by_position: dict[int, list[Candidate[S]]] = field(default_factory=dict)
    saliency: dict[int, float] = field(default_factory=dict)
    ranking: list[int] = field(default_factory=list)
    is_complete: bool = True
    had_positions: bool = False

    @property
    def all(self) -> list[Candidate[S]]:
        """Every candidate, in reading order."""
        return [candidate for found in self.by_position.values() for candidate in found]

    def keep(self, is_kept: Callable[[Candidate[S]], bool]) -> None:
        """Drop the other candidates, and positions that have none left."""
        kept = {p: [c for c in found if is_kept(c)] for p, found in self.by_position.items()}
        self.by_position = {position: found for position, found in kept.items() if found}


def log_probabilities(p: FloatArray) -> FloatArray:
    """``log p``, finite also where a victim says 0."""
    return np.asarray(np.log(np.maximum(p, _TINY)), dtype=np.float64)


def collect(
    side: EditableSide[S],
    reach: Reach[S],
    settings: ReachSettings,
    *,
    rng: np.random.Generator | None = None,
    token_saliency: TokenSaliency | None = None,
    ranking: Sequence[int] | None = None,
) -> Coroutine[CandidateTable[S]]:
    """Propose at every position, and cut to the ``max_positions`` most salient of those with candidates.

    Args:
        side: The text.
        reach: Its clean prediction.
        settings: See ``ReachSettings``.
        rng: Needed by the random saliency.
        token_saliency: Needed by the gradient saliency.
        ranking: Positions that another text of I(v) ranked first; used in place of an own ranking.
    """
    table: CandidateTable[S] = CandidateTable()
    # Edited texts are built for the positions that are kept: a long text has thousands of others.
    positions = [position for position in side.positions if side.keys(position)]
    table.had_positions = bool(positions)
    table.ranking = positions
    if len(positions) > settings.max_positions:
        if ranking is None:
            ranking = yield from _ranked(side, reach, table, positions, settings, rng, token_saliency)
        known = set(positions)
        table.ranking = list(dict.fromkeys(p for p in ranking if p in known))[: settings.max_positions]
    kept = set(table.ranking)
    table.by_position = {
        position: [Candidate(position, p.key, p.state) for p in side.propose(side.start, position)]
        for position in positions
        if position in kept
    }
    if settings.filter_first:
        candidates = table.all
        verdicts = yield Judge(side, [candidate.state for candidate in candidates])
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            candidate.is_admissible = bool(verdict)
        table.keep(lambda candidate: bool(candidate.is_admissible))
    return table


def probe(
    side: EditableSide[S], reach: Reach[S], table: CandidateTable[S], lead: CandidateTable[Any] | None
) -> Coroutine[None]:
    """Measure the effect of every candidate, or take it from another text of I(v) where that has it."""
    known = {(c.position, c.key): c.effect for c in lead.all} if lead is not None else {}
    for candidate in table.all:
        candidate.effect = known.get((candidate.position, candidate.key))
    unknown = [candidate for candidate in table.all if candidate.effect is None]
    clean = log_probabilities(reach.clean.p)
    for start in range(0, len(unknown), _CHUNK):
        part = unknown[start : start + _CHUNK]
        rows = yield Score([side.text(candidate.state) for candidate in part])
        for candidate, row in zip(part, rows, strict=False):
            candidate.p = row
            candidate.effect = log_probabilities(row) - clean
        if len(rows) < len(part):
            table.is_complete = False
            break
    table.keep(lambda candidate: candidate.effect is not None)


def admits(side: EditableSide[S], candidate: Candidate[S], state: S) -> Coroutine[bool]:
    """Whether a state with one more edit is admissible, and so is that edit alone.

    Both are asked for whichever of victim and filter sees candidates first, so that the accepted edits are
    the same; the edit alone only where the text with all edits has passed.
    """
    if candidate.is_admissible is not False and state is not candidate.state:
        answers = yield Judge(side, [state])
        if not answers[0]:
            return False
    if candidate.is_admissible is None:
        answers = yield Judge(side, [candidate.state])
        candidate.is_admissible = bool(answers[0])
    return candidate.is_admissible


def _ranked(
    side: EditableSide[S],
    reach: Reach[S],
    table: CandidateTable[S],
    positions: Sequence[int],
    settings: ReachSettings,
    rng: np.random.Generator | None,
    token_saliency: TokenSaliency | None,
) -> Coroutine[list[int]]:
    """Positions with candidates, the most salient first; ties keep reading order."""
    label = reach.clean.label
    if settings.saliency == "random":
        if rng is None:
            raise UsageError("random saliency needs a random generator: pass rng")
        return [positions[i] for i in rng.permutation(len(positions))]
    if settings.saliency == "gradient":
        if token_saliency is None:
            raise UsageError(
                "saliency gradient needs a white-box victim, such as a Hugging Face model: "
                "choose saliency delete, mask or random"
            )
        spans = [side.span(position) for position in positions]
        scores = [float(score) for score in token_saliency(side.text(side.start), label, spans)]
    else:
        mask_token = settings.mask_token if settings.saliency == "mask" else None
        scores = []
        # Occlusions of a long text hold many copies of it: they are taken in chunks.
        source = iter(positions)
        while chunk := list(islice(source, _CHUNK)):
            rows = yield Score([side.without(position, mask_token) for position in chunk])
            scores += [float(reach.clean.p[label] - row[label]) for row in rows]
            if len(rows) < len(chunk):
                table.is_complete = False
                break
    table.saliency = dict(zip(positions, scores, strict=False))
    # Differences below 1e-9 are the floating-point noise of batching; they must not order positions.
    return sorted(table.saliency, key=lambda p: (-round(table.saliency[p], 9), p))
