"""One sentence about the no-effect controls of a run."""

from __future__ import annotations

from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.cells import Value, cell_text


def controls_sentence(run: RunResult) -> str:
    """How many pairs stand when the swap leaves the group as it is; empty without controls."""
    controls = run.summary.get("controls")
    if controls is None:
        return ""
    n = int(controls.get("n_pairs") or 0)
    if not n:
        return "Controls: no text has a name or term to swap within its group."
    stands = cell_text(Value.of(controls.get("rif_rate")))
    alike = cell_text(Value.of(controls.get("individual_fairness_rate")))
    return (
        f"Controls, {n:,} pairs swapped within the same group: {stands} stand under all edits, {alike} are "
        "answered alike before any edit. What is missing from 100% there is plain sensitivity to such swaps."
    )
