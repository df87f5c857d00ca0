"""Goals that one sweep looks for together, and the two single-axis baselines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from textattack.shared import AttackedText

from rif_plugins.core.outcomes import FAIRNESS_ONLY, ROBUSTNESS_ONLY, TARGETS, Outcome, is_in_target
from rif_plugins.text.goal_functions import PairGoalFunction

FloatArray = NDArray[np.float64]


class SweepGoal(PairGoalFunction):
    """Base of the goals that ``ReachSearch`` looks for all at once: one search a text, several targets.

    On a host's own search the score is the largest error of the two sides.
    """

    # What the base class puts into its objective; the score below does not use it.
    target = Outcome.ROBUST_BIASED
    name: ClassVar[str]

    @property
    def target_name(self) -> str:
        """What this goal is called in records of examples that were not searched."""
        return self.name

    def is_reached(self, outcome: Outcome) -> bool:
        """Whether an outcome is one of the targets."""
        return any(is_in_target(outcome, target) for target in self.targets)

    def _get_score(self, model_output: FloatArray, attacked_text: AttackedText) -> float:
        p, p_similar = model_output
        return 1.0 - float(min(p[self.ground_truth_output], p_similar[self.ground_truth_output]))


class AnyViolation(SweepGoal):
    """All three violations of robust individual fairness, in one sweep."""

    name = "any_violation"
    targets = tuple(map(str, TARGETS))


class RobustnessOnly(SweepGoal):
    """The original flips, whatever the similar text does: the robustness-only baseline."""

    name = ROBUSTNESS_ONLY
    targets = (ROBUSTNESS_ONLY,)

    def _get_score(self, model_output: FloatArray, attacked_text: AttackedText) -> float:
        return 1.0 - float(model_output[0][self.ground_truth_output])


class FairnessOnly(SweepGoal):
    """The two predictions part under the same edits, whatever the label: the fairness-only baseline."""

    name = FAIRNESS_ONLY
    targets = (FAIRNESS_ONLY,)

    def _get_score(self, model_output: FloatArray, attacked_text: AttackedText) -> float:
        label = self.ground_truth_output
        return abs(float(model_output[0][label]) - float(model_output[1][label]))
