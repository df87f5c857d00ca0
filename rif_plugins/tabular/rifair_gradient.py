"""RIFair for rows, white box: one field a step, chosen and changed by the gradient at its embedding.

Minimises ``l(L_v, f(v + delta)) + l(L_v', f(v' + delta))``, the same change on both rows of a pair, where
``(L_v, L_v')`` is (y, y_d) for ``robust_biased``, (y_d, y) for ``unrobust_biased`` and (y_d, y_d) for
``unrobust_fair``; ``y_d`` is a wrong label.
Source: "RIFair: white-box generation for robust individual fairness", January 2026.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.errors import UsageError
from rif_plugins.metrics.impact import Norm
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import BoolArray, RowAttack, SearchInput, check_count
from rif_plugins.tabular.counterparts import Assessment
from rif_plugins.tabular.embedding_history import GradientHistory
from rif_plugins.tabular.embedding_path import GradientSettings
from rif_plugins.tabular.embedding_plain import PlainSpace
from rif_plugins.tabular.embedding_schema import PackedSchema
from rif_plugins.tabular.embedding_search import GradientSearch
from rif_plugins.tabular.embedding_space import EmbeddingSpace, FieldSpace
from rif_plugins.tabular.instances import Instances
from rif_plugins.tabular.pair_batch import PairBatch

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
WrongLabels = Literal["runner_up", "all", "fixed"]
Counterparts = Literal["random", "all"]
_CHAINS = 8192


class RIFairGradientAttack(RowAttack):
    """Finds false and biased rows by the embedding gradient of the classifier.

    A torch model that follows the embedding protocol (``embed(index, value) -> (n, F, k)``,
    ``from_embedding(e, value) -> logits``, ``embedding_table``) is attacked through it; rows are then
    packed, ``[index | value]`` (see ``PackedSchema`` and ``FieldLayout.pack``). Every other ART classifier is
    attacked on its plain features: numbers by the chain rule, one-hot groups as fields of unit vectors, and
    models without gradients by differences of outputs.

    Args:
        estimator: An ART classifier.
        schema: Columns of the table. For an embedding model the schema of the rows before they are packed.
        target: ``"robust_biased"``, ``"unrobust_fair"``, ``"unrobust_biased"``, or ``"all"``: one chain each.
        loss: ``"ce"`` or ``"mse"``.
        max_iter: Most steps of a chain.
        y_diff: Which wrong label is aimed at: ``"runner_up"`` of the clean pair, ``"all"`` of them in chains
            of their own, or ``"fixed"``: ``fixed_label``.
        fixed_label: The wrong label of ``"fixed"``; rows that have it as their right label are left alone.
        counterparts: ``"random"``: one a row; ``"all"``: chains of their own.
        early_stop: End a chain as soon as its pair is in the target.
        needs_descent: Take a category only if the gradient promises a lower objective.
        fields: ``"first"``: only the field of largest gradient norm (paper); ``"ranked"``: the next one where
            it has no candidate.
        norm: How ``|delta|`` of PII is measured: ``"rows"``, the sum over fields, or ``"fro"``.
        **settings: Those of ``RowAttack``; ``domain`` is always kept.

    Raises:
        UsageError: A setting is out of its range.
    """

    attack_params: ClassVar[list[str]] = [
        *RowAttack.attack_params,
        "target",
        "loss",
        "max_iter",
        "y_diff",
        "fixed_label",
        "counterparts",
        "early_stop",
        "needs_descent",
        "fields",
        "norm",
    ]

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        *,
        target: str = "all",
        loss: Literal["ce", "mse"] = "ce",
        max_iter: int = 10,
        y_diff: WrongLabels = "runner_up",
        fixed_label: int | None = None,
        counterparts: Counterparts = "random",
        early_stop: bool = False,
        needs_descent: bool = True,
        fields: Literal["first", "ranked"] = "first",
        norm: Norm = "rows",
        **settings: Any,
    ) -> None:
        super().__init__(estimator, schema, **settings)
        self.target = target
        self.loss = loss
        self.max_iter = max_iter
        self.y_diff = y_diff
        self.fixed_label = fixed_label
        self.counterparts = counterparts
        self.early_stop = early_stop
        self.needs_descent = needs_descent
        self.fields = fields
        self.norm: Norm = norm
        self._check_params()

    @property
    def has_embedding(self) -> bool:
        """Whether the model follows the embedding protocol."""
        return EmbeddingSpace.is_offered(getattr(self.estimator, "model", None))

    @property
    def targets(self) -> tuple[Outcome, ...]:
        """The outcomes aimed at, in order."""
        return TARGETS if self.target == "all" else (Outcome(self.target),)

    def generate_histories(
        self, x: NDArray[Any], y: NDArray[Any] | None = None, mask: Any = None
    ) -> dict[str, GradientHistory]:
        """Every step of every chain, by target, with PII and PID.

        Args:
            x: ``(n, d)`` rows; packed for an embedding model.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the model's own predictions.
            mask: ``(d,)`` or ``(n, d)``, zero where a feature must not move.

        Returns:
            For each target a history whose ``source`` names the row of ``x`` of each chain.
        """
        batch = self._check_input(x, y, mask)
        parts: dict[str, list[GradientHistory]] = {str(target): [] for target in self.targets}
        for history in self._histories(batch):
            parts[str(history.target)].append(history)
        return {name: GradientHistory.concatenate(found) for name, found in parts.items()}

    def _is_goal(self, pairs: PairBatch) -> BoolArray:
        """``generate`` gives the first row, in steps, whose pair is in a target outcome."""
        return np.isin(pairs.outcome, [str(target) for target in self.targets])

    def _search(self, batch: SearchInput) -> Instances:
        found = [_instances(history) for history in self._histories(batch)]
        filled = [part for part in found if len(part)]
        return Instances.concatenate(filled, self.schema.n_features) if filled else found[0]

    def _histories(self, batch: SearchInput) -> Iterator[GradientHistory]:
        space = self._space(batch)
        search = GradientSearch(space, self._settings())
        editable = space.editable(batch.editable)
        source, place, wrong = self._chains(batch)
        for target in self.targets:
            # A chunk of no chains still gives a history: callers need one a target.
            for start in range(0, max(len(source), 1), _CHAINS):
                rows = source[start : start + _CHAINS]
                original = batch.x[rows]
                history = search.run(
                    original,
                    batch.similar.with_tuple(original, place[start : start + _CHAINS]),
                    batch.label[rows],
                    wrong[start : start + _CHAINS],
                    target,
                    editable[rows],
                )
                yield history.named(rows, place[start : start + _CHAINS])
        if isinstance(space, EmbeddingSpace):
            batch.source.victim_rows += search.victim_rows
            batch.source.gradient_rows += search.gradient_rows

    def _space(self, batch: SearchInput) -> FieldSpace:
        if isinstance(self.schema, PackedSchema):
            return self._embedding()
        return PlainSpace(self.schema, batch.source)

    def _embedding(self) -> EmbeddingSpace:
        return EmbeddingSpace(
            PackedSchema.of(self.schema).layout.schema,
            self.estimator.model,
            device=getattr(self.estimator, "device", "cpu"),
            output=self.output,
            batch_size=self.batch_size,
        )

    def _settings(self) -> GradientSettings:
        return GradientSettings(
            max_steps=self.max_iter,
            loss=self.loss,
            early_stop=self.early_stop,
            needs_descent=self.needs_descent,
            fields=self.fields,
            norm=self.norm,
            step_size=self.step_size,
        )

    def _chains(self, batch: SearchInput) -> tuple[IntArray, IntArray, IntArray]:
        """Row, sensitive tuple and wrong label of every chain, each ``(chains,)``."""
        _, allowed = self.schema.counterparts(batch.x)
        if self.counterparts == "all":
            source, place = (part.astype(np.int64) for part in np.nonzero(allowed))
        else:
            source = np.arange(len(batch.x), dtype=np.int64)
            drawn = batch.random.integers(0, allowed.sum(axis=1))
            place = np.asarray((np.cumsum(allowed, axis=1) > drawn[:, None]).argmax(axis=1), dtype=np.int64)
        label, n_labels = batch.label[source], batch.source.n_labels
        if self.y_diff == "fixed":
            kept = label != self.fixed_label
            return source[kept], place[kept], np.full(int(kept.sum()), self.fixed_label, dtype=np.int64)
        if self.y_diff == "all" or n_labels == 2:
            # Wrong labels in ascending order, the right one left out.
            wrong = np.tile(np.arange(n_labels - 1), (len(source), 1))
            wrong += wrong >= label[:, None]
            times = n_labels - 1
            return source.repeat(times), place.repeat(times), wrong.reshape(-1).astype(np.int64)
        original = batch.x[source]
        total = batch.source.probabilities(original)
        total = total + batch.source.probabilities(batch.similar.with_tuple(original, place))
        total[np.arange(len(source)), label] = -np.inf
        return source, place, np.asarray(total.argmax(axis=1), dtype=np.int64)

    def _check_input(self, x: NDArray[Any], y: NDArray[Any] | None, mask: Any) -> SearchInput:
        batch = super()._check_input(x, y, mask)
        if self.y_diff == "fixed" and not 0 <= int(self.fixed_label or 0) < batch.source.n_labels:
            raise UsageError(
                f"fixed_label is {self.fixed_label}, expected a class of the model, "
                f"0 to {batch.source.n_labels - 1}"
            )
        return batch

    def _check_params(self) -> None:
        if self.has_embedding and isinstance(self.schema, TableSchema):
            self.schema = PackedSchema.of(self.schema)
            self._embedding()  # a vocabulary that does not fit is refused before any query
        super()._check_params()
        self._settings()
        check_count("max_iter", self.max_iter, 1)
        names = ("all", *(str(target) for target in TARGETS))
        if str(self.target) not in names:
            raise UsageError(f"target {self.target!r} does not exist: expected one of {', '.join(names)}")
        for name, value, allowed in (
            ("y_diff", self.y_diff, get_args(WrongLabels)),
            ("counterparts", self.counterparts, get_args(Counterparts)),
        ):
            if value not in allowed:
                raise UsageError(f"{name} {value!r} does not exist: expected {', '.join(allowed)}")
        if self.y_diff == "fixed":
            check_count("fixed_label", self.fixed_label, 0)
        if not self.domain:
            raise UsageError("domain=False is not possible here: fields move within their own domain")


def _instances(history: GradientHistory) -> Instances:
    """The state after every step that was made."""
    step, chain = np.nonzero(np.arange(len(history.original))[:, None] <= history.n_steps)
    step, chain = step[step > 0], chain[step > 0]
    first, second = history.predictions
    first, second = first[step, chain], second[step, chain]
    change = history.probabilities[step, chain] - history.similar_probabilities[step, chain]
    place = history.place[chain]
    return Instances(
        rows=history.original[step, chain],
        label=history.label[chain],
        source=history.source[chain],
        direction=np.full(len(chain), str(history.target)),
        phase=np.full(len(chain), "global"),
        step=step.astype(np.int64),
        similar_place=place,
        assessment=Assessment(first, first == second, place, second, np.abs(change).sum(axis=1)),
    )
