"""Eight clear pairs that every usable scorer gets right: they find swapped or missing labels at start-up."""

from __future__ import annotations

import numpy as np

from rif_plugins.entailment.base import LABELS, EntailmentScorer
from rif_plugins.errors import ScorerError

PROBE: tuple[tuple[str, str, str], ...] = (
    ("A woman is playing the violin on a stage.", "A woman is playing music.", "entailment"),
    ("Two dogs are running through a field.", "Two animals are outside.", "entailment"),
    ("A man is eating a sandwich.", "A man is eating.", "entailment"),
    ("A boy is riding his bicycle to school.", "The boy is late for his first lesson.", "neutral"),
    ("A woman is walking in the park.", "The woman is walking to meet her sister.", "neutral"),
    ("A man is sleeping on a couch.", "A man is running a race.", "contradiction"),
    ("The children are playing outside in the snow.", "Nobody is outside.", "contradiction"),
    ("A girl is swimming in a pool.", "A girl is sitting at her desk in a classroom.", "contradiction"),
)
REQUIRED = 6


def probe(scorer: EntailmentScorer) -> int:
    """Count the probe pairs that ``scorer`` labels correctly.

    A scorer without a third class (its contradiction column is all zero) passes a pair when it tells
    entailment from the rest.

    Raises:
        ScorerError: Fewer than 6 of 8 are right: the labels are swapped or the model does another task.
    """
    probabilities = np.asarray(scorer.probabilities([(a, b) for a, b, _ in PROBE]))
    if probabilities.shape != (len(PROBE), len(LABELS)):
        raise ScorerError(
            f"scorer {scorer.name!r} returned an array of shape {probabilities.shape} for {len(PROBE)} "
            f"pairs: expected ({len(PROBE)}, {len(LABELS)}), columns {', '.join(LABELS)}"
        )
    two_classes = not probabilities[:, LABELS.index("contradiction")].any()
    right = 0
    for row, (_, _, expected) in zip(probabilities, PROBE, strict=True):
        got = LABELS[int(row.argmax())]
        right += (got == "entailment") == (expected == "entailment") if two_classes else got == expected
    if right < REQUIRED:
        raise ScorerError(
            f"scorer {scorer.name!r} fails the start-up probe: expected at least {REQUIRED} of {len(PROBE)} "
            f"clear pairs right, got {right}; check id2label in the model's config.json (the labels may be "
            "swapped) or use a model trained for natural language inference"
        )
    return right
