"""Layers that several models share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch.nn.functional as F
from torch import Tensor, nn

from .initialisation import Dropout


def dense(widths: Sequence[int], *, last_relu: bool = True) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*(layers if last_relu else layers[:-1]))


class AttentionBlock(nn.Module):
    """Multi-head self-attention over fields, then two dense layers, each with a residual and a LayerNorm."""

    def __init__(self, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors ``(n, F, width)`` to vectors of the same shape."""
        n, fields, width = x.shape
        parts = (layer(x).view(n, fields, self.heads, -1).transpose(1, 2) for layer in self._projections())
        mixed = F.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(n, fields, width)
        x = self.norms[0](x + self.dropout(self.out(mixed)))
        return self.norms[1](x + self.dropout(self.feed_forward(x)))

    def _projections(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        return self.query, self.key, self.value
