"""`--dry-run`: how many pairs, rows and minutes an audit would take, from a small sample of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rif_plugins.runner.audit import Audit
from rif_plugins.runner.building import build_sweep
from rif_plugins.runner.workers import cost_of

SCHEMA = "rif-estimate/1"
_SAMPLE = 8


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an audit would cost.

    Attributes:
        n_examples, n_covered, n_pairs: Examples, those with a pair, and pairs: counted.
        victim_rows, entailment_rows, minutes: Extrapolated from ``n_sampled`` examples that were searched.
    """

    n_examples: int
    n_covered: int
    n_pairs: int
    by_attribute: dict[str, int]
    victim_rows: int
    entailment_rows: int
    minutes: float
    n_sampled: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"schema": SCHEMA, **{name: getattr(self, name) for name in self.__slots__}}

    def text(self) -> str:
        """For people."""
        attributes = ", ".join(f"{name} {n}" for name, n in sorted(self.by_attribute.items())) or "none"
        share = self.n_covered / self.n_examples if self.n_examples else 0.0
        return (
            f"examples            {self.n_examples}\n"
            f"with similar texts  {self.n_covered} ({share:.1%})\n"
            f"pairs               {self.n_pairs} ({attributes})\n"
            f"victim rows         about {self.victim_rows}\n"
            f"entailment rows     about {self.entailment_rows}\n"
            f"time                about {self.minutes:.1f} minutes\n"
            f"rows and time: extrapolated from {self.n_sampled} examples, evenly spread, that were searched"
        )


def estimate(audit: Audit) -> Estimate:
    """Count the pairs, search a few examples, and extrapolate by pairs."""
    found = [(example, pairs) for example, pairs in audit.pairs() if pairs]
    n_pairs = sum(len(pairs) for _, pairs in found)
    by_attribute: dict[str, int] = {}
    for _, pairs in found:
        for pair in pairs:
            by_attribute[pair.attribute] = by_attribute.get(pair.attribute, 0) + 1
    step = max(1, len(found) // _SAMPLE)
    sample = found[::step][:_SAMPLE]
    sweep = build_sweep(audit.options, audit.parts)
    before, start = cost_of(sweep), time.perf_counter()
    try:
        for _ in sweep.run(example for example, _ in sample):
            pass
    finally:
        audit.parts.close()
    seconds = time.perf_counter() - start
    cost = cost_of(sweep) - before
    factor = n_pairs / max(1, sum(len(pairs) for _, pairs in sample))
    # Rows that this machine's cache answers now would be answered in the run as well.
    return Estimate(
        len(audit.examples),
        len(found),
        n_pairs,
        by_attribute,
        round(cost.victim_rows * factor),
        round(cost.entailment_rows * factor),
        seconds * factor / 60,
        len(sample),
    )
