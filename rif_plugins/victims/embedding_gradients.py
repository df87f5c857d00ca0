"""Gradients of torch text classifiers at the output of their token embedding.

Two questions are answered with one forward and one backward pass a batch: how much each span of a text
matters (first-order saliency), and which way each sub-token would have to move (gradient search).

Notation: ``e_j`` is the vector that the embedding layer gives to sub-token ``j``, ``l`` the cross-entropy
of one label, ``G_j = dl/de_j``. Taking the sub-tokens of a span away, ``e_j -> 0``, changes the loss by
about ``-sum_j G_j . e_j``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.optional import require

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
OutputKind = Literal["auto", "probabilities", "logits"]


@dataclass(frozen=True, eq=False)
class TokenIds:
    """One text as the victim's embedding layer sees it, special tokens and padding left out.

    Attributes:
        ids: Rows of the embedding table, ``(m,)``.
        offsets: Where each sub-token stands in the text, ``(m, 2)``, end exclusive.
    """

    ids: IntArray
    offsets: IntArray

    def within(self, start: int, end: int) -> IntArray:
        """Numbers of the sub-tokens that share a character with ``text[start:end]``."""
        is_inside = (self.offsets[:, 0] < end) & (self.offsets[:, 1] > start)
        return np.flatnonzero(is_inside).astype(np.int64)


@dataclass(frozen=True, eq=False)
class TextGradient:
    """The gradient of one label's loss on one text.

    Attributes:
        tokens: The sub-tokens.
        embedding: ``e``, their vectors, ``(m, k)``.
        gradient: ``G = dl/de``, ``(m, k)``.
        loss: ``l``.
    """

    tokens: TokenIds
    embedding: FloatArray
    gradient: FloatArray
    loss: float

    def removal(self, start: int, end: int) -> float:
        """``-sum G_j . e_j`` over the sub-tokens of a span; 0 where none is left (truncated text)."""
        inside = self.tokens.within(start, end)
        return -float((self.gradient[inside] * self.embedding[inside]).sum())


@dataclass(frozen=True, eq=False)
class EncodedTexts:
    """A batch ready for the model.

    Attributes:
        inputs: What the model is called with.
        ids: ``(n, length)``, as they reach the embedding layer.
        offsets: ``(n, length, 2)``.
        is_token: ``(n, length)``: False for padding and special tokens.
    """

    inputs: Any
    ids: IntArray
    offsets: IntArray
    is_token: NDArray[np.bool_]


class EmbeddingGradients(ABC):
    """Base class: owns the hook on the embedding layer, the batching and the loss.

    Args:
        model: A torch module.
        embedding: Its token embedding, called exactly once in each forward pass.
        batch_size: Most texts in one pass.
        output: What the model returns; ``"auto"`` decides at the first batch: probabilities when all values
            lie in [0, 1] and rows of several columns sum to one. Probabilities are never put through a
            second softmax.

    Attributes:
        rows: Texts that went forward and backward so far.
    """

    def __init__(
        self,
        model: Any,
        embedding: Any,
        *,
        batch_size: int = 32,
        output: OutputKind = "auto",
    ) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be 1 or more, got {batch_size}")
        self.model = model
        self.embedding = embedding
        self.batch_size = batch_size
        self.output: OutputKind = output
        self.rows = 0
        self._torch: Any = require("torch", purpose="gradients of a victim")

    # -- what a kind of model defines ----------------------------------------------------------------

    @abstractmethod
    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Tokenise a batch."""

    @abstractmethod
    def outputs(self, inputs: Any) -> Any:
        """Forward pass: a tensor ``(n, classes)``."""

    # -- what callers use ----------------------------------------------------------------------------

    def tokens(self, texts: Sequence[str]) -> list[TokenIds]:
        """The sub-tokens of each text; the model does not run."""
        found: list[TokenIds] = []
        for batch in self._batches(texts):
            encoded = self.encode(batch)
            found += [_tokens(encoded, row) for row in range(len(batch))]
        return found

    def vectors(self, ids: IntArray) -> FloatArray:
        """What the embedding layer gives for sub-tokens, ``(m,)`` to ``(m, k)``."""
        with self._torch.no_grad():
            rows = self.embedding(self._torch.as_tensor(ids, dtype=self._torch.long, device=self._device))
        return np.asarray(rows.double().cpu().numpy(), dtype=np.float64)

    def gradients(self, texts: Sequence[str], labels: Sequence[int]) -> list[TextGradient]:
        """The gradient of ``l(labels[i], f(texts[i]))`` for each text.

        Raises:
            UsageError: A label is no class of the model.
            VictimError: The model did not call its embedding layer once.
            VictimRowError: The gradient of a text is not finite.
        """
        if len(texts) != len(labels):
            raise UsageError(f"got {len(texts)} texts and {len(labels)} labels: expected one label a text")
        found: list[TextGradient] = []
        for batch in self._batches(texts):
            found += self._pass(batch, labels[len(found) : len(found) + len(batch)])
        return found

    def token_saliency(
        self, texts: list[str], label: int, spans: list[list[tuple[int, int]]]
    ) -> list[FloatArray]:
        """First-order estimate of the rise in loss when a span's sub-tokens are taken away.

        ``s = -sum_j G_j . e_j`` over the sub-tokens ``j`` of the span, the first term of the Taylor series
        of ``l(e_span -> 0) - l``. Positive: the span speaks for the label.

        Args:
            texts: The texts.
            label: The label whose loss is meant, the same for all.
            spans: For each text its character spans, end exclusive.

        Returns:
            For each text one value a span; 0 for spans behind the model's longest input.

        Raises:
            UsageError: ``texts`` and ``spans`` differ in length, or the label is no class of the model.
        """
        if len(texts) != len(spans):
            raise UsageError(f"got {len(texts)} texts and spans of {len(spans)}: expected the same number")
        gradients = self.gradients(texts, [label] * len(texts))
        return [
            np.array([gradient.removal(start, end) for start, end in own], dtype=np.float64)
            for gradient, own in zip(gradients, spans, strict=True)
        ]

    # -- inside ---------------------------------------------------------------------------------------

    @property
    def _device(self) -> Any:
        return next(self.model.parameters()).device

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        for start in range(0, len(texts), self.batch_size):
            yield list(texts[start : start + self.batch_size])

    def _pass(self, texts: list[str], labels: Sequence[int]) -> list[TextGradient]:
        encoded = self.encode(texts)
        ids = self._torch.as_tensor(encoded.ids, device=self._device)
        with self._watched(ids) as seen, self._torch.enable_grad():
            losses = self._losses(self.outputs(encoded.inputs), labels)
            if len(seen) != 1:
                raise VictimError(
                    f"the victim called its embedding layer {len(seen)} times in a pass, expected once: "
                    "gradients need a classifier that reads its tokens once (no encoder-decoder)"
                )
            # The loss of a text depends on that text alone, so the sum gives every text's own gradient.
            (gradient,) = self._torch.autograd.grad(losses.sum(), seen[0].vectors)
        self.rows += len(texts)
        vectors, gradient = seen[0].by_text(seen[0].vectors.detach()), seen[0].by_text(gradient)
        values = losses.detach().tolist()
        return [
            self._gradient(texts[row], encoded, row, vectors[row], gradient[row], values[row])
            for row in range(len(texts))
        ]

    @staticmethod
    def _gradient(
        text: str, encoded: EncodedTexts, row: int, vectors: Any, gradient: Any, loss: float
    ) -> TextGradient:
        kept = encoded.is_token[row]
        values = np.asarray(gradient.double().cpu().numpy(), dtype=np.float64)[kept]
        if not np.isfinite(values).all() or not np.isfinite(loss):
            raise VictimRowError(
                f"the victim's gradient has NaN or infinity, expected finite numbers, on {text[:60]!r}: "
                "check the victim on that text"
            )
        embedding = np.asarray(vectors.double().cpu().numpy(), dtype=np.float64)[kept]
        return TextGradient(_tokens(encoded, row), embedding, values, loss)

    @contextmanager
    def _watched(self, ids: Any) -> Iterator[list[_Seen]]:
        """Evaluation mode, and the embedding layer's output as a leaf whose gradient can be asked for."""
        seen: list[_Seen] = []

        def watch(module: Any, arguments: tuple[Any, ...], output: Any) -> Any:
            # Some recurrent models take time first.
            given = arguments[0] if arguments else None
            is_turned = (
                given is not None
                and given.ndim == 2
                and tuple(given.shape) == tuple(ids.shape[::-1])
                and bool((given == ids.t()).all())
                and not (tuple(given.shape) == tuple(ids.shape) and bool((given == ids).all()))
            )
            leaf = output.detach().requires_grad_(True)
            seen.append(_Seen(leaf, is_turned))
            return leaf

        was_training = self.model.training
        hook = self.embedding.register_forward_hook(watch)
        self.model.eval()
        try:
            # cuDNN refuses to go back through recurrent layers in evaluation mode.
            with self._torch.backends.cudnn.flags(enabled=False):
                yield seen
        finally:
            hook.remove()
            self.model.train(was_training)

    def _losses(self, outputs: Any, labels: Sequence[int]) -> Any:
        """Cross-entropy of each text's label, ``(n,)``, from logits or probabilities."""
        outputs = outputs.float() if outputs.dtype.itemsize < 4 else outputs
        if outputs.ndim == 1:
            outputs = outputs[:, None]
        is_single = outputs.shape[1] == 1
        n_labels = 2 if is_single else outputs.shape[1]
        wrong = [label for label in labels if not 0 <= int(label) < n_labels]
        if wrong:
            raise UsageError(f"label {wrong[0]} is no class of the victim: expected 0 to {n_labels - 1}")
        if self._returns_probabilities(outputs):
            columns = self._torch.cat([1 - outputs, outputs], dim=1) if is_single else outputs
            logs = columns.clamp_min(1e-12).log()
        else:
            zeros = self._torch.zeros_like(outputs)
            columns = self._torch.cat([zeros, outputs], dim=1) if is_single else outputs
            logs = columns.log_softmax(dim=1)
        index = self._torch.as_tensor([int(label) for label in labels], device=outputs.device)
        return -logs.gather(1, index[:, None])[:, 0]

    def _returns_probabilities(self, outputs: Any) -> bool:
        looks = _look_like_probabilities(outputs)
        if self.output == "auto":
            self.output = "probabilities" if looks else "logits"
        if self.output == "probabilities" and not looks:
            raise VictimError(
                "the victim returned values that are no probabilities, expected probabilities as declared or "
                "as before: say output='logits' if they are logits"
            )
        return self.output == "probabilities"


@dataclass(frozen=True, eq=False)
class _Seen:
    vectors: Any
    is_turned: bool

    def by_text(self, values: Any) -> Any:
        return values.transpose(0, 1) if self.is_turned else values


def _tokens(encoded: EncodedTexts, row: int) -> TokenIds:
    kept = encoded.is_token[row]
    return TokenIds(encoded.ids[row][kept], encoded.offsets[row][kept])


def _look_like_probabilities(outputs: Any) -> bool:
    values = outputs.detach()
    if float(values.min()) < -1e-6 or float(values.max()) > 1 + 1e-6:
        return False
    return values.shape[1] == 1 or bool(((values.sum(dim=1) - 1).abs() < 1e-3).all())
