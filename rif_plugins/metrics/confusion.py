"""The fairness confusion of rows: who is right, who is treated as all similar individuals are.

A row is robust when its prediction is its label, fair when all its counterparts get its prediction. The four
outcomes are those of ``core.outcomes``; papers call them TF, TB, FF and FB. Source: Li et al., RobustFair
(fairness confusion matrix); with K = 0 "fair" is equality, with K > 0 it is ``D <= K d``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.errors import UsageError

OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)
"""The outcome of a code: 0 robust_fair, 1 robust_biased, 2 unrobust_fair, 3 unrobust_biased."""

PAPER_NAMES: tuple[str, ...] = ("TF", "TB", "FF", "FB")
"""What the papers call the codes 0 to 3; only for their tables."""

CodeArray = NDArray[np.int8]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]


def row_outcomes(
    label: ArrayLike,
    prediction: ArrayLike,
    similar_predictions: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    lipschitz: float = 0.0,
    distances: ArrayLike | None = None,
) -> CodeArray:
    """The outcome of every row.

    Args:
        label: Right labels ``(n,)``.
        prediction: Predicted labels ``(n,)``.
        similar_predictions: Predicted labels of the counterparts, ``(n, m)``, or ``(n,)`` for one each.
        mask: Which counterparts count, ``(n, m)``; by default all.
        lipschitz: K: a differing label is fair where ``1 <= K d``.
        distances: d, input distances to the counterparts ``(n, m)``; needed with ``lipschitz > 0``.

    Returns:
        Codes ``(n,)`` into :data:`OUTCOMES`. Two different wrong labels are ``unrobust_biased``.

    Raises:
        UsageError: Shapes that do not fit, labels that are no whole numbers, a row without a counterpart.
    """
    y = label_array(label, "label")
    first = label_array(prediction, "prediction", len(y))
    others = label_array(similar_predictions, "similar_predictions", len(y), 2)
    counted = _mask(mask, others)
    differs = others != first[:, None]
    if lipschitz:
        differs &= lipschitz * _distances(lipschitz, distances, others.shape) < 1.0
    is_biased = (differs & counted).any(axis=1)
    return np.asarray(2 * (first != y) + is_biased, dtype=np.int8)


def label_array(values: ArrayLike, name: str, n: int | None = None, ndim: int = 1) -> NDArray[np.int64]:
    """Whole-number labels of shape ``(n,)``, or ``(n, m)`` with ``ndim`` 2 (a flat array is one column).

    Raises:
        UsageError: NaN, a fraction, no number, or another shape.
    """
    raw = np.asarray(values)
    try:
        numbers = raw.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{name} holds something that is no number: give class numbers from 0 on") from None
    if raw.ndim == 1 and ndim == 2:
        numbers = numbers[:, None]
    if numbers.ndim != ndim or (n is not None and len(numbers) != n):
        expected = f"({'n' if n is None else n}{', m' if ndim == 2 else ','})"
        raise UsageError(f"{name} has shape {raw.shape}, expected {expected}: give one entry a row")
    if not np.isfinite(numbers).all() or (numbers != np.rint(numbers)).any():
        raise UsageError(f"{name} holds NaN or fractions, expected class numbers: take the argmax first")
    return np.asarray(numbers, dtype=np.int64)


def _mask(mask: ArrayLike | None, others: NDArray[np.int64]) -> BoolArray:
    counted = np.ones(others.shape, dtype=np.bool_) if mask is None else np.asarray(mask)
    if counted.ndim == 1:
        counted = counted[:, None]
    if counted.shape != others.shape or counted.dtype != np.bool_:
        raise UsageError(
            f"mask is {counted.dtype} of shape {counted.shape}, expected bool of shape {others.shape}"
        )
    lonely = ~counted.any(axis=1)
    if lonely.any():
        raise UsageError(
            f"row {int(np.flatnonzero(lonely)[0])} has no counterpart, so it is neither fair nor biased: "
            "give the sensitive columns two values or more, or drop the row"
        )
    return counted


def _distances(lipschitz: float, distances: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    if lipschitz < 0 or not np.isfinite(lipschitz):
        raise UsageError(f"lipschitz is {lipschitz}, expected a number of 0 or more")
    if distances is None:
        raise UsageError("lipschitz needs distances: give the input distances to the counterparts")
    d = np.asarray(distances, dtype=np.float64)
    d = d[:, None] if d.ndim == 1 else d
    if d.shape != shape or not (d >= 0).all():
        raise UsageError(f"distances has shape {d.shape}, expected {shape} of numbers of 0 or more")
    return d


def mean_square_distances(x: ArrayLike, similar: ArrayLike) -> FloatArray:
    """The input distance of RobustFair: mean squared difference over the features.

    Args:
        x: Rows ``(n, d)``.
        similar: Their counterparts ``(n, m, d)``.

    Returns:
        Distances ``(n, m)``.
    """
    rows = np.asarray(x, dtype=np.float64)
    others = np.asarray(similar, dtype=np.float64)
    if rows.ndim != 2 or others.ndim != 3 or others.shape[::2] != rows.shape:
        raise UsageError(f"similar has shape {others.shape}, expected (n, m, d) beside x of {rows.shape}")
    return np.asarray(((others - rows[:, None, :]) ** 2).mean(axis=2), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many rows have each outcome; shares of rows work too.

    Attributes:
        robust_fair: TF.
        robust_biased: TB.
        unrobust_fair: FF.
        unrobust_biased: FB.
    """

    robust_fair: float
    robust_biased: float
    unrobust_fair: float
    unrobust_biased: float

    def __post_init__(self) -> None:
        if not all(np.isfinite(n) and n >= 0 for n in self.counts):
            raise UsageError(f"the confusion holds {self.counts}, expected four numbers of 0 or more")

    @classmethod
    def from_outcomes(cls, outcomes: ArrayLike) -> Confusion:
        """Count codes, ``(n,)`` into :data:`OUTCOMES`."""
        return cls(*np.bincount(outcome_codes(outcomes), minlength=4).tolist())

    @property
    def counts(self) -> tuple[float, float, float, float]:
        """The four numbers in the order of :data:`OUTCOMES`."""
        return self.robust_fair, self.robust_biased, self.unrobust_fair, self.unrobust_biased

    @property
    def total(self) -> float:
        """Number of rows."""
        return sum(self.counts)

    @property
    def n_false(self) -> float:
        """N_f: rows with a wrong label."""
        return self.unrobust_fair + self.unrobust_biased

    @property
    def n_biased(self) -> float:
        """N_b: rows whose counterparts get another label."""
        return self.robust_biased + self.unrobust_biased

    @property
    def n_false_or_biased(self) -> float:
        """N_f|b: rows with either."""
        return self.robust_biased + self.unrobust_fair + self.unrobust_biased

    def rate(self, outcome: Outcome | str) -> float:
        """Share of rows with an outcome (TFR, TBR, FFR, FBR); 0 without rows."""
        return self._share(self.counts[OUTCOMES.index(Outcome(outcome))])

    @property
    def accuracy(self) -> float:
        """ACC = TFR + TBR."""
        return self._share(self.robust_fair + self.robust_biased)

    @property
    def individual_fairness_rate(self) -> float:
        """IF = TFR + FFR, which paper 001 calls FTA on clean rows."""
        return self._share(self.robust_fair + self.unrobust_fair)

    @property
    def fair_recall(self) -> float:
        """F-recall = TF / (TF + FF): of the fair rows, those that are right; 0 without any."""
        return _ratio(self.robust_fair, self.robust_fair + self.unrobust_fair)

    @property
    def fair_precision(self) -> float:
        """F-precision = TF / (TF + TB): of the right rows, those that are fair; 0 without any."""
        return _ratio(self.robust_fair, self.robust_fair + self.robust_biased)

    @property
    def fair_f1_score(self) -> float:
        """2 TF / (2 TF + TB + FF), the harmonic mean of both; 0 without any.

        It does not see ``unrobust_biased`` rows: 7 TF and 3 FB score 1 with an accuracy of 0.7.
        """
        return _ratio(2 * self.robust_fair, 2 * self.robust_fair + self.robust_biased + self.unrobust_fair)

    def to_table(self) -> dict[str, float]:
        """All counts and rates under the names of the papers."""
        return {
            **dict(zip(PAPER_NAMES, self.counts, strict=True)),
            **{f"{name}R": self._share(n) for name, n in zip(PAPER_NAMES, self.counts, strict=True)},
            "N_f": self.n_false,
            "N_b": self.n_biased,
            "N_f|b": self.n_false_or_biased,
            "ACC": self.accuracy,
            "IF": self.individual_fairness_rate,
            "F-recall": self.fair_recall,
            "F-precision": self.fair_precision,
            "F-F1": self.fair_f1_score,
        }

    def _share(self, count: float) -> float:
        return _ratio(count, self.total)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def outcome_codes(outcomes: ArrayLike, name: str = "outcomes", ndim: int = 1) -> CodeArray:
    """Checked outcome codes 0 to 3.

    Raises:
        UsageError: Another number or shape.
    """
    codes = label_array(outcomes, name) if ndim == 1 else label_array(outcomes, name, ndim=ndim)
    if codes.size and (codes.min() < 0 or codes.max() > 3):
        bad = codes[(codes < 0) | (codes > 3)][0]
        raise UsageError(f"{name} holds {bad}, expected the codes 0 to 3 of row_outcomes")
    return codes.astype(np.int8)


def confusion_rates(
    label: ArrayLike, prediction: ArrayLike, similar_predictions: ArrayLike, mask: ArrayLike | None = None
) -> Confusion:
    """The confusion of rows in one call; arguments as :func:`row_outcomes`."""
    return Confusion.from_outcomes(row_outcomes(label, prediction, similar_predictions, mask))


def fair_f1_score(
    label: ArrayLike, prediction: ArrayLike, similar_predictions: ArrayLike, mask: ArrayLike | None = None
) -> float:
    """Fair-F1 of rows, ``2 TF / (2 TF + TB + FF)``; arguments as :func:`row_outcomes`."""
    return confusion_rates(label, prediction, similar_predictions, mask).fair_f1_score
