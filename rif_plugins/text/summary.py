"""The "RIF Results" table that ends a run of the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.metrics import summarise
from rif_plugins.text.records import record_of


def records_of(results: Iterable[Any]) -> list[Record]:
    """The records of those results of the host that are pairs."""
    return [record for record in map(record_of, results) if record is not None]


def rif_summary_rows(results: Iterable[Any]) -> list[list[Any]] | None:
    """Rows ``[label, value]`` of the table, or None when no result is a pair."""
    records = records_of(results)
    if not records:
        return None
    summary = summarise(records)
    targets = sorted({record.target for record in records})
    rows: list[list[Any]] = [
        ["Target:", ", ".join(targets)],
        ["Pairs evaluated (one an example):", summary["n_pairs"]],
        ["Skipped:", _skipped(summary)],
        ["Errors:", summary["n_errors"]],
        ["Clean outcomes:", _counts(summary["clean_outcomes"])],
        ["Natural violations of the target:", str(summary["natural_rate"])],
        ["Induced violations (of clean robust_fair):", str(summary["induced_rate"])],
        ["Shifted from another violation:", summary["n_shifted"]],
        ["Robust after the attack:", str(summary["robustness_rate"])],
        ["Fair after the attack:", str(summary["fairness_rate"])],
        ["Robust and fair (RIF) after the attack:", str(summary["rif_rate"])],
        ["Mean edits of found pairs (both sides):", _number(summary["mean_edits"], 2)],
        ["Mean equivalence S_eq of edited sides:", _number(summary["mean_equivalence"], 3)],
        ["Victim rows (cache hits apart):", f"{summary['victim_rows']} ({summary['cache_hits']})"],
        ["Entailment rows:", summary["entailment_rows"]],
    ]
    return rows


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


def _skipped(summary: dict[str, Any]) -> str:
    reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(summary["skip_reasons"].items()))
    return f"{summary['n_skipped']} ({reasons})" if reasons else "0"


def _number(value: float | None, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f}"
