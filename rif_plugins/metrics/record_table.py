"""Records as columns of numbers: one pass over any iterable, about 400 bytes a record, no text kept.

A record that comes again (same ``id``) replaces the earlier one, as in a results file that was resumed. Rows
are put into the order of (example, id), so that nothing computed from them depends on the order of records.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.core.pairs import SIDES
from rif_plugins.core.results import STATUSES, Record
from rif_plugins.errors import DataError
from rif_plugins.metrics.epsilon import EPSILON_FIELDS, error_measures
from rif_plugins.metrics.steps import FLIP_FIELDS, STEP_FIELDS, flip_measures, step_measures

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
OUTCOMES: tuple[str, ...] = tuple(map(str, Outcome))
RIF_TARGETS: tuple[str, ...] = tuple(map(str, TARGETS))
NATURAL, INDUCED, SHIFTED, FAILED, SKIPPED, ERROR = range(len(STATUSES))
_STATUS = {name: index for index, name in enumerate(STATUSES)}
_OUTCOME = {name: index for index, name in enumerate(OUTCOMES)}
_QUERIES = ("victim_rows", "cache_hits", "entailment_rows", "proposer_calls")
_NAMES = ("example", "pair", "target", "status", "clean", "outcome", "label", "attribute", "value", "reason")
_INTEGERS: tuple[str, ...] = ("source", *_NAMES)
_IMPACTS = ("pii_original", "n_pii_original", "pii_similar", "n_pii_similar")
_FLOATS = ("n_edits", "n_tokens", "equivalence", "n_scores", "seconds", *_QUERIES, *_IMPACTS)
FIELDS: tuple[str, ...] = (*_INTEGERS, *_FLOATS, *EPSILON_FIELDS, *STEP_FIELDS, *FLIP_FIELDS)
_NO_ERROR = (float("nan"),) * 3 + (0.0,)
_NO_STEPS = (0.0,) * len(STEP_FIELDS)
_NO_IMPACTS = (0.0,) * 4
_NO_FLIP = (float("nan"),) * len(FLIP_FIELDS)
_ALL_TEXTS = frozenset(f"{kind}{side}" for kind in ("", "perturbed_") for side in SIDES)


class _Names:
    """Whole numbers for names, in order of first use."""

    def __init__(self) -> None:
        self.index: dict[Any, int] = {}

    def __call__(self, name: Any) -> int:
        return self.index.setdefault(name, len(self.index))

    @property
    def names(self) -> tuple[Any, ...]:
        return tuple(self.index)


@dataclass(frozen=True)
class RecordTable:
    """Records as columns.

    Attributes:
        columns: By name of ``FIELDS``, each ``(n,)``; whole numbers for names and outcomes, -1 for none.
        examples, targets, attributes, values, reasons: What the numbers of those columns stand for; a value
            is ``(attribute, from, to)``.
        n_repeated: Records that came again and replaced an earlier one.
    """

    columns: dict[str, NDArray[Any]]
    examples: tuple[str, ...]
    targets: tuple[str, ...]
    attributes: tuple[str, ...]
    values: tuple[tuple[str, str, str], ...]
    reasons: tuple[str, ...]
    n_repeated: int = 0
    rif_targets: tuple[int, ...] = field(default=())

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> RecordTable:
        """Read all records once.

        Raises:
            DataError: A record's content is not what its status calls for; the message names it.
        """
        reader = _Reader()
        for record in records:
            reader.add(record)
        return reader.table()

    def __len__(self) -> int:
        return len(self.columns["example"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def select(self, rows: BoolArray) -> RecordTable:
        """The same table with some of its rows; numbers keep their meaning."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return RecordTable(
            columns,
            self.examples,
            self.targets,
            self.attributes,
            self.values,
            self.reasons,
            self.n_repeated,
            self.rif_targets,
        )

    @property
    def is_evaluated(self) -> BoolArray:
        """Rows whose pair was searched, ``(n,)``."""
        return np.asarray(self["status"] < SKIPPED)

    def is_target(self, *targets: str) -> BoolArray:
        """Evaluated rows of one of these targets, ``(n,)``."""
        wanted = [index for index, name in enumerate(self.targets) if name in targets]
        return self.is_evaluated & np.isin(self["target"], wanted)


class _Reader:
    """Turns records into rows of numbers."""

    def __init__(self) -> None:
        self._rows = array("d")
        self._position: dict[str, int] = {}
        self._n_repeated = 0
        self._n_read = 0
        self._examples, self._pairs, self._targets = _Names(), _Names(), _Names()
        self._attributes, self._values, self._reasons = _Names(), _Names(), _Names()

    def add(self, record: Record) -> None:
        try:
            row = array("d", self._row(record))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise DataError(
                f"record {record.id!r} with status {record.status!r} cannot be counted "
                f"({type(error).__name__}: {error}): expected the fields of a finished audit"
            ) from error
        self._n_read += 1
        position = self._position.setdefault(record.id, len(self._position))
        start = position * len(FIELDS)
        if start < len(self._rows):
            self._rows[start : start + len(FIELDS)] = row
            self._n_repeated += 1
        else:
            self._rows.extend(row)

    def table(self) -> RecordTable:
        data = np.frombuffer(self._rows, dtype=np.float64).reshape(-1, len(FIELDS))
        names = self._examples.names
        rank = _ranks(names)
        example = data[:, FIELDS.index("example")].astype(np.int64)
        order = np.lexsort((_ranks(tuple(self._position)), rank[example]))
        columns: dict[str, NDArray[Any]] = {}
        for index, name in enumerate(FIELDS):
            values = data[order, index]
            columns[name] = values.astype(np.int64) if name in _INTEGERS else values
        columns["example"] = rank[columns["example"]]
        columns["pair"] = _renumbered(columns["pair"])
        targets = self._targets.names
        evaluated = columns["target"][columns["status"] < SKIPPED]
        used = {targets[index] for index in np.unique(evaluated)}
        present = [targets.index(name) for name in RIF_TARGETS if name in used]
        return RecordTable(
            columns,
            tuple(sorted(names)),
            targets,
            self._attributes.names,
            self._values.names,
            self._reasons.names,
            self._n_repeated,
            tuple(present),
        )

    def _row(self, record: Record) -> tuple[float, ...]:
        is_evaluated = record.is_evaluated
        is_rif = is_evaluated and record.target in RIF_TARGETS
        value = (record.attribute, record.value_from, record.value_to)
        edits = record.edits
        scores = _edited_scores(record) if is_evaluated else []
        pii = _impacts(record) if is_rif else _NO_IMPACTS
        queries = record.queries
        return (
            self._n_read,
            self._examples(record.example),
            self._pairs(_pair_key(record)) if is_evaluated else -1,
            self._targets(record.target),
            _STATUS[record.status],
            _outcome_index(record.clean_outcome, is_rif),
            _outcome_index(record.outcome, is_rif),
            -1 if record.label is None else record.label,
            self._attributes(record.attribute) if record.attribute else -1,
            self._values(value) if record.value_from or record.value_to else -1,
            self._reasons(record.stop_reason),
            len(edits),
            _n_tokens(edits) if edits else 0,
            sum(scores),
            len(scores),
            record.seconds,
            *(queries.get(name, 0) for name in _QUERIES),
            *pii,
            *(error_measures(record) if is_evaluated else _NO_ERROR),
            *(step_measures(record.trajectory) if is_rif else _NO_STEPS),
            *(
                flip_measures(record.probabilities)
                if is_rif and record.probabilities.keys() >= _ALL_TEXTS
                else _NO_FLIP
            ),
        )


def _n_tokens(edits: list[dict[str, Any]]) -> int:
    """Tokens of the unedited texts that were replaced; an insertion counts as one."""
    return sum([max(1, len(str(edit.get("from", "")).split())) for edit in edits])


def _impacts(record: Record) -> tuple[float, ...]:
    """Sum and number of the steps' PII where it is not 0, of both sides."""
    measures: list[float] = []
    for side in SIDES:
        moved = [value for value in record.pii.get(side, ()) if value > 0.0]
        measures += (sum(moved), len(moved))
    return tuple(measures)


def _edited_scores(record: Record) -> list[float]:
    """Equivalence of those sides that have an edit."""
    if not record.equivalence or not record.edits:
        return []
    edited = {edit["side"] for edit in record.edits} & record.equivalence.keys()
    return [record.equivalence[side]["score"] for side in SIDES if side in edited]


def _outcome_index(name: str, is_required: bool) -> int:
    if not name and not is_required:
        return -1
    return _OUTCOME[name]


def _pair_key(record: Record) -> bytes:
    text = "\x1f".join((record.example, record.original, record.similar))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _renumbered(numbers: IntArray) -> IntArray:
    """The same groups, numbered by first occurrence from 0; negative numbers stay."""
    found, first, where = np.unique(numbers, return_index=True, return_inverse=True)
    new = np.empty(len(found), dtype=np.int64)
    new[np.argsort(first, kind="stable")] = np.arange(len(found))
    return np.where(numbers < 0, numbers, new[where.reshape(-1)])


def _ranks(names: tuple[str, ...]) -> IntArray:
    """Position of each name in sorted order, ``(n,)``."""
    order = sorted(range(len(names)), key=names.__getitem__)
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return ranks
