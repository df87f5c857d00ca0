"""A small trainer: Adam, shuffled batches, one generator for everything random."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .initialisation import set_dropout_generator

Loss = Literal["ce", "mse"]
Keep = Literal["last", "best_loss"]

# Settings of the papers: paper 001 for its five models, paper 002 for FCNN.
PAPER_001 = {"loss": "ce", "epochs": 25, "batch_size": 64, "keep": "last"}
PAPER_002 = {"loss": "mse", "epochs": 50, "batch_size": 128, "keep": "best_loss"}


@dataclass(frozen=True)
class TrainingLog:
    """Mean training loss of every epoch, the epoch whose weights were kept, and the seconds it took."""

    losses: list[float]
    kept_epoch: int
    seconds: float


def train(
    model: nn.Module,
    inputs: np.ndarray,
    label: np.ndarray,
    *,
    loss: Loss = "ce",
    epochs: int = 25,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    keep: Keep = "last",
    seed: int = 0,
    device: str = "cpu",
) -> TrainingLog:
    """Train in place and leave the model in evaluation mode.

    Args:
        model: Returns logits ``(n, C)``.
        inputs: What the model reads, ``(n, ...)``; see ``model_inputs``.
        label: Class numbers ``(n,)``.
        loss: Cross-entropy of the logits, or the squared error of the softmax against the one-hot label.
        keep: The weights of the last epoch, or of that with the lowest training loss.
    """
    started = time.perf_counter()
    generator = torch.Generator().manual_seed(seed)
    x = torch.as_tensor(np.asarray(inputs, dtype=np.float32), device=device)
    y = torch.as_tensor(np.asarray(label, dtype=np.int64), device=device)
    model.to(device).train()
    set_dropout_generator(model, generator)
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    losses: list[float] = []
    best = {name: value.clone() for name, value in model.state_dict().items()}
    kept_epoch = 0
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=generator).to(device)
        total = torch.zeros((), device=device)
        for rows in order.split(batch_size):
            optimiser.zero_grad()
            value = _loss(model(x[rows]), y[rows], loss)
            value.backward()
            optimiser.step()
            total += value.detach() * len(rows)
        losses.append(float(total) / len(x))
        if keep == "last" or losses[-1] <= min(losses):
            kept_epoch = epoch
            best = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(best)
    set_dropout_generator(model, None)
    model.eval()
    return TrainingLog(losses, kept_epoch, time.perf_counter() - started)


def _loss(logits: Tensor, label: Tensor, loss: Loss) -> Tensor:
    if loss == "ce":
        return F.cross_entropy(logits, label)
    return F.mse_loss(logits.softmax(dim=1), F.one_hot(label, logits.shape[1]).to(logits.dtype))


@torch.no_grad()
def predict(model: nn.Module, inputs: np.ndarray, batch_size: int = 8192) -> np.ndarray:
    """Class probabilities ``(n, C)``."""
    model.eval()
    device = next(model.parameters()).device
    parts = [
        model(torch.as_tensor(np.asarray(inputs[i : i + batch_size], dtype=np.float32), device=device))
        for i in range(0, len(inputs), batch_size)
    ]
    return torch.cat(parts).softmax(dim=1).cpu().numpy()


def accuracy(model: nn.Module, inputs: np.ndarray, label: np.ndarray) -> float:
    """Share of right labels."""
    return float((predict(model, inputs).argmax(axis=1) == np.asarray(label)).mean())
