"""EIDIG: Efficient Individual Discriminatory Instances Generator, a fairness baseline.

Source: Zhang, Zhang and Zhang, "Efficient White-Box Fairness Testing through Gradient Search", ISSTA 2021;
settings of the comparison in RobustFair: 10 global and 10 local steps, decay 0.5, refresh after 1,000.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.adf import pair_gradients
from rif_plugins.tabular.base import SearchInput
from rif_plugins.tabular.counterparts import Assessment
from rif_plugins.tabular.directions import agreeing_signs
from rif_plugins.tabular.discrimination_search import DirectionRule, DiscriminationSearch

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class EIDIGAttack(DiscriminationSearch):
    """Moves a row against the gradient of its own class, with momentum on both sides of the pair.

    The probability of the predicted class is differentiated, not a loss, which saves the backward pass of
    the loss; the local phase keeps its gradients for ``refresh`` steps.

    Args:
        estimator: An ART classifier.
        schema: Columns of the rows.
        decay: How much of the earlier gradients stays.
        refresh: See :class:`~rif_plugins.tabular.discrimination_search.DiscriminationSearch`.
        **settings: See there.
    """

    attack_params: ClassVar[list[str]] = [*DiscriminationSearch.attack_params, "decay"]

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        *,
        decay: float = 0.5,
        refresh: int = 1000,
        **settings: Any,
    ) -> None:
        super().__init__(estimator, schema, refresh=refresh, **settings)
        self.decay = decay
        self._check_params()

    def _check_params(self) -> None:
        super()._check_params()
        if not 0.0 <= self.decay < 1.0:
            raise UsageError(f"decay must lie in [0, 1), got {self.decay}")

    def _direction_rule(self, batch: SearchInput) -> DirectionRule:
        memory = np.zeros((2, *batch.x.shape))

        def rule(rows: FloatArray, known: Assessment, active: IntArray, step: int) -> FloatArray:
            gradients = np.stack(self._local_gradients(batch, rows, known))
            memory[:, active] = with_momentum(memory[:, active], gradients, self.decay)
            own, other = memory[:, active]
            # + 0.0 so that a feature that does not move is 0, not -0
            return -agreeing_signs(own, other, batch.editable[active]) + 0.0

        return rule

    def _local_gradients(
        self, batch: SearchInput, rows: FloatArray, known: Assessment
    ) -> tuple[FloatArray, FloatArray]:
        return pair_gradients(batch, rows, known, "class")


def with_momentum(memory: FloatArray, gradient: FloatArray, decay: float) -> FloatArray:
    """``decay · memory + gradient``."""
    return np.asarray(decay * memory + gradient)
