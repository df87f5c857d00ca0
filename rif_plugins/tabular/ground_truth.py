"""What the right label of a perturbed row would be, by the total derivative of the loss.

The loss of the perturbed row is estimated as ``l̂ = l(y, f(v)) + g·(v_p - v)``; its label is the one whose
loss comes nearest to that. Source: RobustFair, equations 4 to 6. ``l̂`` may be negative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.tabular.losses import loss_values

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def estimated_loss(loss: FloatArray, gradient: FloatArray, displacement: FloatArray) -> FloatArray:
    """``l̂`` of every row.

    Args:
        loss: ``(n,)`` loss of the base rows, with their labels.
        gradient: ``(n, d)`` gradients of that loss.
        displacement: ``(n, d)`` how far the rows moved in the end, after clipping and projection.
    """
    return np.asarray(loss + np.sum(gradient * displacement, axis=1))


def estimated_labels(expected_loss: FloatArray, probabilities: FloatArray) -> IntArray:
    """The class whose MSE comes nearest to the expected loss, the lowest of several.

    Args:
        expected_loss: ``(n,)`` from :func:`estimated_loss`.
        probabilities: ``(n, k)`` of the perturbed rows.
    """
    n, k = probabilities.shape
    losses = np.stack([loss_values("mse", probabilities, np.full(n, label)) for label in range(k)], axis=1)
    return np.asarray(np.argmin(np.abs(losses - expected_loss[:, None]), axis=1))


def estimated_targets(
    target: ArrayLike, prediction: ArrayLike, perturbed_prediction: ArrayLike, change: ArrayLike
) -> FloatArray:
    """The same for a model with one real output and the squared error as its loss.

    ``y± = f(v_p) ± √|l̂|``; the one nearer to ``y``, the larger of two equally near.

    Args:
        target: ``y`` of the base rows, ``(n,)`` or a number.
        prediction: ``f(v)``.
        perturbed_prediction: ``f(v_p)``.
        change: ``g·(v_p - v)``.
    """
    y, f = np.asarray(target, dtype=np.float64), np.asarray(perturbed_prediction, dtype=np.float64)
    loss = (np.asarray(prediction, dtype=np.float64) - y) ** 2 + np.asarray(change, dtype=np.float64)
    root = np.sqrt(np.abs(loss))
    upper, lower = f + root, f - root
    return np.where(np.abs(upper - y) <= np.abs(lower - y), upper, lower)
