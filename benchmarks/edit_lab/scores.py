"""Every edit is scored once by every scorer; filters are then thresholds over the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from entailment_lab.measures import proportion
from numpy.typing import NDArray

from rif_plugins.entailment import EntailmentFilter, EntailmentScorer, LexiconVeto

from .samples import EditPair

LIMIT = 0.8
HALF = 0.5  # the most probable of three labels for sure
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99)
NO_FILTER = "no filter"
ENTAILMENT, ENTAILMENT_ALONE = "entailment with veto", "entailment alone"
COSINE, COSINE_MATCHED = "cosine", "cosine, same number"
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """What the scorers say about a list of edits.

    Attributes:
        edits: The edits.
        entailment: ``S_eq`` of the embedded scorer.
        vetoed: What the lexicon refuses.
        cosine: Of the sentence encoder.
        second: ``S_eq`` of the second model, which filters nothing.
        entailed: Where the second model says *entailment* both ways.
    """

    edits: Sequence[EditPair]
    entailment: NDArray[np.float64]
    vetoed: Flags
    cosine: NDArray[np.float64]
    second: NDArray[np.float64]
    entailed: Flags

    @property
    def right(self) -> Flags:
        """Edits that keep the meaning, as labelled."""
        return np.array([edit.is_right is True for edit in self.edits])

    def of_kind(self, *kinds: str) -> Flags:
        """Edits of some kinds."""
        return np.array([edit.kind in kinds for edit in self.edits])


def scored(
    edits: Sequence[EditPair],
    *,
    entailment: EntailmentScorer,
    cosine: EntailmentScorer,
    second: EntailmentScorer,
    say: Callable[[str], None] = lambda message: None,
) -> Scores:
    """Ask every scorer, by way of the filter, as a run would."""
    pairs = [edit.pair for edit in edits]
    found = {}
    for name, scorer in (("entailment", entailment), ("cosine", cosine), ("second", second)):
        gate = EntailmentFilter(scorer, veto=LexiconVeto() if name == "entailment" else None)
        found[name] = gate.check_many(pairs)
        say(f"  {name}: {gate.rows} rows")
    values = {name: np.array([v.score for v in verdicts]) for name, verdicts in found.items()}
    vetoed = np.array([v.reason.startswith("veto") for v in found["entailment"]])
    entailed = np.array([min(v.forward, v.backward) > HALF for v in found["second"]])
    return Scores(edits, values["entailment"], vetoed, values["cosine"], values["second"], entailed)


def accepted(scores: Scores, name: str, limit: float = LIMIT) -> Flags:
    """What a filter lets pass.

    ``COSINE_MATCHED`` takes the nearest edits, as many as ``ENTAILMENT`` lets pass at ``limit``.
    """
    if name == NO_FILTER:
        return np.ones(len(scores.edits), dtype=bool)
    if name == ENTAILMENT:
        return (scores.entailment >= limit) & ~scores.vetoed
    if name == ENTAILMENT_ALONE:
        return scores.entailment >= limit
    if name == COSINE:
        return scores.cosine >= limit
    return scores.cosine >= matched_limit(scores, limit)


def matched_limit(scores: Scores, limit: float = LIMIT) -> float:
    """The threshold of the cosine filter that lets as many edits pass as the entailment filter."""
    number = int(accepted(scores, ENTAILMENT, limit).sum())
    if number == 0:
        return float("inf")
    return float(np.sort(scores.cosine)[::-1][number - 1])


def figures(scores: Scores, name: str) -> dict[str, Any]:
    """How many edits a filter lets pass, how good they are by the second model, and by label if any."""
    passed = accepted(scores, name)
    result: dict[str, Any] = {
        "threshold": _threshold(scores, name),
        "accepted": proportion(int(passed.sum()), len(passed)),
        "second_model_mean": mean(scores.second[passed]),
        "second_model_entails": proportion(int(scores.entailed[passed].sum()), int(passed.sum())),
    }
    if any(edit.is_right is not None for edit in scores.edits):
        result |= precision_recall(scores, passed)
    return result


def _threshold(scores: Scores, name: str) -> float | None:
    if name == NO_FILTER:
        return None
    return round(matched_limit(scores), 4) if name == COSINE_MATCHED else LIMIT


def precision_recall(scores: Scores, passed: Flags) -> dict[str, Any]:
    """By label: share of right edits among the accepted, and of accepted ones among the right."""
    hits = int((passed & scores.right).sum())
    return {
        "precision": proportion(hits, int(passed.sum())),
        "wrong": proportion(int(passed.sum()) - hits, int(passed.sum())),
        "recall": proportion(hits, int(scores.right.sum())),
    }


def curve(scores: Scores, name: str) -> list[dict[str, Any]]:
    """Precision and recall over the threshold."""
    return [
        {"threshold": limit, **precision_recall(scores, accepted(scores, name, limit))}
        for limit in THRESHOLDS
    ]


def leak(scores: Scores, name: str, *kinds: str) -> dict[str, Any]:
    """Share of edits of some kinds, all of them wrong, that a filter lets pass."""
    wrong = scores.of_kind(*kinds)
    return proportion(int((accepted(scores, name) & wrong).sum()), int(wrong.sum()))


def mean(values: NDArray[np.float64], *, resamples: int = 1000) -> dict[str, Any]:
    """Mean with its 95 % bootstrap interval."""
    if not len(values):
        return {"value": None, "interval": [None, None], "total": 0}
    rng = np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (resamples, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return {
        "value": round(float(values.mean()), 4),
        "interval": [round(float(low), 4), round(float(high), 4)],
        "total": len(values),
    }


def disagreements(scores: Scores, most: int = 8) -> dict[str, list[dict[str, Any]]]:
    """Edits that one filter accepts and the other refuses, both letting the same number pass."""
    ours, theirs = accepted(scores, ENTAILMENT), accepted(scores, COSINE_MATCHED)

    def shown(flags: Flags, order: NDArray[np.float64]) -> list[dict[str, Any]]:
        picked: dict[tuple[str, str], int] = {}
        for i in sorted(np.flatnonzero(flags).tolist(), key=lambda i: -order[i]):
            picked.setdefault(scores.edits[i].words, i)
        return [_shown(scores, i) for i in list(picked.values())[:most]]

    return {
        "only_cosine": shown(theirs & ~ours, scores.cosine),
        "only_entailment": shown(ours & ~theirs, scores.entailment),
    }


def _shown(scores: Scores, number: int) -> dict[str, Any]:
    edit = scores.edits[number]
    return {
        "words": list(edit.words),
        "text": edit.original,
        "s_eq": round(float(scores.entailment[number]), 3),
        "cosine": round(float(scores.cosine[number]), 3),
        "second": round(float(scores.second[number]), 3),
    }
