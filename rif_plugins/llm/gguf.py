"""Language models in GGUF files, run on this machine by llama-cpp-python."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rif_plugins.errors import UsageError
from rif_plugins.llm.base import CallBudget, ChatAnswer, ChatFailure, ChatReply, ChatRequest
from rif_plugins.llm.calling import Circuit
from rif_plugins.optional import require

_CONTEXT = 2048
_CHUNK = 1 << 20


class GgufChatModel:
    """A GGUF model with its own chat template; answers one request at a time.

    Args:
        path: The file.
        budget: Counts and limits the calls.
        context: Most tokens of question and answer together.
    """

    def __init__(self, path: Path, budget: CallBudget, *, context: int = _CONTEXT) -> None:
        self.name = f"llm:gguf:{path.name}"
        self.path = path
        self.budget = budget
        self.version = _digest(path)
        self.context = context
        self._model: Any = None
        self._has_logits = False
        self._circuit = Circuit()
        self._lock = threading.Lock()

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: ChatRequest) -> ChatAnswer:
        texts: list[str] = []
        first_tokens: dict[str, float] = {}
        prompt_tokens = completion_tokens = 0
        for number in range(request.n_samples):
            closed = self._circuit.failure
            if closed is None and not self.budget.take():
                closed = ChatFailure(
                    f"the {self.budget.max_calls} calls of the run are used up", is_final=True
                )
            if closed is not None:
                self.budget.add(closed)
                return closed
            try:
                with self._lock:
                    data = self._asked(request, number)
            except (ValueError, RuntimeError) as error:
                failure = ChatFailure(f"the model failed: {' '.join(str(error).split())[:160]}")
                self._circuit.note(failure)
                self.budget.add(failure)
                return failure
            self._circuit.note(None)
            choice, usage = data["choices"][0], data.get("usage") or {}
            texts.append(str(choice["message"].get("content") or ""))
            first_tokens = first_tokens or _first_tokens(choice)
            prompt_tokens += int(usage.get("prompt_tokens") or 0)
            completion_tokens += int(usage.get("completion_tokens") or 0)
        reply = ChatReply(tuple(texts), first_tokens, prompt_tokens, completion_tokens)
        self.budget.add(reply)
        return reply

    def _asked(self, request: ChatRequest, number: int) -> Any:
        model = self._loaded(needs_logits=request.n_top_tokens > 0)
        options: dict[str, Any] = {}
        if request.json_schema is not None:
            options["response_format"] = {"type": "json_object", "schema": dict(request.json_schema)}
        if request.n_top_tokens:
            options |= {"logprobs": True, "top_logprobs": request.n_top_tokens}
        # What was asked before must not decide the answer.
        model.reset()
        return model.create_chat_completion(
            messages=[{"role": m.role, "content": m.content} for m in request.messages],
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=((request.seed or 0) + number) % 2**31,
            **options,
        )

    def _loaded(self, *, needs_logits: bool) -> Any:
        if self._model is None or (needs_logits and not self._has_logits):
            llama = require("llama_cpp", package="llama-cpp-python", purpose="GGUF models")
            self._has_logits = needs_logits
            try:
                self._model = llama.Llama(
                    model_path=str(self.path), n_ctx=self.context, verbose=False, logits_all=needs_logits
                )
            except (ValueError, RuntimeError, OSError) as error:
                raise RuntimeError(f"{self.path.name} cannot be loaded ({error})") from error
        return self._model

    def __repr__(self) -> str:
        return f"GgufChatModel({self.path.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        """The weights are loaded again in another process."""
        kept = {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_circuit")}
        return {**kept, "_model": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._circuit = Circuit()
        self._lock = threading.Lock()


def load_gguf(file: str, budget: CallBudget) -> GgufChatModel:
    """The model in ``file``.

    Raises:
        UsageError: There is no such file, or it is no GGUF file.
        MissingDependencyError: llama-cpp-python is not installed.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise UsageError(f"llm:gguf:{file}: no such file: give the path of a GGUF file")
    with path.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise UsageError(f"llm:gguf:{path.name} is no GGUF file: its first four bytes are others")
    require("llama_cpp", package="llama-cpp-python", purpose="GGUF models")
    return GgufChatModel(path, budget)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:16]


def _first_tokens(choice: Any) -> dict[str, float]:
    content = (choice.get("logprobs") or {}).get("content") or []
    if not content:
        return {}
    found: dict[str, float] = {}
    for one in content[0].get("top_logprobs") or []:
        found[str(one["token"])] = max(float(one["logprob"]), found.get(str(one["token"]), -math.inf))
    return found
