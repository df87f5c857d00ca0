"""`--fail-under` and `--baseline`: whether a run is good enough for whoever asks."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.results import SCHEMA, Record
from rif_plugins.core.run_result import AXES, RunResult
from rif_plugins.errors import DataError, UsageError
from rif_plugins.metrics.summary import summarise_run

_MAX_LINE = 64 << 20
_RATES = ("accuracy", "individual_fairness_rate", "robustness_rate", "fairness_rate", "rif_rate")


@dataclass(frozen=True, slots=True)
class Gate:
    """Least values of rates, and the findings that are accepted.

    Attributes:
        least: By rate.
        accepted: Ids of findings that do not count.
    """

    least: Mapping[str, float]
    accepted: frozenset[str]

    @classmethod
    def of(cls, conditions: Sequence[str], baseline: Path | None) -> Gate:
        """Read ``RATE=X`` conditions and a baseline file.

        Raises:
            UsageError: A condition is none; the rates are those that a higher value makes better.
            DataError: The baseline cannot be read.
        """
        least: dict[str, float] = {}
        for condition in conditions:
            name, _, value = condition.partition("=")
            if name.strip() not in _RATES:
                raise UsageError(
                    f"--fail-under {condition}: expected RATE=X with one of {', '.join(_RATES)}, "
                    f"got {name.strip()!r}"
                )
            try:
                number = float(value)
            except ValueError:
                number = -1.0
            if not 0.0 <= number <= 1.0:
                raise UsageError(f"--fail-under {condition}: expected a number from 0 to 1, got {value!r}")
            least[name.strip()] = number
        return cls(least, frozenset() if baseline is None else read_baseline(baseline))

    def unmet(self, run: RunResult) -> list[str]:
        """One line for each condition that the run does not meet; accepted findings count as standing."""
        if not self.least:
            return []
        summary: Mapping[str, Any] = run.summary
        if self.accepted:
            summary = summarise_run(standing(run, self.accepted), run.configuration)
        lines = []
        for name, least in self.least.items():
            rate = summary.get(name) or {}
            value = rate.get("value")
            if value is None:
                lines.append(f"--fail-under {name}={least:g} cannot be met: no pair was evaluated for it")
            elif value < least:
                beside = ", accepted findings aside" if self.accepted else ""
                lines.append(
                    f"{name} is {value:.4f} ({rate['successes']} of {rate['total']}{beside}), "
                    f"below --fail-under {least:g}"
                )
        return lines


def standing(run: RunResult, accepted: frozenset[str]) -> Iterator[Record]:
    """The records, each once, with every accepted finding turned into a pair that stands.

    The other searches of a pair start from the same clean texts: where all violations that were found for it
    are accepted, those that failed do not count a natural violation again. The records are read twice; of
    each finding that is not accepted 8 bytes are kept.
    """
    settled = _settled_pairs(run, accepted)
    stands = str(Outcome.ROBUST_FAIR)
    for record in run.distinct():
        is_settled = record.status == "failed" and _pair(record) in settled
        if is_settled or (record.is_found and record.id in accepted):
            yield replace(record, status="failed", clean_outcome=stands, outcome=stands)
        else:
            yield record


def _settled_pairs(run: RunResult, accepted: frozenset[str]) -> frozenset[int]:
    """Pairs with an accepted finding and no other one of the targets, as digests."""
    closed: set[int] = set()
    still_open = array("Q")
    for record in run.distinct() if accepted else ():
        if record.is_found and record.id in accepted:
            closed.add(_pair(record))
        elif record.is_found and record.target not in AXES:
            still_open.append(_pair(record))
    return frozenset(closed.difference(still_open))


def _pair(record: Record) -> int:
    """A pair in 8 bytes."""
    key = json.dumps([record.example, record.original, record.similar]).encode("ascii")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def read_baseline(path: Path) -> frozenset[str]:
    """Ids of accepted findings: a results.jsonl of an earlier run, or one id a line.

    Raises:
        DataError: The file is missing, or a line is neither.
    """
    ids: set[str] = set()
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                where = f"--baseline {path}, line {number}"
                if len(line) > _MAX_LINE:
                    raise DataError(f"{where}: expected a record or an id, got more than {_MAX_LINE} bytes")
                ids.update(_accepted(line.decode("utf-8-sig" if number == 1 else "utf-8").strip(), where))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--baseline {path} cannot be read ({error}): expected a results.jsonl, or one id a line"
        ) from error
    return frozenset(ids)


def _accepted(text: str, where: str) -> tuple[str, ...]:
    """The id that a line accepts; none where it is empty, a comment, or a record of no finding."""
    if not text or text.startswith("#"):
        return ()
    if not text.startswith("{"):
        if len(text.split()) > 1 or len(text) > 100:
            raise DataError(f"{where}: expected an id, got {text[:60]!r}")
        return (text,)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: expected a record, got broken JSON") from error
    if data.get("schema") != SCHEMA:
        raise DataError(f"{where}: expected a record of schema {SCHEMA}")
    try:
        record = Record.from_dict(data)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    return (record.id,) if record.is_found else ()
