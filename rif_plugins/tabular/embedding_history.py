"""The whole path of a gradient search over rows, and what each step did to the model's output.

With ``df = f(v_t) - f(v_(t-1))`` a step has ``PII = |df|_2 / |delta|`` and ``PID = df / |df|_2``, where
``|delta|`` is measured in embedding space: the sum over the fields of the L2 norms of their changes.
Source: "RIFair: white-box generation for robust individual fairness", January 2026.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.pairs import Side
from rif_plugins.metrics.impact import perturbation_impact
from rif_plugins.tabular.pair_batch import OUTCOMES, outcome_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
_BY_PAIR = ("label", "wrong_label", "n_steps", "stop", "source", "place")
STOP_REASONS = ("running", "success", "repeat", "no_candidate", "steps")


@dataclass(frozen=True, eq=False)
class GradientHistory:
    """All steps of n pairs towards one target; ``T`` steps, step 0 is the clean pair.

    A pair that has stopped keeps its last state.

    Attributes:
        target: The outcome aimed at.
        label: The right labels, ``(n,)``.
        wrong_label: The wrong label aimed at, ``(n,)``.
        original, similar: Rows in the form that the model takes, ``(T + 1, n, width)``.
        probabilities, similar_probabilities: ``(T + 1, n, C)``.
        objective: ``l(L_v, f(v + delta)) + l(L_v', f(v' + delta))``, ``(T + 1, n)``.
        size, similar_size: ``|delta_t|`` of each step, ``(T, n)``; 0 after a stop.
        fields: The field changed in each step, ``(T, n)``; -1 after a stop.
        n_steps: Steps made, ``(n,)``.
        stop: Why, ``(n,)``, positions in ``STOP_REASONS``.
        source: Which row of an attack's input each pair comes from, ``(n,)``; empty where nobody said.
        place: Which sensitive tuple its similar row has, ``(n,)``; likewise.
    """

    target: Outcome
    label: IntArray
    wrong_label: IntArray
    original: FloatArray
    similar: FloatArray
    probabilities: FloatArray
    similar_probabilities: FloatArray
    objective: FloatArray
    size: FloatArray
    similar_size: FloatArray
    fields: IntArray
    n_steps: IntArray
    stop: IntArray
    source: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    place: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def predictions(self) -> tuple[IntArray, IntArray]:
        """Predicted labels of both sides, each ``(T + 1, n)``."""
        first, second = self.probabilities.argmax(axis=2), self.similar_probabilities.argmax(axis=2)
        return first.astype(np.int64), second.astype(np.int64)

    @property
    def outcomes(self) -> NDArray[np.int8]:
        """Outcome of every step, ``(T + 1, n)``: positions in ``OUTCOMES``."""
        first, second = self.predictions
        return outcome_codes(np.broadcast_to(self.label, first.shape), first, first == second)

    @property
    def stop_reasons(self) -> NDArray[np.str_]:
        """Why each pair stopped, in words, ``(n,)``."""
        return np.asarray(STOP_REASONS)[self.stop]

    def steps_in(self, outcome: Outcome, first_step: int = 1) -> BoolArray:
        """At which steps from ``first_step`` on each pair is in ``outcome``, ``(T + 1, n)``."""
        inside = self.outcomes == OUTCOMES.index(outcome)
        inside &= np.arange(len(inside))[:, None] <= self.n_steps
        inside[:first_step] = False
        return np.asarray(inside)

    def chosen_steps(self) -> IntArray:
        """The step to report, ``(n,)``: the first in the target, else the one of lowest objective."""
        inside = self.steps_in(self.target, 0)
        steps = np.where(inside.any(axis=0), inside.argmax(axis=0), self.objective.argmin(axis=0))
        return np.asarray(steps, dtype=np.int64)

    def impact(self, side: Side) -> tuple[FloatArray, FloatArray]:
        """PII ``(T, n)`` and PID ``(T, n, C)`` of one side; 0 after a stop."""
        values = self.probabilities if side == "original" else self.similar_probabilities
        sizes = self.size if side == "original" else self.similar_size
        shape = values[1:].shape
        before, after = values[:-1].reshape(-1, shape[2]), values[1:].reshape(-1, shape[2])
        impact = perturbation_impact(before, after, sizes.reshape(-1))
        return impact.index.reshape(shape[:2]), impact.direction.reshape(shape)

    def named(self, source: IntArray, place: IntArray) -> GradientHistory:
        """A copy that says where its pairs come from."""
        return dataclasses.replace(self, source=source, place=place)

    @classmethod
    def concatenate(cls, parts: Sequence[GradientHistory]) -> GradientHistory:
        """Several histories of one target, one after another."""
        names = [item.name for item in dataclasses.fields(cls) if item.name != "target"]
        values: dict[str, Any] = {}
        for name in names:
            arrays = [getattr(part, name) for part in parts]
            values[name] = np.concatenate(arrays, axis=0 if name in _BY_PAIR else 1)
        return cls(target=parts[0].target, **values)
