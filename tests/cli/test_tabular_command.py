"""`rif tabular` as a user types it: files, exit codes, one line for a mistake."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.loan_world import FUNCTION, PIPELINE, write

from rif_plugins.cli.main import main

FEW = ("--attack", "robustfair,fgsm", "--seeds", "8", "--global-steps", "2", "--local-steps", "2")


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())


def arguments(folder: Path, *more: str, model: str = FUNCTION) -> list[str]:
    program, data = write(folder, model)
    given = ["tabular", "--model", program, "--data", data, "--label-column", "granted", *FEW]
    return [*given, "--out", str(folder / "out"), *more]


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "--sensitive", "sex")) == 0
    printed = capsys.readouterr()
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["findings.csv", "results.jsonl", "run.json", "schema.toml", "summary.json"]
    assert "schema inferred from loans.csv:" in printed.err
    assert "correct it and say --schema" in printed.err
    assert "robustfair: " in printed.err
    assert "seeds that stay both" in printed.out
    lines = [line for line in printed.out.splitlines() if line.startswith(("robustfair ", "fgsm "))]
    assert len(lines) == 4
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    found = summary["attacks"][0]
    assert lines[0].split()[1:5] == [
        str(int(found[key])) for key in ("n_rows", "n_false", "n_biased", "n_false_or_biased")
    ]


def test_json_alone_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "--sensitive", "sex", "--format", "json", "--seeds", "all")) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert json.loads(printed.out)["n_seeds"] == 60
    assert printed.err == ""


def test_a_schema_file_is_not_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "--sensitive", "sex", "--quiet", "--attack", "fgsm")) == 0
    assert capsys.readouterr() == ("", "")
    schema = str(tmp_path / "out" / "schema.toml")
    more = ("--schema", schema, "--immutable", "age", "--attack", "robustfair")
    assert main(arguments(tmp_path, *more, model=PIPELINE)) == 0
    assert "inferred" not in capsys.readouterr().err
    records = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert {name for record in records for name in record["changed"]} <= {"job"}
    assert json.loads((tmp_path / "out" / "run.json").read_text())["model_reads"] == "frame"


class Terminal(io.StringIO):
    """Somebody who can answer."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("", 2)])
def test_a_terminal_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    code: int,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert main(arguments(tmp_path, "--sensitive", "sex", "--attack", "fgsm")) == code
    assert "Is this right? [y/N]" in capsys.readouterr().err
    assert (tmp_path / "out" / "schema.toml").is_file()
    assert (tmp_path / "out" / "results.jsonl").is_file() == (code == 0)


def test_a_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--sensitive", "sex", "--fail-under")
    assert main(arguments(tmp_path, *more, "rif_rate=0")) == 0
    assert main(arguments(tmp_path, *more, "rif_rate=1")) == 1
    assert "rif tabular: rif_rate is 0." in capsys.readouterr().err


def test_a_model_that_fails_in_one_attack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusal = """def model(x):
    if (np.abs(x[:, 0] - np.rint(x[:, 0])) > 1e-3).any():
        raise OSError("no")
"""
    model = FUNCTION.replace("def model(x):\n", refusal)
    assert main(arguments(tmp_path, "--sensitive", "sex", "--attack", "pgd,robustfair", model=model)) == 3
    assert "pgd: error: the model raised OSError: no" in capsys.readouterr().err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert list(summary["errors"]) == ["pgd"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "without --schema the sensitive columns are needed"),
        (("--sensitive", "sex", "--attack", "nope"), "--attack: expected all or some of robustfair"),
        (("--sensitive", ","), "expected names with commas between them"),
        (("--sensitive", "sex", "--seeds", "0"), "expected a whole number from 1, got '0'"),
        (("--sensitive", "sex", "--eps", "2"), "eps is 2.0, expected a share"),
        (("--sensitive", "sex", "--fail-under", "speed=1"), "--fail-under speed=1: expected RATE=X"),
        (("--sensitive", "sex", "--schema", "gone.toml"), "no schema file gone.toml"),
        (("--sensitive", "sex", "--label-names", "a,b"), "expected one of a, b"),
        (("--sensitive", "sex", "--gradients", "white_box"), "has no class gradients"),
        (("--sensitive", "sex", "--one-hot", "age"), "only categories become one-hot groups"),
        (("--speed",), "unrecognized arguments: --speed; see `rif tabular --help`"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
) -> None:
    assert main(arguments(tmp_path, "--quiet", *more)) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("rif: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_the_folder_of_another_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given: list[Any] = arguments(tmp_path, "--sensitive", "sex")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.jsonl").write_text('{"schema": "rif-results/1"}\n')
    assert main(given) == 2
    assert "holds the results of another command" in capsys.readouterr().err
