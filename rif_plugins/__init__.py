"""Robust individual fairness for text and tabular classifiers: plugins for TextAttack and IBM ART.

Importing this package loads nothing outside the standard library. The names below are resolved on
first use.
"""

from __future__ import annotations

from rif_plugins.version import __version__

__all__ = ["AuditResult", "Objective", "Outcome", "Pair", "__version__", "audit", "classify"]

_HOMES = {
    "AuditResult": "rif_plugins.runner.audit_result",
    "Objective": "rif_plugins.core.objective",
    "Outcome": "rif_plugins.core.outcomes",
    "Pair": "rif_plugins.core.pairs",
    "audit": "rif_plugins.runner.api",
    "classify": "rif_plugins.core.outcomes",
}

# `typing` costs more than the rest of this file; type checkers take the name at its word.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from rif_plugins.core.objective import Objective
    from rif_plugins.core.outcomes import Outcome, classify
    from rif_plugins.core.pairs import Pair
    from rif_plugins.runner.api import audit
    from rif_plugins.runner.audit_result import AuditResult


def __getattr__(name: str) -> object:
    """Import a public name from its home module (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
