"""`rif tabular tell` as a user types it, and `rif audit` on what it writes."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rif_plugins.cli.main import main

LOANS = """age,job,sex,income,granted
34,nurse,female,31000,yes
52,cook,male,,no
18,army officer,male,28000.5,yes
"""
TEMPLATE = """template = "rif-template/1"
text = "[They|I|You|She|He] [are|am|are|is|is] a/an {age}-year-old {job}, {sex}, and [earn|earns] {income}."
gender = { column = "sex", female = "female", male = "male" }
"""
VICTIM = """
import numpy as np

def model(texts):
    is_granted = np.array([" nurse" in text or text.startswith("He") for text in texts], dtype=float)
    return np.stack([0.9 - 0.8 * is_granted, 0.1 + 0.8 * is_granted], axis=1)

label_names = ["no", "yes"]
"""


@pytest.fixture
def loans(tmp_path: Path) -> list[str]:
    (tmp_path / "loans.csv").write_text(LOANS)
    (tmp_path / "own.toml").write_text(TEMPLATE)
    out = str(tmp_path / "texts.csv")
    return ["tabular", "tell", "--data", str(tmp_path / "loans.csv"), "--label-column", "granted", "-o", out]


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "texts.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_without_a_template(
    tmp_path: Path, loans: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*loans, "--sensitive", "sex"]) == 0
    written = rows(tmp_path)
    assert list(written[0]) == ["text", "label", "similar", "row", "differs"]
    assert written[1] == {
        "text": "The age is: 52. The job is: cook. The sex is: male. The income is: not given.",
        "label": "no",
        "similar": "The age is: 52. The job is: cook. The sex is: female. The income is: not given.",
        "row": "2",
        "differs": "sex",
    }
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "texts.csv: 3 lines from 3 rows; template plain, perspective third, sensitive sex" in printed.err


def test_a_template_of_the_user(tmp_path: Path, loans: list[str]) -> None:
    own = ["--template", str(tmp_path / "own.toml"), "--perspective", "she-he"]
    assert main([*loans, "--sensitive", "sex,age", *own, "--counterparts", "all", "--quiet"]) == 0
    written = rows(tmp_path)
    assert len(written) == 3 * (2 * 35 - 1)
    assert written[0]["text"] == "She is a 34-year-old nurse, female, and earns 31000."
    assert written[0]["similar"] == "She is an 18-year-old nurse, female, and earns 31000."
    assert {line["differs"] for line in written} == {"age", "sex", "age,sex"}
    assert (
        main([*loans, "--sensitive", "sex,age", *own, "--counterparts", "4", "--quiet", "--limit", "2"]) == 0
    )
    assert [line["row"] for line in rows(tmp_path)] == ["1"] * 4 + ["2"] * 4


def test_json_lines_say_where_the_fields_stand(tmp_path: Path, loans: list[str]) -> None:
    out = tmp_path / "texts.jsonl"
    own = ["--template", str(tmp_path / "own.toml"), "--perspective", "she_he", "--labels", "predicted"]
    assert main([*loans, "--sensitive", "sex", *own, "-o", str(out), "--quiet", "--missing", "drop"]) == 0
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [line["row"] for line in lines] == [1, 3]
    assert list(lines[0]) == ["text", "similar", "row", "differs", "spans", "sensitive"]
    text = lines[1]["text"]
    assert text == "He is an 18-year-old army officer, male, and earns 28000.5."
    assert {column: text[start:end] for start, end, column in lines[1]["spans"]} == {
        "age": "18",
        "job": "army officer",
        "sex": "male",
        "income": "28000.5",
    }
    assert [text[start:end] for start, end in lines[1]["sensitive"]] == ["He", "male"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "no column is sensitive: say --sensitive NAME,NAME; the table has age, job, sex, income"),
        (["--sensitive", "town"], "the schema has no column 'town'"),
        (["--sensitive", "income"], "column 'income': it has no finite list of values"),
        (
            ["--sensitive", "sex", "--template", "adlt"],
            "template 'adlt' does not exist: expected adult, bank",
        ),
        (["--sensitive", "sex", "--template", "none.txt"], "no template file none.txt"),
        (["--sensitive", "sex", "--perspective", "she_he"], "no column says the gender"),
        (["--sensitive", "sex", "--missing", "error"], "misses values: say --missing tell"),
        (["--sensitive", "sex", "--counterparts", "0"], "expected a whole number from 1, or all, got '0'"),
        (["--sensitive", "sex", "--categorical", "x"], "--categorical x: the table has no such column"),
        (["--sensitive", "sex", "--schema", "none.toml"], "no schema file none.toml"),
        (["--sensitive", "sex", "-o", "texts.xlsx"], "expected a name that ends in .csv or .jsonl"),
    ],
)
def test_mistakes_are_one_line(
    loans: list[str], more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*loans, *more]) == 2
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == 1
    assert message in printed[0]


def test_the_rows_of_a_known_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = '"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month"'
    header += ';"duration";"campaign";"pdays";"previous";"poutcome";"y"\n'
    end = ";no;{};no;no;cellular;19;oct;79;1;-1;0;unknown;{}\n"
    lines = [
        "30;cook;married;primary" + end.format(1787, "no"),
        "33;nurse;single;tertiary" + end.format(-3, "yes"),
    ]
    (tmp_path / "bank.csv").write_text(header + "".join(lines))
    given = [
        "tabular",
        "tell",
        "--data",
        str(tmp_path / "bank.csv"),
        "--schema",
        "bank",
        "--perspective",
        "i",
    ]
    assert main([*given, "-o", str(tmp_path / "texts.csv")]) == 0
    written = rows(tmp_path)
    assert [line["label"] for line in written] == ["0", "1"]
    assert written[1]["text"].startswith("I am a 33-year-old single individual, employed as a nurse with a ")
    assert "balance is €-3" in written[1]["text"]
    assert written[1]["differs"] == "age"
    assert "labels: 0 no, 1 yes" in capsys.readouterr().err


def test_an_audit_reads_what_was_told(tmp_path: Path, loans: list[str]) -> None:
    own = ["--template", str(tmp_path / "own.toml"), "--perspective", "she_he"]
    assert main([*loans, "--sensitive", "sex", *own, "--quiet"]) == 0
    (tmp_path / "victim.py").write_text(VICTIM)
    command = [sys.executable, "-m", "rif_plugins.cli.main", "audit", "--model", str(tmp_path / "victim.py")]
    command += ["--data", str(tmp_path / "texts.csv"), "--similar-column", "similar", "--entailment", "none"]
    command += ["--out", str(tmp_path / "out"), "--cache", "off", "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    records = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["n_examples"] == 3
    first = next(record for record in records if record["original"].startswith("He is an 18"))
    assert first["similar"].startswith("She is an 18-year-old army officer, female")
    assert first["clean_outcome"] == "robust_biased"
