"""`rif replay`: findings by id, the frozen suite, exit codes for CI."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from fakes.audit_world import VICTIM, options, write_world

from rif_plugins.cli.main import main
from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import RunResult


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_world(tmp_path_factory.mktemp("world"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RIF_CACHE", "off")
        assert main(["audit", *options(), "--out", "out", "--quiet"]) == 0
    return folder


@pytest.fixture(autouse=True)
def world(audited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the world with its run, as the working folder."""
    monkeypatch.chdir(shutil.copytree(audited, tmp_path / "world"))
    return tmp_path / "world"


def found() -> list[str]:
    return [record.id for record in RunResult.load("out").findings]


def test_the_whole_suite_holds_on_its_own_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "out"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "victim.py is the model of the run: its fingerprint is the same\n"
    ids = found()
    assert re.search(rf"^all +holds 100\.0% \[.*\] \({len(ids)} of {len(ids)}\)$", captured.out, re.M)
    records = list(read_records("out/replay.jsonl"))
    before = {record.id: record for record in RunResult.load("out").findings}
    assert [record.id for record in records] == ids
    for record in records:
        assert record.probabilities == before[record.id].probabilities
        assert (record.status, record.outcome) == (before[record.id].status, before[record.id].outcome)


def test_one_finding_by_the_beginning_of_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    ids = found()
    assert main(["replay", "out", "--finding", ids[0][:8]]) == 0
    printed = capsys.readouterr().out
    assert re.search(
        rf"^{ids[0]}  robust_biased +gender +robust_biased +robust_biased .* holds$", printed, re.M
    )
    assert "perturbed similar (0.18 -> 0.18)\n  she is decent" in printed
    assert [record.id for record in read_records("out/replay.jsonl")] == [ids[0]]
    assert main(["replay", "out", "--finding", ids[3], "--finding", ids[1], "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert [record.id for record in read_records("out/replay.jsonl")] == [ids[1], ids[3]]


def test_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "replayed"
    assert main(["replay", "out", "--model", "fair.py", "--out", str(out), "--format", "json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert captured.err.splitlines()[0].startswith("fair.py is not the model of the run: fingerprint ")
    assert result["is_same_model"] is False
    # Edited alike, both sides are answered alike by a model that is blind to "he" and "she".
    assert result["by_target"]["fairness_only"]["successes"] == 0
    assert result["by_target"]["unrobust_fair"]["successes"] == 2
    assert (
        result["n_findings"]
        == len(found())
        == sum(target["total"] for target in result["by_target"].values())
    )
    assert not Path("out/replay.jsonl").exists()
    holding = {row["id"] for row in result["findings"] if row["holds"]}
    assert {record.id for record in read_records(out / "replay.jsonl") if record.is_found} == holding


def test_exit_codes_for_ci(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "out", "--fail-on", "holds", "--quiet"]) == 1
    mended = VICTIM.replace('WEIGHTS = {"he"', 'WEIGHTS = {"is": 99.0, "he"')
    (world / "mended.py").write_text(mended, encoding="utf-8")
    ids = [record.id for record in RunResult.load("out").findings if record.label == 1]
    wanted = [word for name in ids for word in ("--finding", name)]
    assert main(["replay", "out", *wanted, "--model", "mended.py", "--fail-on", "holds", "--quiet"]) == 0
    broken = VICTIM.replace(
        "        sums", "        if 'she is decent' in texts:\n            1 / 0\n        sums"
    )
    (world / "broken.py").write_text(broken, encoding="utf-8")
    assert main(["replay", "out", "--model", "broken.py"]) == 3
    assert (
        "findings ended in an error, the first: the victim raised ZeroDivisionError"
        in capsys.readouterr().out
    )
    assert main(["replay", "out", "--model", "broken.py", "--fail-on", "holds", "--quiet"]) == 1


def test_the_help_tells_about_ci(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["replay", "--help"])
    printed = capsys.readouterr().out
    assert "exit with 1 when any finding holds, for CI after a fix" in " ".join(printed.split())
    assert "rif replay out --model ./retrained --fail-on holds" in printed


def test_a_text_cannot_write_to_the_terminal(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[0])
    assert record["status"] == "induced"
    record["similar"] = "she is \x1b[31mgood\nnow"
    Path("out/results.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert main(["replay", "out"]) == 0
    assert "she is  [31mgood now" in capsys.readouterr().out


def test_ids_that_fit_none_or_several(capsys: pytest.CaptureFixture[str]) -> None:
    ids = found()
    wrong = ids[2][:-1] + ("0" if ids[2][-1] != "0" else "1")
    assert main(["replay", "out", "--finding", wrong]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"rif: --finding {wrong}: none of the {len(ids)} findings has this id; nearest: ")
    assert line.split("nearest: ")[1].split(", ")[0] == ids[2]
    starts = [name[0] for name in ids]
    common = next(start for start in starts if starts.count(start) > 1)
    assert main(["replay", "out", "--finding", common]) == 2
    assert f"--finding {common}: {starts.count(common)} findings begin like this" in capsys.readouterr().err
    standing = next(record for record in RunResult.load("out").records if record.status == "failed")
    assert main(["replay", "out", "--finding", standing.id]) == 2
    assert "this record is no finding, its status is failed" in capsys.readouterr().err
    assert main(["replay", "out", "--finding", ""]) == 2
    assert "none of the" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone"], r"gone does not exist"),
        (["out", "--model", "gone.py"], r"no file 'gone\.py'"),
        (["out", "--fail-on", "gone"], r"--fail-on: invalid choice: 'gone'"),
        (["out", "--out", "data.csv"], r"cannot write data\.csv/replay\.jsonl"),
        (["bare.jsonl"], r"the run does not tell which model it audited: name one with --model"),
        ([], r"the following arguments are required: DIR"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("out/results.jsonl", "bare.jsonl")
    assert main(["replay", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"rif: .*{expected}.*\n", captured.err)


def test_a_run_without_findings(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("out/results.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["status"] in ("failed", "skipped")]
    Path("out/results.jsonl").write_text("".join(kept), encoding="utf-8")
    assert main(["replay", "out"]) == 2
    assert capsys.readouterr().err == (
        f"rif: the run has no finding in its {len(kept)} records: there is nothing to replay\n"
    )
