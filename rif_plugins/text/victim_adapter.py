"""How the engine asks a TextAttack model wrapper.

The host's Hugging Face wrapper pads every text to the model's maximum (512 tokens for most), which
costs about thirty times the work on short texts. Its model and tokenizer are run directly instead, with
padding to the longest text of the batch: the same logits, because the attention mask hides padding.
"""

from __future__ import annotations

from typing import Any

from rif_plugins.core.predictions import OutputKind
from rif_plugins.core.victim import Predict, VictimEngine
from rif_plugins.victims.hugging_face import DynamicPadding, is_host_wrapper


class WrapperCall:
    """Predicts by calling any other wrapper."""

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper

    def __call__(self, texts: list[str]) -> Any:
        """Whatever the wrapper returns."""
        return self.wrapper(texts)


def engine_for(
    wrapper: Any, *, batch_size: int, cache_size: int, output: OutputKind = "auto"
) -> VictimEngine:
    """The victim engine of a model wrapper; ``output`` as in ``VictimEngine``."""
    if is_host_wrapper(wrapper):
        predict: Predict = DynamicPadding(wrapper.model, wrapper.tokenizer)
        output = "logits"
    else:
        predict = WrapperCall(wrapper)
    return VictimEngine(predict, output=output, batch_size=batch_size, cache_size=cache_size)
