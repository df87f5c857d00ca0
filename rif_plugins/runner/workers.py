"""Several processes on one machine, each with its own victim and filter.

Examples are independent: seeds depend on the run's seed and the example alone, so the records are those of
one process, in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing import connection as pipes
from typing import Any

from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.runner.building import build_sweep
from rif_plugins.runner.child_process import ChildProcess, begin_child, told
from rif_plugins.runner.costs import Cost as Cost
from rif_plugins.runner.costs import cost_of as cost_of
from rif_plugins.runner.guarding import build_guarded_parts, close_parts
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.shards import Engine, Lost, Shard, ShardResult, cut_into_shards, run_shards
from rif_plugins.runner.slots import Slot, SlotEngine

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
START_METHOD = "spawn"


class ShardWorker:
    """Searches shards; every worker of every engine is one of these.

    Args:
        options: What to do; the victim is loaded from ``options.model``.

    Raises:
        UsageError: Something cannot be loaded.
    """

    def __init__(self, options: AuditOptions) -> None:
        self._parts = build_guarded_parts(options)
        self._parts.engine.read_as(options.found_output)
        self._sweep = build_sweep(options, self._parts)

    def __call__(self, shard: Shard) -> ShardResult:
        """The records of a shard.

        Raises:
            RIFError: What concerns the whole run, such as a victim that gives no predictions.
        """
        before = cost_of(self._sweep)
        records = list(self._sweep.run(shard.examples))
        if self._parts.store is not None:
            self._parts.store.close()  # a worker may be ended at any time
        return ShardResult((shard.number, shard.part), records, cost_of(self._sweep) - before)

    def close(self) -> None:
        """End what was started."""
        close_parts(self._parts)


class ProcessEngine(SlotEngine["_Process"]):
    """An engine of processes on this machine, one victim in each.

    Args:
        options: What each worker does.
        n_workers: Processes.
        make: Makes a worker from the options; a function or class of a module.
        start_method: See ``multiprocessing``; ``"fork"`` is for programs without threads.
    """

    def __init__(
        self,
        options: AuditOptions,
        n_workers: int,
        *,
        make: Callable[[AuditOptions], Callable[[Shard], ShardResult]] = ShardWorker,
        start_method: str | None = None,
    ) -> None:
        # The order of the filter was decided once; a worker must not measure it again.
        self._options = replace(options, filter_first=bool(options.filter_first))
        self._make = make
        self._start_method = start_method or START_METHOD
        threads = max(1, (os.cpu_count() or 1) // n_workers)
        self._environment = dict.fromkeys(_THREADS, str(threads))
        super().__init__(n_workers)
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    def next(self) -> ShardResult | Lost:
        """Wait for a shard.

        Raises:
            RIFError: What a worker raised.
            UsageError: A worker ended while it loaded the victim.
        """
        while True:
            places: dict[Any, _Process] = {}
            for worker in self._slots:
                places[worker.child.connection] = places[worker.child.sentinel] = worker
            ready = {id(places[place]): places[place] for place in pipes.wait(list(places))}
            for worker in ready.values():
                answer = self._heard(worker)
                if answer is not None:
                    return answer

    def close(self) -> None:
        """End all workers; idempotent."""
        for worker in self._slots:
            if worker.is_ready and worker.shard is None:
                worker.child.leave()
            else:
                worker.child.end()
        self._slots = []

    def _started(self) -> _Process:
        child = ChildProcess(
            _work,
            (self._make, self._options),
            start_method=self._start_method,
            environment=self._environment,
        )
        return _Process(child)

    def _heard(self, worker: _Process) -> ShardResult | Lost | None:
        """What a worker says; None where that is nothing about a shard."""
        try:
            if not worker.child.connection.poll():
                raise EOFError
            kind, value = worker.child.connection.recv()
        except (EOFError, OSError):
            reason = worker.child.ending()
            worker.child.end()
            return self._lost(worker, reason)
        return self._answered(worker, kind, value)

    def _unloaded(self, reason: str) -> UsageError:
        advice = (
            "put the call of `audit` under `if __name__ == '__main__':` if it stands in a script"
            if reason == "exit code 1"
            else "use fewer workers if memory is short"
        )
        return UsageError(
            f"one of {self.n_slots} worker processes ended before its work was done ({reason}), while it "
            f"loaded the victim: {advice}"
        )


class _Process(Slot):
    """A child and what it does."""

    def __init__(self, child: ChildProcess) -> None:
        super().__init__()
        self.child = child

    def send(self, shard: Shard) -> None:
        with suppress(OSError):  # it has just died: the loss is heard next
            self.child.connection.send(shard)


def _work(
    connection: Any, make: Callable[[AuditOptions], Callable[[Shard], ShardResult]], options: AuditOptions
) -> None:
    """The life of a worker process."""
    begin_child()
    try:
        worker = make(options)
        connection.send(("ready", None))
        while (shard := _received(connection)) is not None:
            connection.send(("done", worker(shard)))
    except BrokenPipeError:
        return
    except Exception as error:
        connection.send(("error", told(error)))
        return
    close = getattr(worker, "close", None)
    if close is not None:
        close()


def _received(connection: Any) -> Shard | None:
    try:
        shard: Shard | None = connection.recv()
    except (EOFError, OSError):
        return None
    return shard


def run_workers(
    options: AuditOptions,
    examples: Sequence[Example],
    n_workers: int,
    *,
    start: Callable[[AuditOptions, int], Engine] | None = None,
) -> Iterator[ShardResult]:
    """The records of all examples in their order, a shard at a time, and what each shard has cost.

    Args:
        options: What to do; the victim is loaded in each worker from ``options.model``.
        examples: The examples.
        n_workers: Processes.
        start: Starts the engine from options and number of workers; None takes processes of this machine.

    Raises:
        UsageError: A worker cannot load its parts, or workers died again and again.
    """
    if not examples:
        return
    shards = cut_into_shards(examples, n_workers)
    engine = (start or ProcessEngine)(options, n_workers)
    try:
        yield from run_shards(engine, shards, seed=options.settings.seed)
    finally:
        engine.close()
