"""DICE: search by the amount of sensitive information in the outputs, a fairness baseline.

Source: Monjezi et al., "Information-Theoretic Testing and Debugging of Fairness Defects in Deep Neural
Networks", ICSE 2023, in the variant that RobustFair's authors compare with: outputs of all similar rows are
put into bins, and the crowd of the largest bin is moved apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import SearchInput
from rif_plugins.tabular.counterparts import Assessment
from rif_plugins.tabular.directions import agreeing_signs
from rif_plugins.tabular.discrimination_search import (
    FIRST_DRAW,
    SECOND_DRAW,
    DirectionRule,
    DiscriminationSearch,
)
from rif_plugins.tabular.row_random import RowRandom, weighted_choice

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# 0.29 / 0.01 is 28.999999999999996: without this a probability on an edge falls into the bin below.
_EDGE = 1e-9


class DICEAttack(DiscriminationSearch):
    """Moves a row along the gradients of two similar rows that share the largest bin of outputs.

    Args:
        estimator: An ART classifier.
        schema: Columns of the rows.
        bin_width: Width of a bin of the last class's probability (RobustFair's comparison: 0.01).
        **settings: See :class:`~rif_plugins.tabular.discrimination_search.DiscriminationSearch`.
    """

    attack_params: ClassVar[list[str]] = [*DiscriminationSearch.attack_params, "bin_width"]

    def __init__(
        self, estimator: Any, schema: TableSchema, *, bin_width: float = 0.01, **settings: Any
    ) -> None:
        super().__init__(estimator, schema, **settings)
        self.bin_width = bin_width
        self._check_params()

    def _check_params(self) -> None:
        super()._check_params()
        if not 0.0 < self.bin_width <= 1.0:
            raise UsageError(f"bin_width must lie in (0, 1], got {self.bin_width}")

    def _direction_rule(self, batch: SearchInput) -> DirectionRule:
        def rule(rows: FloatArray, known: Assessment, active: IntArray, step: int) -> FloatArray:
            crowd = batch.similar.in_chunks(rows, self._crowd(batch))
            first, second = draw_pair(crowd, batch.random.take(active), step)
            both = np.concatenate(
                [batch.similar.with_tuple(rows, first), batch.similar.with_tuple(rows, second)]
            )
            last = np.full(len(both), batch.source.n_labels - 1)
            _, gradient = batch.source.gradient(both, last, "class")
            return agreeing_signs(gradient[: len(rows)], gradient[len(rows) :], batch.editable[active])

        return rule

    def _crowd(self, batch: SearchInput) -> Callable[[FloatArray], BoolArray]:
        """Of rows: which combinations share the largest bin; the row's own is one of them."""

        def crowd(rows: FloatArray) -> BoolArray:
            _, outputs, _ = batch.similar.outputs(rows)
            return in_largest_bin(output_bins(outputs[:, :, -1], self.bin_width))

        return crowd

    def _local_gradients(
        self, batch: SearchInput, rows: FloatArray, known: Assessment
    ) -> tuple[FloatArray, FloatArray]:
        both = np.concatenate([rows, batch.similar.with_tuple(rows, known.farthest)])
        last = np.full(len(both), batch.source.n_labels - 1)
        _, gradient = batch.source.gradient(both, last, "class")
        return gradient[: len(rows)], gradient[len(rows) :]


def output_bins(probability: FloatArray, width: float) -> IntArray:
    """The bin of each probability: ``floor(p / width)``, any shape."""
    return np.asarray(np.floor(probability / width + _EDGE), dtype=np.int64)


def in_largest_bin(bins: IntArray) -> BoolArray:
    """Which members ``(n, m)`` are in the bin with the most members; the lowest bin of several."""
    size = (bins[:, :, None] == bins[:, None, :]).sum(axis=2)
    is_largest = size == size.max(axis=1, keepdims=True)
    lowest = np.where(is_largest, bins, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    return np.asarray(bins == lowest)


def draw_pair(allowed: BoolArray, random: RowRandom, step: int) -> tuple[IntArray, IntArray]:
    """Two different members of ``(n, m)`` a row; from all of them where fewer than two are allowed."""
    few = allowed.sum(axis=1) < 2
    weights = np.where(few[:, None], True, allowed).astype(np.float64)
    first = weighted_choice(weights, random.uniform(step, FIRST_DRAW))
    weights[np.arange(len(weights)), first] = 0.0
    return first, weighted_choice(weights, random.uniform(step, SECOND_DRAW))
