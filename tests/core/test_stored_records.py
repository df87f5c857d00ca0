"""Records that stay in their file behave like a tuple of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core import result_files
from rif_plugins.core.result_files import StoredRecords, count_examples
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RESULTS_FILE, RunResult, write_records
from rif_plugins.errors import DataError


def record(name: str, message: str = "", example: str = "e") -> Record:
    return Record(name, example, "", "error", "error", message=message)


def stored(path: Path, names: str) -> tuple[list[Record], StoredRecords]:
    path.unlink(missing_ok=True)
    records = [record(name, str(place)) for place, name in enumerate(names)]
    write_records(path, records)
    return records, StoredRecords(path)


@given(names=st.text("abcd", min_size=1, max_size=12))
def test_a_later_record_stands_in_the_place_of_an_earlier_one(
    names: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    records, kept = stored(tmp_path_factory.mktemp("s") / "r.jsonl", names)
    expected = list({one.id: one for one in records}.values())
    assert list(kept.distinct()) == expected == list(kept.distinct())
    assert kept.are_distinct == (len(expected) == len(records))
    assert list(RunResult({}, kept).distinct()) == list(RunResult({}, records).distinct())


def test_ids_of_one_digest_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_files, "_digest", lambda name: 7)
    records, kept = stored(tmp_path / "r.jsonl", "abcb")
    assert list(kept.distinct()) == [records[0], records[3], records[2]]
    _, kept = stored(tmp_path / "r.jsonl", "abc")
    assert list(kept.distinct()) == list(kept)
    assert kept.are_distinct


def test_equal_to_any_sequence_of_the_same_records(tmp_path: Path) -> None:
    records, kept = stored(tmp_path / "r.jsonl", "abc")
    _, other = stored(tmp_path / "o.jsonl", "abc")
    assert kept == records
    assert tuple(records) == kept
    assert kept == other
    assert kept != records[:2]
    assert kept != [*records[:2], record("c", "another")]
    assert kept != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(kept)


def test_a_broken_record_is_found_by_the_check(tmp_path: Path) -> None:
    _, kept = stored(tmp_path / "r.jsonl", "abc")
    with kept.path.open("a", encoding="utf-8") as file:
        file.write('{"schema": "other/1"}\n')
    with pytest.raises(DataError, match=r"r\.jsonl, line 4: record has schema 'other/1'"):
        kept.check()
    with pytest.raises(DataError, match="does not exist"):
        StoredRecords(tmp_path / "none.jsonl").check()


def test_a_torn_last_line_is_no_record(tmp_path: Path) -> None:
    records, kept = stored(tmp_path / "r.jsonl", "aba")
    with kept.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record("a", "torn").to_dict()))
    assert list(kept.distinct()) == [records[2], records[1]]
    assert len(kept) == 3


@pytest.mark.parametrize(("finished", "kind"), [("2026-11-30", StoredRecords), (None, tuple)])
def test_only_a_finished_run_leaves_its_records_in_the_file(
    tmp_path: Path, finished: str | None, kind: type
) -> None:
    records = (record("a"), record("b"), record("a", "later"))
    RunResult({"schema": "rif-run/1", "finished": finished}, records).save(tmp_path)
    run = RunResult.load(tmp_path)
    assert type(run.records) is kind
    assert run.records == records
    assert list(run.distinct()) == [records[2], records[1]]
    (tmp_path / RESULTS_FILE).write_text("{}\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1: record has schema None"):
        RunResult.load(tmp_path)


def test_a_loaded_run_can_be_saved_where_it_lies(tmp_path: Path) -> None:
    records = (record("a"), record("b"))
    RunResult({"schema": "rif-run/1", "finished": "now"}, records).save(tmp_path)
    run = RunResult.load(tmp_path)
    run.save(tmp_path)
    assert RunResult.load(tmp_path).records == records


def test_examples_are_counted_once() -> None:
    assert count_examples([]) == 0
    assert count_examples(record(str(i), example=f"e{i % 3}") for i in range(10)) == 3
