"""ART's own evasion attacks under a schema: valid rows, frozen columns, one scale, the same measures.

What ART leaves open, found by reading and running version 1.20: masks do not cover the random start of APGD
and ACG; both refuse probabilities; a row that resists comes back with the noise of its start; none of them
knows columns. Here the search runs in scaled inputs (:mod:`rif_plugins.tabular.scaled_estimator`), then the
frozen columns are restored, the rows projected, and rows that resisted given back as they were.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from art.attacks import EvasionAttack
from art.attacks.evasion import (
    AutoConjugateGradient,
    AutoProjectedGradientDescent,
    FastGradientMethod,
    HopSkipJump,
    ProjectedGradientDescent,
)
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import BoolArray, FloatArray, RowAttack, SearchInput, check_options, float_dtype
from rif_plugins.tabular.instances import Instances
from rif_plugins.tabular.pair_batch import PairBatch
from rif_plugins.tabular.scaled_estimator import ScaledEstimator

ATTACKS: Mapping[str, type[EvasionAttack]] = {
    "fgsm": FastGradientMethod,
    "pgd": ProjectedGradientDescent,
    "apgd": AutoProjectedGradientDescent,
    "acg": AutoConjugateGradient,
    "hopskipjump": HopSkipJump,
}
_RANDOM_STARTS = (AutoProjectedGradientDescent, AutoConjugateGradient)


class SchemaAttack(RowAttack):
    """Runs an evasion attack of ART on rows.

    Args:
        estimator: An ART classifier; one without gradients serves too, through differences of outputs.
        schema: Columns of the rows.
        attack: ``"fgsm"``, ``"pgd"``, ``"apgd"``, ``"acg"``, ``"hopskipjump"``, or a class of ART.
        attack_settings: Arguments of that class. ``eps`` and ``eps_step`` are shares of each column's range.
        keep_resisting: Give back what ART returned for rows that it could not mislead. None: no for attacks
            that start at random, whose rows are then noise, else yes.
        **settings: See :class:`~rif_plugins.tabular.base.RowAttack`; ``step_size`` has no meaning here.

    ART draws from numpy's global generator: its state is set from ``seed`` for the time of a run and then put
    back. Attacks that start at random give other rows for another order of the input; ``HopSkipJump``
    takes its start from the system and differs from run to run.
    """

    attack_params: ClassVar[list[str]] = [
        *RowAttack.attack_params,
        "attack",
        "attack_settings",
        "keep_resisting",
    ]

    def __init__(
        self,
        estimator: Any,
        schema: TableSchema,
        attack: str | type[EvasionAttack] = "pgd",
        *,
        attack_settings: Mapping[str, Any] | None = None,
        keep_resisting: bool | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(estimator, schema, **settings)
        self.attack = attack
        self.attack_settings = attack_settings
        self.keep_resisting = keep_resisting
        self._check_params()

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.attack, str) and self.attack not in ATTACKS:
            raise UsageError(
                f"attack {self.attack!r} does not exist: expected {', '.join(ATTACKS)} or a class of ART"
            )
        if not isinstance(self.attack, str) and not (
            inspect.isclass(self.attack) and issubclass(self.attack, EvasionAttack)
        ):
            raise UsageError(
                f"attack is {self.attack!r}, expected a name or a subclass of art.attacks.EvasionAttack"
            )
        names = inspect.signature(self._attack_class.__init__).parameters
        for name in self.attack_settings or {}:
            if name not in names:
                raise UsageError(
                    f"{self._attack_class.__name__} has no setting {name!r}: it takes "
                    f"{', '.join(list(names)[2:])}"
                )

    @property
    def _attack_class(self) -> type[EvasionAttack]:
        return ATTACKS[self.attack] if isinstance(self.attack, str) else self.attack

    def generate(self, x: NDArray[Any], y: NDArray[Any] | None = None, **kwargs: Any) -> NDArray[Any]:
        """ART's perturbed rows, made valid.

        Args:
            x: ``(n, d)`` rows.
            y: Right labels ``(n,)`` or one-hot ``(n, k)``; None: the model's own predictions.
            **kwargs: ``mask``: ``(d,)`` or ``(n, d)``, zero where a feature must not move.

        Returns:
            ``(n, d)`` in the floating type of ``x``.
        """
        batch = self._check_input(x, y, check_options(kwargs))
        rows = self._attacked(batch)
        dtype = float_dtype(x)
        adversarial = np.array(x, dtype=dtype)
        moved = rows != batch.x
        adversarial[moved] = rows[moved].astype(dtype)
        return adversarial

    def _is_goal(self, pairs: PairBatch) -> BoolArray:
        wrong = (str(Outcome.UNROBUST_FAIR), str(Outcome.UNROBUST_BIASED))
        return np.asarray(np.isin(pairs.outcome, wrong))

    def _search(self, batch: SearchInput) -> Instances:
        n = len(batch.x)
        return Instances(
            rows=self._attacked(batch),
            label=batch.label,
            source=np.arange(n),
            direction=np.full(n, ""),
            phase=np.full(n, "global"),
            step=np.ones(n, dtype=np.int64),
        )

    def _attacked(self, batch: SearchInput) -> FloatArray:
        scaled = ScaledEstimator(
            batch.source, self.schema, batch.source.n_labels, np.asarray(batch.editable.any(axis=0))
        )
        attack = self._build(scaled)
        mask = (batch.editable & scaled.moves).astype(np.float32)
        start = scaled.to_scaled(batch.x)
        with _numpy_state(self.seed):
            found = attack.generate(x=start.copy(), y=batch.label.copy(), mask=self._mask_for_art(mask))
        rows = np.where(mask > 0, scaled.to_rows(found), batch.x)
        # float32 there and back moves what the attack left alone
        rows = np.where(np.asarray(found) == start, batch.x, rows)
        if self.domain:
            rows = np.asarray(self.schema.project(rows, batch.x), dtype=np.float64)
            carried = ((rows != batch.x) & ~batch.editable).any(axis=1)
            rows[carried] = batch.x[carried]
        elif self.clip_values is not None:
            rows = np.where(batch.editable, np.clip(rows, *self.clip_values), batch.x)
        return self._without_noise(batch, rows)

    def _mask_for_art(self, mask: NDArray[np.float32]) -> NDArray[np.float32]:
        # APGD and ACG attack the rows that still resist, with the mask of all rows: only one mask for every
        # row fits that. What it lets through is restored afterwards.
        is_uniform = bool((mask == mask[0]).all())
        if is_uniform or issubclass(self._attack_class, _RANDOM_STARTS):
            return np.asarray(mask.max(axis=0))
        return mask

    def _without_noise(self, batch: SearchInput, rows: FloatArray) -> FloatArray:
        keeps = self.keep_resisting
        if keeps is None:
            keeps = not issubclass(self._attack_class, _RANDOM_STARTS)
        if keeps:
            return rows
        resists = np.argmax(batch.source.probabilities(rows), axis=1) == batch.label
        return np.where(resists[:, None], batch.x, rows)

    def _build(self, scaled: ScaledEstimator) -> EvasionAttack:
        settings = dict(self.attack_settings or {})
        names = inspect.signature(self._attack_class.__init__).parameters
        for name, value in (("verbose", False), ("batch_size", self.batch_size)):
            if name in names:
                settings.setdefault(name, value)
        build: Callable[..., EvasionAttack] = self._attack_class
        return build(scaled, **settings)


@contextmanager
def _numpy_state(seed: int) -> Iterator[None]:
    """Numpy's global generator in a known state, put back afterwards."""
    before = np.random.get_state()
    np.random.set_state(np.random.RandomState(seed % 2**32).get_state())
    try:
        yield
    finally:
        np.random.set_state(before)
