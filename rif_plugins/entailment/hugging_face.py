"""A scorer over any Hugging Face sequence classifier that was trained for natural language inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.length_batches import length_batches
from rif_plugins.entailment.base import LABELS, NEUTRAL, scalar
from rif_plugins.entailment.model_files import load_pretrained, model_version, token_ids, token_limit
from rif_plugins.errors import ScorerError
from rif_plugins.optional import require

_PURPOSE = "Hugging Face entailment models"
_TWO_CLASS = {"entailment": 0, "not_entailment": 1}


def label_columns(id2label: Mapping[int, str], name: str) -> tuple[int | None, ...]:
    """For entailment, neutral, contradiction the column of the model's output.

    A model with the two labels *entailment* and *not_entailment* gets ``None`` for contradiction: all that is
    not entailed counts as neutral.

    Raises:
        ScorerError: The labels say nothing (``LABEL_0``) or are not those of an inference model.
    """
    found = {_tidy(label): int(column) for column, label in id2label.items()}
    if set(found) == set(LABELS) and len(id2label) == len(LABELS):
        return tuple(found[label] for label in LABELS)
    if set(found) == set(_TWO_CLASS) and len(id2label) == len(_TWO_CLASS):
        return found["entailment"], found["not_entailment"], None
    got = ", ".join(str(id2label[i]) for i in sorted(id2label))
    advice = (
        "write the names into id2label of the model's config.json"
        if all(label.startswith("label_") for label in found)
        else "use a model trained for natural language inference"
    )
    raise ScorerError(
        f"model {name!r} has the labels {got}: expected entailment, neutral, contradiction "
        f"(any order and case) or entailment, not_entailment; {advice}"
    )


def _tidy(label: object) -> str:
    return str(label).strip().lower().replace("-", "_").replace(" ", "_")


class HuggingFaceScorer:
    """Scores pairs with a model from a folder or the hub; loads on first use, pickles as its settings.

    Args:
        model: Folder or hub name, as after ``hf:``.
        batch_size: Rows of one model call; pairs are sorted by length and padded to the longest of the call.
        max_tokens: Longer pairs are cut, the longer text first.
        device: Torch device; None takes CUDA where there is one.
    """

    def __init__(
        self, model: str, *, batch_size: int = 64, max_tokens: int = 256, device: str | None = None
    ) -> None:
        """Remember the settings; nothing is loaded yet."""
        if not model:
            raise ScorerError("hf: needs a model: expected hf:NAME or hf:FOLDER, got nothing after the colon")
        self.name = f"hf:{model}"
        self._source = model
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._device = device
        self._model: Any = None
        self._tokenizer: Any = None
        self._columns: tuple[int | None, ...] = ()
        self._version = ""

    @property
    def version(self) -> str:
        """Hub commit, or the first 12 digits of the SHA-256 of a local model's weights."""
        self._load()
        return self._version

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Probabilities (n, 3) of entailment, neutral, contradiction.

        As with the embedded scorer, a pair whose difference the model cannot see counts as neutral.
        """
        result = np.zeros((len(pairs), len(LABELS)))
        if not pairs:
            return result
        self._load()
        torch = require("torch", purpose=_PURPOSE)
        pairs = [(scalar(a), scalar(b)) for a, b in pairs]
        with torch.inference_mode():
            for rows in length_batches([len(a) + len(b) for a, b in pairs], self._batch_size):
                inputs = self._tokenizer(
                    [pairs[row][0] for row in rows],
                    [pairs[row][1] for row in rows],
                    padding=True,
                    truncation="longest_first",
                    max_length=self._limit(),
                    return_tensors="pt",
                ).to(self._model.device)
                logits = self._model(**inputs).logits.double()
                answer = torch.softmax(logits, dim=-1).cpu().numpy()
                for column, source in enumerate(self._columns):
                    if source is not None:
                        result[rows, column] = answer[:, source]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        tokens = dict(zip(texts, token_ids(self._tokenizer, texts), strict=True))
        for row, (a, b) in enumerate(pairs):
            if a != b and self._differ_unseen(tokens[a], tokens[b]):
                result[row] = NEUTRAL
        return result

    def _differ_unseen(self, first: list[int], second: list[int]) -> bool:
        """True when the pair is cut, or both texts have the same tokens, unknown ones among them."""
        extra = self._tokenizer.num_special_tokens_to_add(pair=True)
        if len(first) + len(second) + extra > self._limit():
            return True
        return self._tokenizer.unk_token_id in first and first == second

    def _limit(self) -> int:
        return token_limit(self._model.config, self._tokenizer, self._max_tokens)

    def _load(self) -> None:
        if self._model is not None:
            return
        torch = require("torch", purpose=_PURPOSE)
        columns: list[int | None] = []
        config, tokenizer, model = load_pretrained(
            self._source,
            "AutoModelForSequenceClassification",
            kind="a sequence classifier",
            purpose=_PURPOSE,
            check=lambda config: columns.extend(label_columns(config.id2label, self._source)),
        )
        self._columns, self._tokenizer = tuple(columns), tokenizer
        self._version = model_version(config, Path(self._source).expanduser())
        self._model = model.eval().to(self._device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: the model is loaded again in the other process."""
        return {**self.__dict__, "_model": None, "_tokenizer": None}
