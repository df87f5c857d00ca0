"""The base of the engines: who gets a shard, and what the death of a worker costs."""

from __future__ import annotations

import pytest

from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.runner.shards import Lost, Shard, ShardResult
from rif_plugins.runner.slots import Slot, SlotEngine


class _Slot(Slot):
    def __init__(self) -> None:
        super().__init__()
        self.sent: list[int] = []

    def send(self, shard: Shard) -> None:
        self.sent.append(shard.number)


class _Engine(SlotEngine[_Slot]):
    """Hears what a test says."""

    def __init__(self, n_slots: int) -> None:
        super().__init__(n_slots)
        self.n_started = 0
        self._start_all()

    @property
    def slots(self) -> list[_Slot]:
        return self._slots

    def ready(self, number: int) -> None:
        assert self._answered(self._slots[number], "ready", None) is None

    def done(self, number: int) -> ShardResult | None:
        shard = self._slots[number].shard
        assert shard is not None
        return self._answered(self._slots[number], "done", ShardResult((shard.number, 0), []))

    def died(self, number: int) -> Lost | None:
        return self._lost(self._slots[number], "signal 9")

    def next(self) -> ShardResult | Lost:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def _started(self) -> _Slot:
        self.n_started += 1
        return _Slot()

    def _unloaded(self, reason: str) -> UsageError:
        return UsageError(f"a worker ended while it loaded the victim ({reason})")


def shard(number: int) -> Shard:
    return Shard(number, (Example(f"e{number}", "He ran.", 1),))


def test_shards_wait_for_workers_that_are_ready_in_their_order() -> None:
    engine = _Engine(2)
    for number in range(3):
        engine.submit(shard(number))
    assert [slot.sent for slot in engine.slots] == [[], []]
    engine.ready(1)
    engine.ready(0)
    assert [slot.sent for slot in engine.slots] == [[1], [0]]
    found = engine.done(1)
    assert found is not None and found.shard == (0, 0)
    assert engine.slots[1].sent == [0, 2]


def test_a_worker_that_dies_at_work_is_replaced_and_its_shard_told() -> None:
    engine = _Engine(1)
    engine.ready(0)
    engine.submit(shard(7))
    assert engine.died(0) == Lost(shard(7), "signal 9")
    assert engine.n_started == 2
    assert not engine.slots[0].is_ready


def test_a_worker_that_dies_idle_is_replaced_and_nothing_is_lost() -> None:
    engine = _Engine(1)
    engine.ready(0)
    assert engine.died(0) is None
    assert engine.n_started == 2


def test_a_worker_that_dies_while_it_loads_ends_the_run() -> None:
    engine = _Engine(2)
    engine.ready(0)
    with pytest.raises(UsageError, match=r"ended while it loaded the victim \(signal 9\)"):
        engine.died(1)
    assert engine.n_started == 2


def test_what_a_worker_raised_is_raised_here() -> None:
    engine = _Engine(1)
    with pytest.raises(UsageError, match="no such model"):
        engine._answered(engine.slots[0], "error", ("UsageError", "no such model"))
