"""Language models of the transformers library, run on this machine from a folder or a hub name."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rif_plugins.core.seeds import example_seed
from rif_plugins.errors import UsageError
from rif_plugins.llm.base import CallBudget, ChatAnswer, ChatFailure, ChatReply, ChatRequest
from rif_plugins.optional import require

_PURPOSE = "language models of transformers"


class HuggingFaceChatModel:
    """A causal language model; a model without a chat template gets the turns as plain lines.

    Sampling draws from generators of its own, so that nothing depends on what was asked before.

    Args:
        name: The folder or hub name.
        model, tokenizer: The loaded parts.
        version: Digest of the weights' identity.
        budget: Counts and limits the calls.
    """

    def __init__(self, name: str, model: Any, tokenizer: Any, version: str, budget: CallBudget) -> None:
        self.name = f"llm:hf:{name}"
        self.model = model
        self.tokenizer = tokenizer
        self.version = version
        self.budget = budget
        self._lock = threading.Lock()

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: ChatRequest) -> ChatAnswer:
        if not self.budget.take():
            answer: ChatAnswer = ChatFailure(
                f"the {self.budget.max_calls} calls of the run are used up", is_final=True
            )
        else:
            try:
                with self._lock:
                    answer = self._generated(request)
            except (RuntimeError, ValueError, IndexError) as error:
                answer = ChatFailure(f"the model failed: {' '.join(str(error).split())[:160]}")
        self.budget.add(answer)
        return answer

    def _generated(self, request: ChatRequest) -> ChatReply:
        torch = require("torch", purpose=_PURPOSE)
        prompt = self._prompt(request)
        ids = self.tokenizer(prompt, return_tensors="pt", add_special_tokens=False)["input_ids"]
        longest = int(getattr(self.model.config, "max_position_embeddings", 0) or 0)
        if longest and ids.shape[1] + request.max_tokens > longest:
            ids = ids[:, -max(1, longest - request.max_tokens) :]
        ids = ids.to(self.model.device)
        texts, n_written = [], 0
        first: dict[str, float] = {}
        for number in range(request.n_samples):
            rng = np.random.default_rng(example_seed(request.seed or 0, str(number)))
            with torch.no_grad():
                written, scores = self._continued(torch, ids, request, rng)
            n_written += len(written)
            texts.append(self.tokenizer.decode(written, skip_special_tokens=True))
            if request.n_top_tokens and not first:
                first = self._top(torch, scores, request.n_top_tokens)
        return ChatReply(tuple(texts), first, int(ids.shape[1]), n_written)

    def _continued(self, torch: Any, ids: Any, request: ChatRequest, rng: Any) -> tuple[list[int], Any]:
        """Token ids of one answer, and the log-probabilities of its first token."""
        ends = self.model.generation_config.eos_token_id
        stop = set(ends) if isinstance(ends, (list, tuple)) else {ends}
        written: list[int] = []
        first = past = None
        current = ids
        for _ in range(request.max_tokens):
            output = self.model(input_ids=current, past_key_values=past, use_cache=True)
            past = output.past_key_values
            logits = output.logits[0, -1].double()
            if first is None:
                first = torch.log_softmax(logits, dim=-1)
            token = _chosen(logits.cpu().numpy(), request, rng)
            if token in stop:
                break
            written.append(token)
            current = torch.tensor([[token]], device=ids.device)
        return written, first

    def _top(self, torch: Any, scores: Any, n: int) -> dict[str, float]:
        values, places = torch.topk(scores, min(n, scores.shape[-1]))
        found: dict[str, float] = {}
        for value, place in zip(values.tolist(), places.tolist(), strict=True):
            token = self.tokenizer.decode([place])
            found[token] = max(value, found.get(token, -np.inf))
        return found

    def _prompt(self, request: ChatRequest) -> str:
        turns = [{"role": m.role, "content": m.content} for m in request.messages]
        if getattr(self.tokenizer, "chat_template", None):
            return str(self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns) + "\nassistant:"

    def __repr__(self) -> str:
        return f"HuggingFaceChatModel({self.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()


def load_hugging_face_chat(name: str, budget: CallBudget) -> HuggingFaceChatModel:
    """Load a causal language model; safetensors are preferred, and pickle-based weights are warned of.

    Raises:
        UsageError: It cannot be loaded.
        MissingDependencyError: transformers or torch is not installed.
    """
    folder = Path(name).expanduser()
    is_local = folder.is_dir()
    if not is_local and (name.startswith((".", "~")) or folder.is_absolute()):
        raise UsageError(f"llm:hf:{name}: no such folder: give a folder or a hub name")
    transformers = require("transformers", purpose=_PURPOSE)
    require("torch", purpose=_PURPOSE)
    has_safe = not is_local or any(folder.glob("*.safetensors"))
    if is_local and not has_safe:
        warnings.warn(
            f"{folder.name} has no safetensors: its weights are pickle files, which can run code; "
            "load only models that you trust",
            UserWarning,
            stacklevel=2,
        )
    place = str(folder) if is_local else name
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            place, trust_remote_code=False, use_safetensors=has_safe
        ).eval()
    except Exception as error:  # the library raises whatever its parts raise
        line = " ".join(str(error).split())[:160]
        raise UsageError(f"llm:hf:{name}: cannot be loaded ({line}): give a folder or a hub name") from error
    return HuggingFaceChatModel(folder.name if is_local else name, model, tokenizer, _version(model), budget)


def _version(model: Any) -> str:
    """A digest of the weights themselves: a folder may be written anew under the same name."""
    digest = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode("utf-8"))
        digest.update(value.detach().cpu().float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def _chosen(logits: Any, request: ChatRequest, rng: Any) -> int:
    """The likeliest token at temperature 0, else one drawn from the smallest set that holds ``top_p``."""
    if request.temperature <= 0:
        return int(logits.argmax())
    scaled = logits / request.temperature
    p = np.exp(scaled - scaled.max())
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    kept = order[: int(np.searchsorted(np.cumsum(p[order]), request.top_p) + 1)]
    weights = p[kept] / p[kept].sum()
    return int(kept[min(int(np.searchsorted(np.cumsum(weights), rng.random())), len(kept) - 1)])
