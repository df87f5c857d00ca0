"""Predictions of rows and of everyone similar to them, and which counterpart an attack looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.gradients import GradientSource
from rif_plugins.tabular.losses import FloatArray, IntArray, LossKind

BoolArray = NDArray[np.bool_]
_MAX_ROWS = 65_536


@dataclass(frozen=True)
class Assessment:
    """Rows beside all of their counterparts.

    Attributes:
        prediction: ``(n,)`` predicted labels.
        is_fair: ``(n,)`` True where every counterpart has the same predicted label.
        farthest: ``(n,)`` which sensitive tuple's outputs are farthest (L1), first where several are;
            tuples with another label go before all others.
        similar_prediction: ``(n,)`` predicted label of that counterpart.
        distance: ``(n,)`` L1 distance between the outputs of the row and of that counterpart.
    """

    prediction: IntArray
    is_fair: BoolArray
    farthest: IntArray
    similar_prediction: IntArray
    distance: FloatArray

    def take(self, index: NDArray[np.generic]) -> Assessment:
        """Some of the rows, by positions or by a mask."""
        return Assessment(*(getattr(self, item.name)[index] for item in fields(self)))

    def replaced(self, where: BoolArray, other: Assessment) -> Assessment:
        """The rows of ``other`` where the mask ``(n,)`` is True, else one's own."""
        return Assessment(
            *(np.where(where, getattr(other, item.name), getattr(self, item.name)) for item in fields(self))
        )

    @classmethod
    def concatenate(cls, parts: list[Assessment]) -> Assessment:
        """Several assessments, one after another."""
        return cls(*(np.concatenate([getattr(p, item.name) for p in parts]) for item in fields(cls)))


def farthest_by_output(
    own: FloatArray, others: FloatArray, allowed: BoolArray
) -> tuple[IntArray, FloatArray]:
    """The counterpart whose outputs differ most in L1, the first of several.

    Args:
        own: ``(n, k)`` outputs of the rows.
        others: ``(n, m, k)`` outputs of their counterparts.
        allowed: ``(n, m)`` False where the counterpart is the row itself.

    Returns:
        Positions ``(n,)`` and distances ``(n,)``.
    """
    distance = np.where(allowed, np.abs(others - own[:, None, :]).sum(axis=2), -1.0)
    place = np.argmax(distance, axis=1)
    return place, distance[np.arange(len(own)), place]


class SimilarRows:
    """A schema's counterparts as one estimator sees them.

    Args:
        schema: Who counts as similar.
        source: The estimator's predictions and gradients.
    """

    def __init__(self, schema: TableSchema, source: GradientSource) -> None:
        self.schema = schema
        self.source = source
        self._tuples = schema.sensitive_tuples()
        self._where = schema.sensitive_features

    @property
    def n_tuples(self) -> int:
        """Number of sensitive tuples ``m``."""
        return len(self._tuples)

    def with_tuple(self, x: FloatArray, place: IntArray) -> FloatArray:
        """Rows ``(n, d)`` with the sensitive tuples of the given positions ``(n,)``."""
        rows = x.copy()
        rows[:, self._where] = self._tuples[place]
        return rows

    def outputs(self, x: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Outputs ``(n, k)`` of rows and ``(n, m, k)`` of counterparts, and ``(n, m)`` who is another."""
        rows, allowed = self.schema.counterparts(x)
        n, m, d = rows.shape
        others = self.source.probabilities(rows.reshape(n * m, d)).reshape(n, m, self.source.n_labels)
        own = np.empty((n, others.shape[2]))
        is_member = ~allowed.all(axis=1)
        own[is_member] = others[is_member, np.argmin(allowed[is_member], axis=1)]
        if not is_member.all():
            own[~is_member] = self.source.probabilities(x[~is_member])
        return own, others, allowed

    def assess(self, x: FloatArray) -> Assessment:
        """Predictions of rows ``(n, d)`` and of all their counterparts, in bounded memory."""
        parts = [self._assess(part) for part in self._chunks(x)]
        return parts[0] if len(parts) == 1 else Assessment.concatenate(parts)

    def in_chunks(self, x: FloatArray, rule: Callable[[FloatArray], BoolArray]) -> BoolArray:
        """A rule of rows ``(n, d)`` that looks at all counterparts, applied in bounded memory."""
        return np.concatenate([rule(part) for part in self._chunks(x)])

    def _chunks(self, x: FloatArray) -> list[FloatArray]:
        size = max(1, _MAX_ROWS // self.n_tuples)
        return [x[start : start + size] for start in range(0, max(len(x), 1), size)]

    def _assess(self, x: FloatArray) -> Assessment:
        own, others, allowed = self.outputs(x)
        prediction = np.argmax(own, axis=1)
        labels = np.argmax(others, axis=2)
        differs = (labels != prediction[:, None]) & allowed
        is_fair = ~differs.any(axis=1)
        place, distance = farthest_by_output(own, others, np.where(is_fair[:, None], allowed, differs))
        each = np.arange(len(x))
        return Assessment(prediction, is_fair, place, labels[each, place], distance)

    def largest_gradient(
        self, x: FloatArray, label: IntArray, kind: LossKind = "mse"
    ) -> tuple[IntArray, FloatArray]:
        """The counterpart with the largest ``‖g'‖₁`` over all columns, first of several, and its gradient.

        Source: RobustFair, selection of ``v'`` in its two algorithms.

        Args:
            x: Rows ``(n, d)``.
            label: ``(n,)`` labels of the rows: the loss of a counterpart is taken with the same label.
            kind: Which scalar is differentiated.

        Returns:
            Positions of the sensitive tuples ``(n,)`` and gradients ``(n, d)``.
        """
        places, gradients = [], []
        start = 0
        for part in self._chunks(x):
            rows, allowed = self.schema.counterparts(part)
            n, m, d = rows.shape
            labels = np.repeat(label[start : start + n], m)
            start += n
            _, gradient = self.source.gradient(rows.reshape(n * m, d), labels, kind)
            gradient = gradient.reshape(n, m, d)
            place = largest_norm(gradient, allowed)
            places.append(place)
            gradients.append(gradient[np.arange(n), place])
        return np.concatenate(places), np.concatenate(gradients)


def largest_norm(gradients: FloatArray, allowed: BoolArray) -> IntArray:
    """Where the L1 norm of ``(n, m, d)`` gradients is largest among the allowed ``(n, m)``; ties: first."""
    norms = np.where(allowed, np.abs(gradients).sum(axis=2), -1.0)
    return np.asarray(np.argmax(norms, axis=1))
