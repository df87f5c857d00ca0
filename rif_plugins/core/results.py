"""One record a pair and target: what was asked, what was found, what it cost.

The JSON form is a contract (`SCHEMA`): fields are added, never renamed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome, is_in_target
from rif_plugins.core.pair_search import PairSearchResult, Step
from rif_plugins.core.pairs import Edit, Pair
from rif_plugins.core.record_fields import check_fields
from rif_plugins.errors import DataError

FloatArray = NDArray[np.float64]
SCHEMA = "rif-results/1"
Status = Literal["natural", "induced", "shifted", "failed", "skipped", "error"]
_LEFT_OUT = ("notes", "uncertainty")  # where they are empty
STATUSES: tuple[Status, ...] = ("natural", "induced", "shifted", "failed", "skipped", "error")


@dataclass(frozen=True, slots=True)
class Record:
    """One line of ``results.jsonl``.

    Attributes:
        id: Stable name of this pair and target.
        example: Name of the data row.
        status: ``natural`` (the clean pair is in the target), ``induced`` (clean ``robust_fair``, found
            pair in the target), ``shifted`` (reached from another violation), ``failed``, ``skipped``
            or ``error``.
        stop_reason: Why the search ended, or why the example was skipped.
        probabilities: Class probabilities by text name (``original`` ... ``perturbed_similar``).
        edits: ``{side, start, end, from, to}`` of each edit, in offsets of the unedited text, and ``source``,
            the proposer that the replacement comes from, where the run knows it.
        equivalence: By side: ``forward``, ``backward``, ``score``.
        scorer: Name and version of the entailment scorer that judged the edits.
        value_from, value_to: The attribute's value on each side, such as ``"male"``, ``"female"``.
        saliency: ``{side, start, end, score}`` of the ranked tokens, where they were recorded.
        largest_error: Largest ``1 - p_y`` of the admissible texts of this pair that the victim saw.
        n_tried: How many these were.
        certificate: After an exhaustive search: the most edits a side, and how many texts were examined.
        pii, pid: By side, one value a step: size of the change of ``p_y`` per changed token, and its sign.
        queries: ``victim_rows``, ``cache_hits``, ``entailment_rows``, ``proposer_calls``, and ``llm_calls``
            where there were any.
        message: The error, where there was one.
        notes: What went wrong on the way without ending the search, such as a failed proposer; those of an
            example stand in its first record. Left out of the JSON form where there are none.
        uncertainty: By text name, how sure a victim is that does not repeat its answers (``samples``,
            ``standard_error``, ``askings``, ``agreement``); left out where it does.
    """

    id: str
    example: str
    target: str
    status: Status
    stop_reason: str
    label: int | None = None
    attribute: str = ""
    clean_outcome: str = ""
    outcome: str = ""
    original: str = ""
    similar: str = ""
    perturbed_original: str = ""
    perturbed_similar: str = ""
    swaps: list[dict[str, Any]] = field(default_factory=list)
    edits: list[dict[str, Any]] = field(default_factory=list)
    probabilities: dict[str, list[float]] = field(default_factory=dict)
    equivalence: dict[str, dict[str, float]] = field(default_factory=dict)
    trajectory: list[dict[str, Any]] = field(default_factory=list)
    pii: dict[str, list[float]] = field(default_factory=dict)
    pid: dict[str, list[float]] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    seed: int = 0
    scorer: str = ""
    message: str = ""
    value_from: str = ""
    value_to: str = ""
    saliency: list[dict[str, Any]] = field(default_factory=list)
    largest_error: float = 0.0
    n_tried: int = 0
    certificate: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    uncertainty: dict[str, dict[str, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, schema first."""
        data = {"schema": SCHEMA, **{name: getattr(self, name) for name in self.__slots__}}
        for name in _LEFT_OUT:
            if not data[name]:
                del data[name]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """Read the JSON form; unknown fields of a later minor version are ignored.

        Raises:
            DataError: Another schema, a missing field or an unknown status.
        """
        if data.get("schema") != SCHEMA:
            raise DataError(f"record has schema {data.get('schema')!r}, expected {SCHEMA!r}")
        missing = [name for name in ("id", "example", "target", "status", "stop_reason") if name not in data]
        if missing:
            raise DataError(f"record lacks the field {missing[0]!r}, expected all fields of {SCHEMA}")
        if data["status"] not in STATUSES:
            raise DataError(f"record has status {data['status']!r}, expected one of {', '.join(STATUSES)}")
        check_fields(data)
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})

    @property
    def is_evaluated(self) -> bool:
        """True when the pair was searched (neither skipped nor an error)."""
        return self.status not in ("skipped", "error")

    @property
    def is_found(self) -> bool:
        """True when the pair ends in the target outcome."""
        return self.status in ("natural", "induced", "shifted")


def status_of(clean: Outcome, final: Outcome, target: Outcome | str) -> Status:
    """Natural, induced, shifted or failed, by the clean and the final outcome."""
    if is_in_target(clean, target):
        return "natural"
    if not is_in_target(final, target):
        return "failed"
    return "induced" if clean is Outcome.ROBUST_FAIR else "shifted"


def record_id(example: str, pair: Pair, target: str) -> str:
    """A short stable id of one pair and target."""
    key = "\x1f".join((example, pair.original, pair.similar, str(target)))
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def pair_record(
    pair: Pair,
    *,
    texts: tuple[str, str],
    edits: Sequence[Edit],
    clean: FloatArray,
    final: FloatArray,
    outcomes: tuple[Outcome, Outcome],
    **fields: Any,
) -> Record:
    """The record of an evaluated pair.

    Args:
        pair: The pair.
        texts: The perturbed original and the perturbed similar text.
        edits: The edits of both sides.
        clean: Class probabilities of the unedited texts, ``(2, k)``.
        final: Those of the perturbed texts, ``(2, k)``.
        outcomes: The clean and the final outcome.
        **fields: All other fields of ``Record``.
    """
    return Record(
        attribute=pair.attribute,
        value_from=pair.value_from,
        value_to=pair.value_to,
        clean_outcome=str(outcomes[0]),
        outcome=str(outcomes[1]),
        original=pair.original,
        similar=pair.similar,
        perturbed_original=texts[0],
        perturbed_similar=texts[1],
        swaps=[{"start": s.start, "end": s.end, "from": s.source, "to": s.target} for s in pair.swaps],
        edits=[
            {"side": e.side, "start": e.start, "end": e.end, "from": e.source, "to": e.target} for e in edits
        ],
        probabilities={
            "original": _floats(clean[0]),
            "similar": _floats(clean[1]),
            "perturbed_original": _floats(final[0]),
            "perturbed_similar": _floats(final[1]),
        },
        **fields,
    )


def searched_record(
    pair: Pair,
    result: PairSearchResult[Any],
    *,
    texts: tuple[str, str],
    edits: Sequence[Edit],
    example: str,
    label: int,
    target: Outcome | str,
    seed: int,
) -> Record:
    """The record of a searched pair, costs and equivalence still to be added.

    Args:
        pair: The pair.
        result: What the search returned.
        texts: The perturbed original and the perturbed similar text.
        edits: The edits of both sides.
        example: Name of the data row.
        label: The right label.
        target: The outcome aimed at, or the name of a single-axis attack.
        seed: The run's seed.
    """
    pii, pid = impacts(result.trajectory)
    return pair_record(
        pair,
        texts=texts,
        edits=edits,
        clean=np.stack([result.clean.p, result.clean.p_similar]),
        final=np.stack([result.state.p, result.state.p_similar]),
        outcomes=(result.clean_outcome, result.outcome),
        id=record_id(example, pair, target),
        example=example,
        label=int(label),
        target=str(target),
        status=status_of(result.clean_outcome, result.outcome, target),
        stop_reason=result.stop_reason,
        trajectory=[
            {
                "step": s.step,
                "p_original": round(s.p_original, 8),
                "p_similar": round(s.p_similar, 8),
                "objective": round(s.objective, 8),
            }
            for s in result.trajectory
        ],
        pii=pii,
        pid=pid,
        seed=seed,
    )


def impacts(trajectory: Sequence[Step]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Perturbation impact intensity and direction (PII, PID) of each side and step.

    Without gradients ``f = p_y``: ``PII = |p_t - p_(t-1)| / tokens changed in the step`` and
    ``PID = sign(p_t - p_(t-1))``; a side that did not change has 0 for both.
    """
    pii: dict[str, list[float]] = {"original": [], "similar": []}
    pid: dict[str, list[float]] = {"original": [], "similar": []}
    for before, after in pairwise(trajectory):
        for side in ("original", "similar"):
            change = getattr(after, f"p_{side}") - getattr(before, f"p_{side}")
            n_tokens = getattr(after, f"n_edits_{side}") - getattr(before, f"n_edits_{side}")
            pii[side].append(round(abs(change) / n_tokens, 8) if n_tokens else 0.0)
            pid[side].append(float((change > 0) - (change < 0)) if n_tokens else 0.0)
    return pii, pid


def _floats(values: Any) -> list[float]:
    return [round(float(value), 8) for value in values]
