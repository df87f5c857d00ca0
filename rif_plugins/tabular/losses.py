"""The scalar of a row that an attack differentiates, and its derivative by the model's outputs.

=========  ==============================  ============================================
kind       value of a row                  used by
=========  ==============================  ============================================
``mse``    mean over classes (f - 1_y)²    RobustFair; for two classes ``(f_y - 1)²``
``ce``     -log f_y                        attacks on logits
``class``  f_y                             EIDIG, DICE: the probability of one class
=========  ==============================  ============================================

Sums over all outputs of a softmax are never differentiated: they are constant.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LossKind = Literal["mse", "ce", "class"]

LOSS_KINDS: tuple[str, ...] = get_args(LossKind)
_SMALLEST = 1e-12


def one_hot(label: IntArray, n_labels: int) -> FloatArray:
    """Labels ``(n,)`` as rows of an identity matrix, ``(n, k)``, in floating point (ART's MSE needs that)."""
    return np.asarray(np.eye(n_labels)[label], dtype=np.float64)


def loss_values(kind: LossKind, probabilities: FloatArray, label: IntArray) -> FloatArray:
    """The scalar of every row, from probabilities ``(n, k)`` and labels ``(n,)``; shape ``(n,)``."""
    if kind == "mse":
        return np.asarray(np.mean((probabilities - one_hot(label, probabilities.shape[1])) ** 2, axis=1))
    chosen = np.take_along_axis(probabilities, label[:, None], axis=1)[:, 0]
    return chosen if kind == "class" else np.asarray(-np.log(np.maximum(chosen, _SMALLEST)))


def probability_weights(kind: LossKind, probabilities: FloatArray, label: IntArray) -> FloatArray:
    """Derivative of the scalar by each probability, ``(n, k)``."""
    target = one_hot(label, probabilities.shape[1])
    if kind == "mse":
        return np.asarray(2.0 * (probabilities - target) / probabilities.shape[1])
    return target if kind == "class" else np.asarray(-target / np.maximum(probabilities, _SMALLEST))


def logit_weights(kind: LossKind, probabilities: FloatArray, label: IntArray) -> FloatArray:
    """Derivative of the scalar by each logit of a softmax, ``(n, k)``; exact for saturated outputs."""
    if kind == "ce":
        return np.asarray(probabilities - one_hot(label, probabilities.shape[1]))
    weights = probability_weights(kind, probabilities, label)
    mean = np.sum(weights * probabilities, axis=1, keepdims=True)
    return np.asarray(probabilities * (weights - mean))


def output_weights(
    kind: LossKind, probabilities: FloatArray, label: IntArray, *, is_logits: bool, n_outputs: int
) -> FloatArray:
    """Derivative of the scalar by each raw output of the model, ``(n, n_outputs)``.

    Args:
        kind: Which scalar.
        probabilities: ``(n, k)`` of the classes.
        label: ``(n,)``.
        is_logits: Whether the raw outputs are logits (of a softmax, or of a sigmoid where there is one).
        n_outputs: Raw outputs of the model: k, or 1 for the one probability or logit of the second class.
    """
    if n_outputs > 1:
        rule = logit_weights if is_logits else probability_weights
        return rule(kind, probabilities, label)
    if is_logits:
        # softmax of (0, z) is the sigmoid of z
        return logit_weights(kind, probabilities, label)[:, 1:]
    weights = probability_weights(kind, probabilities, label)
    return weights[:, 1:] - weights[:, :1]
