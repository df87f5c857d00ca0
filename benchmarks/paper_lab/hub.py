"""The publications' backbones and data sets, by their names on a hub or from folders in their place.

Every backbone is fine-tuned as the publication says (128 tokens, 3 epochs, 32 rows a step, rate 2e-5) and
kept in the cache folder. Where no hub can be reached, the study says so and nothing else is run in its place.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from search_lab.cases import DataSet, cases
from search_lab.victims import FloatArray, Victim, softmax

from paper_lab import study as common
from paper_lab.study import Study
from paper_lab.texts import HUB_PAIRS, NotRunError, Subject, cut

MODELS = {
    "bert": "google-bert/bert-base-uncased",
    "roberta": "FacebookAI/roberta-base",
    "distilbert": "distilbert/distilbert-base-uncased",
    "deberta": "microsoft/deberta-v3-base",
}
MAX_TOKENS, EPOCHS, BATCH_SIZE, RATE = 128, 3, 32, 2e-5
TRAIN_ROWS = 20_000
"""Most training rows without --full."""
_TEST_SPLITS = ("test", "validation", "dev")


@dataclass(frozen=True)
class HubData:
    """A data set of a hub: its name, and the columns of text and class."""

    name: str
    text: str
    label: str


DATA = {
    "bias_in_bios": HubData("LabHC/bias_in_bios", "hard_text", "profession"),
    "sst2": HubData("stanfordnlp/sst2", "sentence", "label"),
    "jigsaw": HubData(
        "thesofakillers/jigsaw-toxic-comment-classification-challenge", "comment_text", "toxic"
    ),
}
Rows = tuple[list[str], list[int]]


def subjects(args: argparse.Namespace, study: Study) -> list[Subject]:
    """Every backbone, fine-tuned, on every data set.

    Raises:
        NotRunError: No hub can be reached, and not everything is named as a folder.
    """
    data, models = named_data(args), named_models(args)
    places = [one.name for one in data.values()] + list(models.values())
    if not all(Path(place).is_dir() for place in places) and not is_reachable():
        raise NotRunError("no hub (with --hub, models and data sets are loaded by name; none is reachable)")
    found = []
    for key, one in data.items():
        train, test, names = read(key, one, args)
        n_pairs = HUB_PAIRS[args.full]
        rows = zip(test[0][: 20 * n_pairs], test[1], strict=False)
        description = f"{Path(one.name).name}, test rows with a gender token"
        pairs = cut(DataSet(key, description, names, cases(key, rows)), n_pairs)
        study.limits.append(f"{key}: {len(pairs.cases)} pairs; {len(train[0])} training rows.")
        study.sizes.append(f"{len(pairs.cases)} {key} pairs")
        for model, place in models.items():
            for seed in common.seeds(args):
                victim = fine_tuned(key, model, place, train, test, names, args, seed)
                study.limits.append(f"{key}, {model}, seed {seed}: {victim.description}.")
                found.append(Subject(pairs, victim, seed))
    return found


def named_models(args: argparse.Namespace) -> dict[str, str]:
    """The backbones: the four, or those of ``--hub-model``."""
    return dict(args.hub_model) or dict(MODELS)


def named_data(args: argparse.Namespace) -> dict[str, HubData]:
    """The data sets: the three, or those of ``--hub-data``."""
    if unknown := [key for key, _ in args.hub_data if key not in DATA]:
        raise SystemExit(f"--hub-data {unknown[0]}: expected one of {', '.join(DATA)}")
    given = {key: HubData(name, DATA[key].text, DATA[key].label) for key, name in args.hub_data}
    return given or dict(DATA)


def is_reachable() -> bool:
    """Whether the hub answers; never asked where the environment says offline."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    import requests

    try:
        requests.head(constants.ENDPOINT, timeout=10)
    except requests.RequestException:
        return False
    return True


def read(key: str, data: HubData, args: argparse.Namespace) -> tuple[Rows, Rows, tuple[str, ...]]:
    """Training rows, test rows and names of the classes.

    Rows without a class (below 0) are dropped. The test rows are those of the first split that has some;
    without one, half of the training rows, by a hash of their text.

    Raises:
        NotRunError: The data set cannot be loaded, or lacks its columns.
    """
    from datasets import load_dataset

    try:
        loaded = load_dataset(data.name, cache_dir=str(args.cache_dir / "hub_data"))
        splits = {name: _rows(split, data) for name, split in loaded.items()}
    except Exception as error:  # what a hub answers is of many kinds
        line = " ".join(str(error).split())[:150]
        raise NotRunError(f"{key}: cannot load {Path(data.name).name} ({line})") from error
    train = splits.get("train", ([], []))
    test = next((splits[name] for name in _TEST_SPLITS if splits.get(name, ([], []))[0]), None)
    if test is None:
        train, test = _halves(train)
    if not train[0] or not test[0]:
        raise NotRunError(f"{key}: {Path(data.name).name} has no labelled training and test rows")
    if not args.full:
        train = train[0][:TRAIN_ROWS], train[1][:TRAIN_ROWS]
    return train, test, _names(loaded, data, [*train[1], *test[1]])


def _rows(split: Any, data: HubData) -> Rows:
    pairs = [
        (" ".join(str(text).split()), int(label))
        for text, label in zip(split[data.text], split[data.label], strict=True)
        if text is not None and label is not None and int(label) >= 0
    ]
    return [text for text, _ in pairs], [label for _, label in pairs]


def _halves(rows: Rows) -> tuple[Rows, Rows]:
    halves: tuple[Rows, Rows] = ([], []), ([], [])
    for text, label in zip(*rows, strict=True):
        texts, labels = halves[hashlib.sha256(text.encode("utf-8")).digest()[0] % 2]
        texts.append(text)
        labels.append(label)
    return halves


def _names(loaded: Any, data: HubData, labels: Sequence[int]) -> tuple[str, ...]:
    feature = next(iter(loaded.values())).features[data.label]
    names = getattr(feature, "names", None)
    return tuple(names) if names else tuple(f"class {i}" for i in range(max(labels) + 1))


def fine_tuned(
    data: str,
    model: str,
    place: str,
    train: Rows,
    test: Rows,
    names: tuple[str, ...],
    args: argparse.Namespace,
    seed: int,
) -> Victim:
    """A backbone fine-tuned on a data set, from the cache folder where it lies there."""
    from rif_plugins.text.retraining import FineTuning, fine_tune
    from rif_plugins.victims.hugging_face import load_hugging_face

    kept = folder_of(data, model, args, seed)
    folder = kept.parent
    if not (folder / "training.json").is_file():
        print(f"fine-tuning {model} on {data}, seed {seed}: {len(train[0])} rows", flush=True)
        settings = FineTuning(EPOCHS, RATE, BATCH_SIZE, MAX_TOKENS)
        start = with_classes(place, names, folder / "start", seed)
        fine_tune(
            str(start), *train, ([], [], 1.0), folder, n_labels=len(names), settings=settings, seed=seed
        )
        predict = _probabilities(load_hugging_face(str(kept)).predict)
        record = {"model": f"{Path(place).name}, fine-tuned", "accuracy": accuracy(predict, test)}
        (folder / "training.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    record = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    predict = _probabilities(load_hugging_face(str(kept)).predict)
    return Victim(model, f"{record['model']}; accuracy {record['accuracy']:.3f}", predict, lambda: predict)


def folder_of(data: str, model: str, args: argparse.Namespace, seed: int) -> Path:
    """Where a fine-tuned backbone lies."""
    folder: Path = args.cache_dir / f"hub_{data}_{model}_{seed}"
    return folder / "last_model"


def with_classes(place: str, names: Sequence[str], folder: Path, seed: int) -> Path:
    """The backbone with a new head of so many classes, in a folder."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_pretrained(
        place, num_labels=len(names), id2label=dict(enumerate(names)), ignore_mismatched_sizes=True
    )
    model.save_pretrained(folder, safe_serialization=True)
    AutoTokenizer.from_pretrained(place).save_pretrained(folder)
    return folder


def accuracy(predict: Callable[[list[str]], FloatArray], rows: Rows, most: int = 2000) -> float:
    """Share of right answers on the first rows."""
    texts, labels = rows[0][:most], rows[1][:most]
    answers = [predict(texts[i : i + 64]).argmax(axis=1) for i in range(0, len(texts), 64)]
    return float((np.concatenate(answers) == np.asarray(labels)).mean())


def _probabilities(logits: Callable[[list[str]], Any]) -> Callable[[list[str]], FloatArray]:
    return lambda texts: softmax(np.asarray(logits(texts), dtype=np.float64))
