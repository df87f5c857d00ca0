"""Attacks on rows as ART evasion attacks: the only package that imports ``art``.

Importing ART takes some seconds and writes a configuration file in the home folder, so the names below are
resolved on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "ADFAttack",
    "DICEAttack",
    "EIDIGAttack",
    "KMeansSeeds",
    "PairBatch",
    "RIFTable",
    "RIFairGradientAttack",
    "RIFairTextAttack",
    "RobustFairAttack",
    "RowAttack",
    "SchemaAttack",
    "ensemble_labels",
    "rif_table",
    "with_counterparts",
]

_HOMES = {
    "ADFAttack": "adf",
    "DICEAttack": "dice",
    "EIDIGAttack": "eidig",
    "KMeansSeeds": "seed_selection",
    "PairBatch": "pair_batch",
    "RIFTable": "attack_table",
    "RIFairGradientAttack": "rifair_gradient",
    "RIFairTextAttack": "text_bridge",
    "RobustFairAttack": "robust_fair",
    "RowAttack": "base",
    "SchemaAttack": "schema_attack",
    "as_estimator": "estimators",
    "ensemble_labels": "labelling",
    "rif_table": "attack_table",
    "with_counterparts": "labelling",
}

if TYPE_CHECKING:
    from rif_plugins.tabular.adf import ADFAttack
    from rif_plugins.tabular.attack_table import RIFTable, rif_table
    from rif_plugins.tabular.base import RowAttack
    from rif_plugins.tabular.dice import DICEAttack
    from rif_plugins.tabular.eidig import EIDIGAttack
    from rif_plugins.tabular.labelling import ensemble_labels, with_counterparts
    from rif_plugins.tabular.pair_batch import PairBatch
    from rif_plugins.tabular.rifair_gradient import RIFairGradientAttack
    from rif_plugins.tabular.robust_fair import RobustFairAttack
    from rif_plugins.tabular.schema_attack import SchemaAttack
    from rif_plugins.tabular.seed_selection import KMeansSeeds
    from rif_plugins.tabular.text_bridge import RIFairTextAttack


def __getattr__(name: str) -> object:
    """Import a public name from its home module (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
