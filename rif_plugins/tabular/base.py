"""What every row attack shares: input checks, masks, per-row seeds, deduplication, outcomes, pairs.

A subclass writes one method, ``_search``: from checked rows to generated instances. The base class is an ART
``EvasionAttack``, so ``attack_params``, ``set_params`` and ``generate`` work as for every attack of ART.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from art.attacks import EvasionAttack
from art.estimators.classification.classifier import ClassifierMixin
from art.estimators.estimator import BaseEstimator
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.counterparts import Assessment, SimilarRows
from rif_plugins.tabular.gradients import GRADIENT_MODES, GradientMode, GradientSource, gradient_source
from rif_plugins.tabular.instances import Instances
from rif_plugins.tabular.moves import Moves
from rif_plugins.tabular.pair_batch import PairBatch, outcome_codes, outcome_names
from rif_plugins.tabular.row_random import RowRandom

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_PROBE_ROWS = 256


@dataclass(frozen=True)
class SearchInput:
    """Checked input of one search.

    Attributes:
        x: ``(n, d)`` float64; valid rows where the domain is kept.
        label: ``(n,)`` right labels.
        editable: ``(n, d)`` which features may move: not sensitive, not immutable, not masked.
        source: Predictions and gradients, with their counts.
        similar: The counterparts.
        moves: Steps under the schema.
        random: One stream of random numbers a row.
        per_source: Whether every input row needs results of its own. False: a row that two input rows lead
            to is searched and listed once, for the first of them.
    """

    x: FloatArray
    label: IntArray
    editable: BoolArray
    source: GradientSource
    similar: SimilarRows
    moves: Moves
    random: RowRandom
    per_source: bool = False


class RowAttack(EvasionAttack):
    """Base class of attacks on rows.

    Args:
        estimator: An ART classifier.
        schema: Columns of the rows, who counts as similar, what may move.
        seed: Seed of the run. The draws of a row depend on it and on the row's values alone.
        batch_size: Rows a call of the model.
        domain: Project onto valid rows after each step; False reproduces the papers, which do not.
        step_size: Size of a step in array units; None: each column's own step.
        clip_values: Bounds of all features, used without a domain.
        gradients: ``"auto"``, ``"white_box"``, ``"finite"`` or ``"zero_order"``.
        output: What the model returns: ``"auto"``, ``"probabilities"`` or ``"logits"``.

    Raises:
        UsageError: A setting is out of its range, or the schema gives nobody a counterpart.
    """

    attack_params: ClassVar[list[str]] = [
        *EvasionAttack.attack_params,
        "schema",
        "seed",
        "batch_size",
        "domain",
        "step_size",
        "clip_values",
        "gradients",
        "output",
    ]
    _estimator_requirements = (BaseEstimator, ClassifierMixin)

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        *,
        seed: int = 0,
        batch_size: int = 4096,
        domain: bool = True,
        step_size: float | None = None,
        clip_values: tuple[Any, Any] | None = None,
        gradients: GradientMode = "auto",
        output: OutputKind = "auto",
    ) -> None:
        super().__init__(estimator=estimator)
        self.schema = schema
        self.seed = seed
        self.batch_size = batch_size
        self.domain = domain
        self.step_size = step_size
        self.clip_values = clip_values
        self.gradients: GradientMode = gradients
        self.output: OutputKind = output
        RowAttack._check_params(self)

    @property
    def is_black_box(self) -> bool:
        """True where the attack differentiates by differences of outputs."""
        return self._source().is_black_box

    def generate(self, x: NDArray[Any], y: NDArray[Any] | None = None, **kwargs: Any) -> NDArray[Any]:
        """One perturbed row for each row, as every ART attack gives it.

        Args:
            x: ``(n, d)`` rows.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the model's own predictions.
            **kwargs: ``mask``: ``(d,)`` or ``(n, d)``, zero where a feature must not move.

        Returns:
            ``(n, d)`` in the floating type of ``x``: the first row that the attack looks for (fewest steps,
            global before local); the row itself where it found none.
        """
        pairs = self._run(x, y, kwargs, per_source=True)
        adversarial = np.array(x, dtype=float_dtype(x))
        found = np.flatnonzero(self._is_goal(pairs))
        phase_rank = np.select([pairs.phase == "seed", pairs.phase == "global"], [0, 1], 2)
        order = np.lexsort((pairs.step[found], phase_rank[found], pairs.source[found]))
        sources, first = np.unique(pairs.source[found][order], return_index=True)
        adversarial[sources] = pairs.perturbed_original[found[order[first]]].astype(adversarial.dtype)
        return adversarial

    def generate_pairs(self, x: NDArray[Any], y: NDArray[Any] | None = None, **kwargs: Any) -> PairBatch:
        """Everything that the search generated, as pairs with outcomes; duplicates are dropped.

        Args:
            x: ``(n, d)`` rows.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the model's own predictions.
            **kwargs: ``mask``: ``(d,)`` or ``(n, d)``, zero where a feature must not move.

        Raises:
            DataError: NaN, rows outside of the schema, labels that do not exist, wrong shapes.
        """
        return self._run(x, y, kwargs, per_source=False)

    def _run(self, x: Any, y: Any, options: dict[str, Any], *, per_source: bool) -> PairBatch:
        batch = self._check_input(x, y, check_options(options))
        return self._pairs(batch, self._search(replace(batch, per_source=per_source)), per_source)

    def _is_goal(self, pairs: PairBatch) -> BoolArray:
        """Which pairs the attack looks for."""
        return pairs.is_violation

    @abstractmethod
    def _search(self, batch: SearchInput) -> Instances:
        """Generate instances from checked rows; their order within one source row is kept."""

    def _pairs(self, batch: SearchInput, found: Instances, per_source: bool) -> PairBatch:
        n_generated = len(found)
        found = found.distinct(per_source=per_source).in_order()
        known = found.assessment if found.assessment is not None else self._assess(batch, found)
        place = known.farthest
        codes = outcome_codes(found.label, known.prediction, known.is_fair)
        original = batch.x[found.source]
        return PairBatch(
            original=original,
            similar=batch.similar.with_tuple(original, place),
            perturbed_original=found.rows,
            perturbed_similar=batch.similar.with_tuple(found.rows, place),
            label=found.label,
            outcome=outcome_names(codes),
            prediction=known.prediction,
            similar_prediction=known.similar_prediction,
            source=found.source,
            direction=found.direction,
            phase=found.phase,
            step=found.step,
            n_generated=n_generated,
            cost={
                "victim_rows": batch.source.victim_rows,
                "gradient_rows": batch.source.gradient_rows,
                "is_black_box": batch.source.is_black_box,
            },
        )

    @staticmethod
    def _assess(batch: SearchInput, found: Instances) -> Assessment:
        if found.similar_place is None:
            return batch.similar.assess(found.rows)
        place = found.similar_place
        own = batch.source.probabilities(found.rows)
        other = batch.source.probabilities(batch.similar.with_tuple(found.rows, place))
        prediction, similar_prediction = np.argmax(own, axis=1), np.argmax(other, axis=1)
        distance = np.abs(own - other).sum(axis=1)
        return Assessment(prediction, prediction == similar_prediction, place, similar_prediction, distance)

    def _source(self) -> GradientSource:
        return gradient_source(
            self.estimator,
            self.schema,
            mode=self.gradients,
            batch_size=self.batch_size,
            output=self.output,
            seed=self.seed,
        )

    def _check_input(self, x: NDArray[Any], y: NDArray[Any] | None, mask: Any) -> SearchInput:
        source = self._source()
        rows = check_rows(x, self.schema, domain=self.domain)
        self._check_width()
        if self.domain:
            rows = np.asarray(self.schema.project(rows, rows), dtype=np.float64)
        settle_output(source, self.schema, rows)
        if y is None:
            label = np.asarray(np.argmax(source.probabilities(rows), axis=1))
        else:
            label = check_labels(y, len(rows), source.n_labels)
        editable = check_mask(mask, self.schema, rows)
        moves = Moves(self.schema, step_size=self.step_size, domain=self.domain, clip_values=self.clip_values)
        similar = SimilarRows(self.schema, source)
        return SearchInput(rows, label, editable, source, similar, moves, RowRandom(self.seed, rows))

    def _check_width(self) -> None:
        shape = getattr(self.estimator, "input_shape", None)
        if shape and tuple(shape) != (self.schema.n_features,):
            raise DataError(
                f"the estimator takes rows of shape {tuple(shape)}, the schema describes "
                f"({self.schema.n_features},): describe the array that the model sees"
            )

    def _check_params(self) -> None:
        super()._check_params()
        if not isinstance(self.schema, TableSchema):
            raise UsageError(f"schema is {type(self.schema).__name__}, expected a TableSchema")
        # raises where nobody has a counterpart
        self.schema.sensitive_tuples()
        if self.gradients not in GRADIENT_MODES:
            raise UsageError(
                f"gradients {self.gradients!r} does not exist: expected one of {', '.join(GRADIENT_MODES)}"
            )
        if self.output not in ("auto", "probabilities", "logits"):
            raise UsageError(f"output {self.output!r} does not exist: expected auto, probabilities or logits")
        if self.step_size is not None and not (np.isfinite(self.step_size) and self.step_size > 0):
            raise UsageError(f"step_size must be a positive number, got {self.step_size}")
        check_count("batch_size", self.batch_size, 1)
        check_count("seed", self.seed, 0)


def check_options(options: dict[str, Any]) -> Any:
    """The mask among the further arguments of ``generate``, or None.

    Raises:
        UsageError: Another argument.
    """
    for name in options:
        if name != "mask":
            raise UsageError(f"generate has no argument {name!r}: expected x, y, mask")
    return options.get("mask")


def check_count(name: str, value: Any, low: int) -> None:
    """Raise UsageError unless a setting is a whole number of at least ``low``."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < low:
        raise UsageError(f"{name} must be a whole number of {low} or more, got {value!r}")


def check_rows(x: Any, schema: TableSchema, *, domain: bool) -> FloatArray:
    """Rows as float64 ``(n, d)``.

    Raises:
        DataError: Not numeric, another width than the schema, no row, NaN or infinity, or (with a domain)
            values that the schema does not allow.
    """
    try:
        rows = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "x holds something that is no number, expected a float array: encode the table first"
        ) from None
    if rows.ndim != 2 or rows.shape[1] != schema.n_features:
        raise DataError(
            f"x has shape {rows.shape}, expected (n, {schema.n_features}) for the columns "
            f"{', '.join(column.name for column in schema.columns)}"
        )
    if not len(rows):
        raise DataError("x has no row, expected one or more")
    if not np.isfinite(rows).all():
        row, feature = (int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        names = [column.name for column in schema.columns for _ in range(column.width)]
        raise DataError(
            f"x holds {rows[row, feature]} in row {row}, column {names[feature]!r}, expected finite numbers: "
            "drop or fill the row"
        )
    if domain:
        schema.check(rows)
    return rows


def settle_output(source: GradientSource, schema: TableSchema, rows: FloatArray) -> None:
    """Ask for a number of rows at once, so that logits are not taken for probabilities by the look of one.

    Args:
        source: Learns from the answers what the model returns, and for how many classes.
        schema: Adds the first row's counterparts, where there are few rows.
        rows: ``(n, d)``; the first of them are asked.
    """
    similar = schema.counterparts(rows[:1])[0][0][:_PROBE_ROWS]
    source.probabilities(np.concatenate([rows[:_PROBE_ROWS], similar]))


def check_labels(y: Any, n: int, k: int) -> IntArray:
    """Labels of ``n`` rows and ``k`` classes as integers ``(n,)``.

    Raises:
        DataError: Wrong length, not whole numbers, or a class that the model does not have.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape == (n, k) and k > 1:
        labels = np.argmax(labels, axis=1)
    elif labels.ndim == 2 and labels.shape == (n, 1):
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise DataError(
            f"y has shape {labels.shape}, expected ({n},) labels or ({n}, {k}) one-hot rows, one for each row"
        )
    whole = np.asarray(labels, dtype=np.float64)
    if not np.isfinite(whole).all() or (whole != np.rint(whole)).any():
        raise DataError("y holds something that is no class number: expected whole numbers from 0 on")
    if whole.size and (whole.min() < 0 or whole.max() >= k):
        wrong = whole[(whole < 0) | (whole >= k)][0]
        raise DataError(f"y holds the class {wrong:.0f}, the model has {k} classes: expected 0 to {k - 1}")
    return whole.astype(np.int64)


def check_mask(mask: Any, schema: TableSchema, rows: FloatArray) -> BoolArray:
    """Which features may move, ``(n, d)``: editable in the schema and not masked.

    Raises:
        DataError: The mask does not broadcast to the rows.
    """
    editable = np.broadcast_to(schema.editable_features, rows.shape)
    if mask is None:
        return np.array(editable)
    try:
        allowed = np.broadcast_to(np.asarray(mask) != 0, rows.shape)
    except ValueError:
        raise DataError(
            f"mask has shape {np.shape(mask)}, expected ({rows.shape[1]},) or {rows.shape}"
        ) from None
    return np.asarray(editable & allowed)


def float_dtype(x: NDArray[Any]) -> np.dtype[Any]:
    """The floating type in which rows are given back: that of ``x``, else ART's float32."""
    dtype = np.asarray(x).dtype
    return np.dtype(dtype if dtype in (np.float32, np.float64) else np.float32)
