"""What proposers that ask a language model share: each question once, failures told and not raised."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from rif_plugins.core.pairs import Span
from rif_plugins.core.sentences import LONGEST_PASSAGE, passages
from rif_plugins.errors import UsageError
from rif_plugins.llm import ChatFailure, ChatModel, ChatReply, ChatRequest
from rif_plugins.proposers.base import BaseProposer, Candidate, TokenContext

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

UNREADABLE = "the answer holds nothing that was asked for"
# Some kilobytes each; what recurs in a run (the texts of one example) recurs at once.
_MOST_KEPT = 2**13
_LONGEST_REASON = 200
DEFAULT_TEMPERATURE = 0.7


class ProposerWarning(UserWarning):
    """A proposer could not propose; the run goes on with what the other proposers have."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a question has no usable answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Question(Generic[V]):
    """A request and the reader of its answer, which gives None for an answer that cannot be used."""

    request: ChatRequest
    read: Callable[[str], V | None]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model draws its answers.

    Attributes:
        temperature: 0 is greedy.
        top_p: Share of the probability mass that is sampled from.
        seed: The run's seed; each sentence has its own, made from it.

    Raises:
        UsageError: A number is out of range.
    """

    temperature: float = DEFAULT_TEMPERATURE
    top_p: float = 0.9
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise UsageError(f"temperature must be between 0 and 2, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise UsageError(f"top_p must be above 0 and at most 1, got {self.top_p}")


class Questions(Generic[K, V]):
    """Asks a model each question once in a run, those of a batch together.

    Args:
        model: The model.

    Attributes:
        n_calls: Questions that the model was asked and had to compute; stored answers are left out.
        n_failed: Questions without a usable answer.
    """

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.n_calls = 0
        self.n_failed = 0
        self._known: OrderedDict[K, V | Failed] = OrderedDict()
        self._is_warned = False

    def ask(self, questions: Mapping[K, Callable[[], Question[V]]]) -> dict[K, V | Failed]:
        """The answer to each question, by its key; a question is made only where it is not answered yet."""
        new = {key: make() for key, make in questions.items() if key not in self._known}
        found = {key: self._known[key] for key in questions if key in self._known}
        answers = self.model.complete([question.request for question in new.values()]) if new else []
        for (key, question), answer in zip(new.items(), answers, strict=True):
            found[key] = self._known[key] = self._read(question, answer)
        for key in questions:
            self._known.move_to_end(key)
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return found

    def _read(self, question: Question[V], answer: ChatReply | ChatFailure) -> V | Failed:
        if isinstance(answer, ChatFailure):
            # Final failures (no calls left, a server that was given up) ask nobody.
            self.n_calls += not answer.is_final
            return self._failed(" ".join(answer.reason.split())[:_LONGEST_REASON] or "no reason given")
        self.n_calls += not answer.is_stored
        value = next((v for text in answer.texts if (v := question.read(text)) is not None), None)
        return self._failed(UNREADABLE) if value is None else value

    def _failed(self, reason: str) -> Failed:
        self.n_failed += 1
        if not self._is_warned:
            self._is_warned = True
            warnings.warn(
                f"{self.model.name} proposed nothing for a sentence: {reason}. The run goes on without; "
                "records name every example that it happened to",
                ProposerWarning,
                stacklevel=6,
            )
        return Failed(reason)


class AskingProposer(BaseProposer, Generic[K, V]):
    """A proposer that asks a language model, as candidates of which nothing can be more than words.

    Attributes:
        name, version: Those of the model.
        last_failures: The tokens for which the last call of :meth:`propose` got no answer, with the reason.
            No candidates for one of them says nothing about the token, so it must not be stored.
    """

    def __init__(
        self,
        model: ChatModel,
        sampling: Sampling,
        *,
        max_candidates: int | None,
        protected: Callable[[str], bool] | None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        self.name = model.name
        self.version = model.version
        self.sampling = sampling
        self.last_failures: dict[TokenContext, str] = {}
        self._questions: Questions[K, V] = Questions(model)
        self._heard_calls = 0
        self._notes: dict[str, None] = {}

    @property
    def n_calls(self) -> int:
        """Calls to the model so far."""
        return self._questions.n_calls

    @property
    def n_failures(self) -> int:
        """Questions without a usable answer so far."""
        return self._questions.n_failed

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        """One tuple of candidates a context; none where the model failed, see ``last_failures``."""
        self.last_failures = {}
        return super().propose(contexts)

    def take_notes(self) -> list[str]:
        """What went wrong since the last call of this method, each reason once."""
        notes, self._notes = list(self._notes), {}
        return notes

    def take_calls(self) -> int:
        """Calls to the model since the last call of this method."""
        calls, self._heard_calls = self.n_calls - self._heard_calls, self.n_calls
        return calls

    def ask(self, questions: Mapping[K, Callable[[], Question[V]]]) -> dict[K, V | Failed]:
        """The answers, with a note for each reason why there is none."""
        found = self._questions.ask(questions)
        for answer in found.values():
            if isinstance(answer, Failed):
                self._notes[f"proposer {self.name} failed: {answer.reason}"] = None
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, max_candidates={self.max_candidates})"


@lru_cache(maxsize=64)
def short_passages(text: str) -> tuple[Span, ...]:
    """The passages of a text that can be shown to a model; one endless word is none."""
    return tuple(span for span in passages(text) if span.end - span.start <= LONGEST_PASSAGE)
