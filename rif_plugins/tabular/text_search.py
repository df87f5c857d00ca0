"""The pair search over plain strings, one example after another, with the steps of the TextAttack recipes.

Pairs are queried together and searched in the order of promise (in the target first, then by the objective);
each is searched until one is found; what is found is asked again before it counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.objective import Objective, runner_up
from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pair_search import PairSearchResult, SearchSettings, run_search, search_pair
from rif_plugins.core.pairs import SIDES, Pair, Side, Span
from rif_plugins.core.results import Record, searched_record
from rif_plugins.core.seeds import example_generator, example_id
from rif_plugins.core.sides import SpanSide, TextState, TokenAlignment, align_tokens
from rif_plugins.core.victim import Budget, VictimCallError, VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import DataError, VictimRowError
from rif_plugins.proposers import Proposer, TokenContext
from rif_plugins.similar import PairSource
from rif_plugins.similar.pair_source import untouched

FloatArray = NDArray[np.float64]
Result = PairSearchResult[TextState]


@dataclass
class TextParts:
    """What a search needs.

    Attributes:
        engine: The victim.
        source: Who counts as similar.
        proposer: Where replacements come from.
        filter: What keeps the meaning; None admits everything.
        settings: How to search; ``filter_first`` is decided by ``query_budget`` where ``is_filter_free``.
        objective: Whose target to reach.
        is_filter_free: Let the budget decide which of filter and victim goes first.
        query_budget: Most victim rows of one example.
        seed: Run seed.
    """

    engine: VictimEngine
    source: PairSource
    proposer: Proposer
    filter: EntailmentFilter | None
    settings: SearchSettings
    objective: Objective
    is_filter_free: bool = True
    query_budget: int | None = None
    seed: int = 0

    @property
    def target(self) -> Outcome:
        """The outcome aimed at."""
        return self.objective.target

    @property
    def scorer_name(self) -> str:
        """Name and version of the entailment scorer."""
        return "none" if self.filter is None else f"{self.filter.scorer.name} {self.filter.scorer.version}"


def search_example(parts: TextParts, text: str, label: int, similar: str | None = None) -> Record:
    """Search one example and return its record: the found pair, else the most promising one.

    Args:
        parts: Victim, proposer, filter, settings.
        text: The original.
        label: Its right label.
        similar: A ready similar text; None asks the lexicon for all of them.

    Raises:
        DataError: The label is no class of the victim.
    """
    return _Example(parts, text, label, similar).record()


class _Example:
    """One example while it is searched."""

    def __init__(self, parts: TextParts, text: str, label: int, similar: str | None) -> None:
        self.parts = parts
        self.text = text
        self.label = label
        self.similar = similar
        # The recipes name a ready pair by the text that the host makes of both columns.
        self.name = example_id(text if similar is None else f"{text}\n{similar}", label)
        self.budget = Budget(parts.query_budget)
        self.n_proposer_calls = 0
        self.start = time.perf_counter()

    def record(self) -> Record:
        """Search and describe."""
        parts = self.parts
        parts.engine.clear()
        if parts.filter is not None:
            parts.filter.clear()
        if not self.text.strip():
            return self._skipped("skipped", "empty text")
        pairs = parts.source.pairs_of(self.text, self.similar)
        if not pairs:
            return self._skipped("skipped", "no sensitive token")
        try:
            ordered = self._ordered(pairs)
        except (VictimCallError, VictimRowError) as error:
            return self._skipped("error", str(error))
        if not ordered:
            return self._skipped("skipped", "query budget below one pair")
        return self._searched(ordered)

    def _ordered(self, pairs: list[Pair]) -> list[Pair]:
        """The pairs that the budget pays for, most promising first."""
        objective = self.parts.objective
        rows = self.parts.engine.probabilities(
            [self.text, *(pair.similar for pair in pairs)], budget=self.budget
        )
        if len(rows) < 2:
            return []
        if self.label >= rows.shape[1]:
            raise DataError(
                f"label {self.label} is outside the victim's classes: expected 0 to {rows.shape[1] - 1}; "
                "check y and the order of the classes"
            )
        wrong = None
        if objective.needs_wrong_label(rows.shape[1]):
            wrong = runner_up(rows[0], rows[1], self.label)
        values = [float(objective(rows[0], row, self.label, wrong)) for row in rows[1:]]
        reached = [self._outcome(rows[0], row) is objective.target for row in rows[1:]]
        order = sorted(range(len(values)), key=lambda i: (not reached[i], round(values[i], 9), i))
        return [pairs[i] for i in order]

    def _searched(self, pairs: list[Pair]) -> Record:
        rows_before = 0 if self.parts.filter is None else self.parts.filter.rows
        best: tuple[Pair, Result] | None = None
        message = ""
        try:
            for pair in pairs:
                result = self._confirmed(self._search(pair))
                if best is None or result.is_success:
                    best = (pair, result)
                if result.is_success or self.budget.is_spent:
                    break
        except (VictimCallError, VictimRowError) as error:
            message = str(error)
        if best is None:
            return replace(
                self._skipped("error", message), attribute=pairs[0].attribute, similar=pairs[0].similar
            )
        record = self._described(*best)
        if message and not best[1].is_success:
            record = replace(record, status="error", stop_reason="error")
        rows = 0 if self.parts.filter is None else self.parts.filter.rows
        queries = {
            "victim_rows": self.budget.spent,
            "cache_hits": self.budget.hits,
            "entailment_rows": rows - rows_before,
            "proposer_calls": self.n_proposer_calls,
        }
        seconds = round(time.perf_counter() - self.start, 4)
        return replace(record, queries=queries, seconds=seconds, message=message)

    def _search(self, pair: Pair) -> Result:
        parts = self.parts
        alignment = align_tokens(pair)
        sides = [self._side(pair, side, alignment) for side in SIDES]
        self.budget.reserved = 2
        settings = parts.settings
        if parts.is_filter_free:
            settings = replace(settings, filter_first=parts.query_budget is not None)
        search = search_pair(
            sides[0],
            sides[1],
            label=self.label,
            objective=parts.objective,
            settings=settings,
            rng=example_generator(parts.seed, self.name),
        )
        return run_search(search, lambda texts: parts.engine.probabilities(texts, budget=self.budget))

    def _side(self, pair: Pair, side: Side, alignment: TokenAlignment) -> SpanSide:
        unedited = pair.text(side)
        spans = alignment.spans(side)
        free = untouched(spans, self.parts.source.sensitive_spans(unedited))
        positions = {number: span for number, span in enumerate(spans) if free[number]}
        judge = None if self.parts.filter is None else self._judge
        return SpanSide(unedited, side, positions, self._propose, judge)

    def _propose(self, text: str, start: int, end: int) -> Sequence[str]:
        # An edit beside a word can make it sensitive; then it may not be touched any more.
        if not untouched([Span(start, end)], self.parts.source.sensitive_spans(text))[0]:
            return ()
        self.n_proposer_calls += 1
        (candidates,) = self.parts.proposer.propose([TokenContext(text, start, end)])
        return [candidate.text for candidate in candidates if candidate.text != text[start:end]]

    def _judge(self, unedited: str, edited: Sequence[str]) -> Sequence[bool]:
        if self.parts.filter is None:
            return [True] * len(edited)
        return self.parts.filter.accepts([(unedited, text) for text in edited])

    def _confirmed(self, result: Result) -> Result:
        """The result, or the clean pair when the victim does not repeat its answer."""
        if result.stop_reason != "success":
            return result
        self.budget.reserved = 0
        texts = [result.state.original.text, result.state.similar.text]
        rows = self.parts.engine.probabilities(texts, budget=self.budget, fresh=True)
        if len(rows) == 2 and self._outcome(rows[0], rows[1]) is self.parts.target:
            return result
        return replace(
            result,
            stop_reason="unconfirmed",
            state=result.clean,
            outcome=result.clean_outcome,
            trajectory=result.trajectory[:1],
        )

    def _described(self, pair: Pair, result: Result) -> Record:
        texts = (result.state.original.text, result.state.similar.text)
        record = searched_record(
            pair,
            result,
            texts=texts,
            edits=(*result.state.original.edits, *result.state.similar.edits),
            example=self.name,
            label=self.label,
            target=self.parts.target,
            seed=self.parts.seed,
        )
        equivalence: dict[str, dict[str, float]] = {}
        if self.parts.filter is not None:
            for side, edited in zip(SIDES, texts, strict=True):
                (verdict,) = self.parts.filter.check(pair.text(side), [edited])
                equivalence[side] = {
                    "forward": round(float(verdict.forward), 6),
                    "backward": round(float(verdict.backward), 6),
                    "score": round(float(verdict.score), 6),
                }
        return replace(record, equivalence=equivalence, scorer=self.parts.scorer_name)

    def _outcome(self, p: FloatArray, p_similar: FloatArray) -> Outcome:
        return classify(self.label, int(p.argmax()), int(p_similar.argmax()))

    def _skipped(self, status: str, reason: str) -> Record:
        is_error = status == "error"
        return Record(
            id=f"{self.name}-{self.parts.target}",
            example=self.name,
            target=str(self.parts.target),
            status="error" if is_error else "skipped",
            stop_reason="error" if is_error else reason,
            label=self.label,
            original=self.text,
            queries={"victim_rows": self.budget.spent, "cache_hits": self.budget.hits},
            seed=self.parts.seed,
            message=reason if is_error else "",
        )
