"""The gradient search over fields: one field a step, the same change on both rows of a pair.

Per step: ``G = dl(L_v, f(v))/de + dl(L_v', f(v'))/de``; the editable field with the largest ``|G_i|_2`` is
changed. A category moves to ``argmin_j G_i . (E_j - E_current)`` within its own domain, a number one step
against ``dl/dvalue_i``.
Source: "RIFair: white-box generation for robust individual fairness", January 2026, with field domains,
exact value derivatives and explicit protection in place of what its released code does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.tabular.embedding_history import GradientHistory
from rif_plugins.tabular.embedding_moves import category_move, number_move
from rif_plugins.tabular.embedding_path import NO_CANDIDATE, REPEAT, SUCCESS, GradientSettings, SearchPath
from rif_plugins.tabular.embedding_space import FieldSpace
from rif_plugins.tabular.pair_batch import OUTCOMES

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


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
        path = SearchPath(original, similar, label, wrong_label, target, self.space, self.settings)
        active = np.arange(len(original))
        for step in range(self.settings.max_steps):
            gradient, values, vectors = path.look(step, active)
            if self.settings.early_stop:
                done = path.outcome(step, active) == OUTCOMES.index(target)
                path.end(step, active[done], SUCCESS)
                active, gradient, values = active[~done], gradient[~done], values[~done]
                vectors = vectors[:, ~done]
            if not len(active):
                break
            rows = path.original[step, active], path.similar[step, active]
            chosen, moved, other = self._moved(*rows, gradient, values, editable[active])
            repeats = (path.original[: step + 1, active] == moved).all(axis=2).any(axis=0) & (chosen >= 0)
            refused = (chosen >= 0) & ~repeats & self._breaks(moved, other, original[active], similar[active])
            path.end(step, active[repeats], REPEAT)
            path.end(step, active[(chosen < 0) | refused], NO_CANDIDATE)
            kept = (chosen >= 0) & ~repeats & ~refused
            active = active[kept]
            path.move(step, active, chosen[kept], moved[kept], other[kept], vectors[:, kept])
            if not len(active):
                break
        path.finish(active)
        self.victim_rows += path.victim_rows
        self.gradient_rows += path.gradient_rows
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
