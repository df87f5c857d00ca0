"""What language models did in a run, as judges, proposers or victim, and what went wrong, as tables.

Each table is without rows where a run has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rif_plugins.core.record_fields import is_number
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.cells import NONE, Cell, Table, Value, number_text, readable
from rif_plugins.reports.characters import one_line, printable
from rif_plugins.reports.contents import Contents

_RATINGS = ("1", "2", "3", "4", "5")
_MOST_NOTES = 12
_MOST_REASONS = 3
_LONGEST_NOTE = 300


def judge_table(run: RunResult) -> Table:
    """The mean rating of every judge, how often each rating was given, and how far two judges agree."""
    judged = _judged(run)
    title = "How well the edits keep the meaning, rated from 1 to 5 by language models"
    if judged.get("error"):
        return Table(title, ("Judges", ""), (("no rating", one_line(judged["error"], _LONGEST_NOTE)),))
    judges = judged.get("judges") or []
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            printable(judge.get("judge", "")),
            int(judge.get("rated") or 0),
            int(judge.get("unrated") or 0),
            _mean(judge),
            *(int((judge.get("distribution") or {}).get(rating) or 0) for rating in _RATINGS),
        )
        for judge in judges
    )
    columns = ("Judge", "Rated", "Not rated", "Mean", *(f"Rated {rating}" for rating in _RATINGS))
    sentences = [
        f"{int(judged.get('sample') or 0):,} edited texts of findings, drawn alike from each target; "
        "5: the same meaning, 1: another one. A judge sees both texts and nothing else."
    ]
    sentences += filter(None, (_agreement(judged), _reasons(judges)))
    return Table(title, columns, rows, " ".join(sentences) if rows else "")


def judged_targets_table(run: RunResult) -> Table:
    """The mean rating of every judge, by target."""
    judges = _judged(run).get("judges") or []
    found = [judge.get("by_target") or {} for judge in judges]
    targets = dict.fromkeys(name for blocks in found for name in blocks)
    known = [name for name in run.summary.get("targets") or [] if name in targets]
    return Table(
        "Mean rating, by target",
        ("Target", *(printable(judge.get("judge", "")) for judge in judges)),
        tuple(
            (readable(name), *(_mean(blocks.get(name) or {}) for blocks in found))
            for name in dict.fromkeys([*known, *targets])
        ),
    )


def lowest_rated(run: RunResult) -> list[tuple[str, str, str]]:
    """Scores, text and edited text of the edits that the judges rated worst."""
    return [
        (
            ", ".join(NONE if score is None else number_text(score) for score in row.get("scores") or []),
            printable(row.get("original", "")),
            printable(row.get("edited", "")),
        )
        for row in _judged(run).get("lowest") or []
    ]


def language_models_table(run: RunResult) -> Table:
    """Calls to language models, their tokens and price."""
    of: Mapping[str, Any] = (
        run.summary.get("language_models") or run.configuration.get("language_models") or {}
    )
    rows: list[tuple[Cell, ...]] = []
    if names := of.get("names"):
        rows.append(("Models", ", ".join(printable(name) for name in names)))
    if is_number(of.get("calls")):
        most = of.get("max_calls")
        rows.append(("Calls", _count(of["calls"]) + (f" of at most {most:,}" if is_number(most) else "")))
    titles = {
        "stored": "Answers taken from the cache",
        "failed": "Questions without an answer",
        "prompt_tokens": "Tokens asked",
        "completion_tokens": "Tokens answered",
    }
    rows += [(title, _count(of[name])) for name, title in titles.items() if is_number(of.get(name))]
    if of.get("cost"):
        rows.append(("Price", f"{float(of['cost']):,.4f}"))
    note = ""
    if of.get("are_used_up") is True:
        note = "All calls that were allowed are used up: what came later was not asked."
    return Table("Language models", ("What", "Count"), (*rows, *_victim_rows(of.get("victim"))), note)


def sureness_table(contents: Contents) -> Table:
    """How many pairs hang on an answer that might have been another one."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            readable(one.target),
            one.n,
            one.n_within,
            one.n_found,
            one.n_found_within,
            Value(one.agreement / one.n_asked_again, is_share=True) if one.n_asked_again else NONE,
        )
        for one in contents.sureness
        if one.n
    )
    note = (
        "The model does not repeat its answers. Within error: the answer to one of the edited texts leads by "
        "so little that one standard error more or less makes it another one. Agreement: share of repeated "
        "askings that give the answer which most give, the lower one of both texts."
    )
    columns = ("Target", "Pairs", "Within error", "Findings", "Findings within", "Agreement")
    return Table("Answers within their standard error", columns, rows, note if rows else "")


def notes_table(contents: Contents) -> Table:
    """What went wrong on the way without ending a search, such as a proposer that failed."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (one_line(note, _LONGEST_NOTE), number) for note, number in contents.notes[:_MOST_NOTES]
    )
    left = sum(number for _, number in contents.notes[_MOST_NOTES:]) + contents.n_other_notes
    note = f"{left:,} more are in the notes of results.jsonl." if left else ""
    return Table("Went wrong on the way, the search went on", ("Note", "Examples"), rows, note)


def _judged(run: RunResult) -> Mapping[str, Any]:
    return run.summary.get("judge") or {}


def _mean(block: Mapping[str, Any]) -> Cell:
    mean = block.get("mean")
    if mean is None:
        return NONE
    interval = list(block.get("interval") or [])
    low, high = interval if len(interval) == 2 else (None, None)
    return Value(float(mean), low, high)


def _agreement(judged: Mapping[str, Any]) -> str:
    """How far two judges agree; empty with another number of them."""
    both = judged.get("agreement") or {}
    if not both.get("n") or both.get("same") is None:
        return ""
    names = " and ".join(printable(name) for name in both.get("judges") or [])
    kappa = both.get("kappa")
    told = "" if kappa is None else f"; weighted kappa {float(kappa):.2f}"
    near = both.get("within_one")
    apart = "" if near is None else f", at most one apart for {float(near):.1%}"
    return (
        f"{names} give {int(both['n']):,} texts a rating each: the same one for {both['same']:.1%}"
        f"{apart}{told}."
    )


def _reasons(judges: list[Mapping[str, Any]]) -> str:
    """Why there is no rating, the most frequent reasons."""
    found: dict[str, int] = {}
    for judge in judges:
        for reason, number in (judge.get("reasons") or {}).items():
            found[reason] = found.get(reason, 0) + int(number)
    ranked = sorted(found.items(), key=lambda item: -item[1])[:_MOST_REASONS]
    told = "; ".join(f"{one_line(reason, 100) or 'unknown'} ({number:,})" for reason, number in ranked)
    return f"Not rated: {told}." if told else ""


def _victim_rows(of: object) -> list[tuple[Cell, ...]]:
    """How a language model answered that was audited."""
    if not isinstance(of, Mapping):
        return []
    rows: list[tuple[Cell, ...]] = []
    if of.get("method"):
        samples = of.get("samples")
        is_sampled = of["method"] == "samples" and is_number(samples)
        told = f"shares of {samples:,} samples" if is_sampled else readable(str(of["method"]))
        rows.append(("Audited model, probabilities from", told))
    titles = {
        "texts": "Audited model, texts",
        "unparsed_answers": "Audited model, answers that name no label",
        "failed": "Audited model, texts without an answer",
        "sampled_instead": "Audited model, texts sampled in place of log-probabilities",
    }
    return rows + [(title, _count(of[name])) for name, title in titles.items() if is_number(of.get(name))]


def _count(number: float) -> str:
    return f"{number:,.0f}"
