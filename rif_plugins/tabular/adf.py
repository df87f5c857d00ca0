"""ADF: the Adversarial Discrimination Finder, a fairness baseline.

Source: Zhang et al., "White-box Fairness Testing through Adversarial Sampling", ICSE 2020; settings of the
comparison in RobustFair: 10 global and 10 local steps.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import SearchInput
from rif_plugins.tabular.counterparts import Assessment
from rif_plugins.tabular.directions import agreeing_signs
from rif_plugins.tabular.discrimination_search import DirectionRule, DiscriminationSearch
from rif_plugins.tabular.losses import LossKind

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class ADFAttack(DiscriminationSearch):
    """Moves a row and its farthest counterpart where both losses grow, until their labels part.

    The loss of each side is taken against its own predicted label. Features whose gradients have the same
    sign on both sides move along it; where there is none, one feature is drawn. The local phase computes its
    gradients at every step.

    Args:
        estimator: An ART classifier.
        schema: Columns of the rows.
        loss: ``"ce"`` or ``"mse"``; the signs are the same for two classes.
        **settings: See :class:`~rif_plugins.tabular.discrimination_search.DiscriminationSearch`.
    """

    attack_params: ClassVar[list[str]] = [*DiscriminationSearch.attack_params, "loss"]

    def __init__(
        self, estimator: Any, schema: TableSchema, *, loss: LossKind = "ce", **settings: Any
    ) -> None:
        super().__init__(estimator, schema, **settings)
        self.loss: LossKind = loss
        self._check_params()

    def _check_params(self) -> None:
        super()._check_params()
        if self.loss not in ("ce", "mse"):
            raise UsageError(f"loss {self.loss!r} does not exist: expected ce or mse")

    def _direction_rule(self, batch: SearchInput) -> DirectionRule:
        def rule(rows: FloatArray, known: Assessment, active: IntArray, step: int) -> FloatArray:
            gradient, similar_gradient = self._local_gradients(batch, rows, known)
            return agreeing_signs(gradient, similar_gradient, batch.editable[active])

        return rule

    def _local_gradients(
        self, batch: SearchInput, rows: FloatArray, known: Assessment
    ) -> tuple[FloatArray, FloatArray]:
        return pair_gradients(batch, rows, known, self.loss)


def pair_gradients(
    batch: SearchInput, rows: FloatArray, known: Assessment, kind: LossKind
) -> tuple[FloatArray, FloatArray]:
    """Gradients of rows and of their farthest counterparts, each for its own predicted label."""
    both = np.concatenate([rows, batch.similar.with_tuple(rows, known.farthest)])
    labels = np.concatenate([known.prediction, known.similar_prediction])
    _, gradient = batch.source.gradient(both, labels, kind)
    return gradient[: len(rows)], gradient[len(rows) :]
