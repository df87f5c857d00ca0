"""How many one-word edits a second a filter judges."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rif_plugins.entailment import EntailmentFilter, EntailmentScorer

from .samples import EditPair

REPEATS = 3


def edits_a_second(
    scorer: EntailmentScorer, edits: Sequence[EditPair], *, veto: Any = "auto"
) -> dict[str, Any]:
    """Edits a second, the best of three runs without remembered answers.

    ``accepts`` is what a search asks for, yes or no: one direction is enough to refuse. ``both_directions``
    is what a record or a table needs.
    """
    pairs = [edit.pair for edit in edits]
    scorer.probabilities(pairs[:64])
    result: dict[str, Any] = {"edits": len(pairs)}
    for name in ("accepts", "both_directions"):
        best = float("inf")
        for _ in range(REPEATS):
            forget = getattr(scorer, "forget", None)
            if forget is not None:
                forget()
            gate = EntailmentFilter(scorer, veto=veto)
            started = time.perf_counter()
            if name == "accepts":
                gate.accepts(pairs)
            else:
                gate.check_many(pairs)
            best = min(best, time.perf_counter() - started)
        result[name] = round(len(pairs) / best, 1)
        result[f"rows_{name}"] = gate.rows
    return result
