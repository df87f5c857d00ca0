"""What every report says, once: the headline, the tables and the figures of a run, ready to be laid out.

Text, HTML and the notebook lay out the same `Table` and `Line` objects, so they cannot disagree. Nothing is
computed here; every rate is read from the run's summary. `Contents` counts the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import FAIRNESS_ONLY, ROBUSTNESS_ONLY, RunResult
from rif_plugins.reports.cells import NONE, Cell, Line, Table, Value, cell_text, readable
from rif_plugins.reports.characters import printable

TARGET_HELP = {
    "robust_biased": "the original is right, the similar text gets another answer",
    "unrobust_fair": "both texts get the same wrong answer",
    "unrobust_biased": "the original is wrong, the similar text gets another answer",
    ROBUSTNESS_ONLY: "only the original is edited, until it is wrong; the pair is ignored",
    FAIRNESS_ONLY: "the same edit on both sides, until the answers differ; the label is ignored",
}


def model_name(run: RunResult) -> str:
    """The model's name without its folders."""
    model = str(run.configuration.get("model") or "the model")
    return printable(PurePath(model).name or model)


def is_predicted(run: RunResult) -> bool:
    """True when the labels are the model's own clean predictions."""
    return run.configuration.get("labels") == "predicted"


def distinct_findings(run: RunResult) -> Iterator[Record]:
    """The records that end in their target, each once, read one by one."""
    return (record for record in run.distinct() if record.is_found)


def headline(run: RunResult) -> tuple[str, str, str]:
    """One sentence in three parts; the middle one, the figure, is to be stressed."""
    rate = Value.of(run.summary.get("rif_rate"))
    if not rate.is_known:
        return (
            "No pair of similar texts was tried against all targets, so there is ",
            "no rate",
            " to tell.",
        )
    answer = "gives the same, right answer"
    if is_predicted(run):
        answer = "keeps the same answer as before the edits"
    return (
        f"{model_name(run)} {answer} to both texts of ",
        rate.short,
        f" of {int(rate.total or 0):,} pairs of similar texts under every edit tried "
        f"(95% interval {rate.interval}).",
    )


def axes(run: RunResult) -> list[Line]:
    """The share of pairs that stands on each of the three axes."""
    summary = run.summary
    return [
        Line("Robustness only", Value.of(summary.get("robustness_rate")), TARGET_HELP[ROBUSTNESS_ONLY]),
        Line("Fairness only", Value.of(summary.get("fairness_rate")), TARGET_HELP[FAIRNESS_ONLY]),
        Line(
            "Robust individual fairness",
            Value.of(summary.get("rif_rate")),
            "all three targets below: both texts stay right and alike",
            True,
        ),
    ]


def axes_sentence(run: RunResult) -> str:
    """What the single axes alone would have said."""
    robust, fair, rif = axes(run)
    if not (robust.value.is_known and fair.value.is_known and rif.value.is_known):
        return ""
    return (
        f"Judged by robustness alone {robust.value.short} of the pairs stand, by fairness alone "
        f"{fair.value.short}; judged by both at once {rif.value.short}."
    )


def axes_table(run: RunResult) -> Table:
    """The three axes as a table."""
    return Table(
        "Share of pairs that stand",
        ("Attack", "Stands", "95% interval", "Pairs"),
        tuple((line.name, line.value.short, line.value.interval, _total(line.value)) for line in axes(run)),
    )


def targets_table(run: RunResult) -> Table:
    """Natural, induced and shifted findings of every target, and the share of pairs that stands."""
    blocks = run.summary.get("by_target") or {}
    rows = []
    for name in [*(run.summary.get("targets") or blocks)]:
        block = blocks.get(name, {})
        rows.append(
            (
                readable(name),
                _count(block, "n_pairs"),
                _count(block, "n_natural"),
                _count(block, "n_induced"),
                _count(block, "n_shifted"),
                Value.of(block.get("natural_rate")),
                Value.of(block.get("induced_rate")),
                Value.of(block.get("resistance_rate")),
            )
        )
    return Table(
        "By target",
        ("Target", "Pairs", "Natural", "Induced", "Shifted", "Natural rate", "Induced rate", "Stands"),
        tuple(rows),
        "Natural: the unedited pair is already a finding. Induced: found by edits from a pair that was right "
        "and alike; its rate is over those pairs. Shifted: found from one that already failed another way.",
    )


def certificates_table(run: RunResult) -> Table:
    """What an exhaustive search has shown not to exist; empty after a greedy one."""
    found = run.summary.get("certificates") or {}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (readable(target), int(c["n_pairs"]), int(c["max_edits"]), int(c["n_texts"]))
        for target, c in found.items()
    )
    note = "No admissible edit of at most so many tokens a side, out of the candidates, breaks these pairs."
    columns = ("Target", "Pairs", "Edits a side", "Texts examined")
    return Table("Certified: no violation within the candidates", columns, rows, note if rows else "")


def final_table(run: RunResult) -> Table:
    """Robust, fair, and both, of the pair each search ended with."""
    blocks = run.summary.get("by_target") or {}
    names = ("robustness_rate", "fairness_rate", "rif_rate")
    return Table(
        "The pair that each search ends with",
        ("Target", "Original right", "Answers alike", "Both"),
        tuple(
            (readable(name), *(Value.of(blocks.get(name, {}).get(key)) for key in names))
            for name in [*(run.summary.get("targets") or blocks)]
        ),
    )


def clean_table(run: RunResult) -> Table:
    """What the model does before any edit."""
    rows = [
        ("Original text right", Value.of(run.summary.get("accuracy"))),
        ("Both texts answered alike", Value.of(run.summary.get("individual_fairness_rate"))),
        ("Right and alike", Value.of((run.summary.get("clean") or {}).get("robust_fair_rate"))),
    ]
    return Table("Before any edit", ("Pairs", "Share"), tuple(rows))


def attack_counts(run: RunResult) -> list[Line]:
    """How many of the three violations a pair meets: the ``n_attack`` histogram."""
    words = ("the pair stands", "", "", "every target")
    return [
        Line(f"{number}", Value.of(value), words[int(number)] if number in "0123" else "")
        for number, value in (run.summary.get("n_attack") or {}).items()
    ]


# More rows than this hide the page; the rest stands in summary.json.
_MOST_GROUPS = 15


def groups_tables(run: RunResult) -> list[Table]:
    """The three axes by attribute, by value and by label; tables with one row or none are left out."""
    names = ("robustness_rate", "fairness_rate", "rif_rate")
    tables = []
    for key, title in (
        ("by_attribute", "By attribute"),
        ("by_value", "By value"),
        ("by_label", "By predicted label" if is_predicted(run) else "By label"),
    ):
        blocks = run.summary.get(key) or {}
        if len(blocks) < 2:
            continue
        shown = _largest(blocks)
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                printable(block.get("name", name)).replace(" -> ", " → "),
                _count(block, "n_pairs"),
                *(Value.of(block.get(rate)) for rate in names),
            )
            for name, block in shown.items()
        )
        columns = (title.removeprefix("By ").capitalize(), "Pairs", "Robustness only", "Fairness only", "RIF")
        left = len(blocks) - len(shown)
        note = f"{left} more with fewer pairs are in summary.json." if left else ""
        tables.append(Table(f"Share of pairs that stand, {title[0].lower()}{title[1:]}", columns, rows, note))
    return tables


def _largest(blocks: Mapping[str, Any]) -> dict[str, Any]:
    """The groups with the most pairs, in their order."""
    ranked = sorted(blocks, key=lambda name: -int(blocks[name].get("n_pairs") or 0))[:_MOST_GROUPS]
    return {name: block for name, block in blocks.items() if name in ranked}


def texts_table(run: RunResult) -> Table:
    """The three axes with texts as units; empty when every text has one pair."""
    block, summary = run.summary.get("texts") or {}, run.summary
    names = {
        "robustness_rate": "Robustness only",
        "fairness_rate": "Fairness only",
        "rif_rate": "Robust individual fairness",
    }
    totals = [Value.of(block.get(name)).total == Value.of(summary.get(name)).total for name in names]
    rows = _known_rows(block, names) if not all(totals) else ()
    return Table(
        "The same with texts as units: a text stands when all of its pairs do", ("Attack", "Stands"), rows
    )


def attack_table(run: RunResult) -> Table:
    """Violations met by the pairs, all targets pooled."""
    names = {
        "robustness_violation_rate": "Original wrong (AR)",
        "fairness_violation_rate": "Answers differ (IF)",
        "rif_violation_rate": "Any violation (RIF)",
        "robust_biased_rate": "robust biased (TB)",
        "unrobust_fair_rate": "unrobust fair (FF)",
        "unrobust_biased_rate": "unrobust biased (FB)",
    }
    return Table(
        "Violations met, the three targets pooled",
        ("Pairs that meet it", "Share"),
        _known_rows(run.summary.get("attack") or {}, names),
    )


def movement_tables(run: RunResult) -> list[Table]:
    """How the probabilities of the two sides move under the edits, and what a flip takes."""
    steps = {
        "both_moved_rate": "Steps in which both sides move",
        "same_direction_rate": "of those: in the same direction",
        "same_direction_different_magnitude_rate": "of those: in the same direction, by different amounts",
        "opposite_direction_rate": "of those: in opposite directions",
        "magnitude_ratio": "Larger move over smaller move",
        "mean_pii_original": "Mean impact of a changed token, original side",
        "mean_pii_similar": "Mean impact of a changed token, similar side",
    }
    flips = {
        "flip_rate": "Edited sides whose answer flips",
        "mean_tolerance": "Mean change of p that a clean answer tolerates",
        "mean_spent": "Mean change of p behind a flip",
        "nearer_side_flips_rate": "One side flips: it is the one nearer to the threshold",
    }
    epsilon = {
        "median": "Median over the texts",
        "percentile_90": "90th percentile over the texts",
    }
    parts = (("How the two sides move", "steps", steps), ("What a flip takes", "flips", flips))
    tables = [
        Table(title, ("Figure", "Value"), _known_rows(run.summary.get(key) or {}, names))
        for title, key, names in (*parts, ("Largest error met for a text (ε)", "epsilon", epsilon))
    ]
    return [table for table in tables if table.rows]


def missed_sentence(run: RunResult) -> str:
    """Pairs that the targets' searches let stand although a single-axis attack broke them."""
    missed = _count(run.summary, "n_missed_by_rif_search")
    if not missed:
        return ""
    pairs = "pair stands" if missed == 1 else "pairs stand"
    return (
        f"{missed:,} {pairs} under the three targets although a single-axis attack broke "
        f"{'it' if missed == 1 else 'them'}: the share under both at once is too high by that much."
    )


def effort_table(run: RunResult) -> Table:
    """Edits and equivalence of the findings, cost of a pair."""
    names = {
        "mean_equivalence": "Mean equivalence of edited texts",
        "mean_edits": "Mean edits of a finding, both sides",
        "mean_changed_tokens": "Mean changed tokens of a finding",
        "victim_rows_per_pair": "Model rows a pair",
        "entailment_rows_per_pair": "Entailment rows a pair",
        "seconds_per_pair": "Seconds a pair",
    }
    return Table("Edits and effort", ("Figure", "Value"), _known_rows(run.summary, names))


def cost_table(run: RunResult) -> Table:
    """What was asked of the model, the scorer and the proposer."""
    cost = run.configuration.get("cost") or {}
    names = {
        "victim_rows": "Texts sent to the model",
        "cache_hits": "Answers taken from the cache",
        "entailment_rows": "Pairs judged for equivalence",
        "proposer_calls": "Requests for candidates",
    }
    rows = [(title, cost.get(name, run.summary.get(name))) for name, title in names.items()]
    return Table("Queries", ("What", "Count"), tuple((a, int(b)) for a, b in rows if b is not None))


def times(run: RunResult) -> list[tuple[str, float]]:
    """Seconds of the model, the scorer, the proposer and the search."""
    time = run.configuration.get("time") or run.summary.get("time") or {}
    names = {"victim": "model", "entailment": "equivalence", "proposer": "candidates", "search": "search"}
    return [(names[name], float(time[name])) for name in names if time.get(name) is not None]


def checks(run: RunResult) -> list[tuple[str, str, str]]:
    """Name, status and message of every victim check."""
    return [
        (readable(str(c.get("name", ""))), str(c.get("status", "")), printable(c.get("message", "")))
        for c in run.configuration.get("victim_checks") or []
    ]


def left_out_table(run: RunResult) -> Table:
    """Examples that were not evaluated, by reason."""
    rows: list[tuple[Cell, ...]] = [
        (f"skipped: {printable(reason)}", int(number))
        for reason, number in (run.summary.get("skip_reasons") or {}).items()
    ]
    if errors := _count(run.summary, "n_errors"):
        rows.append(("error", errors))
    return Table("Examples left out", ("Reason", "Examples"), tuple(rows))


def facts(run: RunResult, n_findings: int) -> list[tuple[str, str]]:
    """What was audited, when, and with which version."""
    of, summary = run.configuration, run.summary
    labels = "predicted by the model itself" if is_predicted(run) else "given with the data"
    rows: Sequence[tuple[str, object]] = (
        ("Model", of.get("model")),
        ("Data", of.get("data")),
        ("Labels", labels),
        ("Examples", cell_text(_count(summary, "n_examples"))),
        ("Pairs", cell_text(_count(summary, "n_pairs"))),
        ("Findings", cell_text(n_findings)),
        ("Finished", of.get("finished")),
        ("Version", of.get("version")),
    )
    return [(name, printable(value)) for name, value in rows if value not in (None, "")]


def _count(block: Mapping[str, Any], name: str) -> int:
    return int(block.get(name) or 0)


def _known_rows(block: Mapping[str, Any], names: Mapping[str, str]) -> tuple[tuple[Cell, ...], ...]:
    """Title and value of the figures that are there."""
    rows = (
        (title, Value.of(block.get(name), is_share=name.endswith("_rate"))) for name, title in names.items()
    )
    return tuple(row for row in rows if row[1].is_known)


def _total(value: Value) -> Cell:
    return NONE if value.total is None else int(value.total)
