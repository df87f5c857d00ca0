"""What the writers of reports hold does not grow with the number of records that stay in their file."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.runs import fake_run

from rif_plugins.core.result_files import StoredRecords
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, RunResult, write_json
from rif_plugins.reports import render_text, write_csv, write_html, write_junit, write_parquet
from rif_plugins.reports.contents import Contents
from rif_plugins.runner.gates import standing

FEW = 100
ALLOWED = 1_500_000  # bytes; a record takes about 5,000, so 20,000 kept records would take 100 MB
MOST = 40  # findings on a page

Writer = Callable[[RunResult, Path], object]
WRITERS: dict[str, Writer] = {
    "text": lambda run, _: render_text(run),
    "html": lambda run, path: write_html(run, path, most_findings=MOST),
    "csv": write_csv,
    "junit": lambda run, path: write_junit(run, path, accepted={"1", "4"}, unmet=["not met"]),
    "parquet": lambda run, path: write_parquet(run, path, group=100),
    "gate": lambda run, _: deque(standing(run, frozenset({"1", "4"})), maxlen=0),
    "load": lambda run, path: RunResult.load(path.parent),
}


def stored(folder: Path, n: int) -> RunResult:
    """The records of a small run again and again, with other ids, examples and texts."""
    base = fake_run(8, seed=1, saliency=False, n_words=12)
    folder.mkdir()
    lines = [record.to_dict() for record in base.records]
    with (folder / RESULTS_FILE).open("w", encoding="ascii") as file:
        for number in range(n):
            line = dict(lines[number % len(lines)], id=str(number), example=f"e{number // len(lines)}")
            for name in ("original", "similar", "perturbed_original", "perturbed_similar"):
                line[name] += f" {number}"
            file.write(json.dumps(line) + "\n")
    write_json(folder / RUN_FILE, base.configuration)
    write_json(folder / SUMMARY_FILE, base.summary)
    return RunResult.load(folder)


def peak(writer: Writer, run: RunResult, path: Path) -> int:
    """The most that is held at a time, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        writer(run, path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return stored(tmp_path_factory.mktemp("few") / "run", FEW)


@pytest.fixture(scope="module", params=[600, pytest.param(20_000, marks=pytest.mark.slow)])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return stored(tmp_path_factory.mktemp("many") / "run", request.param)


@pytest.mark.parametrize("name", WRITERS)
def test_the_peak_does_not_grow_with_the_records(
    name: str, few: RunResult, many: RunResult, tmp_path: Path
) -> None:
    peaks = []
    for run in (few, few, many):  # the first time loads modules and templates
        assert isinstance(run.records, StoredRecords)
        path = run.records.path.parent if name == "load" else tmp_path
        peaks.append(peak(WRITERS[name], run, path / "out"))
    assert peaks[2] < peaks[1] + ALLOWED, peaks


def test_kept_records_would_be_noticed(few: RunResult, many: RunResult, tmp_path: Path) -> None:
    peaks = [peak(lambda run, _: list(run.distinct()), run, tmp_path) for run in (few, many)]
    assert peaks[1] > peaks[0] + ALLOWED


def test_all_are_counted_where_few_are_shown(many: RunResult) -> None:
    contents = Contents.of(many, most_findings=MOST)
    found = sum(record.is_found for record in many.records)
    assert contents.n_findings == found > contents.n_shown == MOST
    assert sum(chart.total for chart in contents.quadrants) == sum(r.is_evaluated for r in many.records)
