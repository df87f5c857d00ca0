"""Weights and dropout from a generator of their own, so that no run depends on the process's random state."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


@torch.no_grad()
def initialise(model: nn.Module, generator: torch.Generator, *, glorot: bool = False) -> None:
    """Draw all weights again: uniform by fan-in for linear layers, normal by width for embeddings.

    With ``glorot`` linear layers start as those of Keras do: uniform by both fans, no bias.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear) and glorot:
            bound = math.sqrt(6 / (module.in_features + module.out_features))
            module.weight.uniform_(-bound, bound, generator=generator)
            module.bias.zero_()
        elif isinstance(module, nn.Linear):
            bound = 1 / math.sqrt(module.in_features)
            module.weight.uniform_(-bound, bound, generator=generator)
            if module.bias is not None:
                module.bias.uniform_(-bound, bound, generator=generator)
        elif isinstance(module, nn.Embedding):
            module.weight.normal_(0, 1 / math.sqrt(module.embedding_dim), generator=generator)


class Dropout(nn.Module):
    """Dropout whose mask comes from a generator that the trainer sets; without one it does nothing."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.generator is None:
            return x
        # Drawn where the generator lives (CPU), so that one seed gives one mask on every device.
        keep = torch.empty(x.shape).bernoulli_(1 - self.p, generator=self.generator)
        return x * keep.to(x.device) / (1 - self.p)


def set_dropout_generator(model: nn.Module, generator: torch.Generator | None) -> None:
    """Give every dropout of a model its generator, or take it away."""
    for module in model.modules():
        if isinstance(module, Dropout):
            module.generator = generator
