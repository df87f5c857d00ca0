"""Which TextAttack victims have gradients, and what a gradient says about replacing a word.

A word is a span of sub-tokens ``j`` with vectors ``e_j`` and gradients ``G_j``; its replacement has
sub-tokens ``i`` with vectors ``e'_i``. To first order the loss changes by ``sum_i G_i . (e'_i - e_i)`` over
the aligned sub-tokens; further sub-tokens of the replacement meet the gradient of the word's last one, and
those that fall away count ``-G_j . e_j``. Words of equally many sub-tokens get the usual estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from textattack.models.wrappers import HuggingFaceModelWrapper, PyTorchModelWrapper

from rif_plugins.core.pair_search import TokenSaliency
from rif_plugins.core.pairs import Span
from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import UsageError
from rif_plugins.victims.embedding_gradients import EmbeddingGradients, TextGradient
from rif_plugins.victims.gradients import HuggingFaceGradients, TorchTextGradients

FloatArray = NDArray[np.float64]


def gradients_of(wrapper: Any, *, output: OutputKind = "auto", batch_size: int = 32) -> EmbeddingGradients:
    """The embedding gradients of a TextAttack model wrapper.

    A wrapper may bring its own as an attribute ``token_gradients``.

    Args:
        wrapper: The victim.
        output: What a torch victim returns.
        batch_size: Most texts in one pass.

    Raises:
        UsageError: The victim has no gradients, or not what is needed to read them.
    """
    own = getattr(wrapper, "token_gradients", None)
    if isinstance(own, EmbeddingGradients):
        return own
    if isinstance(wrapper, HuggingFaceModelWrapper):
        return HuggingFaceGradients(wrapper.model, wrapper.tokenizer, batch_size=batch_size)
    if isinstance(wrapper, PyTorchModelWrapper):
        return TorchTextGradients(wrapper.model, wrapper.tokenizer, batch_size=batch_size, output=output)
    raise UsageError(
        f"the gradient search needs the victim's embedding gradients, but {type(wrapper).__name__} gives "
        "predictions only: wrap a Hugging Face classifier in HuggingFaceModelWrapper or a torch model with "
        "get_input_embeddings() in PyTorchModelWrapper, or take the search rif-decoupled"
    )


def token_saliency_of(wrapper: Any) -> TokenSaliency:
    """Gradient saliency of the tokens of one text, for ``saliency="gradient"``.

    Args:
        wrapper: The victim; see ``gradients_of``.

    Raises:
        UsageError: The victim has no gradients.
    """
    gradients = gradients_of(wrapper)

    def scores(text: str, label: int, spans: Sequence[Span]) -> Sequence[float]:
        (found,) = gradients.token_saliency([text], label, [[(s.start, s.end) for s in spans]])
        return [float(score) for score in found]

    return scores


@dataclass(frozen=True)
class Replacement:
    """One edited text and where its new word stands.

    Attributes:
        old: The replaced word in the text that the gradient belongs to.
        text: The edited text.
        new: The replacement in it.
    """

    old: Span
    text: str
    new: Span


def replacement_scores(
    gradients: EmbeddingGradients, gradient: TextGradient, replacements: Sequence[Replacement]
) -> FloatArray:
    """First-order change of the loss for each replacement, ``(n,)``.

    Infinite where the victim does not see the word, because it stands behind its longest input.

    Args:
        gradients: Whose embedding gives the new vectors.
        gradient: The gradient at the text before the replacement.
        replacements: What is replaced; edited texts are tokenised whole, so that sub-tokens are those that
            the victim would see.
    """
    found = gradients.tokens([replacement.text for replacement in replacements])
    parts = [
        tokens.ids[tokens.within(replacement.new.start, replacement.new.end)]
        for tokens, replacement in zip(found, replacements, strict=True)
    ]
    ends = np.cumsum([len(part) for part in parts])
    vectors = gradients.vectors(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    scores = [
        _score(gradient, replacement.old, vectors[end - len(part) : end])
        for replacement, part, end in zip(replacements, parts, ends, strict=True)
    ]
    return np.array(scores, dtype=np.float64)


def _score(gradient: TextGradient, old: Span, new: FloatArray) -> float:
    inside = gradient.tokens.within(old.start, old.end)
    if not len(inside) or not len(new):
        return float("inf")
    slopes, before = gradient.gradient[inside], gradient.embedding[inside]
    met = slopes[np.minimum(np.arange(len(new)), len(inside) - 1)]
    return float((met * new).sum() - (slopes * before).sum())


def span_gradient(gradient: TextGradient, span: Span) -> FloatArray:
    """The gradient of a word, summed over its sub-tokens, ``(k,)``; 0 where the victim does not see it."""
    return np.asarray(gradient.gradient[gradient.tokens.within(span.start, span.end)].sum(axis=0))
