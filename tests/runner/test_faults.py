"""Whatever breaks on the way: a recorded error and a finished run, or a clean stop that can be resumed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.runner_world import (
    TEXTS,
    KeywordVictim,
    ScriptedScorer,
    TableWords,
    audit_options,
    examples,
    found,
)
from fakes.scripted_server import Answer, serve

from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RESULTS_FILE
from rif_plugins.core.victim import VictimEngine, is_out_of_memory_error
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.runner import Audit, Sweep
from rif_plugins.similar import PairSource
from rif_plugins.victims.base import Victim
from rif_plugins.victims.endpoint import EndpointVictim

ROWS = TEXTS[:6]
BAD = "actress"  # a word of one text, and of no other
N = len(ROWS)


class Breaking(KeywordVictim):
    """Once ``is_broken``, its answer is spoiled wherever a text has the bad word."""

    def __init__(self, spoil: Callable[[Any], Any], word: str = BAD) -> None:
        super().__init__()
        self.spoil = spoil
        self.word = word
        self.is_broken = False

    def __call__(self, texts: Sequence[str]) -> Any:
        rows = super().__call__(texts)
        return self.spoil(rows) if self.is_broken and any(self.word in text for text in texts) else rows


def ready(folder: Path, victim: Any, **changes: Any) -> Audit:
    """An audit of a sound victim, which a test may break before it runs."""
    options = audit_options(folder, ROWS, **changes)
    return Audit.prepare(options, victim=Victim("keyword", victim, identity="keyword"))


def errors(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.status == "error"]


def everything(records: Sequence[Record]) -> list[dict[str, Any]]:
    return list(map(found, records))


def the_others(records: Sequence[Record]) -> list[dict[str, Any]]:
    """What was found for all texts without the bad word."""
    return [found(record) for record in records if BAD not in record.original]


# -- the victim ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: np.full_like(rows, np.nan), "returned NaN or infinity"),
        (lambda rows: np.full_like(rows, np.inf), "returned NaN or infinity"),
        (lambda rows: rows[:-1], r"returned shape \(\d+, 2\) for \d+ texts"),
        (lambda rows: np.hstack([rows, rows]), "returned 4 labels, expected 2 as before"),
        (lambda rows: "garbage", "returned str that is no numeric array"),
        (lambda rows: [[] for _ in rows], "returned shape"),
        (lambda rows: None, "returned shape|returned NoneType"),
        (lambda rows: 1 / 0, "the victim raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_bad_answer_on_the_way_is_the_error_of_its_example_alone(
    tmp_path: Path, spoil: Any, message: str
) -> None:
    victim = Breaking(spoil)
    audit = ready(tmp_path, victim)
    sound = audit.run()
    victim.is_broken = True
    result = audit_again(audit, tmp_path / "out")
    (error,) = errors(result.records)
    assert BAD in error.original
    assert re.search(message, error.message)
    assert the_others(result.records) == the_others(sound.records)
    assert result.summary["n_errors"] == 1
    victim.is_broken = False
    again = audit_again(audit, tmp_path / "out", resume=True)
    assert everything(again.records) == everything(sound.records)
    assert list(read_records(tmp_path / "out" / RESULTS_FILE)) == list(again.records)


def audit_again(audit: Audit, out: Path, *, resume: bool = False) -> Any:
    """Run without what the engine remembers of earlier runs."""
    audit.parts.engine.clear()
    return audit.run(out, resume=resume)


def test_a_victim_that_never_gave_a_prediction_ends_the_run() -> None:
    engine = VictimEngine(lambda texts: ["no", "numbers"])
    with pytest.raises(VictimError, match="no numeric array") as raised:
        engine.probabilities(["a", "b"])
    assert not isinstance(raised.value, VictimRowError)


def test_a_victim_that_turns_to_logits_stops_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    # Earlier answers may have been misread: that is not the matter of one example.
    victim = Breaking(lambda rows: 10 * rows, word="fine")
    rows = [(f"He cooked {i} times.", 0) for i in range(70)] + [("He had a fine meal.", 1)]
    options = audit_options(tmp_path, rows)
    audit = Audit.prepare(options, victim=Victim("keyword", victim, identity="keyword"))
    sound = audit.run()
    victim.is_broken = True
    with pytest.raises(VictimError, match="values that are no probabilities") as raised:
        audit_again(audit, tmp_path / "out")
    n_written = len({record.example for record in read_records(tmp_path / "out" / RESULTS_FILE)})
    assert f"{n_written} of {len(rows)} examples stand in {tmp_path / 'out'}, go on with --resume" in str(
        raised.value
    )
    assert 0 < n_written == audit.n_finished < len(rows)
    victim.is_broken = False
    again = audit_again(audit, tmp_path / "out", resume=True)
    assert everything(again.records) == everything(sound.records)


def test_a_victim_that_changes_its_answers_is_said_so_and_can_be_resumed(tmp_path: Path) -> None:
    class Fickle(KeywordVictim):
        def __call__(self, texts: Sequence[str]) -> Any:
            rows = super().__call__(texts)
            p = np.clip(rows[:, 1] + 0.3 * np.sin(self.rows + np.arange(len(texts))), 0.01, 0.99)
            return np.column_stack([1 - p, p])

    def prepared() -> Audit:
        options = audit_options(tmp_path, ROWS)
        return Audit.prepare(options, victim=Victim("fickle", Fickle()))

    audit = prepared()
    assert [c["status"] for c in audit.checks if c["name"] == "deterministic"] != ["pass"]

    def stopped(batches: Any, total: int) -> Any:
        for number, batch in enumerate(batches):
            if number == 3:
                raise KeyboardInterrupt
            yield batch

    with pytest.raises(KeyboardInterrupt):
        audit.run(tmp_path / "out", progress=stopped)
    result = prepared().run(tmp_path / "out", resume=True)
    assert not errors(result.records)
    assert result.records[0].example == audit.examples.examples[0].id
    assert {record.example for record in result.records} == {e.id for e in audit.examples.examples}


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_batches_are_halved_until_they_fit_and_stay_so(tmp_path: Path, error: Exception) -> None:
    class Small(KeywordVictim):
        most = 1000

        def __call__(self, texts: Sequence[str]) -> Any:
            rows = super().__call__(texts)
            if len(texts) > self.most:
                raise error
            return rows

    victim = Small()
    audit = ready(tmp_path, victim)
    sound = audit_again(audit, tmp_path / "sound")
    victim.most = 5
    victim.sizes.clear()
    result = audit_again(audit, tmp_path / "out")
    assert everything(result.records) == everything(sound.records)
    failed = [size for size in victim.sizes if size > 5]
    assert failed and len(failed) <= 4  # 32, 16, 8: asked once each, never again
    assert result.configuration["cost"]["victim_rows"] == sound.configuration["cost"]["victim_rows"]


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    assert is_out_of_memory_error(MemoryError())
    assert not is_out_of_memory_error(RuntimeError("memory of an elephant"))
    assert not is_out_of_memory_error(ValueError("cannot read the file"))


def test_a_single_text_for_which_memory_does_not_suffice_is_an_error_record(tmp_path: Path) -> None:
    def full(rows: Any) -> Any:
        raise MemoryError("no room")

    victim = Breaking(full)
    audit = ready(tmp_path, victim)
    victim.is_broken = True
    (error,) = errors(audit_again(audit, tmp_path / "out").records)
    assert "the victim raised MemoryError: no room" in error.message


# -- a victim behind an address ------------------------------------------------------------------------------


@contextmanager
def served(
    folder: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[list[str], int], Answer | None]
) -> Iterator[Audit]:
    """An audit of an endpoint that ``spoil`` disturbs; waits between attempts take no time."""
    victim = KeywordVictim()

    def script(data: Any, number: int) -> Answer:
        texts = data["texts"]
        return spoil(texts, number) or Answer({"probabilities": victim(texts).tolist()})

    patient = {"label_names": None, "limits": None, "sleep": lambda seconds: None}
    monkeypatch.setattr(EndpointVictim.__init__, "__kwdefaults__", patient)
    with serve(script) as server:
        yield Audit.prepare(replace(audit_options(folder, ROWS), model=server.url))


def test_a_server_that_is_busy_now_and_then_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = ready(tmp_path, KeywordVictim()).run()
    moods = [Answer(status=429), Answer(status=500), Answer(status=503), Answer(hang_up=True)]
    with served(tmp_path, monkeypatch, lambda texts, n: moods[n // 2 % 4] if n % 2 else None) as audit:
        assert everything(audit.run().records) == everything(sound.records)


def test_a_text_on_which_a_server_fails_is_an_error_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = ready(tmp_path, KeywordVictim()).run()
    with served(
        tmp_path, monkeypatch, lambda texts, n: Answer(status=500) if BAD in " ".join(texts) else None
    ) as audit:
        result = audit.run(tmp_path / "out")
    (error,) = errors(result.records)
    assert BAD in error.original
    assert "status 500" in error.message
    assert the_others(result.records) == the_others(sound.records)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Answer(body=b"<html>busy</html>"), "answered no JSON but"),
        (Answer(status=503), r"status 503 .*\(attempt 4 of 4\)"),
        (Answer(status=429), r"status 429 .*\(attempt 4 of 4\)"),
        (Answer(hang_up=True), "the connection failed or broke off"),
    ],
)
def test_a_server_that_is_gone_stops_the_run_which_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Answer, message: str
) -> None:
    is_down = False
    with served(tmp_path, monkeypatch, lambda texts, n: broken if is_down else None) as audit:
        sound = audit.run()
        is_down = True
        with pytest.raises(VictimError, match=message):
            audit_again(audit, tmp_path / "out")
        is_down = False
        again = audit_again(audit, tmp_path / "out", resume=True)
    assert everything(again.records) == everything(sound.records)


# -- the filter and the proposer -----------------------------------------------------------------------------


class DyingScorer(ScriptedScorer):
    """Raises for pairs with the bad word, or for all."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Any:
        if any(self.word in text for pair in pairs for text in pair):
            raise RuntimeError("the session is gone\nand more")
        return super().probabilities(pairs)


def sweep(scorer: Any = None, proposer: Any = None, window: int = 64) -> list[Record]:
    entailment = None if scorer is None else EntailmentFilter(scorer, veto=None)
    engine = VictimEngine(KeywordVictim())
    searching = Sweep(engine, PairSource(), proposer or TableWords(), entailment, window=window)
    return [record for records in searching.run(examples(ROWS)) for record in records]


@pytest.mark.parametrize("window", [1, 64])
def test_a_scorer_that_fails_on_a_text_fails_its_example_alone(window: int) -> None:
    sound = sweep(ScriptedScorer(), window=window)
    records = sweep(DyingScorer(BAD), window=window)
    (error,) = errors(records)
    assert BAD in error.original
    assert error.message == "the entailment scorer scripted raised RuntimeError: the session is gone"
    assert the_others(records) == the_others(sound)


def test_a_scorer_that_is_dead_fails_every_example_that_needs_it_and_the_run_ends() -> None:
    records = sweep(DyingScorer(""))
    assert {record.status for record in records} <= {"error", "skipped", "natural", "failed"}
    assert len(errors(records)) == sum(bool(PairSource().pairs_of(text)) for text, _ in ROWS)


class FailingWords(TableWords):
    """Raises for texts with the bad word; has something to say about the others."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error
        self.said: list[str] = []

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        if any(BAD in context.text for context in contexts):
            raise self.error("no such word")
        self.said += ["proposer toy-table failed: no answer"] * len(contexts)
        return super().propose(contexts)

    def take_notes(self) -> list[str]:
        said, self.said = self.said, []
        return said

    def take_calls(self) -> int:
        return 2


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, KeyError])
def test_a_proposer_that_raises_fails_its_example_alone(error: type[Exception]) -> None:
    records = sweep(proposer=FailingWords(error))
    (failed,) = errors(records)
    assert BAD in failed.original
    assert re.fullmatch(f"the proposer toy-table raised {error.__name__}: '?no such word'?", failed.message)
    plain = [{**values, "notes": []} for values in the_others(records)]
    assert [{**values, "notes": []} for values in the_others(sweep())] == plain


def test_what_a_proposer_says_stands_in_the_first_record_of_its_example() -> None:
    records = sweep(proposer=FailingWords(RuntimeError))
    by_example: dict[str, list[Record]] = {}
    for record in records:
        by_example.setdefault(record.example, []).append(record)
    searched = [found for found in by_example.values() if found[0].is_evaluated]
    assert searched
    for first, *others in searched:
        assert first.notes == ["proposer toy-table failed: no answer"]
        assert first.queries["llm_calls"] >= 2
        assert not any(record.notes or record.queries for record in others)
    assert all("notes" not in record.to_dict() for record in sweep())


# -- the disk ------------------------------------------------------------------------------------------------


def test_a_full_disk_stops_the_run_between_two_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = ready(tmp_path, KeywordVictim())
    sound = audit.run(tmp_path / "sound")
    size = (tmp_path / "sound" / RESULTS_FILE).stat().st_size
    real, room = os.write, [size // 2]

    def write(file: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real(file, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr("rif_plugins.core.result_files.os.write", write)
    with pytest.raises(UsageError, match=r"cannot write .*No space left on device.* go on with --resume"):
        audit_again(audit, tmp_path / "out")
    monkeypatch.undo()
    left = (tmp_path / "out" / RESULTS_FILE).read_bytes()
    assert left.endswith(b"\n") and len(left) <= size // 2  # the half that went in was taken out again
    assert (tmp_path / "sound" / RESULTS_FILE).stat().st_size == size
    again = audit_again(audit, tmp_path / "out", resume=True)
    assert everything(again.records) == everything(sound.records)


def test_two_runs_never_write_into_one_folder(tmp_path: Path) -> None:
    other = ready(tmp_path, KeywordVictim())
    audit = ready(tmp_path, KeywordVictim())

    def meanwhile(batches: Any, total: int) -> Any:
        with pytest.raises(UsageError, match="is being written by another run: wait for its end"):
            other.run(tmp_path / "out", resume=True)
        yield from batches

    result = audit.run(tmp_path / "out", progress=meanwhile)
    assert len(result.records) == len(list(read_records(tmp_path / "out" / RESULTS_FILE)))


def test_records_may_stay_in_their_file(tmp_path: Path) -> None:
    audit = ready(tmp_path, KeywordVictim())
    kept = audit.run(tmp_path / "kept")
    left = audit.run(tmp_path / "left", keep_records=False)
    assert type(left.records).__name__ == "StoredRecords"
    assert everything(left.records) == everything(kept.records)
    assert len(left.records) == len(kept.records)
    assert found(left.records[-1]) == found(kept.records[-1])
    assert everything(left.records[1:3]) == everything(kept.records[1:3])
    assert everything(list(left.distinct())) == everything(list(kept.distinct()))
    assert everything(left.findings) == everything(kept.findings)
