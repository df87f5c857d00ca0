"""Markup and formulas in every field that can hold text: no report lets them do anything."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fakes.runs import fake_comparison, fake_run

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.html import render_comparison_html, render_html
from rif_plugins.reports.junit import render_junit
from rif_plugins.reports.notebook import notebook_html
from rif_plugins.reports.text import render_text
from rif_plugins.runner.tabular_files import findings as tabular_findings

MARKUP = (
    "</script><script>window.hacked=1</script>",
    "\"'><img src=x onerror=window.hacked=1>",
    "</style><style>*{display:none}</style>",
    "--><svg onload=window.hacked=1>",
    "{{ ''.__class__ }}{% include 'x' %}",
    "]]><!ENTITY x SYSTEM 'file:///etc/passwd'>&x;",
    "\x1b[2J\x1b[31m\x9b31m\r\u202e",
)
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＠x")
# What is looked up by name keeps its words.
_FIXED = {"id", "target", "status", "clean_outcome", "outcome"}
RECORD_TEXTS = [f.name for f in fields(Record) if f.type == "str" and f.name not in _FIXED]
RUN_TEXTS = ("model", "data", "labels", "version", "started", "finished", "scorer", "victim_fingerprint")
LISTS = ("label_names", "victim_checks")


class Page(HTMLParser):
    """Counts elements, and collects the names of attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[str] = Counter()
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes |= {name for name, _ in attrs}


def tame() -> RunResult:
    return fake_run(4, n_words=6)


def with_text(run: RunResult, name: str, text: str) -> RunResult:
    """The run with ``text`` in one field of every record, or of its configuration."""
    if name in RECORD_TEXTS:
        records = tuple(replace(record, **{name: text}) for record in run.records)
        return RunResult(run.configuration, records, run.summary)
    if name == "new id":
        records = tuple(replace(r, id=f"{text}{i}") for i, r in enumerate(run.records))
        return RunResult(run.configuration, records, run.summary)
    configuration: dict[str, Any] = dict(run.configuration)
    if name == "label_names":
        configuration[name] = [text, f"{text} 2"]
        return RunResult(configuration, run.records, {**run.summary, "label_names": [text, f"{text} 2"]})
    if name == "victim_checks":
        configuration[name] = [{"name": text, "status": text, "message": text}]
    elif name == "skip reason":
        return RunResult(configuration, run.records, {**run.summary, "skip_reasons": {text: 2}})
    elif name == "edit":
        edits = [{"side": "original", "start": 0, "end": 1, "from": text, "to": text}]
        records = tuple(
            replace(r, edits=edits, perturbed_original=text + r.original[1:]) for r in run.records
        )
        return RunResult(configuration, records, run.summary)
    else:
        configuration[name] = text
    return RunResult(configuration, run.records, run.summary)


NAMES = (*RECORD_TEXTS, "new id", "edit", "skip reason", *RUN_TEXTS, *LISTS)


def test_the_table_has_every_text() -> None:
    assert {"original", "similar", "attribute", "value_from", "message", "stop_reason"} <= set(RECORD_TEXTS)


def attributes_that_run(page: Page) -> set[str]:
    return {name for name in page.attributes if name.startswith("on") or name in ("srcdoc", "formaction")}


@pytest.mark.parametrize("name", NAMES)
def test_markup_stays_text(name: str) -> None:
    run = with_text(tame(), name, " ".join(MARKUP))
    page, expected = Page(render_html(run)), calm_page(name)
    for tag in ("script", "style", "img", "svg", "link", "meta", "a", "iframe", "form", "input", "object"):
        assert page.elements[tag] == expected.elements[tag], tag
    assert not attributes_that_run(page)
    assert not {"script", "img", "iframe"} & Page(notebook_html(run)).elements.keys()
    ElementTree.fromstring(render_junit(run))
    assert not {"\x1b", "\x9b", "\r", "\u202e"} & set(render_text(run))


@cache
def calm_page(name: str) -> Page:
    return Page(render_html(with_text(tame(), name, "calm")))


def test_names_of_models_stay_text_in_a_comparison() -> None:
    comparison = fake_comparison(2)
    page, expected = (
        Page(render_comparison_html(renamed(comparison, comparison["names"][0], name)))
        for name in (" ".join(MARKUP), "calm")
    )
    assert page.elements == expected.elements
    assert not attributes_that_run(page)


def renamed(value: Any, before: str, after: str) -> Any:
    """The value with one text replaced wherever it stands alone."""
    if isinstance(value, dict):
        return {renamed(k, before, after): renamed(v, before, after) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [renamed(item, before, after) for item in value]
    return after if value == before else value


@pytest.mark.parametrize("name", NAMES)
def test_a_formula_is_no_cell(tmp_path: Path, name: str) -> None:
    # Each field with one of them; that none gets through is tested beside the writer.
    payload = FORMULAS[NAMES.index(name) % len(FORMULAS)]
    write_csv(with_text(tame(), name, payload), tmp_path / "f.csv")
    with (tmp_path / "f.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert len(cells) > 30
    assert [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not is_number(cell)] == []


FORMULA_STARTS = tuple(formula[0] for formula in FORMULAS)


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_a_formula_in_a_row_of_a_table_is_no_cell() -> None:
    for payload in FORMULAS:
        row = {payload: payload, "age": -3}
        record = {
            "id": payload,
            "attack": payload,
            "row": 1,
            "outcome": "robust_biased",
            "label": payload,
            "clean_outcome": "robust_fair",
            "prediction": payload,
            "similar_prediction": payload,
            "original": row,
            "perturbed_original": row,
            "perturbed_similar": row,
            "changed": [payload],
            "differs": [payload],
            "is_valid": True,
            "similarity": 0.5,
        }
        text = tabular_findings([record], (payload, "age"))
        cells = [cell for line in csv.reader(text.splitlines(keepends=True)) for cell in line]
        assert [cell for cell in cells if cell.startswith(FORMULA_STARTS) and cell != "-3"] == []
