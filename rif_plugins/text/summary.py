"""The "RIF Results" table that ends a run of the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rif_plugins.core.outcomes import ALL_TARGETS, Outcome
from rif_plugins.core.results import Record
from rif_plugins.metrics import Rate, summarise
from rif_plugins.text.records import all_records_of


def records_of(results: Iterable[Any]) -> list[Record]:
    """The records of those results of the host that are pairs."""
    return [record for result in results for record in all_records_of(result)]


def rif_summary_rows(results: Iterable[Any]) -> list[list[Any]] | None:
    """Rows ``[label, value]`` of the table, or None when no result is a pair."""
    records = records_of(results)
    if not records:
        return None
    targets = [
        t for t in ALL_TARGETS if any(record.target == t and record.is_evaluated for record in records)
    ]
    if len(targets) > 1:
        return _sweep_rows(records, targets)
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


def _sweep_rows(records: list[Record], targets: list[str]) -> list[list[Any]]:
    """The table of a sweep: shares of pairs, a few rows a target."""
    pairs = {(r.example, r.original, r.similar): r for r in records if r.is_evaluated}
    n = len(pairs)
    rest = summarise(record for record in records if not record.is_evaluated)
    first = summarise(record for record in records if record.target == targets[0])
    met = {(r.example, r.original, r.similar) for r in records if r.is_found}
    met |= {key for key, r in pairs.items() if r.clean_outcome != str(Outcome.ROBUST_FAIR)}
    rows: list[list[Any]] = [
        ["Targets:", ", ".join(targets)],
        ["Pairs evaluated:", n],
        ["Skipped:", _skipped(rest)],
        ["Errors:", rest["n_errors"]],
        ["Clean outcomes:", _counts(first["clean_outcomes"])],
    ]
    for target in targets:
        summary = summarise(record for record in records if record.target == target)
        rows.append([f"{target}, natural:", str(summary["natural_rate"])])
        rows.append([f"{target}, induced (of clean robust_fair):", str(summary["induced_rate"])])
    total = summarise(record for record in records if record.is_evaluated)
    return [
        *rows,
        ["Robust and fair (RIF) against all of them:", str(Rate(n - len(met), n))],
        ["Mean edits of found pairs (both sides):", _number(total["mean_edits"], 2)],
        ["Mean equivalence S_eq of edited sides:", _number(total["mean_equivalence"], 3)],
        ["Victim rows (cache hits apart):", f"{total['victim_rows']} ({total['cache_hits']})"],
        ["Entailment rows:", total["entailment_rows"]],
    ]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


def _skipped(summary: dict[str, Any]) -> str:
    reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(summary["skip_reasons"].items()))
    return f"{summary['n_skipped']} ({reasons})" if reasons else "0"


def _number(value: float | None, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f}"
