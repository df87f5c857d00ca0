"""How the engine asks a TextAttack model wrapper.

The host's Hugging Face wrapper pads every text to the model's maximum (512 tokens for most), which
costs about thirty times the work on short texts. Its model and tokenizer are run directly here, with
padding to the longest text of the batch: the same logits, because the attention mask hides padding.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from textattack.models.wrappers import HuggingFaceModelWrapper

from rif_plugins.core.predictions import OutputKind
from rif_plugins.core.victim import Predict, VictimEngine

_UNLIMITED = int(1e30)


class DynamicPadding:
    """Predicts with a Hugging Face wrapper's model, padding each batch to its longest text."""

    def __init__(self, wrapper: HuggingFaceModelWrapper) -> None:
        self.wrapper = wrapper

    def __call__(self, texts: list[str]) -> Any:
        """Logits of a batch, ``(n, k)``."""
        tokenizer, model = self.wrapper.tokenizer, self.wrapper.model
        max_length = 512 if tokenizer.model_max_length >= _UNLIMITED else tokenizer.model_max_length
        inputs = tokenizer(
            texts,
            add_special_tokens=True,
            padding=True,
            max_length=max_length,
            truncation=True,
            return_tensors="pt",
        )
        inputs = inputs.to(next(model.parameters()).device)
        with torch.no_grad():
            return model(**inputs).logits.float().cpu().numpy()


class WrapperCall:
    """Predicts by calling any other wrapper."""

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper

    def __call__(self, texts: list[str]) -> Any:
        """Whatever the wrapper returns."""
        return self.wrapper(texts)


def is_dynamic(wrapper: Any) -> bool:
    """True for a Hugging Face sequence classifier whose tokenizer can pad."""
    if type(wrapper) is not HuggingFaceModelWrapper:
        return False
    config = getattr(wrapper.model, "config", None)
    is_generator = bool(getattr(config, "is_encoder_decoder", False))
    return (
        isinstance(wrapper.model, transformers.PreTrainedModel)
        and not is_generator
        and getattr(wrapper.tokenizer, "pad_token", None) is not None
    )


def engine_for(
    wrapper: Any, *, batch_size: int, cache_size: int, output: OutputKind = "auto"
) -> VictimEngine:
    """The victim engine of a model wrapper; ``output`` as in ``VictimEngine``."""
    dynamic = is_dynamic(wrapper)
    predict: Predict = DynamicPadding(wrapper) if dynamic else WrapperCall(wrapper)
    output = "logits" if dynamic else output
    return VictimEngine(predict, output=output, batch_size=batch_size, cache_size=cache_size)
