"""Language models behind an OpenAI-compatible address, through the client ``openai``.

Keys are read from the environment, and stand in no message, record, cache or pickle.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from rif_plugins.core.addresses import without_secrets
from rif_plugins.errors import UsageError
from rif_plugins.llm.attempts import ADVICE, AttemptError
from rif_plugins.llm.base import CallBudget, ChatAnswer, ChatFailure, ChatReply, ChatRequest
from rif_plugins.llm.calling import Circuit, Pace, used_up
from rif_plugins.llm.connections import PURPOSE, Connections, Place, place_of
from rif_plugins.llm.replies import reply_of
from rif_plugins.llm.request_bodies import REFUSALS, ServerHabits, body_of
from rif_plugins.optional import require

RATE_VARIABLE = "RIF_LLM_RPM"
TIMEOUT_VARIABLE = "RIF_LLM_TIMEOUT"
CONCURRENCY_VARIABLE = "RIF_LLM_CONCURRENCY"
_LONGEST_WAIT = 60.0
_BUSY = (429, 503)


@dataclass(frozen=True)
class Patience:
    """How patient a client is.

    Attributes:
        seconds: Longest time for one attempt, the reading of the answer included.
        total: Longest time for one question; no attempt begins later.
        attempts: Attempts in all, after status 408, 409, 5xx, a time-out or a lost connection. A server that
            is busy (429, 503) is asked again as long as ``total`` allows: quotas are free again in a minute.
        first_wait: Seconds before the second attempt; each further wait is twice as long, or as long as the
            server asks for, 60 s at most.
        max_bytes: Longest answer.
        concurrency: Questions under way at the same time.
        per_minute: Most calls a minute; None does not wait.
    """

    seconds: float = 120.0
    total: float = 240.0
    attempts: int = 4
    first_wait: float = 1.0
    max_bytes: int = 4 << 20
    concurrency: int = 4
    per_minute: float | None = None

    @classmethod
    def from_environment(cls) -> Patience:
        """The usual one, but for ``RIF_LLM_RPM``, ``RIF_LLM_TIMEOUT`` (seconds), ``RIF_LLM_CONCURRENCY``.

        Raises:
            UsageError: One of them is no usable number.
        """
        found = cls(per_minute=_number(RATE_VARIABLE, "calls a minute"))
        seconds = _number(TIMEOUT_VARIABLE, "seconds")
        if seconds is not None:
            found = replace(found, seconds=seconds, total=2 * seconds)
        concurrency = _number(CONCURRENCY_VARIABLE, "questions at the same time")
        if concurrency is not None:
            found = replace(found, concurrency=max(1, min(64, int(concurrency))))
        return found


class EndpointChatModel:
    """Asks one model at one address.

    Servers differ in what they take: a request whose ``response_format``, ``logprobs``, ``n`` or ``seed`` is
    refused is asked again without, and the server is not asked for it any more in this run. Samples that it
    does not draw together are drawn one by one. Every request counts as a call.

    Args:
        model: The model's name at the server.
        budget: Counts and limits the calls.
        place: The server; None takes the one of the environment.
        patience: How patient to be.
        sleep: Waits between attempts; None waits so that an interruption ends the wait.

    Attributes:
        habits: What the server does not take.
    """

    def __init__(
        self,
        model: str,
        budget: CallBudget,
        *,
        place: Place | None = None,
        patience: Patience | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        place = place or place_of()
        self.name = f"llm:{model}"
        self.model = model
        self.budget = budget
        self.address = without_secrets(place.address)
        # The weights behind a name cannot be seen: the name at the address has to stand for them.
        self.version = hashlib.sha256(f"{self.address}\x1f{model}".encode()).hexdigest()[:16]
        self.patience = patience or Patience()
        self.habits = ServerHabits()
        self._own_sleep = sleep
        self._start(place)

    def _start(self, place: Place) -> None:
        self._stop = threading.Event()
        self._sleep = self._own_sleep or self._stop.wait
        self._circuit = Circuit()
        self._pace = Pace(self.patience.per_minute, sleep=self._sleep)
        self._connections = Connections(place, self.patience.max_bytes)

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order; several are under way at the same time."""
        self._stop.clear()
        if len(requests) < 2:
            return [self._answer(request) for request in requests]
        pool = ThreadPoolExecutor(min(self.patience.concurrency, len(requests)))
        try:
            return list(pool.map(self._answer, requests))
        except BaseException:
            # Who interrupts does not want to wait for the answers under way.
            self._stop.set()
            self._connections.close()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _answer(self, request: ChatRequest) -> ChatAnswer:
        texts: list[str] = []
        first_tokens: dict[str, float] = {}
        tokens = [0, 0]
        while len(texts) < request.n_samples:
            answer = self._asked(request, len(texts))
            self.budget.add(answer)
            if isinstance(answer, ChatFailure):
                if not texts:
                    return answer
                break  # samples that are there already are worth having
            texts += answer.texts[: request.n_samples - len(texts)]
            first_tokens = first_tokens or dict(answer.first_tokens)
            tokens = [tokens[0] + answer.prompt_tokens, tokens[1] + answer.completion_tokens]
        return ChatReply(tuple(texts), first_tokens, tokens[0], tokens[1])

    def _asked(self, request: ChatRequest, n_done: int) -> ChatAnswer:
        """One request with all its attempts."""
        wait, attempt, waited = self.patience.first_wait, 0, 0.0
        end = time.monotonic() + self.patience.total
        left_out: set[str] = set()
        while True:
            closed = self._circuit.failure
            if closed is not None:
                return closed
            if not self.budget.take():
                return used_up(self.budget)
            before = time.monotonic()
            self._pace.wait()
            end += time.monotonic() - before  # whoever waits for its turn is not late
            if self._stop.is_set():
                return ChatFailure("broken off")
            body = body_of(self.model, request, n_done, self.habits.refused | left_out)
            try:
                reply = self._attempt(body, end)
            except AttemptError as error:
                blamed = self.habits.suspect(error, body)
                if blamed and not self._stop.is_set():
                    left_out.add(blamed)
                    continue
                attempt += 1
                pause = min(_LONGEST_WAIT, max(wait, error.wait))
                is_busy = error.status in _BUSY and waited + pause <= self.patience.total
                is_last = attempt >= self.patience.attempts and not is_busy
                is_over = is_last or time.monotonic() + pause > end
                if error.may_help and not is_over and not self._stop.is_set():
                    self._sleep(pause)
                    waited += pause
                    wait *= 2
                    continue
                return self._failed(error, attempt)
            # Only what has helped is remembered: a text may be to blame for a refusal.
            self.habits.learn(left_out, body)
            self._circuit.note(None)
            return reply

    def _attempt(self, body: dict[str, Any], end: float) -> ChatReply:
        left = max(0.001, min(self.patience.seconds, end - time.monotonic()))
        return reply_of(self._connections.post(body, left))

    def _failed(self, error: AttemptError, attempt: int) -> ChatFailure:
        times = f" (attempt {attempt} of {attempt})" if error.may_help else ""
        advice = f": {ADVICE[error.status]}" if error.status in ADVICE else ""
        is_refusal = error.status == 413 or error.status in REFUSALS
        # Gateways answer 403 for a text that their moderation flags, and servers for a key without the right.
        is_of_text = (is_refusal or error.status == 403) and self._circuit.has_answered
        failure = ChatFailure(f"{error.reason}{advice}{times}", error.is_final, is_of_text)
        self._circuit.note(failure, is_refusal=is_refusal)
        return failure

    def __repr__(self) -> str:
        return f"EndpointChatModel({self.model!r} at {self.address})"

    def __getstate__(self) -> dict[str, Any]:
        """Connections stay in their process, and the key is read again in the other."""
        kept = ("name", "model", "budget", "address", "version", "patience", "_own_sleep")
        return {**{key: self.__dict__[key] for key in kept}, "refused": set(self.habits.refused)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.habits = ServerHabits(state.pop("refused"))
        self.__dict__.update(state)
        try:
            place = place_of()
        except UsageError:
            place = Place(self.address)
        self._start(place if without_secrets(place.address) == self.address else Place(self.address))


def load_endpoint_chat(model: str, budget: CallBudget, patience: Patience | None = None) -> EndpointChatModel:
    """The model ``model`` at the address of the environment.

    Raises:
        UsageError: No address and no key are set, or a variable has no usable value.
        MissingDependencyError: The client is not installed.
    """
    require("openai", purpose=PURPOSE)
    try:
        place = place_of()
    except UsageError as error:
        raise UsageError(f"llm:{model}: {error}") from None
    if place.key and place.address.lower().startswith("http:") and not place.is_loopback:
        warnings.warn(
            f"the key for {without_secrets(place.address)} is sent unencrypted: use an https address",
            UserWarning,
            stacklevel=3,
        )
    return EndpointChatModel(model, budget, place=place, patience=patience or Patience.from_environment())


def _number(variable: str, what: str) -> float | None:
    text = os.environ.get(variable, "").strip()
    try:
        value = float(text) if text else None
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ValueError
    except ValueError:
        raise UsageError(f"{variable} must be {what} above 0, got {text[:40]!r}") from None
    return value
