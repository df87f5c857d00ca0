"""What a part of a run has cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.runner.sweep import Sweep


@dataclass(frozen=True)
class Cost:
    """Rows, answers that were remembered, and seconds; costs add up."""

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


def counted(records: Sequence[Record], name: str) -> int:
    """One of the counters of ``Record.queries``, over some records."""
    return sum(record.queries.get(name, 0) for record in records)
