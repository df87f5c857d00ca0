"""Text, JSON, CSV, HTML, JUnit, notebook and data frame say the same, because they render one run."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fakes.runs import fake_run

from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.contents import Contents
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.frames import records_frame
from rif_plugins.reports.html import render_html
from rif_plugins.reports.junit import render_junit
from rif_plugins.reports.notebook import notebook_html
from rif_plugins.reports.text import render_text

AXES = {
    "Robustness only": "robustness_rate",
    "Fairness only": "fairness_rate",
    "Robust individual fairness": "rif_rate",
}


class Rows(HTMLParser):
    """The text of every table row, and of everything, of an HTML page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.text = ""
        self._silent = 0
        self._is_in_cell = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in ("script", "style")
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")
        if tag in ("td", "th"):
            self._is_in_cell = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text += data
            if self._is_in_cell:
                self.rows[-1][-1] += data


@pytest.fixture(scope="module", params=["two labels", "five labels", "predicted labels"])
def run(request: pytest.FixtureRequest) -> RunResult:
    options = {
        "two labels": {"seed": 3},
        "five labels": {"seed": 4, "n_classes": 5},
        "predicted labels": {"seed": 5, "labels": "predicted"},
    }[request.param]
    return fake_run(40, **options)


def shown(rate: dict[str, float]) -> str:
    return f"{rate['value']:.1%} [{rate['low']:.1%}, {rate['high']:.1%}]"


def test_the_three_axes_are_the_same_everywhere(run: RunResult) -> None:
    summary = json.loads(json.dumps(run.summary))
    text = render_text(run, width=120)
    page = Rows(render_html(run))
    cell = Rows(notebook_html(run))
    for name, key in AXES.items():
        rate = summary[key]
        short, interval = f"{rate['value']:.1%}", f"{rate['low']:.1%} to {rate['high']:.1%}"
        assert re.search(rf"{name} +{re.escape(short)} +{re.escape(interval)} +{rate['total']}\b", text)
        assert any(row[0].startswith(name) and row[-1] == shown(rate) for row in page.rows if row)
        assert [name, short, interval, str(rate["total"])] in cell.rows


def test_counts_of_findings_are_the_same_everywhere(run: RunResult, tmp_path: Path) -> None:
    blocks = run.summary["by_target"]
    expected = Counter(
        {(name, s): b[f"n_{s}"] for name, b in blocks.items() for s in ("natural", "induced", "shifted")}
    )
    write_csv(run, tmp_path / "findings.csv")
    with (tmp_path / "findings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    frame = records_frame(run, only_findings=True)
    assert Counter((row["target"], row["status"]) for row in rows) == +expected
    assert Counter(zip(frame["target"], frame["status"], strict=True)) == +expected
    island = json.loads(re.search(r'id="findings-data">(.*?)</script>', render_html(run))[1])  # type: ignore[index]
    pools, columns = island["pools"], island["columns"]
    in_page = Counter(
        (pools["target"][t], pools["status"][s])
        for t, s in zip(columns["target"], columns["status"], strict=True)
    )
    assert in_page == +expected
    assert f"Findings: {sum(expected.values())}\n" in render_text(run)


def test_target_rates_are_the_same_in_text_and_page(run: RunResult) -> None:
    text, page = render_text(run, width=120), Rows(render_html(run))
    for target, block in run.summary["by_target"].items():
        name = target.replace("_", " ")
        rates = [shown(block[key]) for key in ("natural_rate", "induced_rate", "resistance_rate")]
        assert re.search(" +".join([name, *map(re.escape, rates)]), text)
        counts = [str(block[f"n_{key}"]) for key in ("pairs", "natural", "induced", "shifted")]
        assert [name, *counts, *rates] in page.rows


def test_quadrants_add_up_to_the_outcomes_of_the_summary(run: RunResult) -> None:
    charts = {chart.target: chart for chart in Contents.of(run).quadrants}
    assert charts.keys() == run.summary["by_target"].keys()
    for target, block in run.summary["by_target"].items():
        assert {name: sum(cell) for name, cell in charts[target].cells.items()} == block["outcomes"]
        assert charts[target].total == block["n_pairs"]
        assert charts[target].statuses.get("natural", 0) == block["n_natural"]


def test_junit_counts_findings_as_the_summary_does(run: RunResult) -> None:
    root = ElementTree.fromstring(render_junit(run))
    for target, block in run.summary["by_target"].items():
        suite = next(suite for suite in root if suite.get("name") == f"rif.{target}")
        messages = [failure.get("message", "") for failure in suite.iter("failure")]
        assert sum(int(message.split()[0]) for message in messages) == (
            block["n_natural"] + block["n_induced"] + block["n_shifted"]
        )
        assert f"{run.summary['rif_rate']['value']:.1%}" in root.find(".//property").get("value", "")  # type: ignore[union-attr]


def test_a_repeated_record_counts_once(tmp_path: Path) -> None:
    base = fake_run(10, seed=1)
    finding = base.findings[0]
    run = RunResult(base.configuration, (*base.records, finding), base.summary)
    write_csv(run, tmp_path / "f.csv")
    n_lines = len((tmp_path / "f.csv").read_text(encoding="utf-8").splitlines())
    assert n_lines == 1 + len(base.findings)
    assert len(records_frame(run)) == len(base.records)


def test_a_run_without_pairs_is_told_plainly() -> None:
    base = fake_run(5)
    left = tuple(record for record in base.records if not record.is_evaluated)
    from rif_plugins.metrics.summary import summarise_run

    run = RunResult(base.configuration, left, summarise_run(left, base.configuration))
    for rendered in (render_text(run), Rows(render_html(run)).text, Rows(notebook_html(run)).text):
        assert "no rate" in rendered


def test_a_run_without_a_summary_still_renders() -> None:
    run = RunResult({}, fake_run(3).records)
    assert "no rate" in render_text(run)
    assert "no rate" in Rows(render_html(run)).text


def test_predicted_labels_are_marked_everywhere() -> None:
    run = fake_run(8, labels="predicted")
    for rendered in (render_text(run), Rows(render_html(run)).text, Rows(notebook_html(run)).text):
        assert "abels are the model's own predictions" in rendered
        assert "right answer to both" not in rendered
