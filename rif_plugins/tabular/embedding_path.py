"""What a gradient search over rows aims at, and the arrays in which its steps are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.errors import UsageError
from rif_plugins.metrics.impact import Norm, perturbation_size
from rif_plugins.tabular.embedding_history import STOP_REASONS, GradientHistory
from rif_plugins.tabular.embedding_space import FieldSpace
from rif_plugins.tabular.losses import LossKind, loss_values
from rif_plugins.tabular.pair_batch import OUTCOMES, outcome_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SUCCESS, REPEAT, NO_CANDIDATE, STEPS = (
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


class SearchPath:
    """The arrays of a search that is running.

    Args:
        original: Rows of one side, ``(n, width)``.
        similar: Rows of the other.
        label: ``y``, ``(n,)``.
        wrong_label: ``y_d``, ``(n,)``.
        target: What to reach.
        space: The model and the form of its rows.
        settings: Steps, loss, norm.

    Attributes:
        victim_rows, gradient_rows: Rows that went forward only, and forward and backward.
    """

    def __init__(
        self,
        original: FloatArray,
        similar: FloatArray,
        label: IntArray,
        wrong_label: IntArray,
        target: Outcome,
        space: FieldSpace,
        settings: GradientSettings,
    ) -> None:
        steps, n = settings.max_steps, len(original)
        self.space, self.settings, self.target = space, settings, target
        self.victim_rows = self.gradient_rows = 0
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
        found = self.space.gradient(rows, aims, self.settings.loss)
        self.gradient_rows += len(rows)
        half = len(active)
        self._remember(step, active, found.probabilities, aims)
        values = found.value_gradient[:half] + found.value_gradient[half:]
        vectors = np.stack([found.vectors[:half], found.vectors[half:]])
        return found.gradient[:half] + found.gradient[half:], values, vectors

    def _remember(self, step: int, active: IntArray, probabilities: FloatArray, aims: IntArray) -> None:
        half = len(active)
        loss = loss_values(self.settings.loss, probabilities, aims)
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
        sizes = perturbation_size(after - vectors, self.settings.norm)
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
        self.victim_rows += len(rows)
        self._remember(last, active, self.space.probabilities(rows), aims)
        reached = self.outcome(last, active) == OUTCOMES.index(self.target)
        self.stop[active] = np.where(reached, SUCCESS, STEPS)

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
