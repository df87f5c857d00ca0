"""The search of all texts of I(v): greedy, or with a beam, towards the labels that are not reached yet.

Effects of single replacements order the candidates; the best one is tried on top of the edits so far, and
is kept when the filter admits the text with *all* edits and the victim confirms the gain; positions that
overlap it, such as a phrase and its tokens, are closed from then on. A search ends when its label is
reached, when no candidate helps, or when all remaining effects together would not suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from rif_plugins.core.combination import MIN_GAIN
from rif_plugins.core.overlaps import overlapping
from rif_plugins.core.pair_search import TokenSaliency
from rif_plugins.core.reach import FloatArray, Path, Reach, ReachSettings, SideStop, Waypoint
from rif_plugins.core.reach_candidates import (
    Candidate,
    CandidateTable,
    admits,
    collect,
    log_probabilities,
    probe,
)
from rif_plugins.core.reach_estimates import in_order, is_in_reach, margin, without
from rif_plugins.core.requests import Coroutine, Score, gather
from rif_plugins.core.sides import EditableSide
from rif_plugins.core.tie_breaking import settle
from rif_plugins.errors import UsageError

S = TypeVar("S")


def search_members(
    members: Sequence[EditableSide[S]],
    label: int,
    settings: ReachSettings | None = None,
    *,
    rng: np.random.Generator | None = None,
    token_saliency: TokenSaliency | None = None,
) -> Coroutine[list[MemberSearch[S]]]:
    """Search every text of I(v) once.

    Args:
        members: The original first, then the similar texts. Equal position numbers mean the same token.
        label: The right label ``y``.
        settings: See ``ReachSettings``.
        rng: Needed by the random saliency only.
        token_saliency: Needed by the gradient saliency only.

    Returns:
        The searches in the order given; ``reach`` is what each text reaches.

    Raises:
        UsageError: The budget does not even pay for the clean texts.
    """
    settings = settings or ReachSettings()
    rows = yield Score([member.text(member.start) for member in members])
    if len(rows) < len(members):
        raise UsageError(
            f"the query budget does not pay for the clean texts: expected {len(members)} rows or more"
        )
    reaches = [Reach.of(Waypoint(m.start, row, 0), label) for m, row in zip(members, rows, strict=True)]
    lead = yield from collect(members[0], reaches[0], settings, rng=rng, token_saliency=token_saliency)
    # Positions behind the cut come next, so that a text without some of these takes the next best.
    behind = sorted(lead.saliency, key=lambda p: (-round(lead.saliency[p], 9), p))
    ranking = [*lead.ranking, *behind]
    others = yield from gather(
        [
            collect(
                member,
                reach,
                settings,
                rng=rng,
                token_saliency=token_saliency,
                ranking=[*ranking, *member.positions],
            )
            for member, reach in zip(members[1:], reaches[1:], strict=True)
        ]
    )
    yield from probe(members[0], reaches[0], lead, None)
    shared = lead if settings.shares_probes else None
    yield from gather(
        [probe(m, r, t, shared) for m, r, t in zip(members[1:], reaches[1:], others, strict=True)]
    )
    searches = [
        MemberSearch(member, reach, table, label, settings)
        for member, reach, table in zip(members, reaches, (lead, *others), strict=True)
    ]
    yield from gather([search.leave_clean_label() for search in searches])
    yield from _meet(searches, label)
    yield from _meet_elsewhere(searches, label)
    yield from gather([settle(search.side, search.reach) for search in searches])
    return searches


def _meet(searches: Sequence[MemberSearch[S]], label: int) -> Coroutine[None]:
    """Let every text try the wrong labels that the others reached, until nothing new is reached."""
    while True:
        wrong = sorted(set().union(*(search.reach.labels for search in searches)) - {label})
        todo = [(s, [b for b in wrong if s.is_open(b)]) for s in searches]
        rounds = [search.toward_all(labels) for search, labels in todo if labels]
        if not rounds:
            return
        yield from gather(rounds)


def _meet_elsewhere(searches: Sequence[MemberSearch[S]], label: int) -> Coroutine[None]:
    """Let pairs whose texts reach different wrong labels only try the likeliest others, until they meet."""
    first = searches[0]
    for other in searches[1:]:
        both = first.reach.clean.p + other.reach.clean.p
        wrong = _likeliest(both, {label})
        for wanted in wrong[: first.settings.n_labels]:
            if (first.reach.labels & other.reach.labels) - {label}:
                break
            if all(wanted in s.reach.paths or s.is_open(wanted) for s in (first, other)):
                yield from first.toward_all([wanted])
                if wanted in first.reach.paths:
                    yield from other.toward_all([wanted])


def _likeliest(p: FloatArray, without: set[int]) -> list[int]:
    """The other labels, the most probable first."""
    return sorted((c for c in range(len(p)) if c not in without), key=lambda c: (-round(float(p[c]), 9), c))


@dataclass(frozen=True, slots=True)
class _Node(Generic[S]):
    """A state of the beam and the candidates that are still open on top of it."""

    path: Path[S]
    keys: tuple[tuple[int, str], ...]
    open: dict[int, tuple[Candidate[S], ...]]

    @property
    def end(self) -> Waypoint[S]:
        return self.path[-1]


class MemberSearch(Generic[S]):
    """The searches of one text, one a label aimed at; they share all predictions.

    Attributes:
        spans: Where the positions stand, if any of them overlap; else None.
    """

    def __init__(
        self,
        side: EditableSide[S],
        reach: Reach[S],
        table: CandidateTable[S],
        label: int,
        settings: ReachSettings,
    ) -> None:
        self.side = side
        self.reach = reach
        self.table = table
        self.label = label
        self.settings = settings
        self.tried: set[int] = set()
        spans = {position: side.span(position) for position in table.by_position}
        self._overlapping = overlapping(spans)
        self.spans = spans if self._overlapping else None
        self._noted: set[tuple[tuple[int, str], ...]] = set()
        self._tried_on: dict[tuple[tuple[int, str], ...], set[tuple[int, str]]] = {}
        reach.saliency = table.saliency
        if not table.is_complete:
            reach.stop = "budget"
        elif not table.had_positions:
            reach.stop = "no_positions"

    def covered(self, position: int) -> frozenset[int]:
        """The position and those that overlap it: an edit of one of them closes them."""
        return self._overlapping.get(position, frozenset()) | {position}

    def is_open(self, label: int) -> bool:
        """Whether a label was neither reached nor aimed at yet."""
        return label not in self.reach.paths and label not in self.tried

    def leave_clean_label(self) -> Coroutine[None]:
        """Leave the clean label: for the right one where the clean text is wrong, else for the likeliest."""
        clean = self.reach.clean
        others = _likeliest(clean.p, {clean.label, self.label})
        wanted = others if clean.label == self.label else [self.label, *others]
        for label in wanted[: self.settings.n_labels]:
            yield from self.toward_all([label])
            if len(self.reach.paths) > 1:
                return

    def toward_all(self, labels: Sequence[int]) -> Coroutine[None]:
        """Aim at labels one after another; those reached on the way are left out."""
        for label in labels:
            if self.is_open(label):
                self.tried.add(label)
                stop = yield from self._toward(label)
                if self.reach.stop not in ("budget", "no_positions"):
                    self.reach.stop = stop

    def _toward(self, label: int) -> Coroutine[SideStop]:
        root = _Node((self.reach.clean,), (), {p: tuple(c) for p, c in self.table.by_position.items()})
        stop, best = yield from self._climb(root, label)
        if label in self.reach.paths or stop == "budget" or not self._is_near(best, label):
            return stop
        again = yield from self._measured_again(best)
        stop, _ = yield from self._climb(again, label)
        return stop

    def _climb(self, root: _Node[S], label: int) -> Coroutine[tuple[SideStop, _Node[S]]]:
        """Extend the beam until the label is reached or nothing helps; also the node that came nearest."""
        beam, best = [root], root
        while True:
            grown = yield from gather([self._extend(node, label) for node in beam])
            nodes: dict[tuple[tuple[int, str], ...], _Node[S]] = {}
            for found, stop in grown:
                for node in found:
                    nodes.setdefault(tuple(sorted(node.keys)), node)
                if stop == "budget":
                    self.reach.stop = "budget"
            if label in self.reach.paths:
                return "exhausted", best
            if self.reach.stop == "budget":
                # Nothing new can be measured; what had been measured was looked at in this round.
                return "budget", best
            last = {stop for _, stop in grown}
            ranked = sorted(nodes.values(), key=lambda n: -round(float(margin(n.end.p, label)) / MIN_GAIN))
            if not ranked:
                return ("out_of_reach" if "out_of_reach" in last else "exhausted"), best
            beam = ranked[: self.settings.beam]
            best = beam[0]

    def _is_near(self, node: _Node[S], label: int) -> bool:
        """Whether a search that failed ended within a fifth of its way to the label."""
        return bool(node.keys) and margin(node.end.p, label) > margin(self.reach.clean.p, label) / 5

    def _measured_again(self, node: _Node[S]) -> Coroutine[_Node[S]]:
        """The node with the candidates that were not tried on it, measured on top of its edits.

        Effects on the clean text mislead where words work together, such as a word that occurs twice.
        """
        refused = self._tried_on.get(tuple(sorted(node.keys)), set())
        left = [c for found in node.open.values() for c in found if (c.position, c.key) not in refused]
        pairs = [(c, self.side.combine(node.end.state, c.position, c.key)) for c in left]
        usable = [(c, state) for c, state in pairs if state is not None]
        rows: FloatArray = np.zeros((0, 0))
        if usable:
            rows = yield Score([self.side.text(state) for _, state in usable])
        if len(rows) < len(usable):
            self.reach.stop = "budget"
        here = log_probabilities(node.end.p)
        again: dict[int, tuple[Candidate[S], ...]] = {}
        for (c, _), row in zip(usable, rows, strict=False):
            # Only the effect is new: the filter must still admit the edit alone.
            fresh = Candidate(
                c.position, c.key, c.state, log_probabilities(row) - here, None, c.is_admissible
            )
            again[c.position] = (*again.get(c.position, ()), fresh)
        return _Node(node.path, node.keys, again)

    def _extend(self, node: _Node[S], label: int) -> Coroutine[tuple[list[_Node[S]], SideStop]]:
        """Up to ``beam`` admissible edits on top of a node that raise the label, the best first."""
        found: list[_Node[S]] = []
        settings = self.settings
        if settings.max_edits is not None and node.end.n_edits >= settings.max_edits:
            return found, "exhausted"
        here = log_probabilities(node.end.p)
        remaining = dict(node.open)
        for candidate in in_order(remaining, here, label):
            left = None if settings.max_edits is None else settings.max_edits - node.end.n_edits
            optimism = np.inf if settings.filter_first else settings.optimism
            if not is_in_reach(remaining, here, label, optimism=optimism, max_edits=left, spans=self.spans):
                return found, "out_of_reach"
            self._tried_on.setdefault(tuple(sorted(node.keys)), set()).add(
                (candidate.position, candidate.key)
            )
            point, is_paid = yield from self._try(node, candidate)
            remaining = without(remaining, candidate)
            if not is_paid:
                return found, "budget"
            if point is None:
                continue
            path = (*node.path, point)
            keys = (*node.keys, (candidate.position, candidate.key))
            self._note(path, keys)
            if margin(point.p, label) - margin(node.end.p, label) <= MIN_GAIN:
                continue
            covered = self.covered(candidate.position)
            rest = {p: c for p, c in remaining.items() if p not in covered}
            found.append(_Node(path, keys, rest))
            if point.label == label or len(found) >= settings.beam:
                break
        return found, "exhausted"

    def _note(self, path: Path[S], keys: tuple[tuple[int, str], ...]) -> None:
        """Count a state, once whichever labels it was tried for."""
        name = tuple(sorted(keys))
        if name not in self._noted:
            self._noted.add(name)
            self.reach.note(path, self.label)

    def _try(self, node: _Node[S], candidate: Candidate[S]) -> Coroutine[tuple[Waypoint[S] | None, bool]]:
        """The measured state with one more edit, or None when it is refused; and whether it was paid for."""
        is_first = len(node.path) == 1
        state = (
            candidate.state
            if is_first
            else self.side.combine(node.end.state, candidate.position, candidate.key)
        )
        if state is None:
            return None, True
        is_admitted = yield from admits(self.side, candidate, state)
        if not is_admitted:
            return None, True
        p = candidate.p if is_first else None
        if p is None:
            rows = yield Score([self.side.text(state)])
            if not len(rows):
                return None, False
            p = rows[0]
            if is_first:
                # An estimate from another text of I(v) is replaced by what was measured here.
                candidate.p = p
                candidate.effect = log_probabilities(p) - log_probabilities(self.reach.clean.p)
        extra = node.end.extra_tokens + self.side.n_tokens(candidate.position) - 1
        return Waypoint(state, p, node.end.n_edits + 1, extra), True
