"""One example while it is searched: its texts, its candidates, its costs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rif_plugins.core.members import member_spans
from rif_plugins.core.pairs import Pair, Span
from rif_plugins.core.sides import SpanSide
from rif_plugins.core.victim import Budget
from rif_plugins.entailment.answers import FilterCount
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Proposer, TokenContext
from rif_plugins.similar import PairSource


@dataclass(slots=True)
class Clock:
    """Seconds spent on each kind of work."""

    proposer: float = 0.0
    entailment: float = 0.0


@dataclass(slots=True, eq=False)
class ExampleTask:
    """An example, its pairs and what its search has cost so far.

    Attributes:
        example: The data row; its label is known.
        pairs: Its pairs.
        members: The original, then the similar texts.
        budget: Its victim rows.
        filter_count: Its entailment rows.
        n_proposer_calls: Tokens that the proposer was asked about.
        seconds: Its share of the batches it took part in.
    """

    example: Example
    pairs: list[Pair]
    members: list[SpanSide]
    budget: Budget
    filter_count: FilterCount = field(default_factory=FilterCount)
    n_proposer_calls: int = 0
    seconds: float = 0.0

    @property
    def label(self) -> int:
        """The right label, given or predicted."""
        return int(self.example.label) if self.example.label is not None else -1

    @classmethod
    def open(
        cls,
        example: Example,
        pairs: Sequence[Pair],
        source: PairSource,
        proposer: Proposer,
        clock: Clock,
        query_budget: int | None,
    ) -> ExampleTask:
        """Cut the texts into tokens; candidates are proposed when the search first asks for them."""
        task = cls(example, list(pairs), [], Budget(query_budget))
        # Two rows a pair are kept back, so that what is found can be asked again.
        if query_budget is not None:
            task.budget.reserved = min(2 * len(task.pairs), query_budget // 4)
        texts = [example.text, *(pair.similar for pair in pairs)]
        spans = member_spans(example.text, task.pairs, source.sensitive_spans)
        for number, (text, found) in enumerate(zip(texts, spans, strict=True)):
            words = _Words(text, found, proposer, clock, task)
            task.members.append(SpanSide(text, "similar" if number else "original", found, words))
        return task


class _Words:
    """The candidates of one text, all tokens proposed in one call."""

    def __init__(
        self, text: str, spans: Mapping[int, Span], proposer: Proposer, clock: Clock, task: ExampleTask
    ) -> None:
        self.text = text
        self.spans = spans
        self.proposer = proposer
        self.clock = clock
        self.task = task
        self.found: dict[tuple[int, int], tuple[str, ...]] | None = None

    def __call__(self, text: str, start: int, end: int) -> Sequence[str]:
        """Replacements of ``text[start:end]``."""
        if text != self.text:
            return self._asked([TokenContext(text, start, end)])[0]
        if self.found is None:
            contexts = [TokenContext(text, span.start, span.end) for span in self.spans.values()]
            answers = self._asked(contexts)
            self.found = {(c.start, c.end): words for c, words in zip(contexts, answers, strict=True)}
        return self.found.get((start, end), ())

    def _asked(self, contexts: Sequence[TokenContext]) -> list[tuple[str, ...]]:
        start = time.perf_counter()
        found = self.proposer.propose(contexts)
        seconds = time.perf_counter() - start
        self.clock.proposer += seconds
        self.task.seconds += seconds
        self.task.n_proposer_calls += len(contexts)
        return [tuple(candidate.text for candidate in candidates) for candidates in found]
