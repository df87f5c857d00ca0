"""Language models in GGUF files, run on this machine by llama-cpp-python or else by transformers."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

from rif_plugins.errors import MissingDependencyError, UsageError
from rif_plugins.llm.base import CallBudget, ChatModel, ChatRequest
from rif_plugins.llm.local import LocalChatModel, Sample
from rif_plugins.llm.replies import first_tokens_of
from rif_plugins.optional import require

_CONTEXT = 4096
# With alternatives of tokens, a table of context times vocabulary lies in memory.
_SMALL_CONTEXT = 2048
_CHUNK = 1 << 20


class GgufChatModel(LocalChatModel):
    """A GGUF model with its own chat template, run by llama.cpp.

    Args:
        path: The file.
        budget: Counts and limits the calls.
        context: Most tokens of question and answer together.
    """

    def __init__(self, path: Path, budget: CallBudget, *, context: int = _CONTEXT) -> None:
        super().__init__(f"llm:gguf:{path.name}", f"{file_digest(path)}-llama", budget)
        self.path = path
        self.context = context
        self._model: Any = None
        self._has_logits = False

    def sample(self, request: ChatRequest, number: int) -> Sample:
        """See ``LocalChatModel.sample``."""
        options: dict[str, Any] = {}
        if request.json_schema is not None:
            options["response_format"] = {"type": "json_object", "schema": dict(request.json_schema)}
        if request.n_top_tokens:
            options |= {"logprobs": True, "top_logprobs": request.n_top_tokens}
        model = self._loaded(needs_logits=request.n_top_tokens > 0)
        # What was asked before must not decide the answer.
        model.reset()
        data = model.create_chat_completion(
            messages=[{"role": m.role, "content": m.content} for m in request.messages],
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            seed=((request.seed or 0) + number) % 2**31,
            **options,
        )
        choice, usage = data["choices"][0], data.get("usage") or {}
        return Sample(
            str(choice["message"].get("content") or ""),
            first_tokens_of(choice),
            int(usage.get("prompt_tokens") or 0),
            int(usage.get("completion_tokens") or 0),
        )

    def _loaded(self, *, needs_logits: bool) -> Any:
        if self._model is None or (needs_logits and not self._has_logits):
            llama = require("llama_cpp", package="llama-cpp-python", purpose="GGUF models")
            context = min(self.context, _SMALL_CONTEXT) if needs_logits else self.context
            if self._model is not None:
                self._model.close()
            self._model = llama.Llama(
                model_path=str(self.path), n_ctx=context, verbose=False, logits_all=needs_logits
            )
            self._has_logits = needs_logits
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_model": None, "_has_logits": False}


def load_gguf(file: str, budget: CallBudget) -> ChatModel:
    """The model in ``file``.

    Raises:
        UsageError: There is no such file, or it is no GGUF file.
        MissingDependencyError: Neither llama-cpp-python nor gguf is installed.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise UsageError(f"llm:gguf:{file}: no such file: give the path of a GGUF file")
    with path.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise UsageError(f"llm:gguf:{path.name} is no GGUF file: its first four bytes are others")
    if importlib.util.find_spec("llama_cpp") is not None:
        return GgufChatModel(path, budget)
    if importlib.util.find_spec("gguf") is None:
        raise MissingDependencyError(
            "llama-cpp-python (fast, needs a compiler) or gguf (slow, the weights unpacked) is needed for "
            "GGUF models and is not installed: run `pip install llama-cpp-python` or `pip install gguf`"
        )
    from rif_plugins.llm.hugging_face import load_unpacked_gguf

    return load_unpacked_gguf(path, f"{file_digest(path)}-transformers", budget)


def file_digest(path: Path) -> str:
    """The first digits of the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()[:16]
