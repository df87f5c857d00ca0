"""`rif score`: a TextAttack log as text and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fakes.audit_world import write_rows, write_world

from rif_plugins.cli.main import main

COLUMNS = ("original_text", "perturbed_text", "ground_truth_output")
ROWS = (
    ("he is [[good]]", "he is [[decent]]", "1.0"),
    ("he is [[good]]", "he is [[fine]]", "1.0"),
    ("the film is [[good]]", "the film is [[fine]]", "1.0"),
)


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_world(tmp_path))
    monkeypatch.setenv("RIF_CACHE", "off")
    write_rows(tmp_path / "log.csv", COLUMNS, ROWS)
    return tmp_path


COMMAND = ["score", "log.csv", "--model", "victim.py", "--sensitive", "gender"]


def test_text_and_json_agree(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--format", "json", "--out", "scored"]) == 0
    printed = capsys.readouterr().out
    data = json.loads(printed)
    assert data == json.loads((world / "scored" / "score.json").read_text(encoding="utf-8"))
    assert (data["schema"], data["model"], data["log"]) == ("rif-text-table/1", "victim.py", "log.csv")
    assert (data["sensitive"], data["counterparts"], data["seed"]) == (["gender"], 8, 0)
    assert re.fullmatch("[0-9a-f]{32}", data["victim_fingerprint"])
    assert main(COMMAND) == 0
    text = capsys.readouterr().out
    assert text.startswith("log.csv on victim.py: share of pairs, with 95 % interval\n")
    for name in ("robust_fair", "robust_biased", "unrobust_fair", "unrobust_biased"):
        (line,) = re.findall(rf"^{name} .*", text, re.M)
        counts = [data[stage]["outcomes"][name] for stage in ("clean", "original_only", "both")]
        assert re.findall(r"\((\d+) of 2\)", line) == list(map(str, counts))
    assert "texts 3, without a counterpart 1, unchanged by the attack 0" in text


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_settings_come_from_the_file_too(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "rif.toml").write_text('counterparts = 1\nsensitive = "religion"\n', encoding="utf-8")
    assert main(["score", "log.csv", "--model", "victim.py", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["counterparts"], data["sensitive"]) == (1, ["religion"])
    assert data["n_without_counterpart"] == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone.csv", "--model", "victim.py"], r"gone\.csv cannot be read"),
        (["data.csv", "--model", "victim.py"], r"data\.csv has no column 'original_text'"),
        (["log.csv"], r"the following arguments are required: --model"),
        (["log.csv", "--model", "gone.py"], r"no file 'gone\.py'"),
        (["log.csv", "--model", "victim.py", "--sensitive", "shoe"], r"'shoe' is not in the lexicon"),
        (["log.csv", "--model", "victim.py", "--counterparts", "0"], r"`counterparts`: expected \"all\" or"),
        (["log.csv", "--model", "victim.py", "--out", "data.csv"], r"cannot write data\.csv/score\.json"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"rif: .*{expected}.*\n", captured.err)
