"""Runs of different models, made comparable: the same name for the same text, the same number for a class."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult


def comparable(runs: Sequence[RunResult]) -> list[RunResult]:
    """The same runs with examples named by their text and classes numbered as in the first run.

    The name of an example depends on the number of its label, and that on the order in which the model has
    its classes: two models that agree on everything else would share no pair.
    """
    names = next((_folded(run) for run in runs if _folded(run)), ())
    return [replace(run, records=tuple(_renamed(run.records, _columns(run, names)))) for run in runs]


def _folded(run: RunResult) -> tuple[str, ...]:
    return tuple(str(name).strip().casefold() for name in run.configuration.get("label_names") or ())


def _columns(run: RunResult, names: Sequence[str]) -> tuple[int, ...]:
    """Number of each class of a run in ``names``; empty where it keeps its own."""
    own = _folded(run)
    return tuple(map(names.index, own)) if sorted(own) == sorted(names) and own != tuple(names) else ()


def _renamed(records: Sequence[Record], columns: Sequence[int]) -> list[Record]:
    named: dict[str, str] = {}
    seen: dict[str, int] = {}
    found = []
    for record in records:
        example = record.example
        if record.original:  # an error of a run that did not keep the text has none
            if example not in named:
                digest = hashlib.sha256(record.original.encode("utf-8", "surrogatepass")).hexdigest()[:16]
                number = seen[digest] = seen.get(digest, 0) + 1
                named[example] = f"{digest}-{number}"
            example = named[example]
        label = record.label
        if columns and label is not None and 0 <= label < len(columns):
            label = columns[label]
        found.append(replace(record, example=example, label=label))
    return found
