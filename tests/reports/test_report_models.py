"""Judges, language models, answers that are not repeated, and notes, in every report."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.runs import fake_run

from rif_plugins.core.results import Record
from rif_plugins.core.run_fields import check_summary
from rif_plugins.core.run_result import RunResult
from rif_plugins.diagnostics.judge import JudgedEdit, Rating, judge_summary
from rif_plugins.llm import CallBudget
from rif_plugins.reports import model_tables, render_text, write_csv
from rif_plugins.reports.contents import Contents
from rif_plugins.reports.html import render_html
from rif_plugins.reports.sureness import is_within_standard_error

TITLES = (
    "How well the edits keep the meaning, rated from 1 to 5 by language models",
    "Mean rating, by target",
    "Edits that the judges rate lowest",
    "Language models",
    "Answers within their standard error",
    "Went wrong on the way, the search went on",
)


def judged(*names: str) -> dict[str, Any]:
    edits = [
        JudgedEdit(
            f"a <b>text</b> {i}",
            f"an edit {i}",
            ("robust_biased", "unrobust_fair")[i % 2],
            f"e{i}",
            f"r{i}",
            "similar",
        )
        for i in range(4)
    ]
    ratings = [Rating(5), Rating(4), Rating(2), Rating(None, "no answer: timed out")]
    return judge_summary(edits, {name: ratings[n:] + ratings[:n] for n, name in enumerate(names)})


def record(target: str, status: str, p: float, error: float, agreement: float | None = None) -> Record:
    told = {"samples": 5, "standard_error": error} | ({} if agreement is None else {"agreement": agreement})
    sure = {"samples": 5, "standard_error": 0.0}
    return Record(
        f"{target}{status}{p}{error}",
        "e",
        target,
        status,  # type: ignore[arg-type]
        "found",
        probabilities={"perturbed_original": [0.0, 1.0], "perturbed_similar": [1 - p, p]},
        uncertainty={"original": {"samples": 5}, "perturbed_original": sure, "perturbed_similar": told},
        clean_outcome="robust_fair",
        outcome="robust_biased",
        notes=["llm:x: no answer: timed out"] if p == 0.6 else [],
        queries={"llm_calls": 7},
    )


RECORDS = (
    record("robust_biased", "induced", 0.6, 0.2, 0.8),  # leads by 0.2, twice the error is 0.4
    record("robust_biased", "induced", 0.4, 0.05, 1.0),
    record("robust_biased", "failed", 0.75, 0.25),  # leads by 0.5, just within
    record("unrobust_fair", "failed", 0.9, 0.13),
)


@pytest.fixture
def run() -> RunResult:
    base = fake_run(6)
    budget = CallBudget(1500, prompt_price=2.0)
    budget.n_calls, budget.prompt_tokens = 1234, 40_000
    summary = {
        **base.summary,
        "judge": judged("llm:one", "llm:two"),
        "language_models": {
            "names": ["llm:one", "llm:<b>two</b>"],
            "max_calls": 1500,
            "are_used_up": True,
            **budget.as_dict(),
            "victim": {
                "name": "llm:one",
                "method": "samples",
                "samples": 5,
                "texts": 99,
                "unparsed_answers": 3,
            },
        },
    }
    check_summary(summary, "summary.json")
    return RunResult(base.configuration, (*base.records, *RECORDS), summary)


def test_judges_by_hand() -> None:
    run = RunResult({}, (), {"judge": judged("llm:one", "llm:two")})
    table = model_tables.judge_table(run)
    assert [(row[0], *row[1:3], row[4:]) for row in table.rows] == [
        ("llm:one", 3, 1, (0, 1, 0, 1, 1)),
        ("llm:two", 3, 1, (0, 1, 0, 1, 1)),
    ]
    assert [row[3].value for row in table.rows] == pytest.approx([11 / 3, 11 / 3])  # type: ignore[union-attr]
    assert "4 edited texts" in table.note
    assert (
        "llm:one and llm:two give 2 texts a rating each: the same one for 0.0%, at most one apart for 50.0%"
        in table.note
    )
    assert "weighted kappa" in table.note
    assert "Not rated: no answer: timed out (2)." in table.note
    by_target = model_tables.judged_targets_table(run)
    assert by_target.columns == ("Target", "llm:one", "llm:two")
    assert by_target.texts() == [["robust biased", "3.5", "4"], ["unrobust fair", "4", "3.5"]]
    scores, original, edited = model_tables.lowest_rated(run)[0]
    assert (scores, original, edited) == ("4, 2", "a <b>text</b> 1", "an edit 1")


def test_judges_that_failed_are_told() -> None:
    run = RunResult({}, (), {"judge": {"sample": 0, "judges": [], "error": "no calls\nare left"}})
    assert model_tables.judge_table(run).rows == (("no rating", "no calls are left"),)
    assert model_tables.judged_targets_table(run).rows == ()


def test_calls_tokens_and_price(run: RunResult) -> None:
    table = model_tables.language_models_table(run)
    assert dict(table.texts()) == {
        "Models": "llm:one, llm:<b>two</b>",
        "Calls": "1,234 of at most 1,500",
        "Answers taken from the cache": "0",
        "Questions without an answer": "0",
        "Tokens asked": "40,000",
        "Tokens answered": "0",
        "Price": "0.0800",
        "Audited model, probabilities from": "shares of 5 samples",
        "Audited model, texts": "99",
        "Audited model, answers that name no label": "3",
    }
    assert "used up" in table.note
    configured = RunResult({"language_models": run.summary["language_models"]}, (), {})
    assert model_tables.language_models_table(configured) == table


def test_records_within_their_standard_error() -> None:
    assert [is_within_standard_error(r) for r in RECORDS] == [True, False, True, False]
    assert is_within_standard_error(replace(RECORDS[0], uncertainty={})) is None
    table = model_tables.sureness_table(Contents.of(RunResult({}, RECORDS)))
    assert table.texts() == [
        ["robust biased", "3", "2", "2", "1", "90.0%"],
        ["unrobust fair", "1", "0", "0", "0", "–"],
    ]


def test_notes_are_counted_and_their_number_is_bounded() -> None:
    noted = [replace(RECORDS[0], id=str(i), notes=["often", f"once {i}"]) for i in range(300)]
    contents = Contents.of(RunResult({}, noted))
    assert contents.notes[0] == ("often", 300)
    assert sum(n for _, n in contents.notes) + contents.n_other_notes == 600
    assert len(contents.notes) == 200
    table = model_tables.notes_table(contents)
    assert len(table.rows) == 12
    assert table.note == f"{600 - 300 - 11:,} more are in the notes of results.jsonl."


def test_text_and_page_show_them_all(run: RunResult) -> None:
    text, page = " ".join(render_text(run, width=140).split()), render_html(run)
    for title in TITLES:
        assert title in text
        assert f"<caption>{title}</caption>" in page
    assert "llm:&lt;b&gt;two&lt;/b&gt;" in page
    assert "<b>text" not in page
    assert page.count('href="#models"') == 1


def test_a_run_without_any_of_it_shows_nothing_of_it() -> None:
    run = fake_run(6)
    text, page = render_text(run), render_html(run)
    assert not [title for title in TITLES if title in text or f"<caption>{title}</caption>" in page]
    assert "models-title" not in page


def test_columns_of_the_findings(run: RunResult, tmp_path: Path) -> None:
    write_csv(run, tmp_path / "f.csv")
    with (tmp_path / "f.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("llm_calls", "standard_error", "within_standard_error", "agreement", "notes")
    assert [tuple(row[name] for name in names) for row in (rows[0], *rows[-2:])] == [
        ("", "", "", "", ""),
        ("7", "0.2", "1", "0.8", "llm:x: no answer: timed out"),
        ("7", "0.05", "0", "1.0", ""),
    ]
