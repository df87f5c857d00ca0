"""Answers the requests of many searches with few calls to the victim and to the filter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rif_plugins.core.requests import Judge, Score
from rif_plugins.core.victim import VictimCallError, VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import RIFError
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
        answers: list[Any] = [None] * len(asked)
        usual = [i for i, (_, request) in enumerate(asked) if not request.is_fresh]
        fresh = [i for i, (_, request) in enumerate(asked) if request.is_fresh]
        if usual:
            requests = [(asked[i][1].texts, asked[i][0].budget) for i in usual]
            for i, answer in zip(usual, self.engine.predict_each(requests), strict=True):
                answers[i] = answer
        if fresh:
            self._again(asked, fresh, answers)
        self._share([(task, len(request.texts)) for task, request in asked], time.perf_counter() - start)
        return answers

    def judges(self, asked: Sequence[tuple[ExampleTask, Judge]]) -> list[list[bool]]:
        """Whether each state of each request keeps the meaning of its unedited text."""
        if self.entailment is None:
            return [[True] * len(request.states) for _, request in asked]
        start = time.perf_counter()
        pairs = [
            [(request.side.text(request.side.start), request.side.text(state)) for state in request.states]
            for _, request in asked
        ]
        answers = self.entailment.accepts_many(pairs, [task.filter_count for task, _ in asked])
        seconds = time.perf_counter() - start
        self.clock.entailment += seconds
        self._share([(task, len(request.states)) for task, request in asked], seconds)
        return answers

    def _again(
        self, asked: Sequence[tuple[ExampleTask, Score]], fresh: Sequence[int], answers: list[Any]
    ) -> None:
        """Ask the victim whatever is remembered, in one call; one example at a time when that fails."""
        texts = [text for i in fresh for text in asked[i][1].texts]
        for i in fresh:
            asked[i][0].budget.reserved = 0
        is_limited = any(asked[i][0].budget.limit is not None for i in fresh)
        if not is_limited:
            try:
                rows = self.engine.probabilities(texts, fresh=True)
            except RIFError:
                is_limited = True
            else:
                start = 0
                for i in fresh:
                    n = len(asked[i][1].texts)
                    answers[i] = rows[start : start + n]
                    asked[i][0].budget.spent += n
                    start += n
        if is_limited:
            for i in fresh:
                task, request = asked[i]
                try:
                    answers[i] = self.engine.probabilities(request.texts, budget=task.budget, fresh=True)
                except (VictimCallError, RIFError) as error:
                    answers[i] = error

    @staticmethod
    def _share(parts: Sequence[tuple[ExampleTask, int]], seconds: float) -> None:
        total = sum(n for _, n in parts)
        for task, n in parts:
            task.seconds += seconds * n / max(1, total)
