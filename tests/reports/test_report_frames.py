from __future__ import annotations

from pathlib import Path

import pytest
from fakes.runs import fake_run

from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.reports.characters import well_formed
from rif_plugins.reports.frames import findings_dataset, records_frame, write_parquet
from rif_plugins.reports.rows import COLUMNS


def test_a_frame_has_one_row_a_record() -> None:
    run = fake_run(12, seed=2)
    frame = records_frame(run)
    assert tuple(frame.columns) == COLUMNS
    assert list(frame["id"]) == [record.id for record in run.records]
    assert frame["label"].dtype == "Int64"
    assert frame["p_original"].dtype == "Float64"
    first = run.records[0]
    assert frame["p_original"][0] == first.probabilities["original"][first.label or 0]
    assert frame["label"].isna().sum() == sum(record.label is None for record in run.records)


def test_only_findings() -> None:
    run = fake_run(12, seed=2)
    assert list(records_frame(run, only_findings=True)["id"]) == [record.id for record in run.findings]


def test_parquet_comes_back(tmp_path: Path) -> None:
    import pandas

    run = fake_run(20, hostile=True)
    write_parquet(run, tmp_path / "r.parquet")
    read = pandas.read_parquet(tmp_path / "r.parquet")
    assert list(read["original"]) == [well_formed(record.original) for record in run.records]
    assert read["label"].dtype == "Int64"


def test_parquet_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_parquet(fake_run(2), tmp_path / "none" / "r.parquet")


def test_found_pairs_as_a_data_set() -> None:
    run = fake_run(20, seed=1)
    data = findings_dataset(run)
    assert len(data) == 2 * len(run.findings)
    assert data.features["label"].names == ["negative", "positive"]
    first, second = data[0], data[1]
    record = run.findings[0]
    assert (first["text"], second["text"]) == (record.perturbed_original, record.perturbed_similar)
    assert (first["value"], second["value"]) == (record.value_from, record.value_to)
    assert first["label"] == second["label"] == record.label
    assert first["finding"] == record.id
    assert set(data["is_perturbed"]) == {True, False}


def test_a_data_set_without_names_or_findings() -> None:
    run = fake_run(20, seed=1)
    nameless = findings_dataset(RunResult({}, run.records, {}))
    assert str(nameless.features["label"].dtype) == "int64"
    assert len(findings_dataset(RunResult({}, (), {}))) == 0
