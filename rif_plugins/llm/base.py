"""What a chat model is asked, what it answers, and how many calls a run may make."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from rif_plugins.errors import UsageError


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat model.

    Attributes:
        messages: The conversation so far; the model writes the next turn.
        max_tokens: Longest answer, in tokens.
        temperature: 0 is greedy.
        top_p: Share of the probability mass that is sampled from.
        seed: Seed of the sampling, where the model takes one.
        json_schema: A JSON schema of the answer; a model that cannot be held to it answers freely, so the
            caller parses tolerantly in any case.
        n_samples: How many answers to draw.
        n_top_tokens: How many alternatives of the first token to report with log-probabilities; 0 is none.
    """

    messages: tuple[Message, ...]
    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    json_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    n_samples: int = 1
    n_top_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a chat model answered.

    Attributes:
        texts: One text a sample.
        first_tokens: Log-probabilities (natural) of the most probable first tokens, by token text; empty
            where the model does not give them.
        prompt_tokens: Tokens of the question as the model counts them; 0 where it does not say.
        completion_tokens: Tokens of all answers.
        is_stored: Whether the answer came from the store and cost nothing.
    """

    texts: tuple[str, ...]
    first_tokens: Mapping[str, float] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_stored: bool = False


@dataclass(frozen=True, slots=True)
class ChatFailure:
    """Why a question got no answer, after all attempts.

    Attributes:
        reason: One line for people, without secrets.
        is_final: Whether asking again in this run is pointless (no such model, no calls left).
        is_refusal: Whether this question alone is to blame: the server has answered others, and refuses it.
    """

    reason: str
    is_final: bool = False
    is_refusal: bool = False


ChatAnswer: TypeAlias = ChatReply | ChatFailure


@runtime_checkable
class ChatModel(Protocol):
    """Answers questions; failures are values, so that one dead server never stops a run.

    Attributes:
        name: What to call it in records and messages, such as ``"llm:qwen2.5-7b-instruct"``.
        version: Names the weights as well as can be told (digest of a local file; address and model name of a
            server), for stores; ``""`` means that answers must not be kept.
    """

    name: str
    version: str

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order."""
        ...  # pragma: no cover


class CallBudget:
    """Counts calls to language models in a run and stops them at a limit; safe with several threads.

    A proposer, a judge and a victim of one run share it (``--max-llm-calls``). A stored answer takes nothing.

    Args:
        max_calls: Most calls; None means no limit.
        prompt_price: Price of a million prompt tokens, in any currency.
        completion_price: Price of a million completion tokens.

    Raises:
        UsageError: The limit or a price is negative.
    """

    def __init__(
        self, max_calls: int | None = None, *, prompt_price: float = 0.0, completion_price: float = 0.0
    ) -> None:
        if max_calls is not None and max_calls < 0:
            raise UsageError(f"--max-llm-calls must be a whole number from 0, got {max_calls}")
        if prompt_price < 0 or completion_price < 0:
            raise UsageError(f"prices must not be negative, got {prompt_price} and {completion_price}")
        self.max_calls = max_calls
        self.prompt_price = prompt_price
        self.completion_price = completion_price
        self.n_calls = 0
        self.n_stored = 0
        self.n_failed = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take the right to one call; False when none is left."""
        with self._lock:
            if self.max_calls is not None and self.n_calls >= self.max_calls:
                return False
            self.n_calls += 1
            return True

    def add(self, answer: ChatAnswer) -> None:
        """Count an answer's tokens, or that it failed or was stored."""
        with self._lock:
            if isinstance(answer, ChatFailure):
                self.n_failed += 1
                return
            if answer.is_stored:
                self.n_stored += 1
                return
            self.prompt_tokens += answer.prompt_tokens
            self.completion_tokens += answer.completion_tokens

    @property
    def cost(self) -> float:
        """What the tokens cost, in the currency of the prices."""
        return (
            self.prompt_tokens * self.prompt_price + self.completion_tokens * self.completion_price
        ) / 1_000_000

    def as_dict(self) -> dict[str, float]:
        """The counters, as `run.json` keeps them."""
        with self._lock:
            return {
                "calls": self.n_calls,
                "stored": self.n_stored,
                "failed": self.n_failed,
                "prompt_tokens": self.prompt_tokens,
                "completion_tokens": self.completion_tokens,
                "cost": self.cost,
            }

    def __getstate__(self) -> dict[str, Any]:
        """Locks stay in their process."""
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
