"""The gradient search on tokens: the same edits on both sides of a pair, chosen by embedding gradients.

Minimises ``l(L_v, f(v + delta)) + l(L_v', f(v' + delta))`` with the cross-entropy ``l``. ``(L_v, L_v')`` is
(y, y_d) for ``robust_biased``, (y_d, y) for ``unrobust_biased`` and (y_d, y_d) for ``unrobust_fair``; ``y_d``
is a wrong label. Each step takes the position and candidate of lowest summed first-order score that the
constraints of the host admit on both sides.
Source: "RIFair: white-box generation for robust individual fairness", January 2026.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rif_plugins.core.objective import FloatArray, loss, runner_up
from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.pair_search import PairSearchResult, PairState, Step, StopReason
from rif_plugins.core.pairs import Span
from rif_plugins.core.victim import Budget, VictimCallError
from rif_plugins.errors import RIFError, UsageError
from rif_plugins.text.host_side import HostSide, HostState
from rif_plugins.text.token_gradients import Replacement, replacement_scores, span_gradient
from rif_plugins.victims.embedding_gradients import EmbeddingGradients, TextGradient

# First-order gains below this are noise of floating-point batching.
_MIN_GAIN = 1e-9
_FILTER_CHUNK = 8


@dataclass(frozen=True)
class SharedEdit:
    """One candidate on both sides.

    Attributes:
        score: First-order change of the objective, both sides together.
        states: The edited states of original and similar side.
    """

    score: float
    states: tuple[HostState, HostState]


class SharedGradientSearch:
    """Searches one pair for shared edits.

    Args:
        sides: Original and similar side.
        gradients: The victim's gradients.
        score: Class probabilities of texts; fewer rows than texts when the budget ran out.
        budget: Charged for gradient passes; ``score`` charges its own rows.
        label: The right label.
        target: The outcome aimed at.
        max_steps: Most shared edits.
        max_positions: Positions looked at in a step, those of largest gradient norm.
        max_edits: Most edits a side; None is ``max_steps``.
        n_wrong_labels: More than two classes: how many wrong labels to aim at, the runner-up first.
    """

    def __init__(
        self,
        sides: tuple[HostSide, HostSide],
        gradients: EmbeddingGradients,
        score: Callable[[list[str]], FloatArray],
        budget: Budget,
        *,
        label: int,
        target: Outcome,
        max_steps: int = 10,
        max_positions: int = 20,
        max_edits: int | None = None,
        n_wrong_labels: int = 1,
    ) -> None:
        self.sides = sides
        self.gradients = gradients
        self.score = score
        self.budget = budget
        self.label, self.target = label, target
        self.max_steps = max_steps if max_edits is None else min(max_steps, max_edits)
        self.max_positions = max_positions
        self.n_wrong_labels = n_wrong_labels

    def run(self) -> PairSearchResult[HostState]:
        """Search towards the target, one wrong label after another.

        Raises:
            UsageError: The budget does not even pay for the clean pair.
        """
        clean = self._state(self.sides[0].start, self.sides[1].start, 0)
        if clean is None:
            raise UsageError("the query budget does not pay for one pair: expected 2 rows or more")
        wrong_labels = self._wrong_labels(clean)
        if clean.outcome(self.label) is self.target:
            return self._result(clean, [(clean, self._step(0, clean, wrong_labels[0]))], "natural")
        common = set(self.sides[1].positions)
        positions = [position for position in self.sides[0].positions if position in common]
        first: PairSearchResult[HostState] | None = None
        for wrong_label in wrong_labels:
            result = self._attempt(clean, positions, wrong_label)
            if result.is_success:
                return result
            first = first or result
            if result.stop_reason == "budget":
                break
        return first if first is not None else self._result(clean, [], "exhausted")

    def _wrong_labels(self, clean: PairState[HostState]) -> list[int]:
        first = runner_up(clean.p, clean.p_similar, self.label)
        total = clean.p + clean.p_similar
        rest = [c for c in range(len(total)) if c not in (self.label, first)]
        return [first, *sorted(rest, key=lambda c: (-total[c], c))][: max(1, self.n_wrong_labels)]

    def _attempt(
        self, clean: PairState[HostState], positions: list[int], wrong_label: int
    ) -> PairSearchResult[HostState]:
        state = clean
        path = [(clean, self._step(0, clean, wrong_label))]
        reason: StopReason = "exhausted" if positions else "no_positions"
        while positions and len(path) <= self.max_steps:
            passes = self._gradients(state, wrong_label)
            if passes is None:
                reason = "budget"
                break
            edit = self._best(state, passes, positions)
            if edit is None:
                break
            moved = self._state(*edit.states, len(path))
            if moved is None:
                reason = "budget"
                break
            state = moved
            path.append((state, self._step(len(path), state, wrong_label)))
            if state.outcome(self.label) is self.target:
                return self._result(clean, path, "success")
        # Without success the best state is kept, and the path up to it.
        best = min(range(len(path)), key=lambda i: path[i][1].objective)
        return self._result(clean, path[: best + 1], reason)

    def _state(self, original: HostState, similar: HostState, n_edits: int) -> PairState[HostState] | None:
        rows = self.score([self.sides[0].text(original), self.sides[1].text(similar)])
        if len(rows) < 2:
            return None
        return PairState(original, similar, rows[0], rows[1], n_edits, n_edits)

    def _aims(self, wrong_label: int) -> tuple[int, int]:
        return (
            self.label if self.target.is_robust else wrong_label,
            # The similar side is right exactly where the outcome is unrobust_biased.
            self.label if self.target is Outcome.UNROBUST_BIASED else wrong_label,
        )

    def _gradients(
        self, state: PairState[HostState], wrong_label: int
    ) -> tuple[TextGradient, TextGradient] | None:
        """The gradients of both sides; None where the budget does not pay for them."""
        if self.budget.left < 2:
            return None
        texts = [self.sides[0].text(state.original), self.sides[1].text(state.similar)]
        self.budget.spent += 2
        try:
            first, second = self.gradients.gradients(texts, self._aims(wrong_label))
        except RIFError:
            raise
        except Exception as error:
            lines = str(error).splitlines()
            raise VictimCallError(
                f"the victim raised {type(error).__name__} in a gradient pass: {lines[0] if lines else ''}"
            ) from error
        return first, second

    def _best(
        self, state: PairState[HostState], passes: tuple[TextGradient, TextGradient], positions: list[int]
    ) -> SharedEdit | None:
        """The admissible shared edit of lowest score; None where none promises a lower objective."""
        edits = self._edits(state, passes, self._open(state, passes, positions))
        useful = [edit for edit in edits if edit.score < -_MIN_GAIN]
        useful.sort(key=lambda edit: round(edit.score, 9))  # stable: ties keep the order of the text
        for start in range(0, len(useful), _FILTER_CHUNK):
            chunk = useful[start : start + _FILTER_CHUNK]
            for side, index in zip(self.sides, (0, 1), strict=True):
                verdicts = side.admissible([edit.states[index] for edit in chunk]) if chunk else []
                chunk = [edit for edit, ok in zip(chunk, verdicts, strict=True) if ok]
            if chunk:
                return chunk[0]
        return None

    def _open(
        self, state: PairState[HostState], passes: tuple[TextGradient, TextGradient], positions: list[int]
    ) -> list[int]:
        """Positions not edited yet, those of largest gradient norm, in the order of the text."""
        edited = {(edit.start, edit.end) for edit in state.original.edits}
        spans = {position: self.sides[0].span(position) for position in positions}
        left = [p for p in positions if (spans[p].start, spans[p].end) not in edited]
        norms = {position: self._norm(state, passes, position) for position in left}
        ranked = sorted(left, key=lambda position: (-round(norms[position], 9), position))
        return sorted(ranked[: self.max_positions])

    def _norm(
        self, state: PairState[HostState], passes: tuple[TextGradient, TextGradient], position: int
    ) -> float:
        first = span_gradient(passes[0], _moved(self.sides[0].span(position), state.original))
        second = span_gradient(passes[1], _moved(self.sides[1].span(position), state.similar))
        return float(np.linalg.norm(first + second))

    def _edits(
        self, state: PairState[HostState], passes: tuple[TextGradient, TextGradient], positions: list[int]
    ) -> list[SharedEdit]:
        """Every candidate that is proposed on both sides, scored, in the order of the text."""
        found: list[tuple[int, str, tuple[HostState, HostState]]] = []
        for position in positions:
            first = self.sides[0].propose(state.original, position)
            second = {p.key: p.state for p in self.sides[1].propose(state.similar, position)}
            found += [(position, p.key, (p.state, second[p.key])) for p in first if p.key in second]
        if not found:
            return []
        total = np.zeros(len(found))
        for index, (side, before) in enumerate(zip(self.sides, (state.original, state.similar), strict=True)):
            replacements = [
                self._replacement(side, before, position, key, states[index])
                for position, key, states in found
            ]
            total += replacement_scores(self.gradients, passes[index], replacements)
        return [SharedEdit(float(total[i]), states) for i, (_, _, states) in enumerate(found)]

    @staticmethod
    def _replacement(
        side: HostSide, before: HostState, position: int, key: str, after: HostState
    ) -> Replacement:
        old = _moved(side.span(position), before)
        return Replacement(old, side.text(after), Span(old.start, old.start + len(key)))

    def _step(self, number: int, state: PairState[HostState], wrong_label: int) -> Step:
        first, second = self._aims(wrong_label)
        objective = float(loss(state.p, first)) + float(loss(state.p_similar, second))
        p, p_similar = float(state.p[self.label]), float(state.p_similar[self.label])
        return Step(number, p, p_similar, objective, state.n_edits_original, state.n_edits_similar)

    def _result(
        self,
        clean: PairState[HostState],
        path: list[tuple[PairState[HostState], Step]],
        reason: StopReason,
    ) -> PairSearchResult[HostState]:
        state = path[-1][0] if path else clean
        return PairSearchResult(
            clean,
            state,
            clean.outcome(self.label),
            state.outcome(self.label),
            reason,
            tuple(step for _, step in path),
        )


def _moved(span: Span, state: HostState) -> Span:
    """Where a word of the unedited text that was not edited itself stands in a state."""
    shift = sum(len(edit.target) - (edit.end - edit.start) for edit in state.edits if edit.end <= span.start)
    return Span(span.start + shift, span.end + shift)
