"""Token gradients of Hugging Face and of plain torch text classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.victims.embedding_gradients import EmbeddingGradients, EncodedTexts, OutputKind

FloatArray = NDArray[np.float64]
_UNLIMITED = int(1e30)
_USUAL_LENGTH = 512


class TokenGradients(Protocol):
    """What a search needs for the saliency ``"gradient"``."""

    def token_saliency(
        self, texts: list[str], label: int, spans: list[list[tuple[int, int]]]
    ) -> list[FloatArray]:
        """First-order estimate of ``l(text without the span) - l(text)`` for each span of each text."""
        ...


class HuggingFaceGradients(EmbeddingGradients):
    """Gradients of a Hugging Face sequence classifier.

    Args:
        model: A ``transformers`` model for sequence classification.
        tokenizer: Its *fast* tokenizer: only those say where a sub-token stands in the text.
        batch_size: Most texts in one pass.
        max_length: Longest input in sub-tokens; None is the tokenizer's own limit, 512 where it has none.

    Raises:
        UsageError: The tokenizer is not fast, or the model has no token embedding or is an
            encoder-decoder.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, batch_size: int = 32, max_length: int | None = None
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UsageError(
                f"gradients of a Hugging Face victim need a fast tokenizer, got {type(tokenizer).__name__}: "
                "load it with AutoTokenizer.from_pretrained(NAME, use_fast=True)"
            )
        if bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False)):
            raise UsageError(
                f"gradients need a classifier that reads its tokens once, got {type(model).__name__}, "
                "an encoder-decoder: choose an encoder or a decoder, or another search"
            )
        super().__init__(model, _token_embedding(model), batch_size=batch_size, output="logits")
        self.tokenizer = tokenizer
        limit = int(tokenizer.model_max_length)
        self.max_length = max_length or (_USUAL_LENGTH if limit >= _UNLIMITED else limit)
        if getattr(tokenizer, "pad_token", None) is None:
            self.batch_size = 1

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Tokenise with padding to the longest text and truncation to ``max_length``."""
        encoded = self.tokenizer(
            list(texts),
            padding=self.batch_size > 1,
            truncation=True,
            max_length=self.max_length,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            return_attention_mask=True,
            return_tensors="pt",
        )
        offsets = np.asarray(encoded.pop("offset_mapping"), dtype=np.int64)
        special = np.asarray(encoded.pop("special_tokens_mask"), dtype=bool)
        is_token = np.asarray(encoded["attention_mask"], dtype=bool) & ~special
        return EncodedTexts(encoded, np.asarray(encoded["input_ids"], dtype=np.int64), offsets, is_token)

    def outputs(self, inputs: Any) -> Any:
        """The model's logits."""
        return self.model(**inputs.to(self._device)).logits


class TorchTextGradients(EmbeddingGradients):
    """Gradients of a plain torch text classifier with a token embedding.

    Args:
        model: A module that takes ids ``(n, length)`` and offers ``get_input_embeddings()``.
        tokenizer: Maps a list of texts to equally long lists of ids. It must also say where the tokens
            stand: through ``encode_batch`` as in the package ``tokenizers``, or through a method
            ``offsets(texts)`` that gives (start, end) of every id, (0, 0) for padding and special ones.
        batch_size: Most texts in one pass.
        output: See ``EmbeddingGradients``.

    Raises:
        UsageError: The model or the tokenizer lacks one of these.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        batch_size: int = 32,
        output: OutputKind = "auto",
    ) -> None:
        if not callable(getattr(tokenizer, "offsets", None)) and not hasattr(tokenizer, "encode_batch"):
            raise UsageError(
                f"gradients need to know where tokens stand, but {type(tokenizer).__name__} does not say: "
                "give the tokenizer a method offsets(texts) -> lists of (start, end)"
            )
        super().__init__(model, _token_embedding(model), batch_size=batch_size, output=output)
        self.tokenizer = tokenizer

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Tokenise; the tokenizer pads."""
        ids = np.asarray(self.tokenizer(list(texts)), dtype=np.int64)
        offsets = np.asarray(self._offsets(texts), dtype=np.int64)
        if ids.ndim != 2 or offsets.shape != (*ids.shape, 2):
            raise UsageError(
                f"the tokenizer gave ids of shape {ids.shape} and offsets of shape {offsets.shape}, expected "
                "(texts, length) and (texts, length, 2): pad to one length, with (0, 0) for padding"
            )
        is_token = offsets[:, :, 1] > offsets[:, :, 0]
        return EncodedTexts(self._torch.as_tensor(ids), ids, offsets, is_token)

    def outputs(self, inputs: Any) -> Any:
        """The model's output."""
        return self.model(inputs.to(self._device))

    def _offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        if callable(getattr(self.tokenizer, "offsets", None)):
            return [list(own) for own in self.tokenizer.offsets(list(texts))]
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [list(encoding.offsets) for encoding in encodings]


def _token_embedding(model: Any) -> Any:
    find = getattr(model, "get_input_embeddings", None)
    try:
        embedding = find() if callable(find) else None
    except NotImplementedError:
        embedding = None
    if embedding is None or not hasattr(embedding, "register_forward_hook"):
        raise UsageError(
            f"gradients need the victim's token embedding, but {type(model).__name__} does not give it: "
            "add a method get_input_embeddings() that returns the torch.nn.Embedding"
        )
    return embedding
