"""One row and everyone similar to it, asked of an ART estimator row by row."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from rif_plugins.tables import TableSchema


@dataclass
class Seen:
    """What the model says of a row: its label, the farthest other row, and whether labels differ.

    ``confidence`` is the probability of the own label, on each side.
    """

    label: int
    confidence: float
    is_biased: bool
    similar: np.ndarray
    similar_label: int
    similar_confidence: float


class OneRowModel:
    """An estimator with softmax outputs of two classes.

    Args:
        estimator: ART classifier.
        schema: Columns of width 1 without relations.
        one_call: Ask for all similar rows in one call instead of one call a row.
    """

    def __init__(self, estimator: Any, schema: TableSchema, *, one_call: bool = False) -> None:
        self.estimator = estimator
        self.one_call = one_call
        self.n_calls = 0
        self.sensitive = [i for i, c in enumerate(schema.columns) if c.sensitive]
        self.free = [i for i, c in enumerate(schema.columns) if not (c.sensitive or c.immutable)]
        domains = [sorted(schema.columns[i].domain()[:, 0]) for i in self.sensitive]
        self.tuples = [np.array(values) for values in itertools.product(*domains)]
        self.codes = [
            np.sort(c.domain()[:, 0]) if c.kind != "numeric" or c.values else None for c in schema.columns
        ]
        self.columns = schema.columns

    def predict(self, row: np.ndarray) -> np.ndarray:
        self.n_calls += 1
        return self.estimator.predict(row[None].astype(np.float32))[0]

    def predict_all(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        if self.one_call:
            self.n_calls += 1
            return list(self.estimator.predict(np.array(rows, dtype=np.float32)))
        return [self.predict(row) for row in rows]

    def class_gradient(self, row: np.ndarray, label: int) -> np.ndarray:
        self.n_calls += 1
        return self.estimator.class_gradient(row[None].astype(np.float32), label=label)[0, 0]

    def others(self, row: np.ndarray) -> list[np.ndarray]:
        rows = []
        for values in self.tuples:
            other = row.copy()
            other[self.sensitive] = values
            if (other != row).any():
                rows.append(other)
        return rows

    def look(self, row: np.ndarray) -> Seen:
        """Ask for the row and all similar rows; the farthest in L1, first of those with another label."""
        others = self.others(row)
        answers = self.predict_all([row, *others])
        own, rest = answers[0], answers[1:]
        label = int(np.argmax(own))
        best, best_key = 0, (False, -1.0)
        for place, answer in enumerate(rest):
            key = (int(np.argmax(answer)) != label, float(np.abs(answer.astype(np.float64) - own).sum()))
            if key > best_key:
                best, best_key = place, key
        other = int(np.argmax(rest[best]))
        return Seen(label, float(own[label]), best_key[0], others[best], other, float(rest[best][other]))

    def move(self, row: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Every free column to its next code up or down."""
        moved = row.copy()
        for column in self.free:
            if direction[column] == 0:
                continue
            codes = self.codes[column]
            place = int(np.searchsorted(codes, row[column])) + int(direction[column])
            moved[column] = codes[min(max(place, 0), len(codes) - 1)]
        return moved


class DirectModel:
    """A torch model behind the two methods that the loops ask for, without ART's data loader and checks."""

    def __init__(self, model: Any) -> None:
        import torch

        self.model, self.torch = model.eval(), torch

    def predict(self, rows: np.ndarray) -> np.ndarray:
        with self.torch.no_grad():
            return self.model(self.torch.from_numpy(rows)).numpy()

    def class_gradient(self, rows: np.ndarray, label: int) -> np.ndarray:
        x = self.torch.from_numpy(rows).requires_grad_(True)
        (gradient,) = self.torch.autograd.grad(self.model(x)[:, label].sum(), x)
        return gradient.numpy()[:, None, :]


def choose(weights: np.ndarray, uniform: float) -> int:
    """A position with probability in proportion to its weight."""
    ends = np.cumsum(weights)
    return int(np.searchsorted(ends, uniform * ends[-1], side="right"))


def inverse_weights(g: np.ndarray, other: np.ndarray, free: list[int]) -> np.ndarray:
    """1 / (|g| + |g'| + 1e-6) on free columns, normalised."""
    weights = np.zeros(len(g))
    weights[free] = 1.0 / (np.abs(g[free]) + np.abs(other[free]) + 1e-6)
    return weights / weights.sum()
