"""The gradient search over fields: one field a step, the same change on both rows of a pair.

Per step: ``G = dl(L_v, f(v))/de + dl(L_v', f(v'))/de``; the editable field with the largest ``|G_i|_2`` is
changed. A category moves to ``argmin_j G_i . (E_j - E_current)`` within its own domain, a number one step
against ``dl/dvalue_i``.
Source: "RIFair: white-box generation for robust individual fairness", January 2026, with field domains,
exact value derivatives and explicit protection in place of what its released code does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.errors import UsageError
from rif_plugins.metrics.impact import Norm, perturbation_size
from rif_plugins.tabular.embedding_history import STOP_REASONS, GradientHistory
from rif_plugins.tabular.embedding_moves import category_move, number_move
from rif_plugins.tabular.embedding_space import FieldSpace
from rif_plugins.tabular.losses import LossKind, loss_values
from rif_plugins.tabular.pair_batch import OUTCOMES, outcome_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_SUCCESS, _REPEAT, _NO_CANDIDATE, _STEPS = (
    STOP_REASONS.index(name) for name in ("success", "repeat", "no_candidate", "steps")
)


@dataclass(frozen=True)
class GradientSettings:
    """How to search.

    Attributes:
        max_steps: ``T``.
        loss: ``"ce"`` or ``"mse"``.
        early_stop: Stop a pair as soon as it is in the target outcome.
        needs_descent: Refuse a change whose first-order effect does not lower the objective.
        fields: ``"first"``: only the field of largest gradient norm is tried in a step (paper); ``"ranked"``:
            the next one where it has no candidate.
        norm: See ``perturbation_size``.
        step_size: Size of a step of every number; None: each column's own.
    """

    max_steps: int = 10
    loss: LossKind = "ce"
    early_stop: bool = False
    needs_descent: bool = True
    fields: Literal["first", "ranked"] = "first"
    norm: Norm = "rows"
    step_size: float | None = None

    def __post_init__(self) -> None:
        if self.max_steps < 1:
            raise UsageError(f"max_iter must be 1 or more, got {self.max_steps}")
        if self.loss not in ("ce", "mse"):
            raise UsageError(f"loss {self.loss!r} does not exist: expected ce or mse")
        if self.fields not in ("first", "ranked"):
            raise UsageError(f"fields {self.fields!r} does not exist: expected first or ranked")
        if self.norm not in get_args(Norm):
            raise UsageError(f"norm {self.norm!r} does not exist: expected {' or '.join(get_args(Norm))}")


def aimed_labels(target: Outcome, label: IntArray, wrong_label: IntArray) -> tuple[IntArray, IntArray]:
    """``L_v`` and ``L_v'``: what the search drives each side to.

    ``robust_biased`` (y, y_d), ``unrobust_biased`` (y_d, y), ``unrobust_fair`` (y_d, y_d).
    """
    if target is Outcome.ROBUST_BIASED:
        return label, wrong_label
    if target is Outcome.UNROBUST_BIASED:
        return wrong_label, label
    if target is Outcome.UNROBUST_FAIR:
        return wrong_label, wrong_label
    raise UsageError(f"{target} is no target: expected robust_biased, unrobust_fair or unrobust_biased")


@dataclass
class GradientSearch:
    """Searches many pairs at once.

    Args:
        space: The model and the form of its rows.
        settings: See ``GradientSettings``.

    Attributes:
        victim_rows, gradient_rows: Rows that went forward only, and forward and backward.
    """

    space: FieldSpace
    settings: GradientSettings = field(default_factory=GradientSettings)
    victim_rows: int = 0
    gradient_rows: int = 0

    def run(
        self,
        original: FloatArray,
        similar: FloatArray,
        label: IntArray,
        wrong_label: IntArray,
        target: Outcome,
        editable: BoolArray,
    ) -> GradientHistory:
        """Search from pairs of rows ``(n, width)`` towards one target.

        Args:
            original: One side of the pairs.
            similar: The other; it differs in sensitive fields only.
            label: ``y``, ``(n,)``.
            wrong_label: ``y_d``, ``(n,)``.
            target: What to reach.
            editable: Fields that may be changed, ``(n, F)``.
        """
        path = _Path(original, similar, label, wrong_label, target, self)
        active = np.arange(len(original))
        for step in range(self.settings.max_steps):
            gradient, values, vectors = path.look(step, active)
            if self.settings.early_stop:
                done = path.outcome(step, active) == OUTCOMES.index(target)
                path.end(step, active[done], _SUCCESS)
                active, gradient, values = active[~done], gradient[~done], values[~done]
                vectors = vectors[:, ~done]
            if not len(active):
                break
            rows = path.original[step, active], path.similar[step, active]
            chosen, moved, other = self._moved(*rows, gradient, values, editable[active])
            repeats = (path.original[: step + 1, active] == moved).all(axis=2).any(axis=0) & (chosen >= 0)
            refused = (chosen >= 0) & ~repeats & self._breaks(moved, other, original[active], similar[active])
            path.end(step, active[repeats], _REPEAT)
            path.end(step, active[(chosen < 0) | refused], _NO_CANDIDATE)
            kept = (chosen >= 0) & ~repeats & ~refused
            active = active[kept]
            path.move(step, active, chosen[kept], moved[kept], other[kept], vectors[:, kept])
            if not len(active):
                break
        path.finish(active)
        return path.history()

    def _moved(
        self,
        original: FloatArray,
        similar: FloatArray,
        gradient: FloatArray,
        values: FloatArray,
        editable: BoolArray,
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """The field changed in each row (-1: none) and both rows after the change."""
        norms = np.where(editable, np.sqrt((gradient**2).sum(axis=2)), -1.0)
        order = np.argsort(-norms, axis=1, kind="stable")
        chosen = np.full(len(original), -1, dtype=np.int64)
        new, other = original.copy(), similar.copy()
        for rank in range(order.shape[1] if self.settings.fields == "ranked" else 1):
            candidate = order[:, rank]
            is_open = (chosen < 0) & (norms[np.arange(len(order)), candidate] > 0)
            if not is_open.any():
                break
            for number in np.unique(candidate[is_open]):
                rows = np.flatnonzero(is_open & (candidate == number))
                good = self._apply(int(number), rows, original, new, other, gradient, values)
                chosen[rows[good]] = number
        return chosen, new, other

    def _apply(
        self,
        number: int,
        rows: IntArray,
        original: FloatArray,
        new: FloatArray,
        other: FloatArray,
        gradient: FloatArray,
        values: FloatArray,
    ) -> BoolArray:
        """Change one field of some rows of both sides in place; says where there was a candidate."""
        space, column = self.space, self.space.schema.columns[number]
        is_category = bool(space.layout.is_categorical[number])
        if is_category:
            vectors = space.domain_vectors(number)
            move = category_move(gradient[rows, number], vectors, space.place(original[rows], number))
        else:
            move = number_move(
                values[rows, number], space.value(original[rows], number), column, self.settings.step_size
            )
        good = np.isfinite(move.score)
        if self.settings.needs_descent:
            good &= move.score < 0
        chosen = rows[good]
        for side in (new, other):
            if is_category:
                side[chosen] = space.with_place(side[chosen], number, move.place[good])
            else:
                side[chosen] = space.with_value(side[chosen], number, move.value[good])
        return np.asarray(good)

    def _breaks(
        self, moved: FloatArray, other: FloatArray, original: FloatArray, similar: FloatArray
    ) -> BoolArray:
        """Whether a change would leave the schema on either side; only relations can be broken here."""
        schema = self.space.schema
        if not schema.relations:
            return np.zeros(len(moved), dtype=np.bool_)
        table = self.space.to_table
        # A counterpart may break a relation by itself; only what the change breaks counts.
        before = schema.violations(table(original)), schema.violations(table(similar))
        after = schema.violations(table(moved)), schema.violations(table(other))
        return np.asarray((after[0] & ~before[0]) | (after[1] & ~before[1]))


class _Path:
    """The arrays of a search that is running."""

    def __init__(
        self,
        original: FloatArray,
        similar: FloatArray,
        label: IntArray,
        wrong_label: IntArray,
        target: Outcome,
        search: GradientSearch,
    ) -> None:
        steps, n = search.settings.max_steps, len(original)
        self.search, self.space, self.target = search, search.space, target
        self.label, self.wrong_label = label, wrong_label
        self.aims = aimed_labels(target, label, wrong_label)
        self.original = np.repeat(original[None], steps + 1, axis=0)
        self.similar = np.repeat(similar[None], steps + 1, axis=0)
        self.probabilities: list[FloatArray] = []
        self.objective = np.zeros((steps + 1, n))
        self.size, self.similar_size = np.zeros((steps, n)), np.zeros((steps, n))
        self.fields = np.full((steps, n), -1, dtype=np.int64)
        self.n_steps = np.zeros(n, dtype=np.int64)
        self.stop = np.zeros(n, dtype=np.int64)

    def look(self, step: int, active: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Query and differentiate the pairs of one step.

        Returns:
            Gradients summed over both sides, at fields ``(m, F, k)`` and at values ``(m, F)``, and the
            vectors of both sides, ``(2, m, F, k)``.
        """
        rows = np.concatenate([self.original[step, active], self.similar[step, active]])
        aims = np.concatenate([self.aims[0][active], self.aims[1][active]])
        found = self.space.gradient(rows, aims, self.search.settings.loss)
        self.search.gradient_rows += len(rows)
        half = len(active)
        self._remember(step, active, found.probabilities, aims)
        values = found.value_gradient[:half] + found.value_gradient[half:]
        vectors = np.stack([found.vectors[:half], found.vectors[half:]])
        return found.gradient[:half] + found.gradient[half:], values, vectors

    def _remember(self, step: int, active: IntArray, probabilities: FloatArray, aims: IntArray) -> None:
        half = len(active)
        loss = loss_values(self.search.settings.loss, probabilities, aims)
        if not self.probabilities:
            shape = (len(self.objective), len(self.label), probabilities.shape[1])
            self.probabilities = [np.zeros(shape), np.zeros(shape)]
        # Later steps hold this state until the pair moves again.
        self.probabilities[0][step:, active] = probabilities[:half]
        self.probabilities[1][step:, active] = probabilities[half:]
        self.objective[step:, active] = loss[:half] + loss[half:]

    def outcome(self, step: int, active: IntArray) -> NDArray[np.int8]:
        """Outcomes of some pairs at a step, positions in ``OUTCOMES``."""
        first, second = (p[step, active].argmax(axis=1) for p in self.probabilities)
        return outcome_codes(self.label[active], first, first == second)

    def move(
        self,
        step: int,
        active: IntArray,
        fields: IntArray,
        original: FloatArray,
        similar: FloatArray,
        vectors: FloatArray,
    ) -> None:
        """Write the states after a step; ``vectors`` are those before it."""
        if not len(active):
            return
        after = self.space.vectors(np.concatenate([original, similar])).reshape(vectors.shape)
        sizes = perturbation_size(after - vectors, self.search.settings.norm)
        self.size[step, active], self.similar_size[step, active] = sizes
        self.fields[step, active] = fields
        self.original[step + 1 :, active] = original
        self.similar[step + 1 :, active] = similar
        self.n_steps[active] = step + 1

    def end(self, step: int, rows: IntArray, reason: int) -> None:
        """Stop some pairs at their state of ``step``."""
        self.stop[rows] = reason
        self.n_steps[rows] = step

    def finish(self, active: IntArray) -> None:
        """Query the pairs that used all steps."""
        if not len(active):
            return
        last = len(self.original) - 1
        rows = np.concatenate([self.original[last, active], self.similar[last, active]])
        aims = np.concatenate([self.aims[0][active], self.aims[1][active]])
        self.search.victim_rows += len(rows)
        self._remember(last, active, self.space.probabilities(rows), aims)
        reached = self.outcome(last, active) == OUTCOMES.index(self.target)
        self.stop[active] = np.where(reached, _SUCCESS, _STEPS)

    def history(self) -> GradientHistory:
        """What was recorded."""
        return GradientHistory(
            self.target,
            self.label,
            self.wrong_label,
            self.original,
            self.similar,
            self.probabilities[0],
            self.probabilities[1],
            self.objective,
            self.size,
            self.similar_size,
            self.fields,
            self.n_steps,
            self.stop,
        )
