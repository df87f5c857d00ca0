"""`rif report`: the files of a run again, and a report for records that have no run.json."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from fakes.audit_world import options, write_world

from rif_plugins.cli.main import main
from rif_plugins.core.run_result import RunResult

SHOWN = ("summary.json", "findings.csv", "report.html")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = write_world(tmp_path_factory.mktemp("world"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RIF_CACHE", "off")
        assert main(["audit", *options(), "--out", "out", "--quiet"]) == 0
    return folder / "out"


@pytest.fixture
def run(audited: Path, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(audited, tmp_path / "run"))


def test_writes_what_the_audit_wrote(run: Path, audited: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in SHOWN:
        (run / name).unlink()
    (run / "summary.json").write_text('{"rif_rate": "stale"}', encoding="utf-8")
    assert main(["report", str(run)]) == 0
    for path in audited.iterdir():
        assert (run / path.name).read_bytes() == path.read_bytes(), path.name
    captured = capsys.readouterr()
    assert "16.7% of 6 pairs" in " ".join(captured.out.split())
    assert f"report:  {run / 'report.html'}" in captured.out
    assert captured.err == ""


def test_the_results_file_of_a_whole_run_is_that_run(run: Path, audited: Path) -> None:
    (run / "summary.json").unlink()
    assert main(["report", str(run / "results.jsonl"), "--quiet"]) == 0
    assert (run / "summary.json").read_bytes() == (audited / "summary.json").read_bytes()


def test_json_is_the_summary_and_quiet_is_nothing(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run), "--format", "json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert main(["report", str(run), "--quiet", "--format", "json"]) == 0
    assert capsys.readouterr() == ("", "")


def test_charts_and_parquet(run: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert main(["report", str(run), "--charts", "--parquet", "--quiet"]) == 0
    charts = {path.name for path in (run / "charts").iterdir()}
    assert {
        f"{name}.{kind}" for name in ("axes", "quadrants", "n_attack") for kind in ("png", "svg")
    } <= charts
    assert (run / "charts" / "axes.png").read_bytes().startswith(b"\x89PNG")
    frame = pandas.read_parquet(run / "records.parquet")
    assert list(frame["id"]) == [record.id for record in RunResult.load(run).records]


def test_another_folder_becomes_a_whole_run(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert main(["report", str(run), "--out", str(other), "--quiet"]) == 0
    assert RunResult.load(other) == RunResult.load(run)
    assert main(["report", str(run), "--out", str(other), "--quiet"]) == 0  # again: the same run


def test_another_folder_that_holds_another_run_is_left_alone(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "results.jsonl").write_text("precious\n", encoding="utf-8")
    assert main(["report", str(run), "--out", str(other)]) == 2
    assert re.search(
        r"^rif: .*other/results\.jsonl holds another run: give another folder with --out$",
        capsys.readouterr().err,
    )
    assert [path.name for path in other.iterdir()] == ["results.jsonl"]


def test_records_alone_get_a_report_that_says_what_is_unknown(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attack = tmp_path / "attack.jsonl"
    shutil.copy(run / "results.jsonl", attack)
    out = tmp_path / "report"
    assert main(["report", str(attack), "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.err == (
        f"{attack} has no run.json: model, data, settings, versions, times, names of the labels are "
        "not known\n"
    )
    assert "Model:    unknown" in captured.out
    whole, bare = RunResult.load(run), RunResult.load(out)
    assert bare.records == whole.records
    assert bare.configuration["model"] == "unknown"
    for name in ("rif_rate", "robustness_rate", "fairness_rate", "accuracy", "n_attack"):
        assert bare.summary[name] == whole.summary[name], name
    assert (out / "report.html").is_file()
    assert main(["report", str(attack), "--out", str(out), "--quiet"]) == 0
    assert main(["compare", str(run), str(out), "--quiet"]) == 0  # a run like any other


def test_a_folder_without_run_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "run.json").unlink()
    assert main(["report", str(run)]) == 0
    assert "has no run.json: model, data" in capsys.readouterr().err
    assert not (run / "run.json").exists()


def test_an_unfinished_run_says_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**content, "finished": None}), encoding="utf-8")
    lines = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run / "results.jsonl").write_bytes(b"".join(lines[:10]) + lines[10][:30])
    assert main(["report", str(run)]) == 0
    assert "the run is not finished, it has 2 of 7 examples: go on with --resume" in capsys.readouterr().err
    assert json.loads((run / "summary.json").read_text(encoding="utf-8"))["n_pairs"] == 2


@pytest.mark.parametrize(
    ("name", "content", "arguments", "expected"),
    [
        ("", "", ["gone"], r"gone does not exist: expected the folder of a run, or a results file"),
        ("", "", ["."], r"run\.json cannot be read"),
        ("a.jsonl", "{}\n", ["a.jsonl", "--out", "o"], r"a\.jsonl, line 1: record has schema None"),
        ("a.jsonl", "text\n", ["a.jsonl", "--out", "o"], r"a\.jsonl, line 1: .* got broken JSON"),
        ("a.jsonl", "", ["a.jsonl", "--out", "o"], r"a\.jsonl holds no record"),
        ("run.json", "[]", ["."], r"run\.json: expected a JSON object, got list"),
        ("run.json", '{"schema": "x/1"}', ["."], r"run\.json has schema 'x/1', expected 'rif-run/1'"),
        ("", "", [], r"the following arguments are required: DIR\|FILE"),
        ("", "", [".", "--chart"], r"unrecognized arguments: --chart"),
    ],
)
def test_a_mistake_is_one_line(
    name: str,
    content: str,
    arguments: list[str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if name:
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"rif: .*{expected}.*\n", captured.err)


def test_a_results_file_needs_a_folder(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attack = tmp_path / "attack.jsonl"
    shutil.copy(run / "results.jsonl", attack)
    assert main(["report", str(attack)]) == 2
    assert capsys.readouterr().err == (
        "rif: a results file needs a folder for its report: give one with --out DIR\n"
    )
