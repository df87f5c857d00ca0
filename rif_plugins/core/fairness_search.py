"""The fairness-only attack: the same edits on both sides, until the two predictions differ.

The single-axis baseline beside the targets (the direction of ADF's similarity search and of MEFA): it
widens the gap ``|p_y - p'_y|`` and never looks at which side is right.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.combination import MIN_GAIN
from rif_plugins.core.pair_search import PairSearchResult, StopReason
from rif_plugins.core.reach import Path, Waypoint, result_of
from rif_plugins.core.reach_candidates import Candidate, admits, log_probabilities
from rif_plugins.core.reach_estimates import is_in_reach
from rif_plugins.core.reach_search import MemberSearch
from rif_plugins.core.requests import Coroutine, Score, gather

FloatArray = NDArray[np.float64]
S = TypeVar("S")
Twin = tuple[Candidate[S], Candidate[S]]


def search_difference(
    original: MemberSearch[S], similar: MemberSearch[S], label: int
) -> Coroutine[PairSearchResult[S]]:
    """Search shared edits that make the predictions of a pair differ.

    Args:
        original: The finished search of the original: its candidates and their effects are used.
        similar: That of the similar text.
        label: The right label, whose probability the gap is measured on.
    """
    search = _Difference(original, similar, label)
    first: Path[S] = (original.reach.clean,)
    second: Path[S] = (similar.reach.clean,)
    if first[-1].label != second[-1].label:
        return result_of(first, second, label, "natural", negative_gap)
    reason: StopReason = "no_positions"
    open_twins = search.twins()
    if open_twins:
        first, second, reason = yield from search.run(first, second, open_twins)
    if reason != "success":
        # As for the other targets, a pair that stands is shown as it was.
        first, second = first[:1], second[:1]
        if not (original.table.is_complete and similar.table.is_complete):
            reason = "budget"
    return result_of(first, second, label, reason, negative_gap)


def negative_gap(p: FloatArray, p_similar: FloatArray, label: int) -> float:
    """``-|p_y - p'_y|``, what the attack minimises."""
    return -abs(float(p[label]) - float(p_similar[label]))


class _Difference:
    def __init__(self, original: MemberSearch[Any], similar: MemberSearch[Any], label: int) -> None:
        self.sides = (original, similar)
        self.label = label
        self.settings = original.settings

    def twins(self) -> dict[int, list[Twin[Any]]]:
        """Candidates that both sides have, by position."""
        other = {(c.position, c.key): c for c in self.sides[1].table.all}
        found: dict[int, list[Twin[Any]]] = {}
        for candidate in self.sides[0].table.all:
            twin = other.get((candidate.position, candidate.key))
            if twin is not None and candidate.effect is not None and twin.effect is not None:
                found.setdefault(candidate.position, []).append((candidate, twin))
        return found

    def run(
        self, first: Path[Any], second: Path[Any], twins: dict[int, list[Twin[Any]]]
    ) -> Coroutine[tuple[Path[Any], Path[Any], StopReason]]:
        remaining = [twin for found in twins.values() for twin in found]
        while remaining:
            if self.settings.max_edits is not None and first[-1].n_edits >= self.settings.max_edits:
                return first, second, "exhausted"
            if not self._could_differ(first[-1], second[-1], remaining):
                return first, second, "out_of_reach"
            chosen = self._widest(first[-1], second[-1], remaining)
            if chosen is None:
                return first, second, "exhausted"
            points = yield from self._try(first, second, chosen)
            remaining = [twin for twin in remaining if twin is not chosen]
            if points is None:
                continue
            if len(points) < 2:
                return first, second, "budget"
            gain = -negative_gap(points[0].p, points[1].p, self.label) + negative_gap(
                first[-1].p, second[-1].p, self.label
            )
            differs = points[0].label != points[1].label
            if differs or gain > MIN_GAIN:
                first, second = (*first, points[0]), (*second, points[1])
                covered = self._covered(chosen[0].position)
                remaining = [twin for twin in remaining if twin[0].position not in covered]
            if differs:
                return first, second, "success"
        return first, second, "exhausted"

    def _covered(self, position: int) -> frozenset[int]:
        """Positions that an edit of one of them closes on either side."""
        return self.sides[0].covered(position) | self.sides[1].covered(position)

    def _could_differ(self, a: Waypoint[Any], b: Waypoint[Any], remaining: list[Twin[Any]]) -> bool:
        """Whether either side could still leave the label that both have."""
        if self.settings.filter_first:
            return True
        for index, point in enumerate((a, b)):
            by_position: dict[int, list[Candidate[Any]]] = {}
            for twin in remaining:
                by_position.setdefault(twin[index].position, []).append(twin[index])
            here = log_probabilities(point.p)
            left = None if self.settings.max_edits is None else self.settings.max_edits - point.n_edits
            for label in range(len(here)):
                if label != point.label and is_in_reach(
                    by_position,
                    here,
                    label,
                    optimism=self.settings.optimism,
                    max_edits=left,
                    spans=self.sides[index].spans,
                ):
                    return True
        return False

    def _widest(self, a: Waypoint[Any], b: Waypoint[Any], remaining: list[Twin[Any]]) -> Twin[Any] | None:
        """The candidate with the widest estimated gap, those that part the predictions first."""
        p = _estimated(a.p, [twin[0] for twin in remaining])
        p_similar = _estimated(b.p, [twin[1] for twin in remaining])
        gaps = np.abs(p[:, self.label] - p_similar[:, self.label])
        now = -negative_gap(a.p, b.p, self.label)
        differs = p.argmax(axis=1) != p_similar.argmax(axis=1)
        rounded = np.round((gaps - now) / MIN_GAIN)
        best = np.lexsort((np.arange(len(gaps)), -rounded, ~differs))[0]
        return remaining[best] if differs[best] or rounded[best] > 1 else None

    def _try(
        self, first: Path[Any], second: Path[Any], twin: Twin[Any]
    ) -> Coroutine[list[Waypoint[Any]] | None]:
        """Both states with one more edit; None when refused, fewer than two when the budget ran out."""
        states = []
        for search, path, candidate in zip(self.sides, (first, second), twin, strict=True):
            state = (
                candidate.state
                if len(path) == 1
                else search.side.combine(path[-1].state, candidate.position, candidate.key)
            )
            if state is None:
                return None
            states.append(state)
        asked = zip(self.sides, twin, states, strict=True)
        verdicts = yield from gather([admits(search.side, *both) for search, *both in asked])
        if not all(verdicts):
            return None
        texts = [search.side.text(state) for search, state in zip(self.sides, states, strict=True)]
        rows = yield Score(texts)
        ends = (first[-1], second[-1])
        extra = [s.side.n_tokens(twin[0].position) - 1 for s in self.sides]
        return [
            Waypoint(state, row, end.n_edits + 1, end.extra_tokens + more)
            for state, row, end, more in zip(states, rows, ends, extra, strict=False)
        ]


def _estimated(p: FloatArray, candidates: list[Candidate[Any]]) -> FloatArray:
    """Estimated probabilities after each candidate, ``(n, k)``."""
    effects = np.array([candidate.effect for candidate in candidates], dtype=np.float64)
    log_p = log_probabilities(p)[None, :] + effects
    shifted = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), dtype=np.float64)
