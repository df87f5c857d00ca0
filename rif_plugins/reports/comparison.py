"""What `rif compare` found, read for the page: models, rates, ranks and changes of order.

The comparison is a mapping of plain JSON values::

    {"models": [{"name", "rates": {"robustness_rate": {...}, "fairness_rate": ..., "rif_rate": ...},
                 "ranks": {"robustness_rate": 1, ...}}],
     "sentence": "...", "order_changes": ["..."], "tables": [{"title", "columns", "rows"}]}

``ranks``, ``sentence``, ``order_changes`` and ``tables`` may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rif_plugins.reports.characters import printable
from rif_plugins.reports.view import Table, Value

AXES = (
    ("robustness_rate", "Robustness only"),
    ("fairness_rate", "Fairness only"),
    ("rif_rate", "Robust individual fairness"),
)


@dataclass(frozen=True, slots=True)
class Model:
    """One model: its rates and its ranks, in the order of ``AXES``."""

    name: str
    rates: tuple[Value, ...]
    ranks: tuple[int | None, ...]


def models_of(comparison: Mapping[str, Any]) -> list[Model]:
    """The models, in the order given."""
    models = []
    for entry in comparison.get("models") or []:
        rates = entry.get("rates") or entry
        ranks = entry.get("ranks") or {}
        models.append(
            Model(
                printable(entry.get("name", "")),
                tuple(Value.of(rates.get(key)) for key, _ in AXES),
                tuple(None if ranks.get(key) is None else int(ranks[key]) for key, _ in AXES),
            )
        )
    return models


def sentence(comparison: Mapping[str, Any]) -> str:
    """What the comparison says in one sentence."""
    if comparison.get("sentence"):
        return printable(comparison["sentence"])
    return f"{len(comparison.get('models') or []):,} models compared on three axes."


def order_changes(comparison: Mapping[str, Any]) -> list[str]:
    """Where the order of the models changes between the axes."""
    return [printable(change) for change in comparison.get("order_changes") or []]


def rates_table(models: list[Model]) -> Table:
    """Share of pairs that stand, and rank, of every model on every axis."""
    rows = tuple(
        (
            model.name,
            *(
                f"{rate} (rank {rank})" if rank is not None else str(rate)
                for rate, rank in zip(model.rates, model.ranks, strict=True)
            ),
        )
        for model in models
    )
    return Table("Share of pairs that stand, with 95% interval", ("Model", *(name for _, name in AXES)), rows)


def further_tables(comparison: Mapping[str, Any]) -> list[Table]:
    """Tables that the comparison brings along, such as paired tests."""
    return [
        Table(
            printable(table.get("title", "")),
            tuple(printable(name) for name in table.get("columns") or ()),
            tuple(tuple(_cell(cell) for cell in row) for row in table.get("rows") or ()),
            printable(table.get("note", "")),
        )
        for table in comparison.get("tables") or []
    ]


def _cell(cell: Any) -> str | int | float | Value:
    if isinstance(cell, Mapping):
        return Value.of(cell)
    if cell is None or isinstance(cell, bool):
        return "" if cell is None else str(cell).lower()
    return cell if isinstance(cell, (int, float)) else printable(cell)
