"""A second entailment model that no filter uses, to judge what the filters accept.

It learns from labelled pairs that the embedded model has never seen: the test files of SNLI, CAD and MoNLI,
and one-word pairs placed into sentences of those files, drawn with another seed. It is measured on files that
the embedded model was trained on, and on Breaking NLI, which neither has seen. What both share: the base
weights, the rules that make one-word pairs, and WordNet behind these rules. So the two do not err
independently.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from entailment_lab.nli_sets import Row, read_triples, split_breaking_nli, test_sets
from numpy.typing import NDArray

SEED = 20_261_130
LABELLED, MADE = 8_000, 8_000


class SecondModel:
    """A scorer over the trained checkpoint, with the interface of the package's scorers."""

    name = "second-model"

    def __init__(self, folder: Path, *, threads: int) -> None:
        import torch
        from entailment_lab.training import load_model, load_tokenizer

        torch.set_num_threads(threads)
        self.version = json.loads((folder / "second_model.json").read_text(encoding="utf-8"))["version"]
        self._model = load_model(folder)
        self._tokenizer = load_tokenizer(folder, 256)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Probabilities (n, 3) of entailment, neutral, contradiction."""
        from entailment_lab.training import predict

        return predict(self._model, self._tokenizer, pairs)


def rows_to_learn(data: Path, base: Path, *, labelled: int = LABELLED, made: int = MADE) -> list[Row]:
    """Labelled pairs and one-word pairs, none of which the embedded model has seen."""
    from entailment_lab.generator import QUOTA, Generator
    from entailment_lab.training import load_tokenizer

    tokenizer = load_tokenizer(base)
    human = [row for rows in test_sets(data).values() for row in rows]
    texts = list(dict.fromkeys(text for row in human for text in (row.premise, row.hypothesis)))
    generator = Generator(
        texts, lambda word: len(tokenizer.encode(word, add_special_tokens=False).ids), seed=SEED
    )
    random = Random(SEED)
    random.shuffle(human)
    return human[:labelled] + generator.rows(SEED, scale=made / sum(QUOTA.values()))


def train_second_model(
    data: Path, out: Path, say: Callable[[str], None], *, threads: int, labelled: int, made: int
) -> dict[str, Any]:
    """Train into ``out``; returns and writes what is known about the model."""
    from entailment_lab.training import Settings, base_model_folder, train

    base = base_model_folder(None)
    rows = rows_to_learn(data, base, labelled=labelled, made=made)
    started, cpu = time.monotonic(), time.process_time()
    settings = Settings(seed=SEED, epochs=1, warm_up=50, max_tokens=80, threads=threads)
    train([rows], base, out, settings, say)
    facts = {
        "version": f"second-model-{SEED}-{len(rows)}",
        "rows": len(rows),
        "minutes": round((time.monotonic() - started) / 60, 1),
        "cpu_minutes": round((time.process_time() - cpu) / 60, 1),
    }
    (out / "second_model.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return facts


def quality(model: SecondModel, data: Path, number: int = 3_000) -> dict[str, Any]:
    """Accuracy of the second model on pairs that it was not trained on."""
    from entailment_lab.measures import accuracy

    snli = read_triples(data / "nli" / "snli_dev.tsv", header=False)
    _, held, _ = split_breaking_nli(data)
    sample = Random(SEED).sample(held, min(number, len(held)))
    return {
        "snli_dev": accuracy(model.probabilities, snli[:number]),
        "breaking_nli_held_out": accuracy(model.probabilities, sample),
    }
