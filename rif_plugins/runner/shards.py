"""Examples as shards for several processes or machines, and what happens when one of these dies.

An *engine* is the only part that knows where shards are searched. It starts workers, hands each of them a
shard, and says which shards came back and which were lost; everything else (order, back-pressure, doing lost
work again, giving up) is here and the same for all engines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.runner.costs import Cost
from rif_plugins.runner.records import skipped_record

SHARD = 32
# Shards that are under way or wait for an earlier one, for each that may be under way.
_AHEAD = 4
# Crashes in a row that no searched shard interrupts: then it is not the examples.
MOST_LOST = 32


@dataclass(frozen=True, slots=True)
class Shard:
    """Examples that one worker searches.

    Attributes:
        number: Its place in the run; lost work comes again under the same number.
        examples: The examples, in the order of the data.
        part: Its place among the parts that a lost shard is cut into.
    """

    number: int
    examples: tuple[Example, ...]
    part: int = 0


@dataclass(frozen=True, slots=True)
class ShardResult:
    """A shard that was searched.

    Attributes:
        shard: Number and part of the shard.
        records: Those of each example, in the order of the shard's examples.
        cost: What they have cost.
    """

    shard: tuple[int, int]
    records: list[list[Record]]
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True)
class Lost:
    """A shard whose worker ended before its work was done.

    Attributes:
        shard: The shard.
        reason: How the worker ended, in words such as ``"signal 9"``.
    """

    shard: Shard
    reason: str


class Engine(Protocol):
    """Where shards are searched: the processes of this machine, or a cluster.

    An engine calls ``ShardWorker(options)`` once a worker and that object once a shard. It replaces a worker
    that died, and tells the loss of its shard; it never does work again by itself.

    Attributes:
        n_slots: Shards that can be under way at the same time.
    """

    n_slots: int

    def submit(self, shard: Shard) -> None:
        """Begin a shard; called for at most ``n_slots`` shards that have not come back."""
        ...  # pragma: no cover

    def next(self) -> ShardResult | Lost:
        """Wait for any of the shards under way.

        Raises:
            RIFError: What a worker raised; it ends the run.
        """
        ...  # pragma: no cover

    def close(self) -> None:
        """End all workers, also those that are at work; idempotent."""
        ...  # pragma: no cover


def cut_into_shards(examples: Sequence[Example], n_workers: int) -> Iterator[Shard]:
    """Equal parts; small runs are cut finer, so that every worker has some."""
    size = max(1, min(SHARD, len(examples) // (2 * n_workers)))
    source, number = iter(examples), 0
    while chosen := tuple(islice(source, size)):
        yield Shard(number, chosen)
        number += 1


def run_shards(engine: Engine, shards: Iterable[Shard], *, seed: int) -> Iterator[ShardResult]:
    """Search all shards and yield their results in order.

    The examples of a shard that was lost are searched again once, each alone, so that one that kills its
    worker costs no other example. Where that worker dies as well, the example ends in an error record.

    Args:
        engine: Where to search; the caller closes it.
        shards: Numbered from 0; taken as there is room for them.
        seed: The run's seed, for error records.

    Raises:
        UsageError: Workers died again and again without any work done.
    """
    source = iter(shards)
    waiting: deque[Shard] = deque()
    open_shards: dict[int, _Open] = {}
    emitted = n_under_way = n_lost = 0
    started = 0
    is_dry = False
    while True:
        while n_under_way < engine.n_slots:
            if not waiting and not is_dry and started - emitted < _AHEAD * engine.n_slots:
                shard = next(source, None)
                if shard is None:
                    is_dry = True
                else:
                    open_shards[shard.number] = _Open([None])
                    waiting.append(shard)
                    started += 1
            if not waiting:
                break
            engine.submit(waiting.popleft())
            n_under_way += 1
        if emitted in open_shards and open_shards[emitted].is_done:
            yield open_shards.pop(emitted).merged(emitted)
            emitted += 1
            continue
        if not n_under_way:
            return
        answer = engine.next()
        n_under_way -= 1
        if isinstance(answer, ShardResult):
            n_lost = 0
            open_shards[answer.shard[0]].parts[answer.shard[1]] = answer
            continue
        n_lost += 1
        if n_lost >= MOST_LOST:
            raise UsageError(
                f"worker processes ended {n_lost} times in a row ({answer.reason}), expected records: use "
                "fewer workers if memory is short, or mend the victim"
            )
        waiting.extendleft(reversed(open_shards[answer.shard.number].lost(answer, seed)))


@dataclass(slots=True)
class _Open:
    """A shard, whole or in parts, that is not emitted yet."""

    parts: list[ShardResult | None]
    is_cut: bool = False

    @property
    def is_done(self) -> bool:
        return all(part is not None for part in self.parts)

    def lost(self, lost: Lost, seed: int) -> list[Shard]:
        """What is to be searched again; an example that was, and is lost again, is answered with an error."""
        number, examples = lost.shard.number, lost.shard.examples
        if not self.is_cut:
            self.is_cut = True
            self.parts = [None] * len(examples)
            return [Shard(number, (example,), part) for part, example in enumerate(examples)]
        message = (
            f"the worker process that searched this example ended twice ({lost.reason}), perhaps for lack of "
            "memory: mend the victim on its texts, or use fewer workers"
        )
        errors = [[skipped_record(example, message, seed=seed, status="error")] for example in examples]
        self.parts[lost.shard.part] = ShardResult((number, lost.shard.part), errors)
        return []

    def merged(self, number: int) -> ShardResult:
        found = [part for part in self.parts if part is not None]
        records = [of_example for part in found for of_example in part.records]
        return ShardResult((number, 0), records, sum((part.cost for part in found), Cost()))
