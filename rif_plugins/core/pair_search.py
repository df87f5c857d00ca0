"""Search for edits of both sides of a pair that reach one target outcome.

The greedy search of RIFair over ranked positions. At each position the kept token is a candidate on
each side, and every combination of both sides is considered: ``decoupled`` edits. A search is a
generator that yields texts and receives their class probabilities (a shorter answer means that the
budget ran out), so callers decide how requests are batched.

Sources: KDD 2026 page of RIFair (decoupled search), its January 2026 predecessor (coupled edits).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.combination import Option, choose_combination
from rif_plugins.core.objective import Objective, runner_up
from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pairs import Span
from rif_plugins.core.saliency import ask, rank_shared, rank_side
from rif_plugins.core.sides import EditableSide
from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]
S = TypeVar("S")
PositionMode = Literal["shared", "independent", "coupled"]
SaliencyMethod = Literal["delete", "mask", "gradient", "random"]
TokenSaliency = Callable[[str, int, Sequence[Span]], Sequence[float]]
"""``(text, label, spans) -> score`` of each span: the gradient of a white-box victim."""
StopReason = Literal[
    "natural", "success", "exhausted", "no_positions", "out_of_reach", "budget", "unconfirmed", "certified"
]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search one pair.

    Attributes:
        positions: ``"shared"``: one ranking, each side its own candidate (the paper); ``"independent"``:
            each side its own ranking; ``"coupled"``: the same candidate on both sides (ablation).
        max_positions: Most positions tried, by saliency.
        max_edits: Most edits a side, a phrase being one; None is unlimited.
        saliency: ``"delete"`` (paper), ``"mask"``, ``"gradient"`` (white-box) or ``"random"`` (control).
        mask_token: What ``"mask"`` puts in.
        filter_first: Filter all candidates before the victim sees them. Otherwise the victim scores
            first and candidates are filtered in the order of their use until one passes: the same
            edits are accepted, with fewer rows of the filter and more of the victim.
        n_wrong_labels: More than two classes, ``unrobust_fair``: how many wrong labels to aim at.
    """

    positions: PositionMode = "shared"
    max_positions: int = 20
    max_edits: int | None = None
    saliency: SaliencyMethod = "delete"
    mask_token: str = "[MASK]"
    filter_first: bool = True
    n_wrong_labels: int = 3

    def __post_init__(self) -> None:
        if self.positions not in ("shared", "independent", "coupled"):
            raise UsageError(
                f"positions {self.positions!r} does not exist: expected shared, independent or coupled"
            )
        if self.saliency not in ("delete", "mask", "gradient", "random"):
            raise UsageError(
                f"saliency {self.saliency!r} does not exist: expected delete, mask, gradient or random"
            )
        if self.max_positions < 1:
            raise UsageError(f"max_positions must be 1 or more, got {self.max_positions}")
        if self.max_edits is not None and self.max_edits < 0:
            raise UsageError(f"max_edits must be 0 or more, got {self.max_edits}")


@dataclass(frozen=True, slots=True)
class Step:
    """One point of a trajectory.

    Attributes:
        p_original, p_similar: Probability of the right label on each side.
        objective: Value of ``J``.
        n_edits_original, n_edits_similar: Tokens changed so far on each side, all of a phrase included.
    """

    step: int
    p_original: float
    p_similar: float
    objective: float
    n_edits_original: int
    n_edits_similar: int


@dataclass(frozen=True, slots=True)
class PairState(Generic[S]):
    """States of both sides with their predictions, each ``(k,)``, and their edits.

    ``extra_tokens`` are the tokens of each side that phrases change beyond one an edit.
    """

    original: S
    similar: S
    p: FloatArray
    p_similar: FloatArray
    n_edits_original: int = 0
    n_edits_similar: int = 0
    extra_tokens: tuple[int, int] = (0, 0)

    def outcome(self, label: int) -> Outcome:
        """The outcome of this pair of states."""
        return classify(label, int(np.argmax(self.p)), int(np.argmax(self.p_similar)))


@dataclass(frozen=True, slots=True)
class PairSearchResult(Generic[S]):
    """What a search found; ``state`` is the best one even where the target was not reached."""

    clean: PairState[S]
    state: PairState[S]
    clean_outcome: Outcome
    outcome: Outcome
    stop_reason: StopReason
    trajectory: tuple[Step, ...]

    @property
    def is_success(self) -> bool:
        """True when the target outcome was reached, before or after editing."""
        return self.stop_reason in ("natural", "success")


Search = Generator[list[str], FloatArray, PairSearchResult[S]]


def run_search(search: Search[S], score: Callable[[list[str]], FloatArray]) -> PairSearchResult[S]:
    """Drive one search with a batch scorer."""
    try:
        texts = next(search)
        while True:
            texts = search.send(score(texts))
    except StopIteration as stop:
        result: PairSearchResult[S] = stop.value
        return result


def search_pair(
    original: EditableSide[S],
    similar: EditableSide[S],
    *,
    label: int,
    objective: Objective,
    settings: SearchSettings | None = None,
    rng: np.random.Generator | None = None,
    token_saliency: TokenSaliency | None = None,
) -> Search[S]:
    """Search edits of one pair that reach the objective's target.

    Args:
        original: The original side.
        similar: The similar side.
        label: The right label ``y``.
        objective: Whose target to reach.
        settings: See ``SearchSettings``.
        rng: Needed by the random saliency only.
        token_saliency: Needed by the gradient saliency only.

    Raises:
        UsageError: The budget does not even pay for the clean pair.
    """
    settings = settings or SearchSettings()
    rows = yield from ask([original.text(original.start), similar.text(similar.start)])
    if len(rows) < 2:
        raise UsageError("the query budget does not pay for one pair: expected 2 rows or more")
    clean = PairState(original.start, similar.start, rows[0], rows[1])
    if clean.outcome(label) is objective.target:
        return _finished(clean, clean, label, "natural", (_step(0, clean, label, objective, None),))
    first: PairSearchResult[S] | None = None
    for wrong_label in _wrong_labels(clean, label, objective, settings):
        attempt = _Attempt(original, similar, label, objective, settings, wrong_label, rng, token_saliency)
        result = yield from attempt.run(clean)
        if result.is_success or result.stop_reason == "budget":
            return result if result.is_success or first is None else replace(first, stop_reason="budget")
        first = first or result
    if first is None:  # pragma: no cover - _wrong_labels is never empty
        raise AssertionError("no attempt was made")
    return first


def _wrong_labels(
    clean: PairState[Any], label: int, objective: Objective, settings: SearchSettings
) -> list[int | None]:
    n_labels = len(clean.p)
    if not objective.needs_wrong_label(n_labels):
        return [None]
    first: int = runner_up(clean.p, clean.p_similar, label)
    total = clean.p + clean.p_similar
    rest = sorted((c for c in range(n_labels) if c not in (label, first)), key=lambda c: (-total[c], c))
    ordered: list[int | None] = [first, *rest]
    return ordered[: max(1, settings.n_wrong_labels)]


class _Attempt(Generic[S]):
    """One greedy pass towards one target (and one wrong label)."""

    def __init__(
        self,
        original: EditableSide[S],
        similar: EditableSide[S],
        label: int,
        objective: Objective,
        settings: SearchSettings,
        wrong_label: int | None,
        rng: np.random.Generator | None,
        token_saliency: TokenSaliency | None,
    ) -> None:
        self.original = original
        self.similar = similar
        self.label = label
        self.objective = objective
        self.settings = settings
        self.wrong_label = wrong_label
        self.rng = rng
        self.token_saliency = token_saliency

    def evaluate(self, p: FloatArray, p_similar: FloatArray) -> Any:
        return self.objective(p, p_similar, self.label, self.wrong_label)

    def run(self, clean: PairState[S]) -> Search[S]:
        schedule, is_complete = yield from self._schedule(clean)
        state = clean
        steps = [_step(0, clean, self.label, self.objective, self.wrong_label)]
        if not schedule:
            reason: StopReason = "no_positions" if is_complete else "budget"
            return _finished(clean, state, self.label, reason, tuple(steps))
        for positions in schedule:
            options, is_complete_step = yield from self._options(state, positions)
            is_complete = is_complete and is_complete_step
            chosen = self._choose(state, options, positions)
            if chosen is not None:
                state = chosen
                steps.append(_step(len(steps), state, self.label, self.objective, self.wrong_label))
                if state.outcome(self.label) is self.objective.target:
                    return _finished(clean, state, self.label, "success", tuple(steps))
            if not is_complete:
                break
        return _finished(clean, state, self.label, "exhausted" if is_complete else "budget", tuple(steps))

    def _schedule(
        self, clean: PairState[S]
    ) -> Generator[list[str], FloatArray, tuple[list[tuple[int | None, int | None]], bool]]:
        """Positions of both sides, step by step, and whether the ranking is complete."""
        settings = self.settings
        if settings.positions == "independent":
            firsts = yield from self._rank(clean, "original")
            seconds = yield from self._rank(clean, "similar")
            expected = len(self.original.positions) + len(self.similar.positions)
            schedule = list(zip_longest(firsts[: settings.max_positions], seconds[: settings.max_positions]))
            return schedule, len(firsts) + len(seconds) == expected
        ranked = yield from self._rank(clean, "both")
        expected = len(set(self.original.positions) & set(self.similar.positions))
        return [(i, i) for i in ranked[: settings.max_positions]], len(ranked) == expected

    def _rank(self, clean: PairState[S], sides: str) -> Generator[list[str], FloatArray, list[int]]:
        mask_token = self.settings.mask_token if self.settings.saliency == "mask" else None
        if self.settings.saliency == "random":
            return self._random_order(sides)
        if self.settings.saliency == "gradient":
            return self._gradient_order(sides)
        probabilities = (clean.p, clean.p_similar)
        if sides == "both":
            return (
                yield from rank_shared(self.original, self.similar, probabilities, self.evaluate, mask_token)
            )
        side = self.original if sides == "original" else self.similar
        is_original = sides == "original"
        return (yield from rank_side(side, probabilities, self.evaluate, mask_token, is_original=is_original))

    def _random_order(self, sides: str) -> list[int]:
        if self.rng is None:
            raise UsageError("random saliency needs a random generator: pass rng")
        positions = self._positions(sides)
        return [positions[i] for i in self.rng.permutation(len(positions))]

    def _gradient_order(self, sides: str) -> list[int]:
        """Positions by the size of the gradient, summed over the sides; one backward pass a side."""
        if self.token_saliency is None:
            raise UsageError(
                "saliency gradient needs a white-box victim, such as a Hugging Face model: "
                "choose saliency delete, mask or random"
            )
        positions = self._positions(sides)
        total = np.zeros(len(positions))
        for name, side in (("original", self.original), ("similar", self.similar)):
            if sides in (name, "both"):
                spans = [side.span(position) for position in positions]
                total += np.abs(self.token_saliency(side.text(side.start), self.label, spans))
        order = sorted(range(len(positions)), key=lambda i: (-round(float(total[i]), 9), i))
        return [positions[i] for i in order]

    def _positions(self, sides: str) -> list[int]:
        positions = list(self.similar.positions if sides == "similar" else self.original.positions)
        if sides == "both":
            common = set(self.similar.positions)
            positions = [position for position in positions if position in common]
        return positions

    def _options(
        self, state: PairState[S], positions: tuple[int | None, int | None]
    ) -> Generator[list[str], FloatArray, tuple[tuple[list[Option[S]], list[Option[S]]], bool]]:
        """Scored options of both sides, the kept token first, and whether all could be paid."""
        firsts = self._unscored(self.original, state.original, positions[0], state.n_edits_original)
        seconds = self._unscored(self.similar, state.similar, positions[1], state.n_edits_similar)
        if self.settings.positions == "coupled":
            keys = {key for key, _ in firsts} & {key for key, _ in seconds}
            firsts = [option for option in firsts if option[0] in keys]
            seconds = [option for option in seconds if option[0] in keys]
        # Alternate sides, so that a short answer still holds candidates of both.
        order = [
            item
            for both in zip_longest([(0, *o) for o in firsts], [(1, *o) for o in seconds])
            for item in both
            if item is not None
        ]
        sides = (self.original, self.similar)
        rows = yield from ask([sides[index].text(new) for index, _, new in order])
        options = (
            [Option("", state.original, state.p, True)],
            [Option("", state.similar, state.p_similar, True)],
        )
        for (index, key, new), row in zip(order, rows, strict=False):
            options[index].append(Option(key, new, row, True if self.settings.filter_first else None))
        return options, len(rows) == len(order)

    def _unscored(
        self, side: EditableSide[S], state: S, position: int | None, n_edits: int
    ) -> list[tuple[str, S]]:
        limit = self.settings.max_edits
        if position is None or (limit is not None and n_edits >= limit):
            return []
        proposals = side.propose(state, position)
        if self.settings.filter_first and proposals:
            verdicts = side.admissible([proposal.state for proposal in proposals])
            proposals = [p for p, ok in zip(proposals, verdicts, strict=True) if ok]
        return [(proposal.key, proposal.state) for proposal in proposals]

    def _choose(
        self,
        state: PairState[S],
        options: tuple[list[Option[S]], list[Option[S]]],
        positions: tuple[int | None, int | None],
    ) -> PairState[S] | None:
        chosen = choose_combination(
            *options,
            evaluate=self.evaluate,
            label=self.label,
            target=self.objective.target,
            is_coupled=self.settings.positions == "coupled",
            judges=(self.original.admissible, self.similar.admissible),
        )
        if chosen is None:
            return None
        i, j = chosen
        more = _extra_tokens(self.original, positions[0], i), _extra_tokens(self.similar, positions[1], j)
        return PairState(
            options[0][i].state,
            options[1][j].state,
            options[0][i].p,
            options[1][j].p,
            state.n_edits_original + (i > 0),
            state.n_edits_similar + (j > 0),
            (state.extra_tokens[0] + more[0], state.extra_tokens[1] + more[1]),
        )


def _extra_tokens(side: EditableSide[Any], position: int | None, option: int) -> int:
    return 0 if position is None or not option else side.n_tokens(position) - 1


def _step(
    number: int, state: PairState[Any], label: int, objective: Objective, wrong_label: int | None
) -> Step:
    return Step(
        number,
        float(state.p[label]),
        float(state.p_similar[label]),
        float(objective(state.p, state.p_similar, label, wrong_label)),
        state.n_edits_original + state.extra_tokens[0],
        state.n_edits_similar + state.extra_tokens[1],
    )


def _finished(
    clean: PairState[S], state: PairState[S], label: int, reason: StopReason, steps: tuple[Step, ...]
) -> PairSearchResult[S]:
    return PairSearchResult(clean, state, clean.outcome(label), state.outcome(label), reason, steps)
