"""One example while it is searched: its texts, its candidates, its costs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rif_plugins.core.members import member_spans
from rif_plugins.core.pairs import Edit, Pair, Span
from rif_plugins.core.phrases import Phrases
from rif_plugins.core.sides import SpanSide
from rif_plugins.core.stores import text_keys
from rif_plugins.core.victim import Budget
from rif_plugins.entailment.answers import FilterCount
from rif_plugins.errors import RIFError
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Candidate, Proposer, TokenContext
from rif_plugins.similar import PairSource

_MOST_NOTES = 20


class ProposerCallError(RIFError):
    """The proposer raised; the message names its error."""


@dataclass(slots=True)
class Clock:
    """Seconds spent on each kind of work."""

    proposer: float = 0.0
    entailment: float = 0.0


class Allowance:
    """How many texts one example may ask the victim about.

    Every distinct text counts, also one that a cache answers or that another example has asked: what a
    search may ask must not depend on what others did before it. The victim sees at most as many rows.

    Args:
        limit: Most texts; None is unlimited.
        reserved: Kept back for texts that are asked again.
    """

    def __init__(self, limit: int | None = None, reserved: int = 0) -> None:
        self.limit = limit
        self.reserved = reserved
        self.spent = 0
        self._known: set[bytes] = set()

    def prefix(self, texts: Sequence[str], *, is_fresh: bool) -> Sequence[str]:
        """The longest prefix of ``texts`` that may be asked; a fresh text counts although it is known."""
        if self.limit is None:
            return texts
        if is_fresh:
            self.reserved = 0
        known: set[bytes] = set() if is_fresh else self._known
        left = max(0, self.limit - self.reserved - self.spent)
        for number, key in enumerate(text_keys(texts)):
            if key in known:
                continue
            if not left:
                return texts[:number]
            known.add(key)
            left -= 1
            self.spent += 1
        return texts


@dataclass(slots=True, eq=False)
class ExampleTask:
    """An example, its pairs and what its search has cost so far.

    Attributes:
        example: The data row; its label is known.
        pairs: Its pairs.
        members: The original, then the similar texts.
        allowance: What it may still ask.
        budget: Its victim rows; they are counted here and limited by the allowance.
        filter_count: Its entailment rows.
        n_proposer_calls: Tokens and phrases that the proposer was asked about.
        n_llm_calls: Calls to a language model that the proposer made for it.
        notes: What went wrong on the way without ending its search.
        seconds: Its share of the batches it took part in.
    """

    example: Example
    pairs: list[Pair]
    members: list[SpanSide]
    allowance: Allowance = field(default_factory=Allowance)
    budget: Budget = field(default_factory=Budget)
    filter_count: FilterCount = field(default_factory=FilterCount)
    n_proposer_calls: int = 0
    n_llm_calls: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    _words: list[_Words] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a note, each once and not without end."""
        if text not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(text)

    def source_of(self, member: int, edit: Edit) -> str:
        """Which proposer the replacement in an edit of a member comes from; "" where nobody says."""
        return self._words[member].sources.get((edit.start, edit.end), {}).get(edit.target, "")

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
        """Cut the texts into tokens; candidates are proposed when the search first asks for them.

        Phrases are added by ``add_phrases``.
        """
        # Two rows a pair are kept back, so that what is found can be asked again.
        reserved = 0 if query_budget is None else min(2 * len(pairs), query_budget // 4)
        task = cls(example, list(pairs), [], Allowance(query_budget, reserved))
        task._cut(source, proposer, clock, None)
        return task

    def add_phrases(self, source: PairSource, proposer: Proposer, clock: Clock) -> None:
        """Ask a proposer that knows phrases for those of every text, and make positions of them.

        Apart from ``open``, because it may call a model, whose errors belong to the search of the example.
        """
        phrases = getattr(proposer, "phrases", None)
        if phrases is None:
            return

        def asked(text: str) -> Sequence[tuple[int, int]]:
            with _asking(proposer, clock, self):
                return [(int(start), int(end)) for start, end in phrases(text)]

        self._cut(source, proposer, clock, asked)

    def _cut(self, source: PairSource, proposer: Proposer, clock: Clock, phrases: Phrases | None) -> None:
        texts = [self.example.text, *(pair.similar for pair in self.pairs)]
        spans = member_spans(self.example.text, self.pairs, source.sensitive_spans, phrases)
        self.members, self._words = [], []
        for number, (text, found) in enumerate(zip(texts, spans, strict=True)):
            words = _Words(text, found, proposer, clock, self)
            self.members.append(SpanSide(text, "similar" if number else "original", found, words))
            self._words.append(words)


@contextmanager
def _asking(proposer: Proposer, clock: Clock, task: ExampleTask) -> Iterator[None]:
    """Time a call of the proposer, name its errors, and take over what it has to say."""
    start = time.perf_counter()
    try:
        yield
    except RIFError:
        raise
    except Exception as error:
        what = str(error).splitlines()[0] if str(error) else ""
        raise ProposerCallError(
            f"the proposer {proposer.name} raised {type(error).__name__}: {what}"
        ) from error
    finally:
        seconds = time.perf_counter() - start
        clock.proposer += seconds
        task.seconds += seconds
        for note in getattr(proposer, "take_notes", tuple)():
            task.note(str(note))
        task.n_llm_calls += int(getattr(proposer, "take_calls", int)())


class _Words:
    """The candidates of one text, all tokens and phrases proposed in one call.

    Attributes:
        sources: For each stretch of the text the source of each candidate; what comes twice has the first.
    """

    def __init__(
        self, text: str, spans: Mapping[int, Span], proposer: Proposer, clock: Clock, task: ExampleTask
    ) -> None:
        self.text = text
        self.spans = spans
        self.proposer = proposer
        self.clock = clock
        self.task = task
        self.found: dict[tuple[int, int], tuple[str, ...]] | None = None
        self.sources: dict[tuple[int, int], dict[str, str]] = {}

    def __call__(self, text: str, start: int, end: int) -> Sequence[str]:
        """Replacements of ``text[start:end]``."""
        if text != self.text:
            return _texts(self._asked([TokenContext(text, start, end)])[0])
        if self.found is None:
            contexts = [TokenContext(text, span.start, span.end) for span in self.spans.values()]
            answers = self._asked(contexts)
            self.found = {}
            for context, candidates in zip(contexts, answers, strict=True):
                place = (context.start, context.end)
                self.found[place] = _texts(candidates)
                self.sources[place] = {
                    c.text: c.source for c in reversed(candidates) if isinstance(c.source, str)
                }
        return self.found.get((start, end), ())

    def _asked(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        with _asking(self.proposer, self.clock, self.task):
            found = [tuple(candidates) for candidates in self.proposer.propose(contexts)]
        self.task.n_proposer_calls += len(contexts)
        return found


def _texts(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(candidate.text for candidate in candidates)
