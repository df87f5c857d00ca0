"""Every admissible edit of at most ``K`` tokens: the exact ``Reach``, and what follows when nothing is found.

The victim sees all texts; the filter only those that would reach a new label, the likeliest first, until
one of them is admissible. That finds exactly the labels that eager filtering would find: a label is missing
only when all texts that have it were refused.

The largest prediction error is taken over the texts whose admissibility is known. Without a filter these are
all texts, and the error is exact within ``K`` edits; with one, the clean text and the texts that the filter
was asked about and admitted, so it is an estimate from below: texts that keep the clean label are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Generic, TypeVar

import numpy as np

from rif_plugins.core.overlaps import count_choices, overlapping
from rif_plugins.core.reach import Reach, Waypoint
from rif_plugins.core.requests import Coroutine, Judge, Score
from rif_plugins.core.sides import EditableSide
from rif_plugins.core.tie_breaking import settle
from rif_plugins.errors import UsageError

S = TypeVar("S")
MAX_TEXTS = 20_000
_CHUNK = 512
_JUDGED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Enumeration(Generic[S]):
    """The exact reach of one text within ``K`` edits.

    Attributes:
        reach: Cheapest path by label; ``stop`` is ``"certified"`` when all texts were looked at: the budget
            sufficed, and every proposed word could be put beside every other. Its ``n_tried`` and
            ``largest_error`` are those of the texts whose admissibility is known (see the module).
        n_texts: Edited texts that the victim saw, the clean text excluded.
        n_judged: Texts that the filter had to judge.
    """

    reach: Reach[S]
    n_texts: int
    n_judged: int


def count_texts(side: EditableSide[S], max_edits: int) -> int:
    """How many texts have one to ``max_edits`` positions of this text replaced by their candidates."""
    positions = [position for position in side.positions if side.keys(position)]
    spans = [side.span(position) for position in positions]
    return count_choices(spans, [len(side.keys(position)) for position in positions], max_edits)


def enumerate_reach(
    side: EditableSide[S], label: int, max_edits: int, *, limit: int = MAX_TEXTS, admits_all: bool = False
) -> Coroutine[Enumeration[S]]:
    """Find every label that at most ``max_edits`` admissible edits of one text reach.

    Args:
        side: The text.
        label: The right label, for the errors that are noted.
        max_edits: 1 or 2 (more is allowed where the limit allows it).
        limit: Most texts to enumerate.
        admits_all: There is no filter: every text is known to be admissible.

    Raises:
        UsageError: There are more texts than ``limit``, or the budget does not pay for the clean text.
    """
    if max_edits < 1:
        raise UsageError(f"an exhaustive search needs 1 edit or more, got {max_edits}: choose 1 or 2")
    expected = count_texts(side, max_edits)
    if expected > limit:
        raise UsageError(
            f"the exhaustive search of {max_edits} edits would try {expected} texts of one example, "
            f"expected at most {limit}: lower --exhaustive or --max-candidates, or shorten the text"
        )
    rows = yield Score([side.text(side.start)])
    if not len(rows):
        raise UsageError("the query budget does not pay for the clean text: expected 1 row or more")
    reach = Reach.of(Waypoint(side.start, rows[0], 0), label)
    reach.stop = "certified"
    n_judged = n_texts = 0
    error = reach.largest_error
    for depth in range(1, max_edits + 1):
        found: list[Waypoint[S]] = []
        source = _points(side, depth)
        while chunk := list(islice(source, _CHUNK)):
            rows = yield Score([side.text(state) for state, _ in chunk])
            n_texts += len(rows)
            if len(rows):
                error = max(error, 1.0 - float(rows[:, label].min()))
            # Texts with a label that is reached already are of no use, and nearly all are.
            found += [
                Waypoint(state, row, depth, extra)
                for (state, extra), row in zip(chunk, rows, strict=False)
                if int(np.argmax(row)) not in reach.paths
            ]
            if len(rows) < len(chunk):
                reach.stop = "budget"
                break
        n_judged += yield from _admit(side, reach, found, label)
        if reach.stop == "budget":
            break
    if reach.stop != "budget" and n_texts < expected:
        reach.stop = "exhausted"
    if admits_all:
        reach.n_tried, reach.largest_error = 1 + n_texts, error
    yield from settle(side, reach)
    return Enumeration(reach, n_texts, n_judged)


def _admit(
    side: EditableSide[S], reach: Reach[S], points: Sequence[Waypoint[S]], label: int
) -> Coroutine[int]:
    """Judge the texts of each new label, the most confident first, until one passes; how many were judged.

    Those that pass in the same batch compete for the highest equivalence (see ``settle``).
    """
    by_label: dict[int, list[Waypoint[S]]] = {}
    for point in points:
        by_label.setdefault(point.label, []).append(point)
    n_judged = 0
    for new in sorted(by_label):
        ranked = sorted(by_label[new], key=lambda point: -round(float(point.p[new]), 9))
        for start in range(0, len(ranked), _JUDGED_AT_ONCE):
            part = ranked[start : start + _JUDGED_AT_ONCE]
            verdicts = yield Judge(side, [point.state for point in part])
            n_judged += len(part)
            passed = [point for point, verdict in zip(part, verdicts, strict=True) if verdict]
            for point in passed:
                reach.note((reach.clean, point), label)
            if passed:
                break
    return n_judged


def _points(side: EditableSide[S], depth: int) -> Iterator[tuple[S, int]]:
    """All states with exactly ``depth`` edits, and the tokens that these change beyond one an edit."""
    keys = {position: side.keys(position) for position in side.positions}
    open_positions = [position for position, found in keys.items() if found]
    extra = {position: side.n_tokens(position) - 1 for position in open_positions}
    if depth == 1:
        for position in open_positions:
            for proposal in side.propose(side.start, position):
                yield proposal.state, extra[position]
        return
    apart = overlapping({position: side.span(position) for position in open_positions})
    for positions in combinations(open_positions, depth):
        if apart and any(b in apart.get(a, ()) for a, b in combinations(positions, 2)):
            continue
        for chosen in product(*(keys[position] for position in positions)):
            state: S | None = side.start
            for position, key in zip(positions, chosen, strict=True):
                state = None if state is None else side.combine(state, position, key)
            if state is not None:
                yield state, sum(extra[position] for position in positions)
