from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.result_files import RecordWriter, read_records
from rif_plugins.core.results import Record
from rif_plugins.errors import DataError, UsageError
from rif_plugins.runner.result_log import ResultLog, claimed, claimed_file

EXAMPLES = ["d", "a", "c", "b"]  # the order of the data is no order of names


def records_of(example: str, n: int = 2, status: str = "failed") -> list[Record]:
    return [
        Record(id=f"{example}{i}", example=example, target="t", status=status, stop_reason="x")  # type: ignore[arg-type]
        for i in range(n)
    ]


def written(path: Path, *blocks: Sequence[Record]) -> bytes:
    with RecordWriter(path) as writer:
        for block in blocks:
            writer.write_all(block)
    return path.read_bytes()


class Seen(list[str]):
    def __call__(self, records: Sequence[Record]) -> None:
        self.append(records[0].example)


def log_of(path: Path) -> tuple[ResultLog, Seen]:
    seen = Seen()
    return ResultLog(path, EXAMPLES, seen), seen


def ids(path: Path) -> list[str]:
    return [record.id for record in read_records(path)]


@pytest.mark.parametrize("is_whole", [True, False])
def test_only_the_last_example_of_a_torn_file_is_left_out(tmp_path: Path, is_whole: bool) -> None:
    path = tmp_path / "results.jsonl"
    written(path, records_of("d"), records_of("a", 3), records_of("c", 1))
    log, seen = log_of(path)
    log.take_up(is_whole=is_whole)
    expected = ["d0", "d1", "a0", "a1", "a2"] + (["c0"] if is_whole else [])
    assert ids(path) == expected
    assert ("d" in log, "a" in log, "c" in log, "b" in log) == (True, True, is_whole, False)
    assert seen == ["d", "a", "c"][: log.n_finished]


def test_errors_and_what_is_not_in_the_data_are_cut_out(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    written(
        path, records_of("z"), records_of("d"), records_of("a", 1, "error"), records_of("c"), records_of("d")
    )
    log, seen = log_of(path)
    log.take_up(is_whole=True)
    assert ids(path) == ["d0", "d1", "c0", "c1"]
    assert seen == ["d", "c"]
    log.open()
    log.append(records_of("b", 1))
    log.append(records_of("a", 1))
    log.put_in_order()
    assert ids(path) == ["d0", "d1", "a0", "c0", "c1", "b0"]
    assert log.n_finished == 4
    assert not list(tmp_path.glob("*.new"))


def test_a_file_that_is_whole_and_in_order_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    written(path, *map(records_of, EXAMPLES))
    node = path.stat().st_ino
    log, _ = log_of(path)
    log.take_up(is_whole=True)
    log.open()
    log.put_in_order()
    assert path.stat().st_ino == node


@given(
    cut=st.integers(0, 2000),
    order=st.permutations(EXAMPLES),
    bad=st.sets(st.sampled_from(EXAMPLES)),
    n=st.integers(1, 4),
)
def test_whatever_was_written_the_file_ends_up_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int, order: list[str], bad: set[str], n: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "results.jsonl"
    whole = written(path, *(records_of(e, n, "error" if e in bad else "failed") for e in order))
    path.write_bytes(whole[:cut])
    log, seen = log_of(path)
    log.take_up(is_whole=False)
    log.open()
    for example in EXAMPLES:
        if example not in log:
            log.append(records_of(example, n))
    log.put_in_order()
    assert ids(path) == [f"{example}{i}" for example in EXAMPLES for i in range(n)]
    assert sorted(seen) == sorted(EXAMPLES)


def test_a_line_that_is_no_record_is_told_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    data = written(path, records_of("d"))
    path.write_bytes(data.replace(b"rif-results/1", b"rif-results/2", 1))
    with pytest.raises(
        DataError, match=r"--resume: .*line 1: record has schema 'rif-results/2', expected .* or give another"
    ):
        log_of(path)[0].take_up(is_whole=True)


def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    log, _ = log_of(tmp_path / "results.jsonl")
    with pytest.raises(UsageError, match="is not open"):
        log.append(records_of("a"))
    log.close()


def test_a_folder_is_claimed_once_and_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr("rif_plugins.runner.result_log._LOCK_SECONDS", 0.05)
    with claimed(tmp_path / "new"):
        with pytest.raises(UsageError, match="is being written by another run"), claimed(tmp_path / "new"):
            pass
        with claimed(tmp_path):
            pass
    with claimed(tmp_path / "new"):
        assert list(tmp_path.iterdir()) == [tmp_path / "new"]
        assert not list((tmp_path / "new").iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot write .*choose a folder"), claimed(tmp_path / "file" / "x"):
        pass


def test_a_file_is_claimed_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr("rif_plugins.runner.result_log._LOCK_SECONDS", 60.0)
    monkeypatch.setattr("rif_plugins.runner.result_log._LOCK_STEP", 0.0001)
    path = tmp_path / "new" / "t.jsonl"
    path.parent.mkdir()
    path.write_text("0")

    def raise_number(times: int) -> None:
        for _ in range(times):
            with claimed_file(path):  # the lock goes away each time, while others wait for it
                number = int(path.read_text())
                time.sleep(0.0002)
                path.write_text(str(number + 1))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(raise_number, [25] * 6))
    assert path.read_text() == "150"
    assert list(path.parent.iterdir()) == [path]


def test_random_blocks_keep_their_places(tmp_path: Path) -> None:
    numbers = random.Random(3)
    examples = [f"e{i}" for i in range(60)]
    later = numbers.sample(examples, 20)
    log = ResultLog(tmp_path / "r", examples, lambda records: None)
    log.open()
    for example in [e for e in examples if e not in later] + later:
        log.append(records_of(example, numbers.randint(1, 3)))
    log.put_in_order()
    assert list(dict.fromkeys(record.example for record in read_records(tmp_path / "r"))) == examples
