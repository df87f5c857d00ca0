"""Models that read the rows themselves, ``(n, d)``."""

from __future__ import annotations

from torch import Tensor, nn

from .layers import AttentionBlock, dense


class FCNN(nn.Module):
    """The network of RobustFair: 32, 64, 128, 64, 32 units, a bottleneck of C units with ReLU, then C logits.

    Where all units of the bottleneck are off, every input gradient is exactly zero.
    """

    def __init__(self, n_features: int, n_classes: int = 2) -> None:
        super().__init__()
        self.hidden = dense((n_features, 32, 64, 128, 64, 32, n_classes))
        self.out = nn.Linear(n_classes, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.hidden(x))


class MLP(nn.Module):
    """128, 64, 32 units."""

    def __init__(self, n_features: int, n_classes: int = 2) -> None:
        super().__init__()
        self.layers = dense((n_features, 128, 64, 32, n_classes), last_relu=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class TabTransformer(nn.Module):
    """One linear layer from the row to d vectors, LayerNorm, two attention blocks, mean, 64 units."""

    def __init__(
        self, n_features: int, n_classes: int = 2, *, width: int = 32, heads: int = 4, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.width = width
        self.embedding = nn.Linear(n_features, n_features * width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(AttentionBlock(width, heads, 128, dropout) for _ in range(2)))
        self.head = dense((width, 64, n_classes), last_relu=False)

    def forward(self, x: Tensor) -> Tensor:
        fields = self.norm(self.embedding(x).view(len(x), -1, self.width))
        return self.head(self.blocks(fields).mean(dim=1))
