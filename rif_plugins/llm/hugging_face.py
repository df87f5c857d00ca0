"""Language models of the transformers library, run on this machine from a folder or a hub name."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rif_plugins.core.seeds import example_seed
from rif_plugins.errors import RIFError, UsageError
from rif_plugins.llm.base import CallBudget, ChatRequest
from rif_plugins.llm.local import LocalChatModel, Sample
from rif_plugins.optional import require

_PURPOSE = "language models of transformers"


class HuggingFaceChatModel(LocalChatModel):
    """A causal language model; one without a chat template gets the turns as plain lines.

    Sampling draws from generators of its own, so that nothing depends on what was asked before.

    Args:
        source: The folder or hub name.
        budget: Counts and limits the calls.
        gguf_file: A GGUF file in the folder, unpacked when it is loaded.
        version: Names weights and engine; None takes a digest of the loaded weights.

    Raises:
        UsageError: It cannot be loaded.
        MissingDependencyError: transformers or torch is not installed.
    """

    def __init__(
        self, source: str, budget: CallBudget, *, gguf_file: str | None = None, version: str | None = None
    ) -> None:
        folder = Path(source).expanduser()
        if not folder.is_dir() and (source.startswith((".", "~")) or folder.is_absolute()):
            raise UsageError(f"llm:hf:{source}: no such folder: give a folder or a hub name")
        name = f"gguf:{gguf_file}" if gguf_file else f"hf:{folder.name if folder.is_dir() else source}"
        super().__init__(f"llm:{name}", version or "", budget)
        self._place = str(folder) if folder.is_dir() else source
        self._gguf_file = gguf_file
        self._model: Any = None
        self._tokenizer: Any = None
        self._load()
        self.version = version or _weights_digest(self._model, self._tokenizer)

    def sample(self, request: ChatRequest, number: int) -> Sample:
        """See ``LocalChatModel.sample``."""
        self._load()
        torch = require("torch", purpose=_PURPOSE)
        encoded = self._tokenizer(self._prompt(request), return_tensors="pt", add_special_tokens=False)
        ids = encoded["input_ids"].to(self._model.device)
        longest = int(getattr(self._model.config, "max_position_embeddings", 0) or 0)
        if longest and ids.shape[1] + request.max_tokens > longest:
            raise UsageError(
                f"{ids.shape[1]} tokens and {request.max_tokens} for the answer are more than the {longest} "
                "that the model takes"
            )
        rng = np.random.default_rng(example_seed(request.seed or 0, str(number)))
        with torch.inference_mode():
            written, scores = self._continued(torch, ids, request, rng)
        first = self._top(torch, scores, request.n_top_tokens) if request.n_top_tokens else {}
        text = self._tokenizer.decode(written, skip_special_tokens=True)
        return Sample(str(text), first, int(ids.shape[1]), len(written))

    def _continued(self, torch: Any, ids: Any, request: ChatRequest, rng: Any) -> tuple[list[int], Any]:
        """Token ids of one answer, and the log-probabilities of its first token."""
        ends = self._model.generation_config.eos_token_id
        stops = {*(ends if isinstance(ends, (list, tuple)) else [ends]), self._tokenizer.eos_token_id}
        written: list[int] = []
        first = past = None
        current = ids
        for _ in range(max(1, request.max_tokens)):
            output = self._model(input_ids=current, past_key_values=past, use_cache=True)
            past = output.past_key_values
            logits = output.logits[0, -1].double()
            if first is None:
                first = torch.log_softmax(logits, dim=-1)
            token = _chosen(logits.cpu().numpy(), request, rng)
            if token in stops:
                break
            written.append(token)
            current = torch.tensor([[token]], device=ids.device)
        return written, first

    def _top(self, torch: Any, scores: Any, n: int) -> dict[str, float]:
        values, places = torch.topk(scores, min(n, scores.shape[-1]))
        found: dict[str, float] = {}
        for value, place in zip(values.tolist(), places.tolist(), strict=True):
            token = self._tokenizer.decode([place])
            found[token] = max(value, found.get(token, -np.inf))
        return found

    def _prompt(self, request: ChatRequest) -> str:
        turns = [{"role": m.role, "content": m.content} for m in request.messages]
        if getattr(self._tokenizer, "chat_template", None):
            return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        return "\n".join(f"{turn['role']}: {turn['content']}" for turn in turns) + "\nassistant:"

    def _load(self) -> None:
        if self._model is not None:
            return
        transformers = require("transformers", purpose=_PURPOSE)
        torch = require("torch", purpose=_PURPOSE)
        has_gpu = torch.cuda.is_available()
        options: dict[str, Any] = {"torch_dtype": "auto" if has_gpu else torch.float32}
        packed = {"gguf_file": self._gguf_file} if self._gguf_file else {}
        # Its hints on its own options are not for the user of this package.
        talk = transformers.utils.logging
        level = talk.get_verbosity()
        talk.set_verbosity_error()
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._place, **packed)
            model = (
                transformers.AutoModelForCausalLM.from_pretrained(self._place, **packed, **options)
                if packed
                else _from_safe_weights(transformers.AutoModelForCausalLM, self._place, options)
            )
        except RIFError:
            raise
        except Exception as error:  # the library raises whatever its parts raise
            line = " ".join(str(error).split())[:160]
            raise UsageError(
                f"{self.name}: cannot be loaded ({line}): give a folder or a hub name"
            ) from error
        finally:
            talk.set_verbosity(level)
        self._model = model.eval().to("cuda" if has_gpu else "cpu")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_model": None, "_tokenizer": None}


def load_hugging_face_chat(name: str, budget: CallBudget) -> HuggingFaceChatModel:
    """Load a causal language model; safetensors are preferred, and pickle-based weights are warned of.

    Raises:
        UsageError: It cannot be loaded.
        MissingDependencyError: transformers or torch is not installed.
    """
    return HuggingFaceChatModel(name, budget)


def load_unpacked_gguf(path: Path, version: str, budget: CallBudget) -> HuggingFaceChatModel:
    """A GGUF file, run by transformers."""
    return HuggingFaceChatModel(str(path.parent), budget, gguf_file=path.name, version=version)


def _from_safe_weights(factory: Any, place: str, options: dict[str, Any]) -> Any:
    """The model from safetensors; from pickle files, after a warning, where there are no others."""
    try:
        return factory.from_pretrained(place, use_safetensors=True, **options)
    except OSError as error:
        if "safetensors" not in str(error):
            raise
    warnings.warn(
        f"{Path(place).name} has no safetensors: its weights are pickle files, which can run code; "
        "load only models that you trust",
        UserWarning,
        stacklevel=5,
    )
    return factory.from_pretrained(place, use_safetensors=False, **options)


def _weights_digest(model: Any, tokenizer: Any) -> str:
    """Names weights and chat template: a folder may be written anew under the same name."""
    torch = require("torch", purpose=_PURPOSE)
    digest = hashlib.sha256(str(getattr(tokenizer, "chat_template", "")).encode("utf-8"))
    for name, value in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def _chosen(logits: Any, request: ChatRequest, rng: Any) -> int:
    """The likeliest token at temperature 0, else one drawn from the smallest set that holds ``top_p``."""
    if request.temperature <= 0:
        return int(logits.argmax())
    scaled = (logits - logits.max()) / request.temperature
    p = np.exp(scaled)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    kept = order[: int(np.searchsorted(np.cumsum(p[order]), request.top_p)) + 1]
    weights = p[kept] / p[kept].sum()
    return int(kept[min(int(np.searchsorted(np.cumsum(weights), rng.random(), side="right")), len(kept) - 1)])
