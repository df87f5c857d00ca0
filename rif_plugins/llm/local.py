"""What models that run on this machine share: one question after the other, a call a sample."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rif_plugins.llm.attempts import one_line
from rif_plugins.llm.base import CallBudget, ChatAnswer, ChatFailure, ChatReply, ChatRequest
from rif_plugins.llm.calling import Circuit, used_up


@dataclass(frozen=True)
class Sample:
    """One answer: its text, alternatives of its first token, and counts of tokens."""

    text: str
    first_tokens: dict[str, float] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LocalChatModel(ABC):
    """Answers one request at a time; a failure of the model is a value.

    Args:
        name: What to call it in records.
        version: Names weights and engine.
        budget: Counts and limits the calls.
    """

    def __init__(self, name: str, version: str, budget: CallBudget) -> None:
        self.name = name
        self.version = version
        self.budget = budget
        self._circuit = Circuit()
        self._lock = threading.Lock()

    @abstractmethod
    def sample(self, request: ChatRequest, number: int) -> Sample:
        """Draw one answer.

        Args:
            request: The question.
            number: Which sample of the question it is; it changes the seed.
        """

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: ChatRequest) -> ChatAnswer:
        samples: list[Sample] = []
        # Without temperature all samples are the same.
        for number in range(1 if request.temperature <= 0 else request.n_samples):
            drawn = self._drawn(request, number)
            if isinstance(drawn, ChatFailure):
                self.budget.add(drawn)
                if not samples:
                    return drawn
                break  # samples that are there already are worth having
            samples.append(drawn)
        texts = [sample.text for sample in samples]
        reply = ChatReply(
            tuple(texts * request.n_samples if request.temperature <= 0 else texts),
            samples[0].first_tokens,
            sum(sample.prompt_tokens for sample in samples),
            sum(sample.completion_tokens for sample in samples),
        )
        self.budget.add(reply)
        return reply

    def _drawn(self, request: ChatRequest, number: int) -> Sample | ChatFailure:
        closed = self._circuit.failure
        if closed is not None:
            return closed
        if not self.budget.take():
            return used_up(self.budget)
        failure = None
        try:
            with self._lock:
                return self.sample(request, number)
        except Exception as error:  # engines raise whatever their parts raise; a run goes on without them
            failure = ChatFailure(f"the model failed ({type(error).__name__}: {one_line(str(error))})")
            return failure
        finally:
            self._circuit.note(failure, is_refusal=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: the weights are loaded again in the other process."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_circuit")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._circuit = Circuit()
        self._lock = threading.Lock()
