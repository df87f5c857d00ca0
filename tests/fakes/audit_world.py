"""A victim, data and candidates that are audited in a moment, and `rif` in a process of its own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# A sum of word weights through a sigmoid. "he" and "she" stand one unit apart.
VICTIM = """\
import numpy as np

WEIGHTS = {"he": 0.5, "she": -0.5, "good": 2.0, "fine": 0.3, "decent": -1.0}
WEIGHTS |= {"bad": -2.0, "poor": 0.0, "great": 3.0}
label_names = ("negative", "positive")


class Model:
    fingerprint = "word weights 1"

    def predict_proba(self, texts):
        sums = np.array([sum(WEIGHTS.get(word, 0.0) for word in text.lower().split()) for text in texts])
        p = 1.0 / (1.0 + np.exp(-sums))
        return np.stack([1.0 - p, p], axis=1)


model = Model()
"""
# Blind to "he" and "she"; its classes in the other order.
FAIR_VICTIM = (
    VICTIM.replace('"he": 0.5, "she": -0.5, ', "")
    .replace("weights 1", "weights 2")
    .replace('"negative", "positive"', '"positive", "negative"')
    .replace("[1.0 - p, p]", "[p, 1.0 - p]")
)
ROWS = (
    ("he is good", "positive"),
    ("she is good", "positive"),
    ("he is bad", "negative"),
    ("she is bad now", "negative"),
    ("the film is good", "positive"),
    ("he is fine", "positive"),
    ("he was great", "positive"),
)
CANDIDATES = (("good", "fine"), ("good", "decent"), ("bad", "poor"), ("bad", "decent"))
OPTIONS = (
    *("--model", "victim.py", "--data", "data.csv", "--sensitive", "gender", "--entailment", "none"),
    *("--proposer", "table:candidates.csv", "--no-cache"),
)


def write_world(folder: Path) -> Path:
    """Write ``victim.py``, ``fair.py``, ``data.csv`` and ``candidates.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "victim.py").write_text(VICTIM, encoding="utf-8")
    (folder / "fair.py").write_text(FAIR_VICTIM, encoding="utf-8")
    write_rows(folder / "data.csv", ("text", "label"), ROWS)
    write_rows(folder / "candidates.csv", ("token", "candidate"), CANDIDATES)
    return folder


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def options(**changes: str | None) -> list[str]:
    """``OPTIONS`` with some changed, as in ``model="fair.py"``; None takes one out."""
    values: dict[str, str | None] = {}
    for word in OPTIONS:
        if word.startswith("--"):
            values[word] = ""
        else:
            values[list(values)[-1]] = word
    values.update({f"--{key.replace('_', '-')}": value for key, value in changes.items()})
    return [word for name, value in values.items() if value is not None for word in (name, value) if word]


def run_rif(*arguments: str, cwd: Path, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `rif` in a process of its own, with a home folder and a cache that hold nothing else."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("RIF_")},
        "HOME": str(home),
        "RIF_CACHE_DIR": str(home / "cache"),
        "PYTHONIOENCODING": "utf-8",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-m", "rif_plugins.cli.main", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
    )
