"""Attacks on rows by name, at equal budgets.

The budget of a seed is ``n_global`` x ``n_local`` steps, as in the comparison of RobustFair: searches with
two phases make ``n_global`` steps and ``n_local`` around each row of the first phase, the others as many
steps as the product. FGSM has one step by its nature.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables import FieldLayout, TableSchema

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Axis = Literal["both", "fairness", "robustness"]

AXES: Mapping[str, Axis] = {
    "robustfair": "both",
    "rifair-gradient": "both",
    "adf": "fairness",
    "eidig": "fairness",
    "dice": "fairness",
    "fgsm": "robustness",
    "pgd": "robustness",
    "apgd": "robustness",
    "acg": "robustness",
}
"""What each attack looks for: a false row, a biased one, or both."""
ATTACK_NAMES = tuple(AXES)
_ART = ("fgsm", "pgd", "apgd", "acg")


@dataclass(frozen=True)
class AttackBudget:
    """What one seed may cost.

    Attributes:
        n_global: Steps of the global phase.
        n_local: Steps around each row of the global phase.
        eps: Reach of ART's attacks, as a share of each column's range.
    """

    n_global: int = 10
    n_local: int = 10
    eps: float = 0.1

    def __post_init__(self) -> None:
        if self.n_global < 0 or self.n_local < 0 or self.n_global + self.n_local == 0:
            raise UsageError(
                f"global and local steps are {self.n_global} and {self.n_local}, "
                "expected numbers from 0 on of which one is 1 or more"
            )
        if not 0 < self.eps <= 1:
            raise UsageError(f"eps is {self.eps}, expected a share of a column's range above 0 and up to 1")

    @property
    def steps(self) -> int:
        """Steps of an attack with one phase."""
        return max(self.n_global, 1) * max(self.n_local, 1)


@dataclass(frozen=True)
class RowTarget:
    """The classifier under attack.

    Attributes:
        estimator: ART classifier of rows of ``schema``.
        schema: Columns of the array that it sees.
        packed: ART classifier of packed rows, where the model follows the embedding protocol: the gradient
            attack goes through it.
    """

    estimator: Any
    schema: TableSchema
    packed: Any = None


@dataclass(frozen=True)
class GeneratedRows:
    """What one attack made of the seeds, duplicates dropped. Arrays share their first dimension ``n``.

    Attributes:
        attack: Its name.
        original: ``(n, d)`` the seeds.
        rows: ``(n, d)`` the generated rows.
        label: ``(n,)`` their right labels, as the attack knows or estimates them.
        source: ``(n,)`` which seed each comes from.
        direction, phase, step: ``(n,)`` how the attack got there, in its own words.
        cost: ``victim_rows``, ``gradient_rows`` and ``is_black_box``.
        seconds: Time of the search.
    """

    attack: str
    original: FloatArray
    rows: FloatArray
    label: IntArray
    source: IntArray
    direction: NDArray[np.str_]
    phase: NDArray[np.str_]
    step: IntArray
    cost: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.rows)


def parse_attacks(names: str) -> tuple[str, ...]:
    """Attack names from ``"all"`` or a list with commas, in the usual order.

    Raises:
        UsageError: A name is none of the attacks.
    """
    wanted = [name.strip().lower().replace("_", "-") for name in names.split(",") if name.strip()]
    if wanted == ["all"]:
        return ATTACK_NAMES
    unknown = [name for name in wanted if name not in AXES]
    if unknown or not wanted:
        got = repr(unknown[0]) if unknown else "none"
        raise UsageError(f"--attack: expected all or some of {', '.join(ATTACK_NAMES)}, got {got}")
    return tuple(name for name in ATTACK_NAMES if name in wanted)


def build_attack(name: str, target: RowTarget, budget: AttackBudget, **settings: Any) -> Any:
    """The attack of a name; ``settings`` are those of ``RowAttack`` and of its class.

    Raises:
        UsageError: The name does not exist, or a setting is out of its range.
    """
    from rif_plugins import tabular

    if name not in AXES:
        raise UsageError(f"attack {name!r} does not exist: expected one of {', '.join(ATTACK_NAMES)}")
    if name in _ART:
        wanted = {**settings, "attack_settings": _art_settings(name, budget)}
        return tabular.SchemaAttack(target.estimator, target.schema, name, **wanted)
    if name == "rifair-gradient":
        estimator = target.estimator if target.packed is None else target.packed
        return tabular.RIFairGradientAttack(estimator, target.schema, max_iter=budget.steps, **settings)
    kinds = {
        "robustfair": tabular.RobustFairAttack,
        "adf": tabular.ADFAttack,
        "eidig": tabular.EIDIGAttack,
        "dice": tabular.DICEAttack,
    }
    if name != "robustfair":
        # Published, a seed that discriminates makes no more steps: it would have a smaller budget.
        settings.setdefault("stop_when_found", False)
    return kinds[name](
        target.estimator, target.schema, n_global=budget.n_global, n_local=budget.n_local, **settings
    )


def _art_settings(name: str, budget: AttackBudget) -> dict[str, Any]:
    if name == "fgsm":
        return {"eps": budget.eps}
    if name == "pgd":
        return {"eps": budget.eps, "eps_step": budget.eps / 10, "max_iter": budget.steps}
    return {"eps": budget.eps, "eps_step": budget.eps, "max_iter": budget.steps, "nb_random_init": 1}


def run_attack(
    name: str, target: RowTarget, x: FloatArray, y: IntArray, budget: AttackBudget, **settings: Any
) -> GeneratedRows:
    """Run one attack from seeds ``x (n, d)`` with right labels ``y (n,)``.

    Args:
        name: One of ``ATTACK_NAMES``.
        target: The classifier.
        x: Seeds, valid rows of ``target.schema``.
        y: Right labels.
        budget: What a seed may cost.
        **settings: Settings of the attack's class, such as ``seed`` and ``gradients``.
    """
    attack = build_attack(name, target, budget, **settings)
    is_packed = name == "rifair-gradient" and target.packed is not None
    layout = FieldLayout(target.schema)
    started = time.perf_counter()
    pairs = attack.generate_pairs(layout.pack(x) if is_packed else x, y)
    seconds = time.perf_counter() - started
    rows, original = pairs.perturbed_original, pairs.original
    if is_packed:
        rows, original = layout.unpack(rows), layout.unpack(original)
    # A pair per counterpart is one row here: all counterparts are looked at in the measure.
    keys = np.concatenate([rows, pairs.label[:, None].astype(np.float64)], axis=1)
    first = np.sort(np.unique(keys, axis=0, return_index=True)[1]) if len(keys) else np.zeros(0, np.intp)
    return GeneratedRows(
        attack=name,
        original=original[first],
        rows=rows[first],
        label=pairs.label[first],
        source=pairs.source[first],
        direction=pairs.direction[first],
        phase=pairs.phase[first],
        step=pairs.step[first],
        cost=dict(pairs.cost),
        seconds=seconds,
    )
