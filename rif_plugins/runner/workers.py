"""Several processes on one machine, each with its own victim and filter.

Examples are independent: seeds depend on the run's seed and the example alone, so the records are those of
one process, in the same order.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.runner.building import Parts, build_parts, build_sweep
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.sweep import Sweep

_SHARD = 32
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Cost:
    """What a part of the run has cost."""

    victim_rows: int = 0
    cache_hits: int = 0
    stored_hits: int = 0
    entailment_rows: int = 0
    entailment_hits: int = 0
    victim_seconds: float = 0.0
    entailment_seconds: float = 0.0
    proposer_seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return self._with(other, 1)

    def __sub__(self, other: Cost) -> Cost:
        return self._with(other, -1)

    def _with(self, other: Cost, sign: int) -> Cost:
        sums: dict[str, Any] = {
            name: getattr(self, name) + sign * getattr(other, name) for name in self.__dataclass_fields__
        }
        return Cost(**sums)


def cost_of(sweep: Sweep) -> Cost:
    """What a sweep has cost so far."""
    engine, entailment = sweep.engine, sweep.entailment
    return Cost(
        engine.rows,
        engine.cache_hits,
        engine.stored_hits,
        0 if entailment is None else entailment.rows,
        0 if entailment is None else entailment.cache_hits + entailment.stored_hits,
        engine.seconds,
        sweep.clock.entailment,
        sweep.clock.proposer,
    )


def run_workers(
    options: AuditOptions, examples: Sequence[Example], n_workers: int
) -> Iterator[tuple[list[list[Record]], Cost]]:
    """The records of all examples in their order, a shard at a time, and what each shard has cost.

    Args:
        options: What to do; the victim is loaded in each worker from ``options.model``.
        examples: The examples.
        n_workers: Processes.

    Raises:
        UsageError: A process ended before its work was done.
    """
    shards = [list(shard) for shard in _shards(examples, n_workers)]
    threads = max(1, (os.cpu_count() or 1) // n_workers)
    context = get_context("spawn")
    with (
        _environment(dict.fromkeys(_THREADS, str(threads))),
        ProcessPoolExecutor(n_workers, mp_context=context, initializer=_start, initargs=(options,)) as pool,
    ):
        try:
            yield from pool.map(_work, shards)
        except BrokenProcessPool as error:
            raise UsageError(
                f"one of {n_workers} worker processes ended before its work was done, perhaps for lack of "
                "memory: use fewer workers, and go on with what is written by --resume"
            ) from error


def _shards(examples: Sequence[Example], n_workers: int) -> Iterator[list[Example]]:
    """Equal parts; small runs are cut finer, so that every worker has some."""
    size = max(1, min(_SHARD, len(examples) // (2 * n_workers)))
    source = iter(examples)
    while shard := list(islice(source, size)):
        yield shard


@contextmanager
def _environment(defaults: dict[str, str]) -> Iterator[None]:
    """Variables that processes started meanwhile see; those that are set already stay."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@dataclass
class _Worker:
    parts: Parts
    sweep: Sweep


_worker: list[_Worker] = []


def _start(options: AuditOptions) -> None:
    sys.stdout = sys.stderr  # what a user's model prints must not stand in the result
    parts = build_parts(options)
    _worker[:] = [_Worker(parts, build_sweep(options, parts))]


def _work(examples: list[Example]) -> tuple[list[list[Record]], Cost]:
    worker = _worker[0]
    before = cost_of(worker.sweep)
    records = list(worker.sweep.run(examples))
    if worker.parts.store is not None:
        worker.parts.store.close()
    return records, cost_of(worker.sweep) - before
