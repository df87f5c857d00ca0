"""Any function from rows to class scores as an ART classifier without gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from art.estimators.classification.classifier import ClassifierMixin
from art.estimators.estimator import BaseEstimator
from numpy.typing import NDArray

from rif_plugins.errors import UsageError, VictimError

FloatArray = NDArray[np.float64]


class RowEstimator(ClassifierMixin, BaseEstimator):
    """A black box: attacks differentiate it by differences of its outputs, and count them.

    Args:
        function: From rows ``(n, d)``, float64, to ``(n, classes)`` probabilities or logits, or ``(n,)`` or
            ``(n, 1)`` for one sigmoid.
        n_features: ``d``.
        n_labels: Number of classes.
    """

    def __init__(self, function: Callable[[FloatArray], Any], n_features: int, n_labels: int) -> None:
        super().__init__(model=None, clip_values=None)
        self.function = function
        self.nb_classes = n_labels
        self._input_shape = (n_features,)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self._input_shape

    def predict(self, x: NDArray[Any], batch_size: int = 4096, **kwargs: Any) -> NDArray[Any]:
        """What the function returns, batch by batch, one row a row.

        Raises:
            VictimError: The function raised, or did not answer with one row a row.
        """
        rows = np.asarray(x, dtype=np.float64)
        parts = [self._answer(rows[start : start + batch_size]) for start in range(0, len(rows), batch_size)]
        return np.concatenate(parts) if parts else np.zeros((0, self.nb_classes))

    def _answer(self, rows: FloatArray) -> NDArray[Any]:
        try:
            scores = np.asarray(self.function(rows), dtype=np.float64)
        except VictimError:
            raise
        except Exception as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise VictimError(f"the model raised {what}: it must answer every batch of rows") from error
        if scores.ndim == 1:
            scores = scores[:, None]
        if scores.ndim != 2 or len(scores) != len(rows):
            raise VictimError(
                f"the model returned shape {scores.shape} for {len(rows)} rows, expected "
                f"({len(rows)}, classes): return one row of class probabilities or logits a row"
            )
        return scores

    def fit(self, x: NDArray[Any], y: NDArray[Any], **kwargs: Any) -> None:
        """Not possible: train the model itself.

        Raises:
            UsageError: Always.
        """
        raise UsageError("a function cannot be trained: train the model behind it")
