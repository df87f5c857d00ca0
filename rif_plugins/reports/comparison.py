"""A comparison of models (``rif-comparison/1``), read for the page: rates, ranks, tests, changes of order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rif_plugins.reports.cells import NONE, Table, Value
from rif_plugins.reports.characters import printable

AXES = {
    "robustness": "Robustness only",
    "fairness": "Fairness only",
    "rif": "Robust individual fairness",
}
_CLEAN = {"accuracy": "Original text right", "individual_fairness": "Both texts answered alike"}


@dataclass(frozen=True, slots=True)
class Model:
    """One model: its rates and its ranks, in the order of ``AXES``."""

    name: str
    rates: tuple[Value, ...]
    ranks: tuple[int | None, ...]


def models_of(comparison: Mapping[str, Any]) -> list[Model]:
    """The models, in the order they were given."""
    rows = [_by_name(comparison, "axes", axis) for axis in AXES]
    return [
        Model(
            printable(name),
            tuple(Value.of(row.get(name, {}).get("rate")) for row in rows),
            tuple(row.get(name, {}).get("rank") for row in rows),
        )
        for name in comparison.get("names") or []
    ]


def headline(comparison: Mapping[str, Any]) -> str:
    """What the comparison says in one sentence."""
    ranked = _rows(comparison, "axes", "rif")
    pairs = f"{int(comparison.get('n_shared') or 0):,} pairs that all runs share"
    if not ranked:
        return f"On the {pairs} the models were not all tried against the same targets."
    best = [row for row in ranked if row["rank"] == 1]
    names = " and ".join(printable(row["name"]) for row in best)
    rate = Value.of(best[0]["rate"])
    changes = comparison.get("order_changes")
    order = "the order changes with the axis" if changes else "the order is the same on every axis"
    verb = "stands" if len(best) == 1 else "stand"
    return f"{names} {verb} on most of the {pairs}: {rate.short} (95% interval {rate.interval}); {order}."


def sentences(comparison: Mapping[str, Any]) -> list[str]:
    """Changes of order, ties, and labels that differ between the runs."""
    lines = []
    for change in comparison.get("order_changes") or []:
        support = "tell" if change.get("is_supported") else "do not tell"
        lines.append(
            f"{printable(change['better'])} is before {printable(change['worse'])} on "
            f"{_axis(change['axis'])} and after it on {_axis(change['other_axis'])}; "
            f"the paired tests {support} them apart on both."
        )
    ties: dict[str, list[str]] = {}
    for tie in comparison.get("ties") or []:
        ties.setdefault(tie["axis"], []).append(" and ".join(map(printable, tie["models"])))
    for axis, pairs in ties.items():
        lines.append(f"On {_axis(axis)} the intervals overlap of {', of '.join(pairs)}.")
    if conflicts := comparison.get("n_label_conflicts"):
        lines.append(f"{int(conflicts):,} shared pairs have other labels in other runs.")
    return lines


def ranks_table(models: list[Model]) -> Table:
    """Rank of every model on every axis; without rows when nothing is ranked."""
    rows = tuple(
        (model.name, *(NONE if rank is None else rank for rank in model.ranks))
        for model in models
        if any(rank is not None for rank in model.ranks)
    )
    return Table("Ranks, 1 is best", ("Model", *AXES.values()), rows)


def clean_table(comparison: Mapping[str, Any]) -> Table:
    """The same pairs before any edit."""
    rows = [_by_name(comparison, "clean", axis) for axis in _CLEAN]
    return Table(
        "The same pairs before any edit",
        ("Model", *_CLEAN.values()),
        tuple(
            (printable(name), *(Value.of(row.get(name, {}).get("rate")) for row in rows))
            for name in comparison.get("names") or []
            if any(rows)
        ),
    )


def tests_table(comparison: Mapping[str, Any]) -> Table:
    """Paired tests of every two models."""
    rows = []
    for test in comparison.get("tests") or []:
        difference = Value(test.get("difference"), test.get("low"), test.get("high"), is_share=True)
        rows.append(
            (
                f"{printable(test['first'])}, {printable(test['second'])}",
                _axis(test["axis"]),
                difference,
                int(test["only_first"]),
                int(test["only_second"]),
                f"{test['p_adjusted']:.3g}",
            )
        )
    return Table(
        "Paired tests on the shared pairs",
        ("Models", "Axis", "Difference", "Only the first stands", "Only the second", "p (McNemar, Holm)"),
        tuple(rows),
        "Difference: share of the first less share of the second. p is corrected for the number of tests.",
    )


def _axis(axis: str) -> str:
    return AXES.get(axis, printable(axis)).lower()


def _rows(comparison: Mapping[str, Any], kind: str, axis: str) -> list[Mapping[str, Any]]:
    return list((comparison.get(kind) or {}).get(axis) or [])


def _by_name(comparison: Mapping[str, Any], kind: str, axis: str) -> dict[str, Mapping[str, Any]]:
    return {row["name"]: row for row in _rows(comparison, kind, axis)}
