"""All examples, all pairs, all targets: searches in lock step over one victim and one filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from rif_plugins.core.example_sweep import ExampleSweep, SweepPlan, sweep_example
from rif_plugins.core.lockstep import run_lockstep
from rif_plugins.core.pair_search import TokenSaliency
from rif_plugins.core.requests import Coroutine, Score
from rif_plugins.core.results import Record
from rif_plugins.core.seeds import example_generator
from rif_plugins.core.sides import TextState
from rif_plugins.core.victim import VictimCallError, VictimEngine
from rif_plugins.entailment import EntailmentFilter, Verdict
from rif_plugins.errors import DataError, ScorerError, UsageError, VictimError, VictimRowError
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Proposer
from rif_plugins.runner.answering import AnswerDesk, scorer_failure
from rif_plugins.runner.records import final_texts, skipped_record, sweep_records
from rif_plugins.runner.task import Clock, ExampleTask, ProposerCallError
from rif_plugins.similar import PairSource

WINDOW = 64


class Sweep:
    """Searches examples; the host-free door to the search.

    Args:
        engine: The victim.
        source: Who counts as similar.
        proposer: Where replacements come from.
        entailment: The filter; None admits every edit.
        plan: Targets and how to search.
        seed: The run's seed; that of an example depends on it and on the example's id alone.
        query_budget: Most victim rows of one example.
        token_saliency: Needed by the gradient saliency.
        window: Examples that are searched at the same time.

    Attributes:
        clock: Seconds spent in the proposer and in the filter; the victim's are in ``engine.seconds``.
    """

    def __init__(
        self,
        engine: VictimEngine,
        source: PairSource,
        proposer: Proposer,
        entailment: EntailmentFilter | None,
        plan: SweepPlan | None = None,
        *,
        seed: int = 0,
        query_budget: int | None = None,
        token_saliency: TokenSaliency | None = None,
        window: int = WINDOW,
    ) -> None:
        self.engine = engine
        self.source = source
        self.proposer = proposer
        self.entailment = entailment
        self.plan = replace(plan or SweepPlan(), admits_all=entailment is None)
        self.seed = seed
        self.query_budget = query_budget
        self.token_saliency = token_saliency
        self.window = window
        self.clock = Clock()
        self.scorer = "" if entailment is None else f"{entailment.scorer.name} {entailment.scorer.version}"

    def run(self, examples: Iterable[Example]) -> Iterator[list[Record]]:
        """The records of each example, in the order of the examples.

        Yields:
            One record a pair and target; a single one where the example was skipped or its search failed.

        Raises:
            VictimError: What the victim returns is no prediction at all.
            DataError: A label is no class of the victim.
        """
        desk = AnswerDesk(self.engine, self.entailment, self.clock)
        searches = ((task, self._search(task)) for task in map(self._task, examples))
        for task, outcome in run_lockstep(
            searches, answer_scores=desk.scores, answer_judges=desk.judges, window=self.window
        ):
            if isinstance(outcome, Exception):
                yield [self._error(task, outcome)]
            elif outcome is None:
                yield [self._skipped(task)]
            else:
                yield self._records_or_error(task, outcome)

    def _task(self, example: Example) -> ExampleTask:
        pairs = self.source.pairs_of(example.text, example.similar) if example.text.strip() else []
        if not pairs:
            return ExampleTask(example, [], [])
        return ExampleTask.open(example, pairs, self.source, self.proposer, self.clock, self.query_budget)

    def _search(self, task: ExampleTask) -> Coroutine[ExampleSweep[TextState] | None]:
        if task.example.text.strip() and (task.example.label is None or task.pairs):
            yield from self._label(task)
        if not task.pairs:
            return None
        task.add_phrases(self.source, self.proposer, self.clock)
        sweep = yield from sweep_example(
            task.members,
            task.label,
            self.plan,
            rng=example_generator(self.seed, task.example.id),
            token_saliency=self.token_saliency,
        )
        return sweep

    def _label(self, task: ExampleTask) -> Coroutine[None]:
        """Check the label; where the data has none, the victim's own answer stands in for it."""
        if task.example.label is None or self.engine.n_labels is None:
            rows = yield Score([task.example.text])
            if not len(rows):
                raise UsageError("the query budget does not pay for the clean text: expected 1 row or more")
            if task.example.label is None:
                task.example = replace(task.example, label=int(np.argmax(rows[0])))
        check_labels([task.example], self.engine.n_labels)

    def _records_or_error(self, task: ExampleTask, sweep: ExampleSweep[TextState]) -> list[Record]:
        try:
            return self._records(task, sweep)
        except ScorerError as error:
            return [self._error(task, error)]

    def _records(self, task: ExampleTask, sweep: ExampleSweep[TextState]) -> list[Record]:
        wanted: dict[tuple[str, str], None] = {}
        for finding in sweep.findings:
            pair = task.pairs[finding.pair]
            for before, after in zip((pair.original, pair.similar), final_texts(task, finding), strict=True):
                wanted[before, after] = None
        verdicts: dict[tuple[str, str], Verdict] = {}
        if self.entailment is not None:
            rows = self.entailment.rows
            try:
                found = self.entailment.check_many(list(wanted))
            except Exception as error:
                raise scorer_failure(self.entailment, error) from error
            verdicts = dict(zip(wanted, found, strict=True))
            task.filter_count.rows += self.entailment.rows - rows
        uncertainty = getattr(self.engine, "uncertainty", None)
        return sweep_records(
            task, sweep, verdicts, scorer=self.scorer, seed=self.seed, uncertainty=uncertainty
        )

    def _skipped(self, task: ExampleTask) -> Record:
        reason = "no sensitive token" if task.example.text.strip() else "empty text"
        return skipped_record(task.example, reason, seed=self.seed)

    def _error(self, task: ExampleTask, error: Exception) -> Record:
        """The record of an example whose search failed; errors that concern the whole run are raised."""
        if isinstance(error, DataError):
            raise error
        if isinstance(error, (VictimCallError, VictimRowError, ProposerCallError)) or (
            isinstance(error, UsageError) and not isinstance(error, VictimError)
        ):
            return skipped_record(task.example, str(error), seed=self.seed, status="error", notes=task.notes)
        raise error


def check_labels(examples: Iterable[Example], n_labels: int | None) -> None:
    """Refuse labels that are no class of the victim.

    Raises:
        DataError: A label is out of range; it names the example.
    """
    for example in examples:
        if n_labels is not None and example.label is not None and not 0 <= example.label < n_labels:
            raise DataError(
                f"example {example.id} has label {example.label}, expected 0 to {n_labels - 1}, "
                "the classes of the victim: map the labels with --label-map"
            )
