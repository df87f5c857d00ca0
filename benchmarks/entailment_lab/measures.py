"""Figures of an entailment scorer: accuracy, the filter's precision and recall, throughput."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.entailment import LexiconVeto

from .nli_sets import Row, changed_words

Score = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def wilson(successes: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion; (0, 1) without observations."""
    if total == 0:
        return 0.0, 1.0
    share = successes / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (centre - spread) / (1 + z * z / total), (centre + spread) / (1 + z * z / total)


def proportion(successes: int, total: int) -> dict[str, Any]:
    """A proportion with its interval and counts."""
    low, high = wilson(successes, total)
    return {
        "value": round(successes / total, 4) if total else None,
        "interval": [round(low, 4), round(high, 4)],
        "successes": successes,
        "total": total,
    }


def accuracy(score: Score, rows: Sequence[Row], *, two_way: bool = False) -> dict[str, Any]:
    """Share of right labels; ``two_way`` asks only whether the premise entails (MoNLI)."""
    answer = score([(row.premise, row.hypothesis) for row in rows]).argmax(axis=1)
    labels = np.array([row.label for row in rows])
    right = (answer == 0) == (labels == 0) if two_way else answer == labels
    return proportion(int(right.sum()), len(rows))


def by_category(score: Score, rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Three-way accuracy overall and for each category."""
    answer = score([(row.premise, row.hypothesis) for row in rows]).argmax(axis=1)
    right, total = Counter[str](), Counter[str]()
    for row, got in zip(rows, answer, strict=True):
        for name in ("all", row.category):
            total[name] += 1
            right[name] += int(got) == row.label
    return {name: proportion(right[name], total[name]) for name in sorted(total)}


@dataclass(frozen=True, slots=True)
class FilterScores:
    """S_eq of one-word pairs, what each veto refuses (by its name), and whether a pair keeps the meaning."""

    equivalence: NDArray[np.float64]
    vetoed: Mapping[str, NDArray[np.bool_]]
    positive: NDArray[np.bool_]
    rows: tuple[Row, ...]


def filter_scores(score: Score, rows: Sequence[Row], vetoes: Mapping[str, LexiconVeto]) -> FilterScores:
    """Positives are the category ``synonyms``; everything else, one-way pairs too, is a negative."""
    pairs = [(row.premise, row.hypothesis) for row in rows]
    both = score([*pairs, *((b, a) for a, b in pairs)])[:, 0]
    return FilterScores(
        equivalence=both[: len(pairs)] * both[len(pairs) :],
        vetoed={
            name: np.array([veto.reason(a, b) is not None for a, b in pairs]) for name, veto in vetoes.items()
        },
        positive=np.array([row.category == "synonyms" for row in rows]),
        rows=tuple(rows),
    )


def accepted_rows(scores: FilterScores, limit: float, veto: str | None) -> NDArray[np.bool_]:
    """Which rows the filter lets pass."""
    accepted = scores.equivalence >= limit
    return accepted if veto is None else accepted & ~scores.vetoed[veto]


def precision_recall(scores: FilterScores, limit: float, veto: str | None = None) -> dict[str, Any]:
    """Precision and recall at one threshold, with the named veto."""
    accepted = accepted_rows(scores, limit, veto)
    hits = int((accepted & scores.positive).sum())
    return {
        "min_equivalence": limit,
        "precision": proportion(hits, int(accepted.sum())),
        "recall": proportion(hits, int(scores.positive.sum())),
    }


def curve(scores: FilterScores, veto: str | None = None) -> list[dict[str, Any]]:
    """Precision and recall over the threshold."""
    return [precision_recall(scores, limit, veto) for limit in THRESHOLDS]


def wrongly_accepted(
    scores: FilterScores, limit: float, veto: str | None = None, most: int = 40
) -> list[Any]:
    """The commonest word pairs among false acceptances: (category, words, count)."""
    accepted = accepted_rows(scores, limit, veto) & ~scores.positive
    rows = [scores.rows[i] for i in np.flatnonzero(accepted)]
    counts = Counter((row.category, *changed_words(row.premise, row.hypothesis)) for row in rows)
    return [[*key, count] for key, count in counts.most_common(most)]


def throughput(score: Score, pairs: Sequence[tuple[str, str]]) -> float:
    """Pairs a second, the better of two runs after a warm-up."""
    score(pairs[:64])
    best = math.inf
    for _ in range(2):
        started = time.perf_counter()
        score(pairs)
        best = min(best, time.perf_counter() - started)
    return len(pairs) / best


def sha256(path: Path) -> str:
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def provenance(folder: Path, packages: Sequence[str]) -> dict[str, Any]:
    """Where figures come from: versions, processors, data files with their digests."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": sys.version.split()[0],
        "platform": platform.platform(terse=True),
        "cpus": os.cpu_count(),
        "packages": {name: version(name) for name in packages},
        "data": {
            path.name: sha256(path)[:16] for path in sorted((folder / "nli").iterdir()) if path.is_file()
        },
    }
