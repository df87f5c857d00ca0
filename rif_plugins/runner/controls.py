"""The no-effect control beside an audit: swaps that leave the group of every person as it is.

A model that also answers differently there is sensitive to any swap of such words, and the difference
between groups is to be read against that. Names of the same group, and terms that mean the same, are
swapped; the search is that of the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import write_records
from rif_plugins.examples.base import Example
from rif_plugins.metrics.summary import summarise_run
from rif_plugins.runner.building import Parts, build_sweep
from rif_plugins.runner.options import AuditOptions

CONTROLS_FILE = "controls.jsonl"
_KEPT = ("n_examples", "n_pairs", "robustness_rate", "fairness_rate", "rif_rate", "individual_fairness_rate")


def search_controls(options: AuditOptions, parts: Parts, examples: Sequence[Example]) -> list[Record]:
    """The records of all control pairs; texts without one have none."""
    sweep = build_sweep(options, parts)
    sweep.source = parts.source.as_controls()
    return [record for found in sweep.run(examples) for record in found if record.is_evaluated]


def summarise_controls(records: Iterable[Record], configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The main rates of the control pairs, for ``summary.json``; empty where there are none."""
    rows = list(records)
    if not rows:
        return {"n_pairs": 0}
    summary = summarise_run(rows, configuration)
    return {name: summary.get(name) for name in _KEPT}


def run_controls(
    options: AuditOptions,
    parts: Parts,
    examples: Sequence[Example],
    configuration: Mapping[str, Any],
    out: Path | None,
) -> dict[str, Any]:
    """Search the controls, write their records beside the results, and return their main rates."""
    records = search_controls(options, parts, examples)
    if out is not None:
        (out / CONTROLS_FILE).unlink(missing_ok=True)
        write_records(out / CONTROLS_FILE, records)
    return summarise_controls(records, configuration)


def read_controls(out: Path, configuration: Mapping[str, Any]) -> dict[str, Any] | None:
    """The main rates of the controls of an earlier run; None where it had none."""
    file = out / CONTROLS_FILE
    return summarise_controls(read_records(file), configuration) if file.is_file() else None
