"""From the search of one example to its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rif_plugins.core.example_sweep import ExampleSweep, Finding
from rif_plugins.core.pairs import SIDES, Edit
from rif_plugins.core.results import Record, searched_record
from rif_plugins.core.sides import TextState
from rif_plugins.entailment import Verdict
from rif_plugins.examples.base import Example
from rif_plugins.runner.task import ExampleTask

Uncertainty = Callable[[str], Mapping[str, float]]
Verdicts = Mapping[tuple[str, str], Verdict]


def sweep_records(
    task: ExampleTask,
    sweep: ExampleSweep[TextState],
    verdicts: Verdicts,
    *,
    scorer: str,
    seed: int,
    uncertainty: Uncertainty | None = None,
) -> list[Record]:
    """One record a pair and target.

    The costs and the notes of the example, which its pairs and targets share, stand in its first record.

    Args:
        task: The example and its costs.
        sweep: What was found.
        verdicts: The filter's figures of every final text, by (unedited, edited).
        scorer: Name and version of the filter's model.
        seed: The run's seed.
        uncertainty: Tells of a text how sure the victim is; None where it repeats its answers.
    """
    records = [_record(task, sweep, finding, verdicts, scorer, seed) for finding in sweep.findings]
    if uncertainty is not None:
        records = [replace(record, uncertainty=_uncertainty(record, uncertainty)) for record in records]
    if records:
        records[0] = replace(
            records[0], queries=costs(task), seconds=round(task.seconds, 4), notes=list(task.notes)
        )
    return records


def costs(task: ExampleTask) -> dict[str, int]:
    """What the example has cost: rows that models answered, and answers that were remembered."""
    found = {
        "victim_rows": task.budget.spent,
        "cache_hits": task.budget.hits,
        "stored_hits": task.budget.stored_hits,
        "entailment_rows": task.filter_count.rows,
        "proposer_calls": task.n_proposer_calls,
    }
    if task.n_llm_calls:
        found["llm_calls"] = task.n_llm_calls
    return found


def final_texts(task: ExampleTask, finding: Finding[TextState]) -> tuple[str, str]:
    """The perturbed original and the perturbed similar text."""
    state = finding.result.state
    return state.original.text, state.similar.text


def _record(
    task: ExampleTask,
    sweep: ExampleSweep[TextState],
    finding: Finding[TextState],
    verdicts: Verdicts,
    scorer: str,
    seed: int,
) -> Record:
    pair = task.pairs[finding.pair]
    texts = final_texts(task, finding)
    state = finding.result.state
    edits: tuple[Edit, ...] = (*state.original.edits, *state.similar.edits)
    record = searched_record(
        pair,
        finding.result,
        texts=texts,
        edits=edits,
        example=task.example.id,
        label=task.label,
        target=finding.target,
        seed=seed,
    )
    reaches = (sweep.reaches[0], sweep.reaches[finding.pair + 1])
    return replace(
        record,
        edits=_with_sources(task, finding, record.edits, edits),
        equivalence=_equivalence((pair.original, pair.similar), texts, verdicts),
        scorer=scorer,
        certificate=finding.certificate,
        saliency=_saliency(task, sweep, finding) if record.is_found else [],
        largest_error=round(max(reach.largest_error for reach in reaches), 8),
        n_tried=sum(reach.n_tried for reach in reaches),
    )


def _with_sources(
    task: ExampleTask, finding: Finding[TextState], rows: Sequence[dict[str, Any]], edits: Sequence[Edit]
) -> list[dict[str, Any]]:
    """Edits as in a record, each with the proposer that its replacement comes from, where that is known."""
    members = {"original": 0, "similar": finding.pair + 1}
    sources = [task.source_of(members[edit.side], edit) for edit in edits]
    return [{**row, "source": s} if s else row for row, s in zip(rows, sources, strict=True)]


def _equivalence(
    unedited: tuple[str, str], texts: tuple[str, str], verdicts: Verdicts
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for side, before, after in zip(SIDES, unedited, texts, strict=True):
        verdict = verdicts.get((before, after))
        if verdict is not None:
            found[side] = {
                "forward": round(float(verdict.forward), 6),
                "backward": round(float(verdict.backward), 6),
                "score": round(float(verdict.score), 6),
            }
    return found


def _saliency(
    task: ExampleTask, sweep: ExampleSweep[TextState], finding: Finding[TextState]
) -> list[dict[str, Any]]:
    """Scores of the ranked or probed tokens of both sides, in reading order."""
    if not sweep.saliency:
        return []
    rows = []
    for side, member in zip(SIDES, (0, finding.pair + 1), strict=True):
        for position, score in sorted(sweep.saliency[member].items()):
            span = task.members[member].span(position)
            rows.append({"side": side, "start": span.start, "end": span.end, "score": round(score, 6)})
    return rows


def _uncertainty(record: Record, of: Uncertainty) -> dict[str, dict[str, float]]:
    """How sure the victim is of the texts of a record, where it says so."""
    found = {name: dict(of(getattr(record, name))) for name in record.probabilities}
    return {name: values for name, values in found.items() if values}


def skipped_record(
    example: Example, reason: str, *, seed: int, status: str = "skipped", notes: Sequence[str] = ()
) -> Record:
    """The one record of an example that was not searched."""
    is_error = status == "error"
    return Record(
        id=f"{example.id}-{status}",
        example=example.id,
        target="",
        status="error" if is_error else "skipped",
        stop_reason="error" if is_error else reason,
        label=example.label,
        original=example.text,
        seed=seed,
        message=reason if is_error else "",
        notes=list(notes),
    )
