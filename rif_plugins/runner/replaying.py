"""Findings of a run, asked again: do they still hold on the same or on another model?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rif_plugins.core.outcomes import classify
from rif_plugins.core.results import Record, status_of
from rif_plugins.core.run_result import ALL_TARGETS, RunResult, write_records
from rif_plugins.core.victim import Budget
from rif_plugins.errors import RIFError, UsageError
from rif_plugins.metrics.rates import Rate
from rif_plugins.runner.building import Parts, build_parts
from rif_plugins.runner.label_matching import LabelMatch
from rif_plugins.runner.options import AuditOptions
from rif_plugins.settings import Settings
from rif_plugins.victims.base import Victim

SCHEMA = "rif-replay/1"
STOP_REASON = "replayed"
TEXTS = ("original", "similar", "perturbed_original", "perturbed_similar")
_BLOCK = 256
_CHAT_SETTINGS = ("llm_samples", "llm_max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class Replay:
    """One finding, asked again.

    Attributes:
        before: The record of the run.
        after: The same with the probabilities, outcomes and status of now; status ``error`` where the model
            failed on it.
    """

    before: Record
    after: Record

    @property
    def holds(self) -> bool:
        """True when the pair, edited or not, is in the target outcome now."""
        return self.after.is_found

    @property
    def verdict(self) -> str:
        """In words: ``holds``, ``holds unedited``, ``gone``, ``error``, or ``now`` another violation."""
        after = self.after
        if after.status == "error":
            return "error"
        if self.holds:
            is_new = after.status == "natural" and self.before.status != "natural"
            return "holds unedited" if is_new else "holds"
        return "gone" if after.outcome == "robust_fair" else f"now {after.outcome}"


@dataclass(frozen=True)
class ReplayResult:
    """All findings that were asked again.

    Attributes:
        replays: In the order of the run.
        model: Name of the model that was asked.
        fingerprint: Its fingerprint; None where it has none.
        is_same_model: Whether it is the model of the run; None where a fingerprint is missing.
        notes: What to know before trusting the figures: another model, other class names.
    """

    replays: tuple[Replay, ...]
    model: str
    fingerprint: str | None
    is_same_model: bool | None
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> Rate:
        """Findings that hold, of those that got an answer."""
        return _rate(self.replays)

    def by_target(self) -> dict[str, Rate]:
        """The same for each target, in the usual order."""
        found = {replay.before.target for replay in self.replays}
        names = [name for name in ALL_TARGETS if name in found] + sorted(found - set(ALL_TARGETS))
        return {name: _rate([r for r in self.replays if r.before.target == name]) for name in names}

    @property
    def n_errors(self) -> int:
        """Findings on which the model failed."""
        return sum(replay.after.status == "error" for replay in self.replays)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "victim_fingerprint": self.fingerprint,
            "is_same_model": self.is_same_model,
            "notes": list(self.notes),
            "n_findings": len(self.replays),
            "n_errors": self.n_errors,
            "holds": self.rate.to_dict(),
            "by_target": {name: rate.to_dict() for name, rate in self.by_target().items()},
            "findings": [
                {
                    "id": r.before.id,
                    "target": r.before.target,
                    "attribute": r.before.attribute,
                    "status_before": r.before.status,
                    "outcome_before": r.before.outcome,
                    "status": r.after.status,
                    "clean_outcome": r.after.clean_outcome,
                    "outcome": r.after.outcome,
                    "holds": r.holds,
                    "verdict": r.verdict,
                }
                for r in self.replays
            ],
        }


def replay_options(
    run: RunResult,
    model: str | None = None,
    *,
    device: str | None = None,
    max_length: int | None = None,
    victim_output: str | None = None,
) -> AuditOptions:
    """How to load the model: as the run did, unless told otherwise.

    Another model keeps the run's device and batch size; its longest text and its output are its own.

    Raises:
        UsageError: The run does not say which model it audited.
    """
    options = run.configuration.get("options") or {}
    settings = run.configuration.get("settings") or {}
    spec = model or options.get("model")
    if not spec:
        raise UsageError("the run does not tell which model it audited: name one with --model")
    output = victim_output or ("auto" if model else settings.get("victim_output") or "auto")
    is_chat = str(spec).startswith("llm:")
    names = options.get("label_names") if is_chat or not model else None
    return AuditOptions(
        model=str(spec),
        data="",
        # Nothing is searched: no filter; and a kept answer would not show that the model has changed.
        settings=Settings().updated(
            victim_output=output,
            batch_size=str(settings.get("batch_size") or Settings().batch_size),
            entailment="none",
            cache="off",
            **{key: settings[key] for key in _CHAT_SETTINGS if is_chat and settings.get(key) is not None},
        ),
        prompt=Path(options["prompt"]) if is_chat and options.get("prompt") else None,
        label_names=tuple(map(str, names)) if names else None,
        device=device or options.get("device"),
        max_length=max_length if max_length or model else options.get("max_length"),
    )


def replay(
    run: RunResult, findings: Sequence[Record], options: AuditOptions, victim: Victim | None = None
) -> ReplayResult:
    """Ask the model about the four texts of every finding.

    Args:
        run: The run that the findings are of.
        findings: The findings.
        options: From :func:`replay_options`.
        victim: In place of the model that the options name.

    Raises:
        UsageError: The model cannot be loaded, or has other classes than the run's.
    """
    parts = _loaded(run, options) if victim is None else build_parts(options, victim)
    reader = LabelMatch.of(run.configuration, parts.victim.label_names)
    replays: list[Replay] = []
    for start in range(0, len(findings), _BLOCK):
        block = findings[start : start + _BLOCK]
        clock = time.perf_counter()
        requests = [([getattr(record, name) for name in TEXTS], Budget()) for record in block]
        answers = parts.engine.predict_each(requests)
        seconds = (time.perf_counter() - clock) / len(block)
        for record, answer, (_, budget) in zip(block, answers, requests, strict=True):
            cost = {"victim_rows": budget.spent, "cache_hits": budget.hits}
            after = _again(record, answer, reader)
            replays.append(Replay(record, replace(after, queries=cost, seconds=round(seconds, 4))))
    if replays and all(one.after.status == "error" for one in replays):
        raise UsageError(
            f"the model {parts.victim.name} failed on every finding, first with: {replays[0].after.message}"
        )
    is_same, note = _same_model(run, parts)
    return ReplayResult(
        tuple(replays), parts.victim.name, parts.fingerprint.value, is_same, (note, *reader.notes)
    )


def _loaded(run: RunResult, options: AuditOptions) -> Parts:
    try:
        return build_parts(options)
    except RIFError as error:
        if options.model != (run.configuration.get("options") or {}).get("model"):
            raise
        raise UsageError(
            f"{error} (run.json names the model {options.model!r}; where it has moved, name it with --model)"
        ) from error


def _same_model(run: RunResult, parts: Parts) -> tuple[bool | None, str]:
    before, now = run.configuration.get("victim_fingerprint"), parts.fingerprint.value
    name = parts.victim.name
    if before is None or now is None:
        reason = parts.fingerprint.reason if now is None else "the run has no fingerprint of its model"
        return None, f"whether {name} is the model of the run is not known: {reason}"
    if before == now:
        return True, f"{name} is the model of the run: its fingerprint is the same"
    return False, f"{name} is not the model of the run: fingerprint {now[:12]}, the run's {str(before)[:12]}"


def _again(record: Record, answer: Any, reader: LabelMatch) -> Record:
    """The record with what the model says now; steps, saliency and certificates belong to the search."""
    bare = replace(
        record,
        stop_reason=STOP_REASON,
        trajectory=[],
        pii={},
        pid={},
        saliency=[],
        largest_error=0.0,
        n_tried=0,
        certificate={},
    )
    if isinstance(answer, Exception):
        return replace(bare, status="error", stop_reason="error", message=str(answer))
    rows = np.asarray(answer)
    label = reader.label(record, rows)
    a, b, c, d = (int(column) for column in rows.argmax(axis=1))
    clean, final = classify(label, a, b), classify(label, c, d)
    return replace(
        bare,
        label=label,
        clean_outcome=str(clean),
        outcome=str(final),
        status=status_of(clean, final, record.target),
        probabilities={
            name: [round(float(value), 8) for value in row] for name, row in zip(TEXTS, rows, strict=True)
        },
    )


def write_replay(result: ReplayResult, path: Path) -> None:
    """Write the records of now, one a finding, in place of an earlier replay.

    Raises:
        UsageError: The file cannot be written.
    """
    temporary = path.with_name(path.name + ".new")
    try:
        temporary.unlink(missing_ok=True)
        write_records(temporary, (replay.after for replay in result.replays))
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; give another folder with --out") from error


def _rate(replays: Sequence[Replay]) -> Rate:
    answered = [replay for replay in replays if replay.after.status != "error"]
    return Rate(sum(replay.holds for replay in answered), len(answered))
