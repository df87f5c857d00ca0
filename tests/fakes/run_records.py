"""Records written by hand and drawn at random, for tests of metrics."""

from __future__ import annotations

from typing import Any

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.results import Record

TARGETS = ("robust_biased", "unrobust_fair", "unrobust_biased")
OUTCOMES = tuple(map(str, Outcome))
CODES = {"TF": OUTCOMES[0], "TB": OUTCOMES[1], "FF": OUTCOMES[2], "FB": OUTCOMES[3]}


def record(
    target: str, clean: str, final: str, *, example: str = "e1", pair: int = 0, **fields: Any
) -> Record:
    """One evaluated record; outcomes in the papers' letters, the status follows from them.

    For a baseline say ``status``.
    """
    before, after = CODES[clean], CODES[final]
    if "status" in fields:
        status = fields.pop("status")
    elif before == target:
        status = "natural"
    elif after != target:
        status = "failed"
    else:
        status = "induced" if clean == "TF" else "shifted"
    fields.setdefault("id", f"{example}/{pair}/{target}")
    fields.setdefault("label", 1)
    return Record(
        example=example,
        target=target,
        status=status,
        stop_reason="x",
        clean_outcome=before,
        outcome=after,
        original=f"{example} he",
        similar=f"{example} she {pair}",
        **fields,
    )


def sweep(clean: str, finals: str, **fields: Any) -> list[Record]:
    """The three targets of one pair; ``finals`` as in ``"TB TF TF"``."""
    return [
        record(target, clean, final, **fields) for target, final in zip(TARGETS, finals.split(), strict=True)
    ]


def skipped(example: str, reason: str = "no sensitive token") -> Record:
    return Record(
        id=f"{example}/s", example=example, target="", status="skipped", stop_reason=reason, label=0
    )


def failed_example(example: str) -> Record:
    return Record(
        id=f"{example}/e", example=example, target="", status="error", stop_reason="error", message="boom"
    )
