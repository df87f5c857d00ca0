from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.runner.costs import Cost
from rif_plugins.runner.shards import MOST_LOST, Lost, Shard, ShardResult, cut_into_shards, run_shards

KILLER, WEAK = "kills its worker", "kills its worker once"


def example(number: int, text: str = "He ran.") -> Example:
    return Example(f"e{number}", text, 1)


def record(of: Example) -> Record:
    return Record(id=of.id, example=of.id, target="", status="skipped", stop_reason="x")


class ScriptedEngine:
    """Searches in this process; loses shards with a killer in them, and gives answers back in any order."""

    def __init__(self, n_slots: int, order: Iterable[int] = ()) -> None:
        self.n_slots = n_slots
        self.under_way: deque[Shard] = deque()
        self.searched: list[str] = []
        self.most = 0
        self._order = iter(order)
        self._weak: set[str] = set()

    def submit(self, shard: Shard) -> None:
        self.under_way.append(shard)
        self.most = max(self.most, len(self.under_way))

    def next(self) -> ShardResult | Lost:
        self.under_way.rotate(-next(self._order, 0))
        shard = self.under_way.popleft()
        for one in shard.examples:
            self.searched.append(one.id)
            if one.text == KILLER or (one.text == WEAK and one.id not in self._weak):
                self._weak.add(one.id)
                return Lost(shard, "signal 9")
        records = [[record(one)] for one in shard.examples]
        return ShardResult((shard.number, shard.part), records, Cost(victim_rows=len(records)))

    def close(self) -> None:
        self.under_way.clear()


def shards_of(examples: list[Example], size: int) -> list[Shard]:
    return [
        Shard(number, tuple(examples[start : start + size]))
        for number, start in enumerate(range(0, len(examples), size))
    ]


@given(
    texts=st.lists(st.sampled_from(["He ran."] * 6 + [WEAK, KILLER]), max_size=30),
    size=st.integers(1, 5),
    n_slots=st.integers(1, 4),
    order=st.lists(st.integers(0, 3), max_size=60),
)
def test_every_example_has_its_records_in_order_whatever_is_lost(
    texts: list[str], size: int, n_slots: int, order: list[int]
) -> None:
    examples = [example(number, text) for number, text in enumerate(texts)]
    engine = ScriptedEngine(n_slots, order)
    try:
        results = list(run_shards(engine, shards_of(examples, size), seed=5))
    except UsageError:
        assert texts.count(KILLER) * 2 + texts.count(WEAK) >= MOST_LOST
        return
    records = [found for result in results for (found,) in result.records]
    assert [found.example for found in records] == [one.id for one in examples]
    for number, found in enumerate(records):
        shard = texts[number // size * size :][:size]
        if texts[number] != WEAK or len(shard) - shard.count("He ran.") == 1:
            assert (found.status == "error") == (texts[number] == KILLER)
    n_errors = sum(found.status == "error" for found in records)
    assert sum(result.cost.victim_rows for result in results) == len(texts) - n_errors
    assert engine.most <= n_slots
    # Lost work is done again once: nothing is searched a third time.
    assert all(engine.searched.count(one.id) <= 2 for one in examples)


def test_an_example_that_kills_twice_says_how() -> None:
    engine = ScriptedEngine(1)
    (result,) = run_shards(engine, shards_of([example(0), example(1, KILLER), example(2)], 3), seed=5)
    (error,) = result.records[1]
    assert error.message == (
        "the worker process that searched this example ended twice (signal 9), perhaps for lack of memory: "
        "mend the victim on its texts, or use fewer workers"
    )
    assert (error.seed, error.label, error.original) == (5, 1, KILLER)
    assert engine.searched == ["e0", "e1", "e0", "e1", "e2"]


def test_workers_that_only_die_end_the_run() -> None:
    examples = [example(number, KILLER) for number in range(2 * MOST_LOST)]
    with pytest.raises(UsageError, match=f"ended {MOST_LOST} times in a row .signal 9., expected records"):
        list(run_shards(ScriptedEngine(2), shards_of(examples, 4), seed=0))


def test_a_slow_shard_does_not_let_the_others_pile_up() -> None:
    class Slow(ScriptedEngine):
        def next(self) -> ShardResult | Lost:
            if len(self.under_way) > 1 and self.under_way[0].number == 0:
                self.under_way.rotate(-1)  # the first shard comes back last
            return super().next()

    engine = Slow(2)
    taken: list[int] = []

    def source() -> Iterable[Shard]:
        for shard in cut_into_shards([example(number) for number in range(6400)], 1):
            taken.append(shard.number)
            yield shard

    first = next(iter(run_shards(engine, source(), seed=0)))
    assert first.shard == (0, 0)
    assert len(taken) <= 8


def test_nothing_to_do() -> None:
    assert list(run_shards(ScriptedEngine(2), [], seed=0)) == []
