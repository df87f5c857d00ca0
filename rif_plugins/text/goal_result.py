"""The result of a pair goal: prints both sides, which the host's own class cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from textattack.goal_function_results import ClassificationGoalFunctionResult
from textattack.shared import AttackedText
from textattack.shared.utils import color_from_label, color_text, process_label_name

from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pairs import Pair
from rif_plugins.core.results import Record


class PairGoalFunctionResult(ClassificationGoalFunctionResult):
    """A pair with the predictions of both sides.

    Attributes:
        raw_output: Class probabilities, shape ``(2, k)``: original, similar; ``(0, 0)`` when skipped
            before any prediction.
        pair: The unedited pair; None when the text has no similar text.
        outcome: The outcome; None without predictions.
        target: The outcome aimed at.
        example: Name of the data row.
        record: The result record; set on final and on skipped results.
        records: All records of the example, where a search answered several pairs or targets.
        message: Why the example was skipped, or the error that ended it.
    """

    def __init__(
        self,
        attacked_text: AttackedText,
        raw_output: NDArray[np.float64],
        goal_status: int,
        score: float,
        num_queries: int,
        ground_truth_output: int,
        pair: Pair | None = None,
        target: Outcome = Outcome.ROBUST_BIASED,
        example: str = "",
    ) -> None:
        self.target = target
        self.example = example
        self.pair = pair
        self.record: Record | None = None
        self.records: tuple[Record, ...] = ()
        self.message = ""
        self.outcome: Outcome | None = None
        output: Any = "none"
        if len(raw_output):
            predictions = raw_output.argmax(axis=1)
            self.outcome = classify(int(ground_truth_output), int(predictions[0]), int(predictions[1]))
            output = f"{int(predictions[0])}|{int(predictions[1])}"
        super().__init__(
            attacked_text, raw_output, output, goal_status, score, num_queries, ground_truth_output
        )
        self.goal_function_result_type = "Pair classification"

    def _side(self, index: int) -> tuple[str, str]:
        """Label text with confidence, and colour, of one side."""
        label = int(self.raw_output[index].argmax())
        names = self.attacked_text.attack_attrs.get("label_names")
        name = process_label_name(names[label]) if names is not None else str(label)
        return f"{name} ({float(self.raw_output[index][label]):.0%})", str(color_from_label(label))

    @property
    def _processed_output(self) -> tuple[str, str]:
        if self.outcome is None:
            return "no prediction", "gray"
        return str(self.outcome), "red" if self.outcome.is_violation else "green"

    def get_colored_output(self, color_method: str | None = None) -> str:
        """Outcome and both predictions, such as ``robust_biased: 0 (91%) | 1 (77%)``."""
        if self.outcome is None:
            return str(color_text(f"[{self.message or 'no prediction'}]", "gray", color_method))
        sides = [color_text(*self._side(index), color_method) for index in (0, 1)]
        text = f"{color_text(*self._processed_output, color_method)}: {sides[0]} | {sides[1]}"
        return text + (f" [{self.message}]" if self.message else "")
