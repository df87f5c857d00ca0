"""The ablation: an edit passes when a sentence encoder finds both texts near, whatever they entail.

Nearness is not entailment: *good* and *bad*, *China* and *Guangzhou* are near. The filter exists so that this
can be measured beside the entailment filter; it is no filter to trust.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.entailment.base import scalar
from rif_plugins.entailment.model_files import (
    is_local,
    load_pretrained,
    model_version,
    token_ids,
    token_limit,
)
from rif_plugins.errors import ScorerError
from rif_plugins.optional import require

_PURPOSE = "cosine filters"
_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
}
_PLAIN_MODULES = ("Transformer", "Pooling", "Normalize")
# A filter asks about the same texts in both directions, and about one original many times.
_MEMORY_SIZE = 8_192


class CosineScorer:
    """Scores pairs by the cosine of their embeddings, in the form of an entailment scorer.

    The cosine, cut at 0, stands in the place of ``S_eq``: both "directions" are its square root, so that
    their product is the cosine. What is written as *entailment* is therefore no probability; the name of the
    scorer, ``cosine:NAME``, says so in every record.

    A folder or hub name in the layout of sentence-transformers is pooled as its files say (mean, first token
    or maximum); any other encoder by the mean of its tokens. Embeddings are normalised.

    Args:
        model: Folder or hub name, as after ``cosine:``.
        batch_size: Texts of one model call; texts are sorted by length and padded to the longest of the call.
        max_tokens: Longer texts are cut.
        device: Torch device; None takes CUDA where there is one.
    """

    def __init__(
        self, model: str, *, batch_size: int = 64, max_tokens: int = 256, device: str | None = None
    ) -> None:
        """Remember the settings; nothing is loaded yet."""
        if not model:
            raise ScorerError(
                "cosine: needs a sentence encoder: expected cosine:NAME or cosine:FOLDER, got nothing after "
                "the colon"
            )
        self.name = f"cosine:{model}"
        self._source = model
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._device = device
        self._model: Any = None
        self._tokenizer: Any = None
        self._pooling: tuple[str, ...] = ()
        self._version = ""
        self._known: dict[str, tuple[NDArray[np.float64], list[int]]] = {}

    @property
    def version(self) -> str:
        """Hub commit, or the first 12 digits of the SHA-256 of a local model's weights."""
        self._load()
        return self._version

    def cosine(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Cosine of each pair, shape (n,), cut at 0.

        A pair whose difference the model cannot see has 0: texts cut at the limit, and texts that differ in
        signs that it does not know. Identical texts have 1.
        """
        pairs = [(scalar(a), scalar(b)) for a, b in pairs]
        if not pairs:
            return np.zeros(0)
        self._load()
        known = self._embeddings({text for pair in pairs for text in pair})
        result = np.zeros(len(pairs))
        for row, (a, b) in enumerate(pairs):
            (first, tokens), (second, other_tokens) = known[a], known[b]
            if a == b:
                result[row] = 1.0
            elif not self._differ_unseen(tokens, other_tokens):
                result[row] = min(1.0, max(0.0, float(first @ second)))
        return result

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Shape (n, 3): the square root of the cosine as *entailment*, the rest as *neutral*."""
        root = np.sqrt(self.cosine(pairs))
        return np.stack((root, 1.0 - root, np.zeros(len(root))), axis=1)

    def forget(self) -> None:
        """Forget the embeddings in memory."""
        self._known = {}

    def _embeddings(self, texts: set[str]) -> dict[str, tuple[NDArray[np.float64], list[int]]]:
        """Unit vector and tokens of each text; the model sees only what is not remembered."""
        new = sorted(texts - self._known.keys(), key=lambda text: (len(text), text))
        if len(self._known) + len(new) > _MEMORY_SIZE:
            self._known = {}
            new = sorted(texts, key=lambda text: (len(text), text))
        if new:
            self._known.update(zip(new, zip(*self._embedded(new), strict=True), strict=True))
        return self._known

    def _embedded(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], list[list[int]]]:
        """Unit vectors (n, d) of texts sorted by length, and the tokens of each text, uncut."""
        torch = require("torch", purpose=_PURPOSE)
        tokens = token_ids(self._tokenizer, texts)
        found = []
        with torch.inference_mode():
            for start in range(0, len(texts), self._batch_size):
                inputs = self._tokenizer(
                    list(texts[start : start + self._batch_size]),
                    padding=True,
                    truncation=True,
                    max_length=self._limit(),
                    return_tensors="pt",
                ).to(self._model.device)
                states = self._model(**inputs).last_hidden_state.double()
                pooled = _pooled(states, inputs["attention_mask"], self._pooling)
                found.append(torch.nn.functional.normalize(pooled, dim=1).cpu().numpy())
        vectors = np.concatenate(found)
        if not np.isfinite(vectors).all():
            raise ScorerError(
                f"the encoder {self._source!r} gives numbers that are not finite: expected a sentence "
                "encoder; use another model"
            )
        return vectors, tokens

    def _differ_unseen(self, first: list[int], second: list[int]) -> bool:
        extra = self._tokenizer.num_special_tokens_to_add(pair=False)
        if max(len(first), len(second)) + extra > self._limit():
            return True
        return self._tokenizer.unk_token_id in first and first == second

    def _limit(self) -> int:
        return token_limit(self._model.config, self._tokenizer, self._max_tokens)

    def _load(self) -> None:
        if self._model is not None:
            return
        torch = require("torch", purpose=_PURPOSE)
        source = self._source if not is_local(self._source) else str(Path(self._source).expanduser())
        pooling, max_tokens = sentence_settings(source)
        config, tokenizer, model = load_pretrained(
            self._source, "AutoModel", kind="a sentence encoder", purpose=_PURPOSE
        )
        if max_tokens is not None:
            self._max_tokens = min(self._max_tokens, max_tokens)
        self._pooling, self._tokenizer = pooling, tokenizer
        self._version = model_version(config, Path(source))
        self._model = model.eval().to(self._device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: the model is loaded again in the other process."""
        return {**self.__dict__, "_model": None, "_tokenizer": None, "_known": {}}


def sentence_settings(source: str) -> tuple[tuple[str, ...], int | None]:
    """How the files of a folder or hub name say that token states become one vector.

    Returns:
        The poolings to join, of ``"mean"``, ``"cls"``, ``"max"``, and the most tokens of a text, None where
        nothing says so. A model without such files is pooled by the mean.

    Raises:
        ScorerError: The files ask for something else, such as a further layer.
    """
    modules = _read_json(source, "modules.json")
    if modules is None:
        return ("mean",), None
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    strange = [kind for kind in kinds if kind not in _PLAIN_MODULES]
    if strange:
        raise ScorerError(
            f"the encoder {source!r} has the layer {strange[0]}: expected {', '.join(_PLAIN_MODULES)}; "
            "use another sentence encoder"
        )
    folders = dict(zip(kinds, (str(module.get("path", "")) for module in modules), strict=True))
    pooling = _read_json(source, f"{folders.get('Pooling', '1_Pooling')}/config.json") or {}
    asked = [name for name, value in pooling.items() if name.startswith("pooling_mode") and value is True]
    unknown = [name for name in asked if name not in _POOLING]
    if unknown:
        raise ScorerError(
            f"the encoder {source!r} asks for {unknown[0]}: expected {', '.join(_POOLING)}; "
            "use another encoder"
        )
    settings = _read_json(source, "sentence_bert_config.json") or {}
    most = settings.get("max_seq_length")
    # The library joins them in this order.
    found = tuple(_POOLING[name] for name in _POOLING if name in asked)
    return found or ("mean",), most if isinstance(most, int) and most > 0 else None


def _read_json(source: str, name: str) -> Any:
    """A JSON file of a folder or hub name; None where there is none."""
    if is_local(source):
        path: Path | None = Path(source) / name
    else:
        require("transformers", purpose=_PURPOSE)
        from transformers.utils import cached_file

        try:
            found = cached_file(
                source,
                name,
                _raise_exceptions_for_missing_entries=False,
                _raise_exceptions_for_connection_errors=False,
                _raise_exceptions_for_gated_repo=False,
            )
        except (OSError, ValueError):
            return None  # loading the model tells what is wrong
        path = Path(found) if found is not None else None
    if path is None or not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ScorerError(
            f"the encoder {source!r} has a broken {name}: expected JSON; download it again"
        ) from error


def _pooled(states: Any, mask: Any, poolings: Sequence[str]) -> Any:
    """Token states (n, t, d) and their mask (n, t) to vectors (n, d), or (n, kd) for k poolings."""
    torch = require("torch", purpose=_PURPOSE)
    seen = mask.unsqueeze(-1).to(states.dtype)
    parts = {
        "cls": lambda: states[:, 0],
        "mean": lambda: (states * seen).sum(1) / seen.sum(1).clamp(min=1e-9),
        "max": lambda: states.masked_fill(seen == 0, -torch.inf).amax(1),
    }
    return torch.cat([parts[name]() for name in poolings], dim=1)
