"""Generative similarity: how near a generated row and its label are to the centres of the data.

Source: Li et al., RobustFair: ``S(v, y) = max(0, max_c cos([v, y], [x_c, y_c]))`` over the cluster centroids,
the label included as one more coordinate. Rows with S strictly above a bound are kept for retraining.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import BoolArray, FloatArray


def generative_similarity(
    x: ArrayLike, label: ArrayLike | None, centroids: ArrayLike, centroid_labels: ArrayLike | None
) -> FloatArray:
    """Similarity of generated rows to the nearest centroid.

    Args:
        x: Rows ``(n, d)``.
        label: Their labels ``(n,)``, estimated or right; None leaves the label out.
        centroids: Mean rows of the clusters ``(c, d)``.
        centroid_labels: Mean labels of the clusters ``(c,)``; None together with ``label``.

    Returns:
        Similarities ``(n,)`` from 0 to 1; 0 for a row of zeros.

    Raises:
        UsageError: Shapes that do not fit, NaN, or only one of the two labels.
    """
    if (label is None) != (centroid_labels is None):
        raise UsageError("give the labels of both the rows and the centroids, or of neither")
    rows = _points(x, label, "x")
    centres = _points(centroids, centroid_labels, "centroids")
    if not len(centres) or rows.shape[1] != centres.shape[1]:
        raise UsageError(
            f"centroids has shape {centres.shape}, expected (clusters, {rows.shape[1]}), one or more"
        )
    cosines = _directions(rows) @ _directions(centres).T
    return np.asarray(np.clip(cosines.max(axis=1), 0.0, 1.0), dtype=np.float64)


def _points(x: ArrayLike, label: ArrayLike | None, name: str) -> FloatArray:
    points = np.asarray(x, dtype=np.float64)
    if points.ndim != 2:
        raise UsageError(f"{name} has shape {points.shape}, expected two dimensions")
    if label is not None:
        labels = np.asarray(label, dtype=np.float64)
        if labels.shape != (len(points),):
            raise UsageError(f"the labels of {name} have shape {labels.shape}, expected ({len(points)},)")
        points = np.concatenate([points, labels[:, None]], axis=1)
    if not np.isfinite(points).all():
        raise UsageError(f"{name} holds NaN or infinity: drop or fill these rows")
    return points


def _directions(points: FloatArray) -> FloatArray:
    lengths = np.sqrt((points**2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(points, lengths, out=np.zeros_like(points), where=lengths > 0))


def is_similar_enough(similarity: ArrayLike, min_similarity: float = 0.85) -> BoolArray:
    """Which rows are kept: strictly above ``min_similarity``; the larger it is, the fewer are kept."""
    return np.asarray(np.asarray(similarity, dtype=np.float64) > min_similarity, dtype=np.bool_)
