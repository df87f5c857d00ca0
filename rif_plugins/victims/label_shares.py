"""Answers of a language model as class probabilities, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one text, asked once.

    Attributes:
        row: Class probabilities, ``(k,)``.
        n_samples: Answers that they are the shares of; 0 where they come from log-probabilities.
    """

    row: FloatArray
    n_samples: int = 0


def share_of(classes: Sequence[int], n_labels: int) -> FloatArray:
    """The share of each class, ``(k,)``: no class is given a share that no answer stands for."""
    return np.bincount(np.asarray(classes, dtype=np.intp), minlength=n_labels) / len(classes)


def majority(answers: Sequence[Answer]) -> FloatArray:
    """Class probabilities whose largest one is what most of the answers say, ``(k,)``.

    They are the mean over the answers that say it. Classes with as many votes are told apart by the mean
    probability over all answers, then by their number.
    """
    rows = np.array([answer.row for answer in answers])
    votes = rows.argmax(axis=1)
    counts = np.bincount(votes, minlength=rows.shape[1])
    tied = np.flatnonzero(counts == counts.max())
    winner = tied[rows.mean(axis=0)[tied].argmax()]
    mean: FloatArray = rows[votes == winner].mean(axis=0)
    return mean


def uncertainty_of(first: Answer | None, again: Sequence[Answer]) -> dict[str, float]:
    """How sure the answer to a text is.

    Args:
        first: The answer of the search.
        again: Those of the confirmation, where there was one.

    Returns:
        ``samples`` and ``standard_error``, of the probability of the predicted class:
        ``sqrt(p (1 - p) / samples)``; where it was asked again, ``askings`` and ``agreement``, the share of
        them that predict the class that most do.
    """
    answers = [*([] if first is None else [first]), *again]
    if not answers:
        return {}
    predicted = int(majority(answers).argmax())
    told: dict[str, float] = {}
    n = sum(answer.n_samples for answer in answers)
    if n:
        p = sum(float(answer.row[predicted]) * answer.n_samples for answer in answers) / n
        told["samples"] = n
        told["standard_error"] = round(math.sqrt(max(0.0, p * (1 - p)) / n), 6)
    if again:
        votes = [int(answer.row.argmax()) for answer in answers]
        told["askings"] = len(answers)
        told["agreement"] = round(votes.count(predicted) / len(answers), 6)
    return told
