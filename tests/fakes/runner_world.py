"""A world for tests of the runner: no host, a keyword victim, a table of words, a scripted filter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.outcomes import ALL_TARGETS
from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.examples.base import Example, Naming
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.sweep import Sweep
from rif_plugins.settings import FIELDS, Settings
from rif_plugins.similar import PairSource

WEIGHTS = {
    "good": 2.0,
    "fine": 0.6,
    "decent": 1.2,
    "great": 2.5,
    "she": -0.9,
    "her": -0.9,
    "woman": -0.9,
    "actress": -0.7,
    "meal": 0.1,
    "supper": -0.6,
    "awful": -3.0,
    "gruesome": -0.2,
}
CANDIDATES = {
    "good": ["fine", "decent", "great"],
    "meal": ["dinner", "supper"],
    "awful": ["terrible", "gruesome"],
    "cooked": ["prepared", "burnt"],
}
TEXTS = (
    ("He cooked a good meal.", 1),
    ("She cooked a good meal.", 1),
    ("The film was good.", 1),
    ("He had a fine meal.", 1),
    ("The actress was awful, he said.", 0),
    ("She was good, and her meal was good.", 1),
    ("   ", 0),
    ("The woman cooked.", 0),
    ("His brother cooked a meal, an awful meal.", 0),
    ("She cooked a good meal.", 1),
)


class KeywordVictim:
    """P(class 1) is the sigmoid of summed word weights; raises for texts with ``fail_on``; counts rows."""

    def __init__(self, fail_on: str | None = None, nan_on: str | None = None) -> None:
        self.fail_on = fail_on
        self.nan_on = nan_on
        self.rows = 0
        self.sizes: list[int] = []
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        self.rows += len(texts)
        self.sizes.append(len(texts))
        self.seen += list(texts)
        if self.fail_on is not None and any(self.fail_on in text for text in texts):
            raise RuntimeError(f"cannot read {self.fail_on}")
        logits = [sum(WEIGHTS.get(w.strip(".,!").lower(), 0.0) for w in text.split()) for text in texts]
        p = 1 / (1 + np.exp(-np.array(logits)))
        if self.nan_on is not None:
            p = np.where([self.nan_on in text for text in texts], np.nan, p)
        return np.column_stack([1 - p, p])


class TableWords:
    """A proposer over a plain dictionary."""

    name = "toy-table"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [
            tuple(Candidate(word, self.name) for word in CANDIDATES.get(context.token.lower(), ()))
            for context in contexts
        ]


class ScriptedScorer:
    """Everything entails everything, but for texts that hold a refused word."""

    name = "scripted"
    version = "1"

    def __init__(self, refused: Sequence[str] = ()) -> None:
        self.refused = set(refused)
        self.rows = 0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.rows += len(pairs)
        rows = []
        for premise, hypothesis in pairs:
            changed = {w.strip(".,!").lower() for w in set(premise.split()) ^ set(hypothesis.split())}
            rows.append([0.05, 0.05, 0.9] if changed & self.refused else [0.98, 0.01, 0.01])
        return np.array(rows).reshape(-1, 3)


def examples(rows: Sequence[tuple[str, int | None]] = TEXTS) -> list[Example]:
    """Named examples."""
    naming = Naming()
    return [Example(naming.name(text, label), text, label) for text, label in rows]


_SOURCE = PairSource()


def sweep_of(
    victim: Any,
    *,
    refused: Sequence[str] | None = ("burnt",),
    batch_size: int = 32,
    store: Any = None,
    targets: tuple[str, ...] = ALL_TARGETS,
    exhaustive: int | None = None,
    source: PairSource = _SOURCE,
    settings: ReachSettings | None = None,
    **options: Any,
) -> Sweep:
    """A sweep over this world; ``refused=None`` is no filter."""
    entailment = (
        None if refused is None else EntailmentFilter(ScriptedScorer(refused), veto=None, store=store)
    )
    engine = VictimEngine(
        victim, batch_size=batch_size, store=store, fingerprint=None if store is None else "keyword"
    )
    plan = SweepPlan(targets=targets, settings=settings or ReachSettings(), exhaustive=exhaustive)
    return Sweep(engine, source, TableWords(), entailment, plan, **options)


def found(record: Record) -> dict[str, Any]:
    """A record without what it has cost."""
    return {k: v for k, v in record.to_dict().items() if k not in ("queries", "seconds")}


def by_example(records: Sequence[Record]) -> dict[str, list[dict[str, Any]]]:
    """Records without costs, by example."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        grouped.setdefault(record.example, []).append(found(record))
    return grouped


VICTIM_FILE = """
import math

WEIGHTS = {weights!r}


def model(texts):
    rows = []
    for text in texts:
        z = sum(WEIGHTS.get(word.strip(".,!").lower(), 0.0) for word in text.split())
        p = 1 / (1 + math.exp(-z))
        rows.append([1 - p, p])
    return rows
"""


def write_victim(folder: Path, **weights: float) -> Path:
    """A victim file without any dependency."""
    file = folder / "victim.py"
    file.write_text(VICTIM_FILE.format(weights={**WEIGHTS, **weights}), encoding="utf-8")
    return file


def write_data(folder: Path, rows: Sequence[tuple[str, int | None]] = TEXTS) -> Path:
    """A CSV file of texts and labels."""
    file = folder / "data.csv"
    lines = ["text,label", *(f'"{text}",{label}' for text, label in rows if text.strip())]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_candidates(folder: Path) -> Path:
    """The candidates as a table."""
    file = folder / "candidates.csv"
    rows = [f"{token},{word}" for token, found in CANDIDATES.items() for word in found]
    file.write_text("\n".join(["token,candidate", *rows]) + "\n", encoding="utf-8")
    return file


def audit_options(
    folder: Path, rows: Sequence[tuple[str, int | None]] = TEXTS, **changes: Any
) -> AuditOptions:
    """An audit of this world's files, without filter and cache unless ``changes`` say otherwise."""
    settings: dict[str, Any] = {
        "proposer": f"table:{write_candidates(folder)}",
        "entailment": "none",
        "cache": "off",
        "counterparts": 2,
    }
    settings |= {name: changes.pop(name) for name in list(changes) if name in FIELDS}
    chosen: dict[str, Any] = {"model": str(folder / "victim.py"), "data": str(write_data(folder, rows))}
    if not (folder / "victim.py").exists():
        write_victim(folder)
    return AuditOptions(**{**chosen, **changes}, settings=Settings().updated(**settings))
