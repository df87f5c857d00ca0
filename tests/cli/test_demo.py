from __future__ import annotations

import json
from pathlib import Path

import pytest

from rif_plugins.cli import demo
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError


@pytest.fixture(autouse=True)
def no_cache(monkeypatch) -> None:
    monkeypatch.setenv("RIF_CACHE", "off")


def test_audits_the_embedded_victim_and_writes_the_report(tmp_path: Path, capsys) -> None:
    out = tmp_path / "new" / "folder"
    assert demo.main(["--out", str(out), "--limit", "6"]) == 0
    printed = capsys.readouterr()
    assert "Robust individual fairness" in printed.out
    assert str(out / "report.html") in printed.out
    run = RunResult.load(out)
    assert run.configuration["model"] == run.configuration["data"] == "embedded"
    assert run.summary["n_examples"] == 6
    assert {record.target for record in run.records if record.is_evaluated} == {
        "robust_biased",
        "unrobust_fair",
        "unrobust_biased",
        "robustness_only",
        "fairness_only",
    }
    for name in ("results.jsonl", "summary.json", "findings.csv", "report.html"):
        assert (out / name).stat().st_size > 0, name


def test_quiet_prints_nothing_and_a_second_demo_replaces_the_first(tmp_path: Path, capsys) -> None:
    assert demo.main(["--out", str(tmp_path), "--limit", "2", "--quiet"]) == 0
    first = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    assert demo.main(["--out", str(tmp_path), "--limit", "2", "--quiet"]) == 0
    again = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["id"] for line in again.splitlines()] == [
        json.loads(line)["id"] for line in first.splitlines()
    ]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("run", [None, "{", "[]", '{"model": "mine", "data": "embedded"}'])
def test_results_of_another_run_are_left_alone(tmp_path: Path, run: str | None) -> None:
    results = tmp_path / "results.jsonl"
    results.write_text("precious\n", encoding="utf-8")
    if run is not None:
        (tmp_path / "run.json").write_text(run, encoding="utf-8")
    with pytest.raises(UsageError, match="belongs to another run: give another folder"):
        demo.main(["--out", str(tmp_path)])
    assert results.read_text(encoding="utf-8") == "precious\n"


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_a_limit_that_is_none(number: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--limit: .*whole number from 1"):
        demo.main(["--limit", number, "--out", str(tmp_path)])


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"cannot write .*choose a folder that you may write to"):
        demo.main(["--out", str(blocked / "inside"), "--limit", "1"])
