"""Models that read packed rows ``[index | value]`` through an embedding.

The embedding protocol, which white-box attacks on categories need:
``embed(index, value) -> e (n, F, k)`` is ``value * E[index]``, ``from_embedding(e, value) -> logits (n, C)``,
and ``embedding_table`` is ``E (V, k)``. ``forward(packed)`` is the two in a row.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .layers import AttentionBlock, dense


class EmbeddingModel(nn.Module):
    """Packing and embedding; a subclass writes ``from_embedding``.

    Args:
        n_fields: F.
        vocabulary_size: V, slots of all fields and the free slot 0.
        width: k.
    """

    def __init__(self, n_fields: int, vocabulary_size: int, width: int) -> None:
        super().__init__()
        self.n_fields = n_fields
        self.embedding = nn.Embedding(vocabulary_size, width)

    @property
    def embedding_table(self) -> Tensor:
        """``E (V, k)``."""
        return self.embedding.weight

    def embed(self, index: Tensor, value: Tensor) -> Tensor:
        """Indices and values, each ``(n, F)``, to field vectors ``(n, F, k)``."""
        return value.unsqueeze(-1) * self.embedding(index)

    def from_embedding(self, e: Tensor, value: Tensor) -> Tensor:
        """Field vectors ``(n, F, k)`` and values ``(n, F)`` to logits ``(n, C)``."""
        raise NotImplementedError

    def forward(self, packed: Tensor) -> Tensor:
        """Packed rows ``(n, 2F)`` to logits ``(n, C)``."""
        index = packed[:, : self.n_fields].detach().round().long()
        value = packed[:, self.n_fields :]
        return self.from_embedding(self.embed(index, value), value)


class WideAndDeep(EmbeddingModel):
    """A linear part on the values and a deep one on the embeddings; their sum is one score.

    Args:
        value_in_deep: Whether the deep part sees the values. The released code of paper 001 leaves them out
            (False), so that numbers act through the linear part only.
    """

    def __init__(
        self, n_fields: int, vocabulary_size: int, n_classes: int = 2, *, value_in_deep: bool = True
    ) -> None:
        super().__init__(n_fields, vocabulary_size, 8)
        self.value_in_deep = value_in_deep
        self.wide = nn.Linear(n_fields, 1)
        self.deep = dense((8 * n_fields, 128, 64, 1), last_relu=False)
        self.out = nn.Linear(1, n_classes)

    def embed(self, index: Tensor, value: Tensor) -> Tensor:
        return super().embed(index, value if self.value_in_deep else torch.ones_like(value))

    def from_embedding(self, e: Tensor, value: Tensor) -> Tensor:
        return self.out(self.wide(value) + self.deep(e.flatten(1)))


class DeepFM(EmbeddingModel):
    """First and second order of a factorisation machine and a deep part; their sum is one score.

    The first-order weight of a slot is the last component of its embedding, so that everything a category
    does goes through ``e``.
    """

    def __init__(self, n_fields: int, vocabulary_size: int, n_classes: int = 2) -> None:
        super().__init__(n_fields, vocabulary_size, 9)
        self.deep = dense((8 * n_fields, 128, 64, 1), last_relu=False)
        self.out = nn.Linear(1, n_classes)

    def from_embedding(self, e: Tensor, value: Tensor) -> Tensor:
        factors, weights = e[..., :-1], e[..., -1]
        first = weights.sum(dim=1, keepdim=True)
        # Sum over pairs of fields of their dot products, as half of (square of the sum - sum of the squares).
        pairs = factors.sum(dim=1).square() - factors.square().sum(dim=1)
        second = 0.5 * pairs.sum(dim=1, keepdim=True)
        return self.out(first + second + self.deep(factors.flatten(1)))


class AutoInt(EmbeddingModel):
    """Two attention blocks over the field vectors, mean, 64 and 32 units."""

    def __init__(
        self, n_fields: int, vocabulary_size: int, n_classes: int = 2, *, heads: int = 4, dropout: float = 0.1
    ) -> None:
        super().__init__(n_fields, vocabulary_size, 32)
        self.blocks = nn.Sequential(*(AttentionBlock(32, heads, 64, dropout) for _ in range(2)))
        self.head = dense((32, 64, 32, n_classes), last_relu=False)

    def from_embedding(self, e: Tensor, value: Tensor) -> Tensor:
        return self.head(self.blocks(e).mean(dim=1))
