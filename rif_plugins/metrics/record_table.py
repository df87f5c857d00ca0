"""Records as columns of numbers: one pass over any iterable, under 100 bytes a record, no text kept.

A record that comes again (same ``id``) replaces the earlier one, as in a results file that was resumed. Rows
are put into a fixed order within their examples, so that nothing computed from them depends on the order of
the records.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.core.pairs import SIDES
from rif_plugins.core.results import STATUSES, Record
from rif_plugins.errors import DataError
from rif_plugins.metrics.compact_columns import CompactColumns, smallest
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
# Kept as a row of numbers; the others come from digests and from the order.
_STORED = tuple(name for name in FIELDS if name not in ("source", "pair"))
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
        columns: By name of ``FIELDS``, each ``(n,)`` in a type of its own; see ``table["status"]``.
        examples, targets, attributes, values, reasons: What the numbers of those columns stand for; a value
            is ``(attribute, from, to)``.
        n_repeated: Records that came again and replaced an earlier one.
        rif_targets: Numbers of the targets of robust individual fairness that occur.
        rows: Which rows of the columns this table has, ``(m,)``; None is all of them.
    """

    columns: dict[str, NDArray[Any]]
    examples: tuple[str, ...]
    targets: tuple[str, ...]
    attributes: tuple[str, ...]
    values: tuple[tuple[str, str, str], ...]
    reasons: tuple[str, ...]
    n_repeated: int = 0
    rif_targets: tuple[int, ...] = field(default=())
    rows: IntArray | None = None

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> RecordTable:
        """Read all records once.

        Raises:
            DataError: A record's content is not what its status calls for; the message names it.
        """
        reader = RecordReader()
        for record in records:
            reader.add(record)
        return reader.table()

    def __len__(self) -> int:
        return len(self.columns["example"] if self.rows is None else self.rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column, ``(m,)``: whole numbers for names and outcomes, -1 for none; floats for all others."""
        values = self.columns[name] if self.rows is None else self.columns[name][self.rows]
        return values.astype(np.int64 if name in _INTEGERS else np.float64)

    def select(self, rows: BoolArray) -> RecordTable:
        """The same table with some of its rows; numbers keep their meaning, columns are shared."""
        chosen = np.flatnonzero(rows)
        return replace(self, rows=chosen if self.rows is None else self.rows[chosen])

    @property
    def is_evaluated(self) -> BoolArray:
        """Rows whose pair was searched, ``(m,)``."""
        return np.asarray(self["status"] < SKIPPED)

    def is_target(self, *targets: str) -> BoolArray:
        """Evaluated rows of one of these targets, ``(m,)``."""
        wanted = [index for index, name in enumerate(self.targets) if name in targets]
        return self.is_evaluated & np.isin(self["target"], wanted)


class RecordReader:
    """Turns records into rows of numbers, one by one."""

    def __init__(self) -> None:
        self._rows = CompactColumns(len(_STORED))
        self._ids, self._pairs = array("Q"), array("Q")
        self._examples, self._targets = _Names(), _Names()
        self._attributes, self._values, self._reasons = _Names(), _Names(), _Names()

    def add(self, record: Record) -> None:
        """Take one record.

        Raises:
            DataError: Its content is not what its status calls for; the message names it.
        """
        try:
            self._rows.append(self._row(record))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise DataError(
                f"record {record.id!r} with status {record.status!r} cannot be counted "
                f"({type(error).__name__}: {error}): expected the fields of a finished audit"
            ) from error
        self._ids.append(_digest(record.id))
        self._pairs.append(_digest("\x1f".join((record.example, record.original, record.similar))))

    def table(self) -> RecordTable:
        """All records so far as columns."""
        names = self._examples.names
        rank = _ranks(names)
        ids = np.frombuffer(self._ids, dtype=np.uint64)
        example = rank[self._rows.column(_STORED.index("example")).astype(np.int64)]
        kept = _last_of_each(ids)
        order = kept[np.lexsort((ids[kept], example[kept]))]
        columns: dict[str, NDArray[Any]] = {}
        for index, name in enumerate(_STORED):
            columns[name] = smallest(self._rows.column(index)[order])
        columns["source"] = smallest(order.astype(np.float64))
        columns["example"] = smallest(example[order].astype(np.float64))
        columns["pair"] = self._pair_numbers(order, columns["status"].astype(np.int64))
        targets = self._targets.names
        evaluated = columns["target"][columns["status"] < SKIPPED]
        used = {targets[index] for index in np.unique(evaluated)}
        return RecordTable(
            columns,
            tuple(sorted(names)),
            targets,
            self._attributes.names,
            self._values.names,
            self._reasons.names,
            len(ids) - len(order),
            tuple(targets.index(name) for name in RIF_TARGETS if name in used),
        )

    def _pair_numbers(self, order: IntArray, status: IntArray) -> NDArray[Any]:
        """The pair of each row, numbered by first occurrence; -1 where no pair was searched."""
        keys = np.frombuffer(self._pairs, dtype=np.uint64)[order]
        _, first, where = np.unique(keys, return_index=True, return_inverse=True)
        new = np.empty(len(first), dtype=np.int64)
        new[np.argsort(first, kind="stable")] = np.arange(len(first))
        numbers = np.where(status < SKIPPED, new[where.reshape(-1)], -1)
        return smallest(numbers.astype(np.float64))

    def _row(self, record: Record) -> tuple[float, ...]:
        is_evaluated = record.is_evaluated
        is_rif = is_evaluated and record.target in RIF_TARGETS
        value = (record.attribute, record.value_from, record.value_to)
        edits = record.edits
        scores = _edited_scores(record) if is_evaluated else []
        pii = _impacts(record) if is_rif else _NO_IMPACTS
        queries = record.queries
        return (
            self._examples(record.example),
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


def _last_of_each(keys: NDArray[np.uint64]) -> IntArray:
    """The last place of every distinct key, in rising order."""
    order = np.argsort(keys, kind="stable")
    ends = np.append(keys[order[1:]] != keys[order[:-1]], np.ones(min(1, len(keys)), dtype=bool))
    return np.sort(order[ends])


def _digest(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _ranks(names: tuple[str, ...]) -> IntArray:
    """Position of each name in sorted order, ``(n,)``."""
    order = sorted(range(len(names)), key=names.__getitem__)
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return ranks
