"""Labels and counterparts for techniques that look at one axis only.

A robustness attack finds wrong predictions and never looks at similar rows; a fairness attack finds unequal
ones and never knows the right label. To put both into the same four outcomes the first get their
counterparts added, the second labels by a vote of models. Source: RobustFair, question 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.gradients import prediction_source

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def ensemble_labels(estimators: Sequence[Any], x: ArrayLike) -> IntArray:
    """Labels by majority vote, the lowest of several classes with the most votes.

    Args:
        estimators: ART classifiers, one or more, of the same classes.
        x: Rows ``(n, d)``.

    Returns:
        ``(n,)``.

    Raises:
        UsageError: No estimator.
    """
    if not len(estimators):
        raise UsageError("label_estimators is empty: expected one model or more, or None for clean labels")
    rows = np.asarray(x, dtype=np.float64)
    votes = [np.argmax(prediction_source(estimator).probabilities(rows), axis=1) for estimator in estimators]
    n_labels = max(int(vote.max(initial=0)) for vote in votes) + 1
    counts = sum(np.eye(n_labels, dtype=np.int64)[vote] for vote in votes)
    return np.asarray(np.argmax(counts, axis=1))


def with_counterparts(
    x: ArrayLike, y: ArrayLike, schema: TableSchema
) -> tuple[FloatArray, NDArray[Any], IntArray]:
    """Rows followed by each row's counterparts, with the row's label: fairness augmentation.

    Args:
        x: Rows ``(n, d)``.
        y: Labels ``(n,)`` or ``(n, k)``.
        schema: Who counts as similar.

    Returns:
        Rows ``(N, d)``, labels ``(N, ...)`` and the input row that each comes from ``(N,)``, input row by
        input row.
    """
    rows = np.asarray(x, dtype=np.float64)
    others, allowed = schema.counterparts(rows)
    everyone = np.concatenate([rows[:, None, :], others], axis=1)
    wanted = np.concatenate([np.ones((len(rows), 1), dtype=np.bool_), allowed], axis=1)
    source = np.repeat(np.arange(len(rows)), wanted.sum(axis=1))
    return np.asarray(everyone[wanted], dtype=np.float64), np.asarray(y)[source], source
