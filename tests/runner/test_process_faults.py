"""Victims that end their process or never answer, in workers and behind a time limit."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.picky_victim import Picky
from fakes.runner_world import TEXTS, KeywordVictim, audit_options, found, write_victim
from fakes.scripted_server import Answer, serve

from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimCallError
from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.runner import Audit
from rif_plugins.runner import audit as run_audit
from rif_plugins.runner.guarding import GuardedVictim

ROWS = TEXTS[:6]
BAD = "actress"
FAULT = """

import multiprocessing, os, signal, time
from pathlib import Path

_sound, _HERE = model, Path(__file__).parent


def model(texts):
    if any("actress" in text for text in texts) and {condition}:
        {action}
    return _sound(texts)


model.fingerprint = "keyword"
"""
IN_A_CHILD = "multiprocessing.parent_process() is not None"
ONCE = f"{IN_A_CHILD} and not (_HERE / 'died').exists()"


def faulty(folder: Path, action: str, condition: str = IN_A_CHILD) -> None:
    """A victim file that does something to its process for texts with the bad word."""
    file = write_victim(folder)
    source = file.read_text(encoding="utf-8") + FAULT.format(condition=condition, action=action)
    file.write_text(source, encoding="utf-8")


def everything(records: Sequence[Record]) -> list[dict[str, Any]]:
    return list(map(found, records))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return everything(Audit.prepare(audit_options(tmp_path_factory.mktemp("sound"), ROWS)).run().records)


def check_error(records: Sequence[Record], sound: list[dict[str, Any]]) -> str:
    """The message of the one error, where everything else is as it should be."""
    (error,) = [record for record in records if record.status == "error"]
    assert BAD in error.original
    assert everything([r for r in records if BAD not in r.original]) == [
        values for values in sound if BAD not in values["original"]
    ]
    return error.message


def test_a_worker_that_dies_once_costs_nothing(tmp_path: Path, sound: list[dict[str, Any]]) -> None:
    faulty(tmp_path, "(_HERE / 'died').touch(); os.kill(os.getpid(), signal.SIGKILL)", ONCE)
    result = Audit.prepare(audit_options(tmp_path, ROWS)).run(tmp_path / "out", workers=2)
    assert (tmp_path / "died").exists()
    assert everything(result.records) == sound


def test_a_text_that_ends_its_worker_is_an_error_record(tmp_path: Path, sound: list[dict[str, Any]]) -> None:
    faulty(tmp_path, "os._exit(7)")
    result = Audit.prepare(audit_options(tmp_path, ROWS)).run(tmp_path / "out", workers=2)
    message = check_error(result.records, sound)
    assert "the worker process that searched this example ended twice (exit code 7)" in message


@pytest.mark.parametrize("workers", [1, 2])
def test_a_call_that_hangs_is_given_up(tmp_path: Path, sound: list[dict[str, Any]], workers: int) -> None:
    faulty(tmp_path, "time.sleep(3600)")
    start = time.monotonic()
    audit = Audit.prepare(audit_options(tmp_path, ROWS, victim_timeout=0.7))
    assert [check["status"] for check in audit.checks if check["name"] == "answers"] == ["warn"]
    message = check_error(audit.run(tmp_path / "out", workers=workers).records, sound)
    assert "the victim gave no answer within 0.7 s for a batch of" in message
    assert "raise --victim-timeout, or mend the victim on that text" in message
    assert time.monotonic() - start < 600


@pytest.mark.slow
def test_a_server_that_is_too_slow_for_a_text_is_given_up(
    tmp_path: Path, sound: list[dict[str, Any]]
) -> None:
    victim, never = KeywordVictim(), threading.Event()

    def script(data: Any, number: int) -> Answer:
        texts = data["texts"]
        answer = {"probabilities": victim(texts).tolist()}
        return Answer(answer, wait_for=never if any(BAD in text for text in texts) else None)

    with serve(script) as server:
        options = replace(audit_options(tmp_path, ROWS, victim_timeout=0.7), model=server.url)
        result = Audit.prepare(options).run(tmp_path / "out")
        never.set()
    assert "the victim gave no answer within 0.7 s" in check_error(result.records, sound)


def test_a_victim_that_ends_its_process_behind_a_time_limit(
    tmp_path: Path, sound: list[dict[str, Any]]
) -> None:
    faulty(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    audit = Audit.prepare(audit_options(tmp_path, ROWS, victim_timeout=60.0))
    message = check_error(audit.run(tmp_path / "out").records, sound)
    assert "the process of the victim ended (signal 9) when it was asked for a batch of" in message


def test_a_time_limit_changes_nothing_else(tmp_path: Path, sound: list[dict[str, Any]]) -> None:
    write_victim(tmp_path)
    plain = Audit.prepare(audit_options(tmp_path, ROWS))
    plain.run(tmp_path / "out")
    guarded = Audit.prepare(audit_options(tmp_path, ROWS, victim_timeout=60.0))
    assert guarded.parts.fingerprint == plain.parts.fingerprint
    assert guarded.parts.fingerprint.value
    assert guarded.checks == plain.checks
    result = guarded.run(tmp_path / "guarded")
    assert everything(result.records) == sound
    assert result.configuration["victim_fingerprint"] == plain.parts.fingerprint.value
    # A run that hangs may be taken up with a limit.
    assert everything(guarded.run(tmp_path / "out", resume=True).records) == sound


def test_errors_come_through_as_they_are(tmp_path: Path) -> None:
    from rif_plugins.core.victim import VictimEngine
    from rif_plugins.victims.base import Victim

    options = audit_options(tmp_path, ROWS)
    guarded = GuardedVictim(options, 60.0, Victim("picky", Picky(), max_length=7))
    try:
        assert guarded.victim().max_length == 7
        assert guarded(["good"]).tolist() == Picky()(["good"]).tolist()
        with pytest.raises(VictimRowError, match="the server refused a text"):
            guarded(["ours"])
        with pytest.raises(VictimRowError, match=r"returned shape \(2, 2\) for 1 texts"):
            guarded(["shape"])
        engine = VictimEngine(guarded)
        with pytest.raises(
            VictimCallError, match=r"the victim raised KeyError: 'two.nlines' \(in a batch of 1"
        ):
            engine.probabilities(["raise"])
        rows = engine.probabilities(["memory", "memory of", "memory of us", "memory of them"])
        assert rows.shape == (4, 2)
    finally:
        guarded.close()
    assert guarded(["good"]).shape == (1, 2)  # it starts again when it is asked
    guarded.close()
    guarded.close()


def test_a_victim_that_cannot_travel_is_refused(tmp_path: Path) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(lambda texts: texts)
    with pytest.raises(
        UsageError, match=r"a time limit runs the victim in a process of its own, where .* put the"
    ):
        run_audit(
            lambda texts: [[0.5, 0.5]] * len(texts), list(ROWS[:2]), victim_timeout=5.0, entailment="none"
        )


def test_a_victim_that_cannot_be_loaded_is_told_as_without_a_limit(tmp_path: Path) -> None:
    options = audit_options(tmp_path, ROWS, victim_timeout=5.0)
    (tmp_path / "victim.py").write_text("modle = 1\n", encoding="utf-8")
    with pytest.raises(VictimError, match=r"victim\.py sets no variable `model`"):
        Audit.prepare(options)
    (tmp_path / "victim.py").write_text("import os\nos._exit(3)\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"the process of the victim .* ended while it was loaded \(exit code 3\)"
    ):
        Audit.prepare(options)


def test_what_ends_the_run_in_a_worker_ends_it_here(tmp_path: Path) -> None:
    faulty(tmp_path, "return [[5.0, -7.0]] * len(texts)")
    with pytest.raises(VictimError, match="values that are no probabilities"):
        Audit.prepare(audit_options(tmp_path, ROWS)).run(tmp_path / "out", workers=2)


def test_workers_read_answers_as_the_checks_did(tmp_path: Path) -> None:
    """Also a worker whose first answers could be logits."""
    faulty(tmp_path, "return [[5.0, -7.0]] * len(texts)")
    bad = [row for row in TEXTS if BAD in row[0]]
    with pytest.raises(VictimError, match="values that are no probabilities"):
        Audit.prepare(audit_options(tmp_path, bad)).run(tmp_path / "out", workers=2)
