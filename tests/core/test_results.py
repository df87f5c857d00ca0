from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.toy import WordVictim, pair_of, search
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.pair_search import Step
from rif_plugins.core.result_files import RecordWriter, StoredRecords, located_records, read_records
from rif_plugins.core.results import SCHEMA, STATUSES, Record, impacts, record_id, searched_record, status_of
from rif_plugins.core.seeds import example_generator, example_seed
from rif_plugins.errors import DataError, UsageError

CONTRACT = {
    "schema", "id", "example", "label", "attribute", "target", "status", "stop_reason", "clean_outcome",
    "outcome", "original", "similar", "perturbed_original", "perturbed_similar", "swaps", "edits",
    "probabilities", "equivalence", "trajectory", "pii", "pid", "queries", "seconds", "seed",
}  # fmt: skip


def found() -> Record:
    weights = {"good": (0.0, 2.0), "fine": (0.0, 0.6), "she": (0.9, 0.0)}
    pair = pair_of("had a good meal")
    result = search(pair, WordVictim(weights), {"good": ["fine"]})
    return searched_record(
        pair,
        result,
        texts=(result.state.original.text, result.state.similar.text),
        edits=(*result.state.original.edits, *result.state.similar.edits),
        example="e1",
        label=1,
        target=Outcome.ROBUST_BIASED,
        seed=7,
    )


def test_a_record_has_every_field_of_the_contract() -> None:
    data = found().to_dict()
    assert set(data) >= CONTRACT
    assert data["schema"] == SCHEMA
    assert data["status"] == "induced"
    assert data["swaps"] == [{"start": 0, "end": 2, "from": "he", "to": "she"}]
    assert data["edits"] == [{"side": "similar", "start": 10, "end": 14, "from": "good", "to": "fine"}]
    assert data["similar"][10:14] == "good"
    assert set(data["probabilities"]) == {"original", "similar", "perturbed_original", "perturbed_similar"}
    assert [step["step"] for step in data["trajectory"]] == [0, 1]


def test_round_trip_through_json() -> None:
    record = found()
    assert Record.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_impacts_by_hand() -> None:
    steps = [
        Step(0, 0.9, 0.8, 0.0, 0, 0),
        Step(1, 0.9, 0.5, 0.0, 0, 1),
        Step(2, 0.95, 0.3, 0.0, 1, 3),
    ]
    pii, pid = impacts(steps)
    assert pii["original"] == pytest.approx([0.0, 0.05])
    assert pii["similar"] == pytest.approx([0.3, 0.1])  # the second step changed two tokens
    assert pid == {"original": [0.0, 1.0], "similar": [-1.0, -1.0]}


def test_status_needs_a_clean_robust_fair_pair_to_be_induced() -> None:
    weights = {"good": (0.0, 2.0), "fine": (0.0, 0.6), "she": (0.9, 0.0), "bad": (3.0, 0.0)}
    natural = search(pair_of("fine"), WordVictim(weights), {})
    assert status_of(natural.clean_outcome, natural.outcome, Outcome.ROBUST_BIASED) == "natural"
    failed = search(pair_of("good"), WordVictim(weights), {})
    assert status_of(failed.clean_outcome, failed.outcome, Outcome.ROBUST_BIASED) == "failed"
    # Both sides wrong at first (unrobust_fair); the original is brought back: shifted.
    shifted = search(pair_of("bad"), WordVictim(weights), {"bad": ["fine", "good"]})
    assert shifted.clean_outcome is Outcome.UNROBUST_FAIR
    assert status_of(shifted.clean_outcome, shifted.outcome, Outcome.ROBUST_BIASED) == "shifted"


def test_ids_are_stable_and_distinct() -> None:
    pair = pair_of("x")
    assert record_id("1", pair, "robust_biased") == record_id("1", pair, "robust_biased")
    ids = {record_id(e, pair, t) for e in "12" for t in ("robust_biased", "unrobust_fair")}
    assert len(ids) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "rif-results/9"}, "schema 'rif-results/9', expected 'rif-results/1'"),
        ({"status": "maybe"}, "status 'maybe', expected one of natural, induced"),
    ],
)
def test_foreign_records_are_refused(change: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Record.from_dict({**found().to_dict(), **change})
    data = found().to_dict()
    del data["target"]
    with pytest.raises(DataError, match="lacks the field 'target'"):
        Record.from_dict(data)


@given(st.lists(st.text(max_size=20), max_size=5), st.sampled_from(STATUSES))
def test_files_keep_any_text(tmp_path_factory: pytest.TempPathFactory, texts: list[str], status) -> None:
    path = tmp_path_factory.mktemp("results") / "sub" / "results.jsonl"
    records = [
        Record(
            id=str(i), example=str(i), target="robust_biased", status=status, stop_reason="x", original=text
        )
        for i, text in enumerate(texts)
    ]
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    assert list(read_records(path)) == records
    assert path.read_bytes().count(b"\n") == len(records)


def test_a_torn_last_line_is_left_out_and_then_cut(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with RecordWriter(path) as writer:
        writer.write(found())
    whole = path.read_bytes()
    for cut in (1, 10, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        assert len(list(read_records(path))) == 1
        with RecordWriter(path) as writer:
            writer.write(found())
        assert path.read_bytes() == whole * 2


@pytest.mark.parametrize("content", ['{"a": 1}', "text,label\nx,1", '{"schema": "other"}\n', "\n"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"exists and is no results file.*choose another name"):
        RecordWriter(path)
    assert path.read_text(encoding="utf-8") == content


def test_broken_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    line = json.dumps(found().to_dict())
    for broken, message in [
        ("{not json}", "line 2: expected a JSON object, got broken JSON"),
        ("[1]", "line 2: expected a JSON object, got list"),
        ('{"schema": "x"}', "line 2: record has schema 'x'"),
    ]:
        path.write_text(f"{line}\n{broken}\n{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=message):
            list(read_records(path))
    with pytest.raises(DataError, match="does not exist: expected a results"):
        list(read_records(tmp_path / "absent.jsonl"))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.jsonl"
    with RecordWriter(path) as writer:
        writer.write(found())
    monkeypatch.setattr("rif_plugins.core.result_files._LONGEST_LINE", path.stat().st_size)
    assert len(list(read_records(path))) == 1
    with path.open("ab") as file:
        file.write(path.read_bytes()[:-1] + b" " * 10 + b"\n")
    with pytest.raises(DataError, match="line 2: expected a record, got a line of more than"):
        list(read_records(path))


def test_what_is_empty_is_left_out_of_a_line() -> None:
    data = found().to_dict()
    assert {"notes", "uncertainty"}.isdisjoint(data)
    noted = replace(found(), notes=["the proposer failed"], uncertainty={"original": {"samples": 5.0}})
    assert noted.to_dict() == {**data, "notes": noted.notes, "uncertainty": noted.uncertainty}
    assert Record.from_dict(noted.to_dict()) == noted
    assert Record.from_dict(data).notes == []


def test_a_block_of_records_says_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with RecordWriter(path) as writer:
        first = writer.write_all([found(), found()])
        second = writer.write_all([found()])
    data = path.read_bytes()
    assert (first[0], second[1]) == (0, len(data))
    assert first[1] == second[0] == 2 * len(data) // 3
    assert [data[start:end] for start, end, _ in located_records(path)] == data.splitlines(keepends=True)
    stored = StoredRecords(path)
    assert len(stored) == 3
    assert list(stored) == [stored[0], stored[1], stored[-1]] == [found()] * 3


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    real, room = os.write, [0]

    def write(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        n = real(file, data[: room[0]])
        room[0] -= n
        return n

    with RecordWriter(path) as writer:
        writer.write(found())
        whole = path.read_bytes()
        monkeypatch.setattr("rif_plugins.core.result_files.os.write", write)
        for left in (0, 1, len(whole) - 1):
            room[0] = left
            with pytest.raises(
                UsageError, match="No space left on device; what stands there already is whole"
            ):
                writer.write(found())
            assert path.read_bytes() == whole
        room[0] = 10 * len(whole)
        writer.write(found())
    assert path.read_bytes() == 2 * whole


def test_an_unwritable_place_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"cannot write .*choose a folder that you may write to"):
        RecordWriter(tmp_path / "file" / "results.jsonl")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_folder_is_a_usage_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot write"):
        RecordWriter(tmp_path / "results.jsonl")


def test_seeds_depend_on_run_seed_and_example_only() -> None:
    assert example_seed(1, "a") == example_seed(1, "a")
    assert len({example_seed(s, e) for s in (1, 2) for e in ("a", "b")}) == 4
    assert example_generator(1, "a").random() == example_generator(1, "a").random()
