"""Which labels admissible edits of one text can produce, and how targets follow from them.

The goal of a pair separates: admissibility, constraints and edit limits hold for each text alone, so one
search a text answers every pair and every target. With ``Reach(t)`` the labels that admissible edits of
``t`` produce (the empty edit included), right label ``y``, original ``v``, similar text ``v'``:

=================== ============================================================================
``robust_biased``   ``y`` in ``Reach(v)``, and a wrong label in ``Reach(v')``
``unrobust_fair``   one wrong label in both
``unrobust_biased`` a wrong label in ``Reach(v)``, and another label (wrong or right) in ``Reach(v')``
=================== ============================================================================

A greedy search gives a lower bound of ``Reach``: a label found proves a violation, "none found" proves
nothing. Only the exhaustive search (see ``exhaustive``) gives the equivalences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pair_search import PairSearchResult, PairState, Step, StopReason
from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]
S = TypeVar("S")
EQUIVALENCE_DIGITS = 6
OPTIMISM = 2.0
SideStop = Literal["exhausted", "no_positions", "out_of_reach", "budget", "certified"]


@dataclass(frozen=True, slots=True)
class ReachSettings:
    """How to search the texts of one example.

    Attributes:
        max_positions: Most positions of a text whose candidates are tried; where there are more, those
            with the highest saliency.
        max_edits: Most edits of a text, a phrase being one; None is unlimited.
        beam: States kept at each depth; 1 is greedy.
        saliency: ``"delete"``, ``"mask"``, ``"gradient"`` (white-box victims) or ``"random"`` (control).
            Only texts with more than ``max_positions`` positions that have candidates need a ranking:
            elsewhere the probes of the candidates themselves rank.
        mask_token: What ``"mask"`` puts in.
        n_labels: More than two classes: how many labels to aim at, the likeliest first.
        filter_first: Filter all candidates before the victim sees them; for victims that cost more than
            the filter. Otherwise the victim sees all candidates of one text of ``I(v)``, and the filter
            only those that a search is about to use.
        optimism: A search stops when even the sum of the largest remaining effects, times this factor,
            would not change the label. Effects add up in the logits of a linear model, where 1 loses
            nothing (with more than two classes: but for labels met on the way to another); infinity never
            stops early. Not used with ``filter_first``.
        shares_probes: Take effects measured on the original as estimates for the similar texts; whatever
            is found there is measured. False probes every text.
    """

    max_positions: int = 20
    max_edits: int | None = None
    beam: int = 1
    saliency: Literal["delete", "mask", "gradient", "random"] = "delete"
    mask_token: str = "[MASK]"
    n_labels: int = 3
    filter_first: bool = False
    optimism: float = OPTIMISM
    shares_probes: bool = True

    def __post_init__(self) -> None:
        if self.saliency not in ("delete", "mask", "gradient", "random"):
            raise UsageError(
                f"saliency {self.saliency!r} does not exist: expected delete, mask, gradient or random"
            )
        for name in ("max_positions", "beam", "n_labels"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, got {getattr(self, name)}")
        if self.max_edits is not None and self.max_edits < 0:
            raise UsageError(f"max_edits must be 0 or more, got {self.max_edits}")
        if not self.optimism >= 1:
            raise UsageError(f"optimism must be 1 or more, got {self.optimism}: 2 is usual")


@dataclass(frozen=True, slots=True)
class Waypoint(Generic[S]):
    """An admissible state that the victim has seen.

    Attributes:
        p: Its class probabilities, ``(k,)``.
        n_edits: Edits so far.
        extra_tokens: Tokens that they change beyond one an edit, which phrases do.
    """

    state: S
    p: FloatArray
    n_edits: int
    extra_tokens: int = 0

    @property
    def label(self) -> int:
        """The predicted label."""
        return int(np.argmax(self.p))

    @property
    def n_tokens(self) -> int:
        """Tokens changed so far."""
        return self.n_edits + self.extra_tokens


def optimism_for(entailment: str) -> float:
    """How optimistic to be: stopping early saves rows of the filter, so without one nothing stops early.

    Args:
        entailment: The setting; ``"none"`` is no filter.
    """
    return math.inf if entailment == "none" else OPTIMISM


Path = tuple[Waypoint[S], ...]


@dataclass(slots=True)
class Reach(Generic[S]):
    """What a search found out about one text.

    Attributes:
        clean: The unedited text.
        paths: By label reached: the waypoints from the clean text to the cheapest state that has it.
        ties: By label: all paths found that have as few edits as that one, in the order in which they were.
        equivalence: By label: ``S_eq`` at the end of its path, where it was asked for (see ``ties``).
        n_tried: States known to be admissible that the victim has seen, the clean text included.
        largest_error: The largest ``1 - p_y`` among them: the epsilon of epsilon-RIF, from below.
        stop: Why the last search ended.
        saliency: Scores of ranked positions, where a ranking was needed.
    """

    clean: Waypoint[S]
    paths: dict[int, Path[S]]
    ties: dict[int, list[Path[S]]] = field(default_factory=dict)
    equivalence: dict[int, float] = field(default_factory=dict)
    n_tried: int = 0
    largest_error: float = 0.0
    stop: SideStop = "exhausted"
    saliency: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(cls, clean: Waypoint[S], label: int) -> Reach[S]:
        """The reach of a text of which only the clean prediction is known."""
        reach = cls(clean, {})
        reach.note((clean,), label)
        return reach

    def note(self, path: Path[S], label: int) -> None:
        """Count an admissible state, and keep its path when it is the best one to its label.

        The best has the fewest edits, then the fewest tokens, then the highest probability: a rule that does
        not depend on which of several searches comes first. Where a filter measures equivalence, that comes
        right behind the number of edits, once the search is over (see ``settle`` in ``tie_breaking``).
        """
        end = path[-1]
        self.n_tried += 1
        self.largest_error = max(self.largest_error, 1.0 - float(end.p[label]))
        known = self.paths.get(end.label)
        if known is None or rank(end) < rank(known[-1]):
            self.paths[end.label] = path
        tied = self.ties.setdefault(end.label, [path])
        if end.n_edits < tied[0][-1].n_edits:
            self.ties[end.label] = [path]
        elif end.n_edits == tied[0][-1].n_edits and tied[0] is not path:
            tied.append(path)

    @property
    def labels(self) -> frozenset[int]:
        """All labels reached, the clean one included."""
        return frozenset(self.paths)

    def kept(self, label: int) -> float:
        """``S_eq`` at the end of a label's path, without the noise of batching; 1 where it is not known."""
        return round(self.equivalence.get(label, 1.0), EQUIVALENCE_DIGITS)

    def preference(self, label: int) -> tuple[int, float, int]:
        """What orders the labels reached: the fewest edits, the highest equivalence, the lower label."""
        return self.paths[label][-1].n_edits, -self.kept(label), label


def rank(point: Waypoint[Any]) -> tuple[int, int, float]:
    """Cheapest first: edits, tokens, and the probability of its label, the highest first."""
    return point.n_edits, point.n_tokens, -round(float(point.p[point.label]), 9)


def best_ends(
    original: Reach[S], similar: Reach[S], label: int, target: Outcome
) -> tuple[Path[S], Path[S]] | None:
    """The paths of both sides that end in the target outcome with the fewest edits.

    Of several, those whose lower ``S_eq`` is the highest, where it is known.

    Args:
        original: Reach of the original.
        similar: Reach of the similar text.
        label: The right label.
        target: The outcome wanted.

    Returns:
        Both paths, or None when no product of the reached labels has that outcome. What is still tied goes
        to the lower labels.
    """
    options = [
        (
            first[-1].n_edits + second[-1].n_edits,
            -min(original.kept(a), similar.kept(b)),
            a,
            b,
        )
        for a, first in original.paths.items()
        for b, second in similar.paths.items()
        if classify(label, a, b) is target
    ]
    if not options:
        return None
    *_, a, b = min(options)
    return original.paths[a], similar.paths[b]


def pair_result(
    original: Reach[S],
    similar: Reach[S],
    label: int,
    objective: Objective,
) -> PairSearchResult[S]:
    """The result of one pair and target, put together from the searches of its two texts.

    The trajectory takes both sides forward together; a side that is done is held.
    """
    target = objective.target
    clean_outcome = classify(label, original.clean.label, similar.clean.label)
    reason: StopReason
    first: Path[S] = (original.clean,)
    second: Path[S] = (similar.clean,)
    if clean_outcome is target:
        reason = "natural"
    elif (ends := best_ends(original, similar, label, target)) is not None:
        (first, second), reason = ends, "success"
    else:
        reason = weaker_stop(original.stop, similar.stop)
    return result_of(first, second, label, reason, objective)


def result_of(
    first: Path[S],
    second: Path[S],
    label: int,
    reason: StopReason,
    objective: Callable[[FloatArray, FloatArray, int], Any],
) -> PairSearchResult[S]:
    """The result of a pair from the path of each side."""
    clean = _pair_state(first[0], second[0])
    state = _pair_state(first[-1], second[-1])
    steps = trajectory(first, second, label, objective)
    return PairSearchResult(clean, state, clean.outcome(label), state.outcome(label), reason, steps)


def _pair_state(first: Waypoint[S], second: Waypoint[S]) -> PairState[S]:
    extra = (first.extra_tokens, second.extra_tokens)
    return PairState(first.state, second.state, first.p, second.p, first.n_edits, second.n_edits, extra)


def weaker_stop(first: SideStop, second: SideStop) -> SideStop:
    """The reason that says less about the pair: a budget before a bound before a full search."""
    order: tuple[SideStop, ...] = ("budget", "out_of_reach", "exhausted", "no_positions", "certified")
    return min((first, second), key=order.index)


def trajectory(
    first: Sequence[Waypoint[Any]],
    second: Sequence[Waypoint[Any]],
    label: int,
    objective: Callable[[FloatArray, FloatArray, int], Any],
) -> tuple[Step, ...]:
    """The steps of both sides side by side; the shorter one is held at its end."""
    steps = []
    for number in range(max(len(first), len(second))):
        a, b = first[min(number, len(first) - 1)], second[min(number, len(second) - 1)]
        value = float(objective(a.p, b.p, label))
        steps.append(Step(number, float(a.p[label]), float(b.p[label]), value, a.n_tokens, b.n_tokens))
    return tuple(steps)
