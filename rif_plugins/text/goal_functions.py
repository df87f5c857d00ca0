"""Goals over pairs: reach one of the three violations of robust individual fairness.

A pair goal asks the victim about both sides, counts victim **rows** (a pair costs two, cached texts
nothing) and never passes the query budget, which the host's base class would count by halves.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from textattack.goal_function_results import GoalFunctionResultStatus
from textattack.goal_functions import ClassificationGoalFunction
from textattack.shared import AttackedText

from rif_plugins.core.objective import Distance, Objective, runner_up
from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pairs import Pair
from rif_plugins.core.predictions import OutputKind
from rif_plugins.core.result_files import RecordWriter
from rif_plugins.core.results import Record
from rif_plugins.core.seeds import example_id
from rif_plugins.core.victim import Budget, VictimCallError, VictimEngine
from rif_plugins.errors import DataError, UsageError, VictimRowError
from rif_plugins.settings import Settings
from rif_plugins.text.goal_result import PairGoalFunctionResult
from rif_plugins.text.pairing import PairSource, is_pair_text, pair_text, side_strings
from rif_plugins.text.victim_adapter import engine_for

FloatArray = NDArray[np.float64]
_HOST_BATCH_SIZE = 32


class PairGoalFunction(ClassificationGoalFunction):
    """Base of the pair goals; a subclass names its target.

    Works with ``DecoupledPairSearch`` and, on the two-column text, with the host's own search methods.

    Args:
        model_wrapper: The victim.
        pair_source: Builds the similar texts; None reads ``rif.toml`` and ``RIF_*`` variables.
        distance: ``"label_gap"`` or ``"total_variation"``, the last term of the objective.
        query_budget: Most victim rows of one example.
        model_batch_size, model_cache_size, use_cache: As in every TextAttack goal.
        results: Append one JSON record an example to this file; ``"settings"`` reads the setting.
        victim_output: ``"auto"``, ``"probabilities"`` or ``"logits"``.
        seed: Run seed, written into the records.
    """

    target: ClassVar[Outcome]
    targets: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        model_wrapper: Any,
        pair_source: PairSource | None = None,
        distance: Distance = "label_gap",
        query_budget: float = float("inf"),
        model_batch_size: int | None = None,
        model_cache_size: int = 2**17,
        use_cache: bool = True,
        results: str | Path | Literal["settings"] | None = "settings",
        victim_output: OutputKind | None = None,
        seed: int | None = None,
    ) -> None:
        settings = Settings.load()
        # Not the base constructor: it checks the model against a list that holds only the host's own
        # goals and warns about every other one. These are the attributes that it sets.
        self.model = model_wrapper
        self.maximizable = False
        self.use_cache = False
        self.query_budget = query_budget
        self._batch_size = model_batch_size or settings.batch_size
        self.model_cache_size = model_cache_size if use_cache else 0
        self.allow_skip = True
        self.pair_source = pair_source or PairSource.from_settings(settings)
        self.objective = Objective.for_target(self.target, distance)
        self.engine: VictimEngine = engine_for(
            model_wrapper,
            batch_size=self._batch_size,
            cache_size=self.model_cache_size,
            output=victim_output or settings.victim_output,
        )
        self.seed = settings.seed if seed is None else seed
        self.results = settings.results if results == "settings" else results
        self.pairs: list[Pair] = []
        self.label_names: Any = None
        self.budget = Budget()
        self.example = ""
        self._wrong_label: int | None = None
        # Opened at once: a file that cannot be written must not cost the first search.
        self._writer = None if self.results is None else RecordWriter(self.results)

    # -- the host's interface ---------------------------------------------------------------------

    @property
    def num_queries(self) -> int:
        """Victim rows spent on this example."""
        return self.budget.spent

    @num_queries.setter
    def num_queries(self, value: int) -> None:
        self.budget.spent = value

    @property
    def batch_size(self) -> int:
        """Most victim rows in one call."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, value: int) -> None:
        # The host's command line always sets this, to 32 when the user said nothing: that must not
        # undo the setting `batch_size`.
        if value != _HOST_BATCH_SIZE:
            self._batch_size = value

    def get_output(self, attacked_text: AttackedText) -> Any:
        """The predicted label of a text, or ``"original|similar"`` of a pair, for the interactive mode."""
        if is_pair_text(attacked_text):
            first, second = self.engine.probabilities(list(side_strings(attacked_text))).argmax(axis=1)
            return f"{int(first)}|{int(second)}"
        return int(self.engine.probabilities([attacked_text.text])[0].argmax())

    def clear_cache(self) -> None:
        """Called by the host after each example, so that examples never depend on their order."""
        self.engine.clear()

    def init_attack_example(
        self, attacked_text: AttackedText, ground_truth_output: int
    ) -> tuple[PairGoalFunctionResult, bool]:
        """Build the pairs of an example, query them, and return the most promising one.

        Returns:
            A result whose text has both columns. Its status is SKIPPED, with the reason in ``message``,
            when there is nothing to search: no sensitive token, an empty text, a victim that raised.

        Raises:
            DataError: The label is no class of the victim.
        """
        limit = None if self.query_budget == float("inf") else int(self.query_budget)
        self.engine.batch_size, self.engine.cache_size = self.batch_size, self.model_cache_size
        self.budget = Budget(limit)
        self.engine.clear()
        self.ground_truth_output = self._checked_label(ground_truth_output)
        self.label_names = attacked_text.attack_attrs.get("label_names")
        self.example = example_id(attacked_text.text, self.ground_truth_output)
        self.initial_attacked_text = attacked_text
        self.pairs = []
        if not attacked_text.text.strip():
            return self._skipped(attacked_text, "skipped", "empty text"), False
        pairs = self.pair_source.pairs(attacked_text)
        if not pairs:
            return self._skipped(attacked_text, "skipped", "no sensitive token"), False
        try:
            return self._first_result(pairs, attacked_text)
        except (VictimCallError, VictimRowError) as error:
            return self._skipped(attacked_text, "error", str(error)), False

    def get_results(
        self, attacked_text_list: list[AttackedText], check_skip: bool = False
    ) -> tuple[list[PairGoalFunctionResult], bool]:
        """Results of pair texts, as far as the budget goes, and whether it is used up."""
        texts: list[str] = []
        for text in attacked_text_list:
            texts += side_strings(self._as_pair(text))
        rows = self.engine.probabilities(texts, budget=self.budget)
        results = [
            self.result_for(self._as_pair(text), rows[2 * i : 2 * i + 2])
            for i, text in enumerate(attacked_text_list[: len(rows) // 2])
        ]
        return results, self.budget.left < 2

    def __repr__(self) -> str:
        budget = "" if self.query_budget == float("inf") else f", query_budget={self.query_budget}"
        return f"{type(self).__name__}(target={self.target_name}, distance={self.objective.distance}{budget})"

    __str__ = __repr__

    def _is_goal_complete(self, model_output: FloatArray, attacked_text: AttackedText) -> bool:
        return self.is_reached(self._outcome(model_output))

    def _get_score(self, model_output: FloatArray, attacked_text: AttackedText) -> float:
        p, p_similar = model_output
        return -float(self.objective(p, p_similar, self.ground_truth_output, self._wrong_label))

    def _goal_function_result_type(self) -> type[PairGoalFunctionResult]:
        return PairGoalFunctionResult

    # -- for the search method ----------------------------------------------------------------------

    @property
    def target_name(self) -> str:
        """What this goal is called in records."""
        return str(self.target)

    def is_reached(self, outcome: Outcome) -> bool:
        """Whether an outcome is what this goal looks for."""
        return outcome is self.target

    @property
    def label(self) -> int:
        """The right label of the example."""
        return int(self.ground_truth_output)

    def result_for(
        self, text: AttackedText, rows: FloatArray, pair: Pair | None = None
    ) -> PairGoalFunctionResult:
        """Wrap a pair text and the predictions of its sides, ``(2, k)``."""
        is_complete = self._is_goal_complete(rows, text)
        status = GoalFunctionResultStatus.SUCCEEDED if is_complete else GoalFunctionResultStatus.SEARCHING
        return PairGoalFunctionResult(
            text,
            rows,
            status,
            self._get_score(rows, text),
            self.num_queries,
            self.ground_truth_output,
            pair,
            self.target,
            self.example,
        )

    def score_texts(self, texts: list[str]) -> FloatArray:
        """Class probabilities of single texts within this example's budget."""
        return self.engine.probabilities(texts, budget=self.budget)

    def score_again(self, texts: list[str]) -> FloatArray:
        """The same, whatever the cache holds; spends what was kept back."""
        self.budget.reserved = 0
        return self.engine.probabilities(texts, budget=self.budget, fresh=True)

    def reserve_confirmation(self) -> None:
        """Keep two rows of the budget back for ``is_confirmed``."""
        self.budget.reserved = 2

    def is_confirmed(self, texts: tuple[str, str]) -> bool:
        """Ask the victim again about a found pair, whatever the cache holds; spends the reserve."""
        rows = self.score_again(list(texts))
        return len(rows) == 2 and self.is_reached(self._outcome(rows))

    def write(self, record: Record) -> None:
        """Append a record to the results file, if there is one."""
        if self.results is None:
            return
        if self._writer is None:
            self._writer = RecordWriter(self.results)
        self._writer.write(record)

    # -- inside -----------------------------------------------------------------------------------------

    def _first_result(
        self, pairs: list[Pair], attacked_text: AttackedText
    ) -> tuple[PairGoalFunctionResult, bool]:
        original = pairs[0].original
        rows = self.score_texts([original, *(pair.similar for pair in pairs)])
        if len(rows) < 2:
            return self._skipped(attacked_text, "skipped", "query budget below one pair"), True
        self._check_label_range(rows.shape[1])
        pairs = pairs[: len(rows) - 1]
        self._wrong_label = None
        if self.objective.needs_wrong_label(rows.shape[1]):
            self._wrong_label = runner_up(rows[0], rows[1], self.ground_truth_output)
        values = [
            float(self.objective(rows[0], row, self.ground_truth_output, self._wrong_label))
            for row in rows[1:]
        ]
        reached = [self.is_reached(self._outcome(np.stack([rows[0], row]))) for row in rows[1:]]
        order = sorted(range(len(pairs)), key=lambda i: (not reached[i], round(values[i], 9), i))
        self.pairs = [pairs[i] for i in order]
        text = pair_text(original, self.pairs[0].similar, self.label_names)
        result = self.result_for(text, np.stack([rows[0], rows[1 + order[0]]]), self.pairs[0])
        return result, self.budget.left < 2

    def _outcome(self, rows: FloatArray) -> Outcome:
        predictions = rows.argmax(axis=1)
        return classify(self.ground_truth_output, int(predictions[0]), int(predictions[1]))

    def _as_pair(self, text: AttackedText) -> AttackedText:
        if is_pair_text(text):
            return text
        raise UsageError(
            f"{type(self).__name__} got a text with the columns {', '.join(text.column_labels)}, "
            "expected a pair: call init_attack_example first and attack its result"
        )

    def _skipped(self, text: AttackedText, status: Any, reason: str) -> PairGoalFunctionResult:
        result = PairGoalFunctionResult(
            text,
            np.zeros((0, 0)),
            GoalFunctionResultStatus.SKIPPED,
            0.0,
            self.num_queries,
            self.ground_truth_output,
        )
        result.message = reason
        result.record = Record(
            id=f"{self.example}-{self.target_name}",
            example=self.example,
            target=self.target_name,
            status=status,
            stop_reason=reason if status == "skipped" else "error",
            label=self.ground_truth_output,
            original=text.text,
            queries={"victim_rows": self.budget.spent, "cache_hits": self.budget.hits},
            seed=self.seed,
            message=reason if status == "error" else "",
        )
        self.write(result.record)
        return result

    def _checked_label(self, label: Any) -> int:
        if isinstance(label, (bool, str)) or not hasattr(label, "__index__"):
            raise DataError(
                f"label {label!r} is no class number: expected an integer of 0 or more; "
                "map the labels of the data set to class numbers"
            )
        if int(label) < 0:
            raise DataError(
                f"label {int(label)} is below 0: expected a class number of 0 or more; "
                "the data set may have no labels in this split"
            )
        if self.engine.n_labels is not None:
            self._check_label_range(self.engine.n_labels, int(label))
        return int(label)

    def _check_label_range(self, n_labels: int, label: int | None = None) -> None:
        label = self.ground_truth_output if label is None else label
        if label >= n_labels:
            raise DataError(
                f"label {label} is outside the victim's classes: expected 0 to {n_labels - 1}; "
                "check the label column and the order of the classes"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the open results file."""
        return {**self.__dict__, "_writer": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The base class would look for a cache of its own.
        self.__dict__.update(state)


class RobustBiased(PairGoalFunction):
    """The original stays right, the similar text flips: what robustness checks accept."""

    target = Outcome.ROBUST_BIASED


class UnrobustFair(PairGoalFunction):
    """Both sides flip to the same wrong label: what fairness checks accept."""

    target = Outcome.UNROBUST_FAIR


class UnrobustBiased(PairGoalFunction):
    """The original flips and the similar text does not follow it: wrong and different."""

    target = Outcome.UNROBUST_BIASED
