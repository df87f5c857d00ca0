"""What ADF, EIDIG and DICE share: a global phase towards discriminatory rows, a local one around them.

Global: a seed whose counterparts all have its label is moved along the gradients until one has another.
Local: from every discriminatory row a walk of single-feature steps, each drawn with a probability that falls
with the feature's gradient; a step to a row that discriminates no more starts again at the base.
All seeds, and then all bases, move at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import RowAttack, SearchInput, check_count
from rif_plugins.tabular.counterparts import Assessment
from rif_plugins.tabular.directions import single_feature
from rif_plugins.tabular.instances import Instances
from rif_plugins.tabular.labelling import ensemble_labels
from rif_plugins.tabular.pair_batch import PairBatch
from rif_plugins.tabular.row_random import RowRandom, weighted_choice

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# Rows, their assessment, their positions among the seeds, the step: directions (n, d).
DirectionRule = Callable[[FloatArray, Assessment, IntArray, int], FloatArray]
_SMALLEST_GRADIENT = 1e-6
# Draws of a step, so that no two decisions share a number.
FEATURE_DRAW, SIGN_DRAW, FIRST_DRAW, SECOND_DRAW = range(4)


class DiscriminationSearch(RowAttack):
    """Base class of the fairness baselines.

    Args:
        estimator: An ART classifier.
        schema: Columns of the rows.
        n_global: Most steps of a seed.
        n_local: Steps around each discriminatory row.
        refresh: The local phase computes its gradients again after so many steps.
        stop_when_found: A seed leaves the global phase once it discriminates, as published; False: every
            seed makes all of its steps, which compares techniques at equal budgets.
        keep: ``"all"`` tested rows, or only the ``"biased"`` ones, which bounds the memory of long searches.
        label_estimators: Models whose majority vote labels the generated rows (RobustFair's Q3); None: each
            row keeps the label of its seed.
        **settings: See :class:`~rif_plugins.tabular.base.RowAttack`.
    """

    attack_params: ClassVar[list[str]] = [
        *RowAttack.attack_params,
        "n_global",
        "n_local",
        "refresh",
        "stop_when_found",
        "keep",
        "label_estimators",
    ]

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        *,
        n_global: int = 10,
        n_local: int = 10,
        refresh: int = 1,
        stop_when_found: bool = True,
        keep: Literal["all", "biased"] = "all",
        label_estimators: Sequence[Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(estimator, schema, **settings)
        self.n_global = n_global
        self.n_local = n_local
        self.refresh = refresh
        self.stop_when_found = stop_when_found
        self.keep = keep
        self.label_estimators = label_estimators
        DiscriminationSearch._check_params(self)

    def _check_params(self) -> None:
        super()._check_params()
        check_count("n_global", self.n_global, 0)
        check_count("n_local", self.n_local, 0)
        check_count("refresh", self.refresh, 1)
        if self.keep not in ("all", "biased"):
            raise UsageError(f"keep {self.keep!r} does not exist: expected all or biased")

    @abstractmethod
    def _direction_rule(self, batch: SearchInput) -> DirectionRule:
        """A fresh rule for one search; it may remember gradients of earlier steps."""

    @abstractmethod
    def _local_gradients(
        self, batch: SearchInput, rows: FloatArray, known: Assessment
    ) -> tuple[FloatArray, FloatArray]:
        """Gradients of rows and of their farthest counterparts, ``(n, d)`` each."""

    def _is_goal(self, pairs: PairBatch) -> BoolArray:
        biased = (str(Outcome.ROBUST_BIASED), str(Outcome.UNROBUST_BIASED))
        return np.asarray(np.isin(pairs.outcome, biased))

    def _search(self, batch: SearchInput) -> Instances:
        width = batch.x.shape[1]
        known = batch.similar.assess(batch.x)
        seeds = self._instances(batch, batch.x, known, np.arange(len(batch.x)), "seed", 0)
        natural = seeds.take(np.flatnonzero(~known.is_fair))
        parts = [natural, *(self._global(batch, known) if self.n_global else [])]
        found = Instances.concatenate(parts, width)
        if self.n_local:
            bases = found.take(_biased(found)) if self.n_global else seeds
            bases = bases.distinct(per_source=batch.per_source)
            found = Instances.concatenate([found, *self._local(batch, bases)], width)
        if self.label_estimators is None or not len(found):
            return found
        return found.with_labels(ensemble_labels(self.label_estimators, found.rows))

    def _global(self, batch: SearchInput, known: Assessment) -> list[Instances]:
        rule = self._direction_rule(batch)
        rows = batch.x.copy()
        active = np.arange(len(rows))
        parts = []
        for step in range(1, self.n_global + 1):
            if self.stop_when_found:
                still = known.is_fair
                active, known = active[still], known.take(still)
            if not active.size:
                break
            before, editable = rows[active], batch.editable[active]
            direction = rule(before, known, active, step)
            random = batch.random.take(active)
            idle = ~direction.any(axis=1)
            direction[idle] = _random_direction(editable, random, step)[idle]
            after = batch.moves.apply(before, direction, editable)
            known = batch.similar.assess(after)
            rows[active] = after
            parts.append(self._kept(self._instances(batch, after, known, active, "global", step), before))
        return parts

    def _local(self, batch: SearchInput, bases: Instances) -> list[Instances]:
        if not len(bases) or bases.assessment is None:
            return []
        random = RowRandom(self.seed, bases.rows)
        editable = batch.editable[bases.source]
        rows, known = bases.rows.copy(), bases.assessment
        weights = np.zeros_like(rows)
        parts = []
        for step in range(1, self.n_local + 1):
            if (step - 1) % self.refresh == 0:
                weights = local_weights(*self._local_gradients(batch, rows, known), editable)
            feature = weighted_choice(weights, random.uniform(step, FEATURE_DRAW))
            sign = np.repeat(random.signs(step, SIGN_DRAW)[:, None], rows.shape[1], axis=1)
            after = batch.moves.apply(rows, single_feature(sign, feature), editable)
            known = batch.similar.assess(after)
            parts.append(self._kept(self._instances(batch, after, known, bases.source, "local", step), rows))
            fair = known.is_fair
            rows = np.where(fair[:, None], bases.rows, after)
            if fair.any():
                known = known.replaced(fair, bases.assessment)
        return parts

    def _kept(self, found: Instances, before: FloatArray) -> Instances:
        moved = (found.rows != before).any(axis=1)
        return found.take(np.flatnonzero(moved if self.keep == "all" else moved & _biased(found)))

    @staticmethod
    def _instances(
        batch: SearchInput, rows: FloatArray, known: Assessment, source: IntArray, phase: str, step: int
    ) -> Instances:
        n = len(rows)
        return Instances(
            rows=rows,
            label=batch.label[source],
            source=source,
            direction=np.full(n, ""),
            phase=np.full(n, phase),
            step=np.full(n, step, dtype=np.int64),
            assessment=known,
        )


def local_weights(gradient: FloatArray, similar_gradient: FloatArray, editable: BoolArray) -> FloatArray:
    """Probabilities of the features in the local phase: ``1 / (|g| + |g'| + 1e-6)``, 0 where frozen.

    Args:
        gradient: ``(n, d)``.
        similar_gradient: ``(n, d)``.
        editable: ``(n, d)``.

    Returns:
        ``(n, d)``; each row sums to 1, or to 0 where nothing may move.
    """
    weights = 1.0 / (np.abs(gradient) + np.abs(similar_gradient) + _SMALLEST_GRADIENT)
    weights = np.where(editable, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


def _biased(found: Instances) -> BoolArray:
    if found.assessment is None:
        return np.zeros(len(found), dtype=np.bool_)
    return ~found.assessment.is_fair


def _random_direction(editable: BoolArray, random: RowRandom, step: int) -> FloatArray:
    feature = weighted_choice(editable.astype(np.float64), random.uniform(step, FEATURE_DRAW))
    signs = np.repeat(random.signs(step, SIGN_DRAW)[:, None], editable.shape[1], axis=1)
    return single_feature(signs, feature)
