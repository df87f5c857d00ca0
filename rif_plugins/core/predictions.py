"""From whatever a victim returns to a checked array of class probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import VictimError, VictimRowError

FloatArray = NDArray[np.float64]
OutputKind = Literal["auto", "probabilities", "logits"]
_SUM_TOLERANCE = 1e-3


class PredictionReader:
    """Turns raw victim outputs into probabilities ``(n, k)`` and keeps their form consistent.

    Accepted: ``(n, k)`` probabilities or logits; ``(n,)`` and ``(n, 1)`` as one sigmoid or its logit,
    which become two columns (not the class, the class). Lists, numpy arrays and tensors of any
    framework that offer ``detach``/``cpu``/``numpy``.

    Args:
        n_labels: Number of classes if known, else read from the first output.
        output: What the victim returns. ``"auto"`` decides at the first call: probabilities when
            all values lie in [0, 1] and rows of several columns sum to one. The decision is kept;
            an output that contradicts it is refused, because half of the run would be wrong.
    """

    def __init__(self, n_labels: int | None = None, output: OutputKind = "auto") -> None:
        if output not in ("auto", "probabilities", "logits"):
            raise VictimError(
                f"victim output kind {output!r} does not exist: expected auto, probabilities or logits"
            )
        self.n_labels = n_labels
        self.output: OutputKind = output
        self._declared = output
        self._is_sound = False

    def read(self, raw: Any, n_texts: int) -> FloatArray:
        """Check one raw output for ``n_texts`` texts and return probabilities ``(n_texts, k)``.

        Raises:
            VictimError: The first output is not numeric or has a wrong shape, or the form of an output
                contradicts earlier ones, so that these may have been misread.
            VictimRowError: NaN or infinite values; or, after an output that was sound, one that is not
                numeric, has a wrong shape or another number of labels.
        """
        try:
            values = as_matrix(raw, n_texts)
        except VictimError as error:
            raise VictimRowError(str(error)) if self._is_sound else error from None
        is_single = values.shape[1] == 1
        n_labels = 2 if is_single else values.shape[1]
        if self.n_labels is None:
            self.n_labels = n_labels
        elif n_labels != self.n_labels:
            kind = VictimRowError if self._is_sound else VictimError
            raise kind(
                f"the victim returned {n_labels} labels, expected {self.n_labels} as before: "
                "it must return the same labels for every text"
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise VictimRowError(
                f"the victim returned NaN or infinity in row {row} of {n_texts}, expected finite numbers: "
                "check the victim on that text"
            )
        if n_texts == 0:
            return np.zeros((0, n_labels))
        rows = self._probabilities(values)
        self._is_sound = True
        return rows

    def _probabilities(self, values: FloatArray) -> FloatArray:
        looks = self._looks_like_probabilities(values)
        if self.output == "auto":
            self.output = "probabilities" if looks else "logits"
        if self.output == "probabilities":
            if not looks:
                origin = "declared" if self._declared == "probabilities" else "earlier outputs looked like"
                raise VictimError(
                    f"the victim returned values that are no probabilities, "
                    f"expected probabilities ({origin} so): say output='logits' if they are logits"
                )
            return _columns(values) if values.shape[1] == 1 else values / values.sum(axis=1, keepdims=True)
        return _columns(_sigmoid(values)) if values.shape[1] == 1 else _softmax(values)

    @staticmethod
    def _looks_like_probabilities(values: FloatArray) -> bool:
        if values.min() < -1e-6 or values.max() > 1 + 1e-6:
            return False
        return values.shape[1] == 1 or bool((np.abs(values.sum(axis=1) - 1.0) < _SUM_TOLERANCE).all())


def as_matrix(raw: Any, n_texts: int) -> FloatArray:
    """A raw output for ``n_texts`` texts as numbers, ``(n_texts, columns)``.

    Raises:
        VictimError: Not numeric, or another number of rows.
    """
    if hasattr(raw, "detach"):
        raw = raw.detach()
    if hasattr(raw, "cpu"):
        raw = raw.cpu()
    elif isinstance(raw, (list, tuple)) and raw and hasattr(raw[0], "cpu"):
        raw = [item.detach().cpu() if hasattr(item, "detach") else item.cpu() for item in raw]
        raw = [np.asarray(item) for item in raw]
    try:
        values = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # whole numbers may have any number of digits
        raise VictimError(
            f"the victim returned {type(raw).__name__} that is no numeric array, "
            f"expected {n_texts} rows of class probabilities or logits"
        ) from None
    if values.ndim == 1 and values.shape[0] == n_texts:
        values = values[:, None]
    elif values.ndim == 1 and n_texts == 1:
        values = values[None, :]
    if values.ndim != 2 or values.shape[0] != n_texts or values.shape[1] == 0:
        raise VictimError(
            f"the victim returned shape {values.shape} for {n_texts} texts, "
            f"expected ({n_texts}, classes), ({n_texts},) or ({n_texts}, 1): return one row a text"
        )
    return values


def _columns(positive: FloatArray) -> FloatArray:
    positive = np.clip(positive, 0.0, 1.0)
    return np.hstack([1.0 - positive, positive])


def _sigmoid(logits: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)), dtype=np.float64)


def _softmax(logits: FloatArray) -> FloatArray:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True), dtype=np.float64)
