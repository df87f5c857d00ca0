"""Answers the requests of many searches with few calls to the victim and to the filter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rif_plugins.core.requests import Judge, Score
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import RIFError, ScorerError
from rif_plugins.runner.task import Clock, ExampleTask


class AnswerDesk:
    """Merges requests, keeps the costs of each example, and hands errors to the search that caused them.

    Args:
        engine: The victim.
        entailment: The filter; None admits every edit.
        clock: Where to add the seconds of the filter.
    """

    def __init__(self, engine: VictimEngine, entailment: EntailmentFilter | None, clock: Clock) -> None:
        self.engine = engine
        self.entailment = entailment
        self.clock = clock

    def scores(self, asked: Sequence[tuple[ExampleTask, Score]]) -> list[Any]:
        """Class probabilities for each request, or the error of its example."""
        start = time.perf_counter()
        texts = [task.allowance.prefix(request.texts, is_fresh=request.is_fresh) for task, request in asked]
        answers: list[Any] = [None] * len(asked)
        usual = [i for i, (_, request) in enumerate(asked) if not request.is_fresh]
        fresh = [i for i, (_, request) in enumerate(asked) if request.is_fresh]
        if usual:
            requests = [(texts[i], asked[i][0].budget) for i in usual]
            for i, answer in zip(usual, self.engine.predict_each(requests), strict=True):
                answers[i] = answer
        if fresh:
            for i, answer in zip(fresh, self._again([(asked[i][0], texts[i]) for i in fresh]), strict=True):
                answers[i] = answer
        self._share(
            [(task, len(part)) for (task, _), part in zip(asked, texts, strict=True)],
            time.perf_counter() - start,
        )
        return answers

    def judges(self, asked: Sequence[tuple[ExampleTask, Judge]]) -> list[Any]:
        """Whether each state keeps the meaning of its unedited text, or why that is unknown.

        Of states whose ``S_eq`` is asked for, that number: they were accepted before, so it is remembered.
        """
        if self.entailment is None:
            return [[True] * len(request.states) for _, request in asked]
        start = time.perf_counter()
        pairs = [
            [(request.side.text(request.side.start), request.side.text(state)) for state in request.states]
            for _, request in asked
        ]
        answers: list[Any]
        try:
            answers = self._judged(self.entailment, pairs, asked)
        except Exception:
            # Alone, so that what the scorer cannot take fails the example that wants it and no other.
            answers = [
                self._judged_alone(self.entailment, part, one) for part, one in zip(pairs, asked, strict=True)
            ]
        seconds = time.perf_counter() - start
        self.clock.entailment += seconds
        self._share([(task, len(request.states)) for task, request in asked], seconds)
        return answers

    def _again(self, asked: Sequence[tuple[ExampleTask, Sequence[str]]]) -> list[Any]:
        """Ask the victim whatever is remembered, in one call; one example at a time when that fails."""
        try:
            rows = self.engine.probabilities([text for _, texts in asked for text in texts], fresh=True)
        except RIFError:
            return [self._again_alone(task, texts) for task, texts in asked]
        answers, seen = [], set[str]()
        start = 0
        for task, texts in asked:
            answers.append(rows[start : start + len(texts)])
            start += len(texts)
            # A text that several examples ask about costs one row.
            task.budget.spent += len(set(texts) - seen)
            seen.update(texts)
        return answers

    def _again_alone(self, task: ExampleTask, texts: Sequence[str]) -> Any:
        try:
            return self.engine.probabilities(texts, budget=task.budget, fresh=True)
        except RIFError as error:
            return error

    @staticmethod
    def _judged(
        entailment: EntailmentFilter,
        pairs: Sequence[Sequence[tuple[str, str]]],
        asked: Sequence[tuple[ExampleTask, Judge]],
    ) -> list[Any]:
        usual = [i for i, (_, request) in enumerate(asked) if not request.is_graded]
        counts = [asked[i][0].filter_count for i in usual]
        answers: list[Any] = [None] * len(asked)
        for i, verdicts in zip(
            usual, entailment.accepts_many([pairs[i] for i in usual], counts), strict=True
        ):
            answers[i] = verdicts
        for i, (task, request) in enumerate(asked):
            if request.is_graded:
                rows = entailment.rows
                answers[i] = [verdict.score for verdict in entailment.check_many(pairs[i])]
                task.filter_count.rows += entailment.rows - rows
        return answers

    def _judged_alone(
        self, entailment: EntailmentFilter, pairs: Sequence[tuple[str, str]], asked: tuple[ExampleTask, Judge]
    ) -> Any:
        try:
            return self._judged(entailment, [pairs], [asked])[0]
        except Exception as error:
            return scorer_failure(entailment, error)

    @staticmethod
    def _share(parts: Sequence[tuple[ExampleTask, int]], seconds: float) -> None:
        total = sum(n for _, n in parts)
        for task, n in parts:
            task.seconds += seconds * n / max(1, total)


def scorer_failure(entailment: EntailmentFilter, error: Exception) -> Exception:
    """The error of an example whose texts the filter could not judge."""
    if isinstance(error, RIFError):
        return error
    what = str(error).splitlines()[0] if str(error) else ""
    failure = ScorerError(
        f"the entailment scorer {entailment.scorer.name} raised {type(error).__name__}: {what}"
    )
    failure.__cause__ = error
    return failure
