"""A user's mistakes end with one line and exit code 2, and nothing computed is lost."""

from __future__ import annotations

import csv
import logging
from pathlib import Path

import pytest

from rif_plugins.cli.main import main
from rif_plugins.core.result_files import read_records
from rif_plugins.settings import FIELDS, variable_of

VICTIM = """
from fakes.text_world import KeywordWrapper
model = KeywordWrapper({fail_on})
"""
DATA = """
from textattack.datasets import Dataset
dataset = Dataset({rows}, input_columns={columns})
"""
GOOD = ("He cooked a good meal.", 1)


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run ``rif attack`` in this process on written files; returns exit code, stderr and records."""
    monkeypatch.chdir(tmp_path)
    for key in FIELDS:
        # Recorded, so that what `rif attack` puts into the environment is undone.
        monkeypatch.setenv(variable_of(key), "")
        monkeypatch.delenv(variable_of(key))
    # The host's log handler may hold the stream of an earlier test's capture, which is closed by now.
    monkeypatch.setattr(logging, "raiseExceptions", False)

    def run(rows=(GOOD,), *, victim=None, columns=("text",), options=()):
        victim = VICTIM.format(fail_on="") if victim is None else victim
        Path("victim.py").write_text(victim, encoding="utf-8")
        Path("data.py").write_text(DATA.format(rows=list(rows), columns=list(columns)), encoding="utf-8")
        Path("table.csv").write_text("token,candidate\ngood,fine\ngood,decent\n", encoding="utf-8")
        arguments = [
            "attack",
            "--recipe",
            "rifair-robust-biased",
            "--model-from-file",
            "victim.py",
            "--dataset-from-file",
            "data.py",
            "--num-examples",
            str(max(1, len(rows))),
            "--proposer",
            "table:table.csv",
            "--entailment",
            "none",
            "--results",
            "out/results.jsonl",
            "--log-to-csv",
            "log.csv",
            *options,
        ]
        code = main(arguments)
        captured = capsys.readouterr()
        records = list(read_records("out/results.jsonl")) if Path("out/results.jsonl").is_file() else []
        ours = [line for line in captured.err.splitlines() if line.startswith(("rif:", "rif-plugins:"))]
        assert "Traceback" not in captured.err
        return code, ours, records, captured.out

    return run


def test_a_good_run(attack) -> None:
    code, ours, records, out = attack([GOOD, ("Nobody sensitive here, good.", 1)])
    assert (code, ours) == (0, [])
    assert [record.status for record in records] == ["induced", "skipped"]
    assert "RIF Results" in out
    with Path("log.csv").open(encoding="utf-8", newline="") as file:
        log = list(csv.DictReader(file))
    assert [row["result_type"] for row in log] == ["Successful", "Skipped"]
    assert [row["perturbed_output"] for row in log] == ["1|0", "none"]


@pytest.mark.parametrize(
    ("label", "message"),
    [(-1, "label -1 is below 0"), (7, "label 7 is outside the victim's classes: expected 0 to 1")],
)
def test_a_bad_label_ends_the_run_and_keeps_what_was_found(attack, label: int, message: str) -> None:
    code, ours, records, _ = attack([GOOD, GOOD, ("He had a good meal.", label), GOOD])
    assert code == 2
    assert len(ours) == 1
    assert message in ours[0]
    assert [record.status for record in records] == ["induced", "induced"]
    assert len(Path("log.csv").read_text(encoding="utf-8").splitlines()) == 3


def test_a_victim_that_raises_on_row_17(attack) -> None:
    rows = [(f"He cooked a good meal {i}.", 1) for i in range(20)]
    rows[16] = ("He cooked poison.", 1)
    code, ours, records, out = attack(rows, victim=VICTIM.format(fail_on="fail_on='poison'"))
    assert (code, ours) == (3, [])
    assert [i for i, record in enumerate(records) if record.status == "error"] == [16]
    assert sum(record.status == "induced" for record in records) == 19
    assert "Errors:" in out


@pytest.mark.parametrize(
    "text",
    ["", " ", "!!! ...", "12345", "<script>alert(1)</script> he", "\u202e he \x00 good", "https://t.co/abc"],
)
def test_odd_texts_do_not_end_a_run(attack, text: str) -> None:
    code, _, records, _ = attack([(text, 1), GOOD])
    assert code == 0
    assert len(records) == 2
    assert records[1].status == "induced"


MISTAKES = {
    "model file without model": (
        {"victim": "victim = 1\n"},
        "model",
    ),
    "model that is no wrapper": ({"victim": "model = 'bert'\n"}, "model"),
    "empty model file": ({"victim": ""}, "model"),
    "wrong columns": (
        {"rows": [(("a he", "b"), 1)], "columns": ("premise", "hypothesis")},
        "columns premise, hypothesis: expected one text column",
    ),
    "unknown setting value": (
        {"options": ("--min-equivalence", "2")},
        "expected a number above 0, up to 1, got '2'",
    ),
    "missing table": ({"options": ("--proposer", "table:absent.csv")}, "absent.csv"),
    "unknown proposer": ({"options": ("--proposer", "magic")}, "magic"),
    "unknown scorer": ({"options": ("--entailment", "magic")}, "magic"),
    "missing scorer": ({"options": ("--entailment", "hf:./absent")}, "absent"),
    "missing lexicon": ({"options": ("--lexicon", "absent.tsv")}, "absent.tsv"),
    "unknown attribute": ({"options": ("--sensitive", "wealth")}, "'wealth' is not in the lexicon"),
    "results below a file": ({"options": ("--results", "victim.py/results.jsonl")}, "cannot write"),
    "no examples": ({"rows": []}, "the data set has no examples, expected one or more"),
}


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_mistakes_are_one_line_and_code_2(attack, name: str) -> None:
    options, message = MISTAKES[name]
    code, ours, _, _ = attack(**options)
    assert code == 2
    assert len(ours) == 1
    assert message in ours[0]
