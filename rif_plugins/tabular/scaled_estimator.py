"""An estimator as ART's attacks need it: one scale, logits, and frozen columns that hardly move.

ART's ``AutoProjectedGradientDescent`` and ``AutoConjugateGradient`` refuse probabilities, take one ``eps``
for all features, and start from noise in every feature, sensitive ones included. Here an input is
``z = (x - offset) / scale``: editable features run from 0 to 1, and a frozen feature is stretched so far
that noise of the size of ``eps`` moves it by less than a millionth of its range. Predictions are
log-probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from art.estimators.classification.classifier import ClassGradientsMixin, ClassifierMixin
from art.estimators.estimator import BaseEstimator, LossGradientsMixin
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.differences import feature_bounds
from rif_plugins.tabular.gradients import GradientSource
from rif_plugins.tabular.losses import FloatArray, IntArray, loss_values

BoolArray = NDArray[np.bool_]

_STRETCH = 2.0**20
_SMALLEST = 1e-12
_UNBOUNDED = 1e30


class ScaledEstimator(ClassGradientsMixin, LossGradientsMixin, ClassifierMixin, BaseEstimator):
    """ART estimator in scaled inputs, on top of any source of gradients; never trained.

    Args:
        source: Probabilities and gradients in array units.
        schema: Bounds, and which features are frozen.
        n_labels: Number of classes.
        editable: ``(d,)`` further features to hold still, where some are masked for all rows.
    """

    def __init__(
        self, source: GradientSource, schema: TableSchema, n_labels: int, editable: BoolArray | None = None
    ) -> None:
        low, high = feature_bounds(schema)
        is_bounded = np.isfinite(low) & np.isfinite(high)
        width = np.where(is_bounded, np.where(is_bounded, high, 1.0) - np.where(is_bounded, low, 0.0), 1.0)
        width = np.where(width > 0, width, 1.0)
        can_move = schema.editable_features if editable is None else schema.editable_features & editable
        is_constant = is_bounded & (high <= low)
        self.moves: BoolArray = np.asarray(can_move & ~is_constant)
        self.offset = np.where(is_bounded & self.moves, low, 0.0)
        self.scale = np.where(self.moves, width, width / _STRETCH)
        lowest, highest = self._limits(low, high)
        super().__init__(model=None, clip_values=(lowest, highest))
        self.source = source
        self.nb_classes = n_labels
        self._input_shape = (schema.n_features,)

    def _limits(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        lowest = np.where(np.isfinite(low), (low - self.offset) / self.scale, -_UNBOUNDED)
        highest = np.where(np.isfinite(high), (high - self.offset) / self.scale, _UNBOUNDED)
        # Wide enough around a frozen value, also around a constant one, where ART wants min < max.
        slack = np.where(self.moves, 0.0, 1.0 + np.abs(lowest) * 1e-3)
        return lowest - slack, highest + slack

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self._input_shape

    def to_scaled(self, x: FloatArray) -> NDArray[np.float32]:
        """Rows ``(n, d)`` in array units to scaled inputs."""
        return ((x - self.offset) / self.scale).astype(np.float32)

    def to_rows(self, z: NDArray[Any]) -> FloatArray:
        """Scaled inputs ``(n, d)`` to rows in array units."""
        return np.asarray(z, dtype=np.float64) * self.scale + self.offset

    def predict(self, x: NDArray[Any], **kwargs: Any) -> NDArray[np.float32]:
        """Log-probabilities ``(n, k)``: logits of the same softmax."""
        probabilities = self.source.probabilities(self.to_rows(x))
        return np.log(np.maximum(probabilities, _SMALLEST)).astype(np.float32)

    def loss_gradient(self, x: NDArray[Any], y: NDArray[Any], **kwargs: Any) -> NDArray[np.float32]:
        """Gradient of each row's own cross-entropy, ``(n, d)``; not divided by the number of rows."""
        _, gradient = self.source.gradient(self.to_rows(x), self._labels(y), "ce")
        return (gradient * self.scale).astype(np.float32)

    def class_gradient(
        self, x: NDArray[Any], label: int | list[int] | NDArray[Any] | None = None, **kwargs: Any
    ) -> NDArray[np.float32]:
        """Gradients of the log-probabilities: ``(n, k, d)``, or ``(n, 1, d)`` of one class a row."""
        rows = self.to_rows(x)
        wanted = range(self.nb_classes) if label is None else [label]
        parts = [
            -self.source.gradient(rows, np.broadcast_to(np.asarray(one), (len(rows),)), "ce")[1]
            for one in wanted
        ]
        return (np.stack(parts, axis=1) * self.scale).astype(np.float32)

    def compute_loss(self, x: NDArray[Any], y: NDArray[Any], **kwargs: Any) -> NDArray[Any]:
        """Cross-entropy of each row ``(n,)``, or its mean or sum by ``reduction``."""
        values = loss_values("ce", self.source.probabilities(self.to_rows(x)), self._labels(y))
        reduction = kwargs.get("reduction", "none")
        if reduction == "mean":
            return np.asarray(values.mean())
        return np.asarray(values.sum()) if reduction == "sum" else values

    def fit(self, x: NDArray[Any], y: NDArray[Any], **kwargs: Any) -> None:
        """Not possible: train the estimator itself.

        Raises:
            UsageError: Always.
        """
        raise UsageError("a scaled estimator cannot be trained: train the estimator that it stands for")

    def _labels(self, y: NDArray[Any]) -> IntArray:
        labels = np.asarray(y)
        return np.asarray(np.argmax(labels, axis=1) if labels.ndim == 2 else labels, dtype=np.int64)
