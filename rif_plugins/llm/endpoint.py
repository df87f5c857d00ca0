"""Language models behind an OpenAI-compatible address, through the client ``openai``.

Keys are read from the environment by the client, and stand in no message, record, cache or pickle.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rif_plugins.core.addresses import without_secrets
from rif_plugins.errors import UsageError
from rif_plugins.llm.base import CallBudget, ChatAnswer, ChatFailure, ChatReply, ChatRequest
from rif_plugins.llm.calling import Circuit, Pace
from rif_plugins.optional import require

ADDRESS_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
RATE_VARIABLE = "RIF_LLM_RPM"
_PUBLIC_ADDRESS = "https://api.openai.com/v1"
_NO_KEY = "none"
_PURPOSE = "language models behind an address"
_BROKEN = "the connection failed or broke off"
_LONGEST_WAIT = 60.0
_MOST_TOP = 20
_FINAL = {401: "the key is refused", 403: "the key has no right to it", 404: "no such model or address"}


@dataclass(frozen=True)
class Patience:
    """How patient a client is.

    Attributes:
        seconds: Longest time for one attempt, the reading of the answer included.
        attempts: Attempts in all, after status 408, 409, 429, 5xx, a time-out or a lost connection.
        first_wait: Seconds before the second attempt; each further wait is twice as long, 60 s at most.
        max_bytes: Longest answer.
        concurrency: Requests under way at the same time.
        per_minute: Most calls a minute; None takes ``RIF_LLM_RPM``, or does not wait.
    """

    seconds: float = 120.0
    attempts: int = 4
    first_wait: float = 1.0
    max_bytes: int = 4 << 20
    concurrency: int = 4
    per_minute: float | None = None


class _AttemptError(Exception):
    """One attempt failed; ``wait`` is what the server asked for, None where another attempt is no use."""

    def __init__(self, reason: str, *, status: int = 0, may_help: bool = True, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.may_help = may_help
        self.wait = wait


class EndpointChatModel:
    """Asks one model at one address.

    Servers differ in what they take: a request whose ``response_format``, ``logprobs``, ``n`` or ``seed`` is
    refused is asked again without, and the server is not asked for it any more in this run.

    Args:
        model: The model's name at the server.
        budget: Counts and limits the calls.
        address: The server; without a key in it.
        patience: How patient to be.
        sleep: Waits between attempts.

    Attributes:
        refused: What the server does not take.
    """

    def __init__(
        self,
        model: str,
        budget: CallBudget,
        *,
        address: str = _PUBLIC_ADDRESS,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = f"llm:{model}"
        self.model = model
        self.budget = budget
        place = without_secrets(address)
        # The weights behind a name cannot be seen: the name at the address has to stand for them.
        self.version = hashlib.sha256(f"{place}\x1f{model}".encode()).hexdigest()[:16]
        self.patience = patience or Patience()
        self.refused: set[str] = set()
        self._address = address
        self._is_loopback = _is_loopback(address)
        self._sleep = sleep
        self._circuit = Circuit()
        self._pace = Pace(self.patience.per_minute, sleep=sleep)
        self._lock = threading.Lock()

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order; several are under way at the same time."""
        if not requests:
            return []
        # A client for each batch: it leaves no connection open behind a run that nobody closes.
        with self._connected() as client:
            if len(requests) == 1:
                return [self._answer(client, requests[0])]
            with ThreadPoolExecutor(min(self.patience.concurrency, len(requests))) as pool:
                return list(pool.map(lambda request: self._answer(client, request), requests))

    def _answer(self, client: Any, request: ChatRequest) -> ChatAnswer:
        texts: list[str] = []
        first_tokens: dict[str, float] = {}
        tokens = [0, 0]
        while len(texts) < request.n_samples:
            answer = self._asked(client, request, len(texts))
            self.budget.add(answer)
            if isinstance(answer, ChatFailure):
                # Samples that are there already are worth having.
                return answer if not texts else self._reply(texts, first_tokens, tokens)
            texts += answer.texts[: request.n_samples - len(texts)]
            first_tokens = first_tokens or dict(answer.first_tokens)
            tokens = [tokens[0] + answer.prompt_tokens, tokens[1] + answer.completion_tokens]
        return self._reply(texts, first_tokens, tokens)

    @staticmethod
    def _reply(texts: Sequence[str], first_tokens: dict[str, float], tokens: Sequence[int]) -> ChatReply:
        return ChatReply(tuple(texts), first_tokens, tokens[0], tokens[1])

    def _asked(self, client: Any, request: ChatRequest, n_done: int) -> ChatAnswer:
        """One question with all its attempts."""
        wait = self.patience.first_wait
        attempt = 0
        while True:
            closed = self._circuit.failure
            if closed is not None:
                return closed
            if not self.budget.take():
                return ChatFailure(f"the {self.budget.max_calls} calls of the run are used up", is_final=True)
            self._pace.wait()
            body = self._body(request, n_done)
            try:
                reply = self._attempt(client, body)
            except _AttemptError as error:
                if self._gives_way(error, body):
                    continue
                attempt += 1
                if error.may_help and attempt < self.patience.attempts:
                    self._sleep(min(_LONGEST_WAIT, max(wait, error.wait)))
                    wait *= 2
                    continue
                failure = ChatFailure(self._told(error, attempt), is_final=error.status in _FINAL)
                self._circuit.note(failure)
                return failure
            self._circuit.note(None)
            return reply

    def _told(self, error: _AttemptError, attempt: int) -> str:
        times = f" (attempt {attempt} of {attempt})" if error.may_help else ""
        advice = "" if error.status not in _FINAL else f": {_FINAL[error.status]}"
        return f"{error.reason}{advice}{times}"

    def _gives_way(self, error: _AttemptError, body: dict[str, Any]) -> bool:
        """Whether a refused request is worth asking again with less; strikes out what may be to blame."""
        if error.status not in (400, 415, 422, 501):
            return False
        blame = error.reason.lower()
        asked = [name for name in ("response_format", "logprobs", "n", "seed", "top_p") if name in body]
        named = [name for name in asked if len(name) > 1 and name in blame]
        if "json_schema" in blame or "json_object" in blame or "grammar" in blame:
            named = [name for name in asked if name == "response_format"] or named
        if "logprob" in blame:
            named = [name for name in asked if name == "logprobs"] or named
        if "multiple" in blame or "'n'" in blame or "`n`" in blame:
            named = [name for name in asked if name == "n"] or named
        for name in named or asked[:1]:
            with self._lock:
                is_schema = name == "response_format" and body[name]["type"] == "json_schema"
                self.refused.add("json_schema" if is_schema else name)
        return bool(asked)

    def _body(self, request: ChatRequest, n_done: int) -> dict[str, Any]:
        left = request.n_samples - n_done
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }
        wanted: dict[str, Any] = {}
        if request.top_p < 1.0:
            wanted["top_p"] = request.top_p
        if request.seed is not None:
            # Samples that are drawn one by one must not repeat the first.
            wanted["seed"] = (request.seed + n_done) % 2**31
        if left > 1:
            wanted["n"] = left
        if request.n_top_tokens:
            wanted["logprobs"] = True
        if request.json_schema is not None:
            schema = {"name": "answer", "schema": dict(request.json_schema), "strict": True}
            is_free = "json_schema" in self.refused
            wanted["response_format"] = (
                {"type": "json_object"} if is_free else {"type": "json_schema", "json_schema": schema}
            )
        body.update({name: value for name, value in wanted.items() if name not in self.refused})
        if "logprobs" in body:
            body["top_logprobs"] = min(_MOST_TOP, request.n_top_tokens)
        return body

    def _attempt(self, client: Any, body: dict[str, Any]) -> ChatReply:
        openai = require("openai", purpose=_PURPOSE)
        deadline = time.monotonic() + self.patience.seconds
        try:
            opened = client.chat.completions.with_streaming_response.create(
                **body, timeout=self.patience.seconds
            )
            with opened as response:
                raw = self._read(response, deadline)
        except openai.APIStatusError as error:
            raise self._refusal(error) from None
        except openai.APITimeoutError:
            raise _AttemptError(f"no answer within {self.patience.seconds:g} s") from None
        except openai.APIConnectionError:
            raise _AttemptError(_BROKEN) from None
        except openai.OpenAIError as error:
            raise _AttemptError(f"the client failed ({type(error).__name__})", may_help=False) from None
        except Exception as error:
            # While an answer is read, errors of the library below come through as they are.
            if not type(error).__module__.startswith(("httpx", "httpcore")):
                raise
            is_slow = "Timeout" in type(error).__name__
            reason = f"no answer within {self.patience.seconds:g} s" if is_slow else _BROKEN
            raise _AttemptError(reason) from None
        return _reply_of(raw)

    def _read(self, response: Any, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes(1 << 14):
            parts.append(part)
            size += len(part)
            if size > self.patience.max_bytes:
                raise _AttemptError(f"answers more than {self.patience.max_bytes} bytes", may_help=False)
            if time.monotonic() > deadline:
                raise _AttemptError(f"no whole answer within {self.patience.seconds:g} s")
        return b"".join(parts)

    def _refusal(self, error: Any) -> _AttemptError:
        status = int(error.status_code)
        message = _message_of(error.body)
        key = os.environ.get(KEY_VARIABLE)
        message = _one_line(message.replace(key, "***") if key else message)
        reason = f"status {status}" + (f" {message!r}" if message else "")
        may_help = status in (408, 409, 429) or (status >= 500 and status != 501)
        return _AttemptError(
            reason, status=status, may_help=may_help, wait=_seconds(error.response.headers.get("retry-after"))
        )

    def _connected(self) -> Any:
        openai = require("openai", purpose=_PURPOSE)
        # A proxy cannot reach this machine's own servers.
        own = {"http_client": openai.DefaultHttpxClient(trust_env=False)} if self._is_loopback else {}
        return openai.OpenAI(
            api_key=os.environ.get(KEY_VARIABLE) or _NO_KEY, base_url=self._address, max_retries=0, **own
        )

    def __repr__(self) -> str:
        return f"EndpointChatModel({self.model!r} at {without_secrets(self._address)})"

    def __getstate__(self) -> dict[str, Any]:
        """Connections and locks stay in their process; keys are read again in the other."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_circuit", "_pace")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
        self._circuit = Circuit()
        self._pace = Pace(self.patience.per_minute, sleep=self._sleep)


def load_endpoint_chat(model: str, budget: CallBudget) -> EndpointChatModel:
    """The model ``model`` at the address of the environment.

    Raises:
        UsageError: No address and no key are set, or a variable has no usable value.
        MissingDependencyError: The client is not installed.
    """
    require("openai", purpose=_PURPOSE)
    address = os.environ.get(ADDRESS_VARIABLE, "").strip()
    if not address and not os.environ.get(KEY_VARIABLE):
        raise UsageError(
            f"llm:{model}: neither {ADDRESS_VARIABLE} nor {KEY_VARIABLE} is set: set the address of an "
            "OpenAI-compatible server (and its key, if it wants one), or run a model here with llm:gguf:FILE"
        )
    if address and not address.lower().startswith(("http://", "https://")):
        raise UsageError(f"{ADDRESS_VARIABLE} must be an http(s) address, such as http://localhost:8000/v1")
    rate = os.environ.get(RATE_VARIABLE, "").strip()
    try:
        per_minute = float(rate) if rate else None
        if per_minute is not None and not (per_minute > 0 and math.isfinite(per_minute)):
            raise ValueError
    except ValueError:
        raise UsageError(f"{RATE_VARIABLE} must be calls a minute above 0, got {rate[:40]!r}") from None
    return EndpointChatModel(
        model, budget, address=address or _PUBLIC_ADDRESS, patience=Patience(per_minute=per_minute)
    )


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reply_of(raw: bytes) -> ChatReply:
    try:
        data = json.loads(raw)
        choices = data["choices"]
        texts = tuple(str(choice["message"].get("content") or "") for choice in choices)
        if not texts:
            raise ValueError
        usage = data.get("usage") or {}
        return ChatReply(
            texts,
            _first_tokens(choices[0]),
            int(usage.get("prompt_tokens") or 0),
            int(usage.get("completion_tokens") or 0),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        start = _one_line(raw[:80].decode("utf-8", "replace"))
        raise _AttemptError(f"answered no chat completion but {start!r}") from None


def _first_tokens(choice: Any) -> dict[str, float]:
    """Log-probabilities of the alternatives of the first token; the same token text keeps the larger one."""
    content = (choice.get("logprobs") or {}).get("content") or []
    found: dict[str, float] = {}
    for one in (content[0].get("top_logprobs") or [content[0]]) if content else []:
        value = float(one["logprob"])
        if math.isfinite(value):
            token = str(one["token"])
            found[token] = max(value, found.get(token, -math.inf))
    return found


def _message_of(body: Any) -> str:
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            return str(inner.get("message") or "")
        return str(inner)
    return "" if body is None else str(body)


def _one_line(text: str, limit: int = 160) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in without_secrets(text)).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _seconds(text: str | None) -> float:
    try:
        value = float(text or 0.0)
    except ValueError:
        return 0.0
    return value if 0.0 < value < math.inf else 0.0
