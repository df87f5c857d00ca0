"""RobustFair: false and biased rows by fairness confusion directed gradient search.

Source: Li et al., "RobustFair: Adversarial Evaluation through Fairness Confusion Directed Gradient Search".
Each number below stands in the paper or in its released code; what differs from either is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import RowAttack, SearchInput, check_count
from rif_plugins.tabular.directions import (
    KINDS,
    ascending_features,
    confusion_direction,
    single_feature,
)
from rif_plugins.tabular.ground_truth import estimated_labels, estimated_loss
from rif_plugins.tabular.instances import Instances
from rif_plugins.tabular.losses import loss_values
from rif_plugins.tabular.row_random import first_of_each, row_keys

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class _States:
    """Rows that the search stands at: arrays with ``k`` entries; ``kind`` is a position in ``KINDS``."""

    rows: FloatArray
    label: IntArray
    kind: IntArray
    source: IntArray

    def take(self, index: NDArray[np.generic]) -> _States:
        return _States(self.rows[index], self.label[index], self.kind[index], self.source[index])

    def repeated_for_all_kinds(self) -> _States:
        n = len(self.rows)
        index = np.tile(np.arange(n), len(KINDS))
        return _States(
            self.rows[index], self.label[index], np.repeat(np.arange(len(KINDS)), n), self.source[index]
        )


class RobustFairAttack(RowAttack):
    """Searches for all three violations at once: false fair, true biased and false biased rows.

    The global phase moves each seed along three directions, one a violation, ``n_global`` times; the local
    phase changes one feature at a time around every row of the global phase, the flattest features first.
    The right label of a moved row is estimated by the total derivative of the loss.

    Args:
        estimator: An ART classifier.
        schema: Columns of the rows.
        n_global: Steps of the global phase (paper: 10). With 0 the local phase starts from the seeds.
        n_local: Most features tried around a row (paper: 10). With 0 there is no local phase.
        branching: True: every child enters the next round along all three directions, as the paper's
            algorithm says; the work grows threefold a step. False: three chains, as its code does.
        skip_true_fair: Leave out the local phase around rows that are already accurate and fair, as the
            code does and the paper does not.
        **settings: See :class:`~rif_plugins.tabular.base.RowAttack`. The paper's setting is
            ``step_size=0.01, domain=False`` on columns scaled to [0, 1].

    Differences from the released code: all counterparts are looked at (it draws a few), the largest gradient
    wins (it keeps the last), and features that do not move take no part in the local budget.
    """

    attack_params: ClassVar[list[str]] = [
        *RowAttack.attack_params,
        "n_global",
        "n_local",
        "branching",
        "skip_true_fair",
    ]

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        *,
        n_global: int = 10,
        n_local: int = 10,
        branching: bool = False,
        skip_true_fair: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(estimator, schema, **settings)
        self.n_global = n_global
        self.n_local = n_local
        self.branching = branching
        self.skip_true_fair = skip_true_fair
        self._check_params()

    def _check_params(self) -> None:
        super()._check_params()
        check_count("n_global", self.n_global, 0)
        check_count("n_local", self.n_local, 0)
        if self.n_global == 0 and self.n_local == 0:
            raise UsageError("n_global and n_local are both 0, expected one of them to be 1 or more")

    def _search(self, batch: SearchInput) -> Instances:
        width = batch.x.shape[1]
        seeds = _States(batch.x, batch.label, np.zeros(len(batch.x), dtype=np.int64), np.arange(len(batch.x)))
        parts = self._global(batch, seeds)
        found = Instances.concatenate(parts, width).distinct(per_source=batch.per_source)
        if self.n_local:
            bases = self._bases(seeds, found)
            found = Instances.concatenate([found, *self._local(batch, bases)], width)
        return found

    def _global(self, batch: SearchInput, seeds: _States) -> list[Instances]:
        states = seeds.repeated_for_all_kinds()
        parts = []
        for step in range(1, self.n_global + 1):
            if not len(states.rows):
                break
            states = self._step(batch, states)
            parts.append(_instances(states, "global", step))
            if self.branching:
                keys = row_keys(
                    np.concatenate([states.rows, states.label[:, None], states.source[:, None]], 1)
                )
                states = states.take(first_of_each(keys)).repeated_for_all_kinds()
        return parts

    def _step(self, batch: SearchInput, states: _States) -> _States:
        """One global step of every state; states that cannot move are left out."""
        direction, gradient, loss = self._directions(batch, states)
        rows = batch.moves.apply(states.rows, direction, batch.editable[states.source])
        moved = np.flatnonzero((rows != states.rows).any(axis=1))
        label = _labels(batch, rows[moved], states.rows[moved], gradient[moved], loss[moved])
        return _States(rows[moved], label, states.kind[moved], states.source[moved])

    def _directions(self, batch: SearchInput, states: _States) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Directions ``(k, d)`` of each state's kind, gradients ``(k, d)`` and losses ``(k,)``."""
        # States that differ in their kind alone share their gradients, which are all of the cost.
        keys = row_keys(np.concatenate([states.rows, states.label[:, None]], axis=1))
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        rows, label = states.rows[first], states.label[first]
        outputs, gradient = batch.source.gradient(rows, label, "mse")
        _, similar_gradient = batch.similar.largest_gradient(rows, label, "mse")
        loss = loss_values("mse", outputs, label)[back]
        gradient, similar_gradient = gradient[back], similar_gradient[back]
        direction = np.zeros_like(states.rows)
        for kind, name in enumerate(KINDS):
            here = states.kind == kind
            direction[here] = confusion_direction(
                name, gradient[here], similar_gradient[here], batch.editable[states.source[here]]
            )
        return direction, gradient, loss

    def _bases(self, seeds: _States, found: Instances) -> _States:
        if not self.n_global:
            return seeds.repeated_for_all_kinds()
        kind = np.asarray([KINDS.index(name) for name in found.direction], dtype=np.int64)
        bases = _States(found.rows, found.label, kind, found.source)
        return bases.repeated_for_all_kinds() if self.branching else bases

    def _local(self, batch: SearchInput, bases: _States) -> list[Instances]:
        if self.skip_true_fair and len(bases.rows):
            known = batch.similar.assess(bases.rows)
            bases = bases.take(np.flatnonzero(~known.is_fair | (known.prediction != bases.label)))
        if not len(bases.rows):
            return []
        direction, gradient, loss = self._directions(batch, bases)
        order, n_moves = ascending_features(gradient, direction)
        parts = []
        for rank in range(min(self.n_local, order.shape[1])):
            some = np.flatnonzero(n_moves > rank)
            if not some.size:
                break
            single = single_feature(direction[some], order[some, rank])
            start = bases.take(some)
            rows = batch.moves.apply(start.rows, single, batch.editable[start.source])
            moved = np.flatnonzero((rows != start.rows).any(axis=1))
            some, start, rows = some[moved], start.take(moved), rows[moved]
            label = _labels(batch, rows, start.rows, gradient[some], loss[some])
            parts.append(_instances(_States(rows, label, start.kind, start.source), "local", rank + 1))
        return parts


def _labels(
    batch: SearchInput, rows: FloatArray, start: FloatArray, gradient: FloatArray, loss: FloatArray
) -> IntArray:
    expected = estimated_loss(loss, gradient, rows - start)
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    return estimated_labels(expected, batch.source.probabilities(rows))


def _instances(states: _States, phase: str, step: int) -> Instances:
    n = len(states.rows)
    return Instances(
        rows=states.rows,
        label=states.label,
        source=states.source,
        direction=np.asarray(KINDS)[states.kind],
        phase=np.full(n, phase),
        step=np.full(n, step, dtype=np.int64),
    )
