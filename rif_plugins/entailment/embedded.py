"""The scorer that ships with the package: a small cross-encoder run by onnxruntime, without torch.

Weights are stored in int8 and computed in float32, so a row's probabilities do not depend on its batch;
figures and limits are in ``data/MODEL_CARD.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.length_batches import length_batches
from rif_plugins.entailment.base import LABELS, NEUTRAL, scalar
from rif_plugins.errors import ScorerError
from rif_plugins.optional import require

DATA_FOLDER = Path(__file__).resolve().parent / "data"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
_PURPOSE = "the embedded entailment scorer"


class EmbeddedScorer:
    """Scores pairs with an ONNX model and its tokenizer; loads on first use, pickles as its settings.

    Args:
        folder: Holds ``model.onnx`` and ``tokenizer.json``; None is the packaged model.
        batch_size: Most rows of one model call; pairs of like length go together.
        max_tokens: Longer pairs are cut, the longer text first.
        threads: Threads of one model call; None leaves the choice to onnxruntime.

    Raises:
        ScorerError: The folder lacks a file.
    """

    name = "embedded"

    def __init__(
        self,
        folder: Path | None = None,
        *,
        batch_size: int = 64,
        max_tokens: int = 256,
        threads: int | None = None,
    ) -> None:
        """Check that the files exist; nothing heavy is imported yet."""
        self._folder = folder if folder is not None else DATA_FOLDER
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._threads = threads
        self._session: Any = None
        self._tokenizer: Any = None
        for name in (MODEL_FILE, TOKENIZER_FILE):
            if not (self._folder / name).is_file():
                raise ScorerError(
                    f"the entailment model is incomplete: expected {name} in {self._folder}, found none; "
                    "install the package again or use --entailment hf:NAME"
                )

    @property
    def version(self) -> str:
        """The version written into the model file, such as ``"minilm-nli-1"``."""
        return self._metadata().get("version", "unknown")

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Probabilities (n, 3) of entailment, neutral, contradiction; empty and long texts are allowed.

        A pair whose difference the model cannot see counts as neutral: texts cut at ``max_tokens``, and
        texts that differ in signs that it does not know, such as two emoji.
        """
        result = np.zeros((len(pairs), len(LABELS)))
        if not pairs:
            return result
        session, tokenizer = self._loaded()
        encodings = tokenizer.encode_batch([(scalar(a), scalar(b)) for a, b in pairs])
        unknown = tokenizer.token_to_id("[UNK]")
        for rows in length_batches([len(encoding.ids) for encoding in encodings], self._batch_size):
            inputs = _padded([encodings[row] for row in rows])
            (logits,) = session.run(["logits"], inputs)
            result[rows] = _softmax(logits.astype(np.float64))
        for row, ((a, b), encoding) in enumerate(zip(pairs, encodings, strict=True)):
            if a != b and (encoding.overflowing or _differ_unseen(encoding, unknown)):
                result[row] = NEUTRAL
        return result

    def _metadata(self) -> dict[str, str]:
        session, _ = self._loaded()
        return dict(session.get_modelmeta().custom_metadata_map)

    def _loaded(self) -> tuple[Any, Any]:
        if self._session is None:
            runtime = require("onnxruntime", purpose=_PURPOSE)
            tokenizers = require("tokenizers", purpose=_PURPOSE)
            options = runtime.SessionOptions()
            # Fold the int8 weights into float32 at load: without it the model runs at 60 % of the speed.
            options.add_session_config_entry("session.disable_quant_qdq", "1")
            options.log_severity_level = 3
            # Idle threads that spin take the cores from the victim, which runs in between.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            if self._threads is not None:
                options.intra_op_num_threads = self._threads
            tokenizer = tokenizers.Tokenizer.from_file(str(self._folder / TOKENIZER_FILE))
            tokenizer.no_padding()
            tokenizer.enable_truncation(self._max_tokens, strategy="longest_first")
            self._session = runtime.InferenceSession(
                str(self._folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = tokenizer
        return self._session, self._tokenizer

    def __getstate__(self) -> dict[str, Any]:
        """Settings only: a session cannot travel to another process."""
        return {**self.__dict__, "_session": None, "_tokenizer": None}


def _differ_unseen(encoding: Any, unknown: int) -> bool:
    """True when both texts have the same tokens, unknown ones among them."""
    sides: list[list[int]] = [[], []]
    for token, side, special in zip(
        encoding.ids, encoding.type_ids, encoding.special_tokens_mask, strict=True
    ):
        # The unknown token is marked as special by some tokenizers, but it stands for a word.
        if not special or token == unknown:
            sides[side].append(token)
    return unknown in sides[0] and sides[0] == sides[1]


def _padded(encodings: Sequence[Any]) -> dict[str, NDArray[np.int64]]:
    width = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), width), dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        size = len(encoding.ids)
        ids[row, :size] = encoding.ids
        types[row, :size] = encoding.type_ids
        mask[row, :size] = 1
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)
