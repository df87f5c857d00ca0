from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.runs import HOSTILE, fake_run
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.reports.characters import REPLACEMENT, well_formed
from rif_plugins.reports.csv_file import guarded, plain, write_csv
from rif_plugins.reports.rows import COLUMNS

TRIGGERS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_formula_is_defused_and_comes_back(trigger: str) -> None:
    assert guarded(trigger + "cmd|' /C calc'!A0") == "'" + trigger + "cmd|' /C calc'!A0"
    assert plain(guarded(trigger + "x")) == trigger + "x"


@given(st.text(st.characters(min_codepoint=1, exclude_categories=("Cs",))))
def test_every_text_comes_back(text: str) -> None:
    cell = guarded(text)
    assert plain(cell) == text
    assert not cell.startswith(TRIGGERS)


def test_hostile_texts_survive_the_file(tmp_path: Path) -> None:
    run = fake_run(2 * len(HOSTILE), hostile=True)
    write_csv(run, tmp_path / "findings.csv")
    rows = read(tmp_path / "findings.csv")
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(run.findings)
    for row, record in zip(rows, run.findings, strict=True):
        for name in ("example", "original", "similar", "perturbed_original", "perturbed_similar"):
            expected = well_formed(getattr(record, name)).replace("\x00", REPLACEMENT)
            assert plain(row[name]) == expected
        assert not any(cell.startswith(TRIGGERS) for cell in row.values())


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    run = fake_run(6)
    record = replace(run.findings[0], seed=-5, label=1, probabilities={"original": [0.25, 0.75]})
    write_csv(RunResult(run.configuration, (record,), {}), tmp_path / "f.csv")
    (row,) = read(tmp_path / "f.csv")
    assert row["seed"] == "-5"
    assert row["p_original"] == "0.75"
    assert row["prediction_original"] == "1"
    assert row["label_name"] == "positive"
    assert row["p_similar"] == ""


def test_a_run_without_findings_has_a_header(tmp_path: Path) -> None:
    write_csv(RunResult({}, (), {}), tmp_path / "new" / "f.csv")
    assert (tmp_path / "new" / "f.csv").read_text(encoding="utf-8").strip() == ",".join(COLUMNS)


def test_a_place_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write .*choose a folder that you may write to"):
        write_csv(fake_run(2), tmp_path / "file" / "f.csv")
