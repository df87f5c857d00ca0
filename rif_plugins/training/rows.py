"""Both sides of violations of rows as training rows with the label of the original, and who may not teach.

Records are those of ``results.jsonl`` of `rif tabular` (schema ``rif-rows/1``): mappings with the raw values
of the row before and after the search, and of a similar row beside both. A row and everyone who differs from
it in sensitive columns only are one individual here: they teach together or test together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from typing import Any

from rif_plugins.core.pairs import SIDES
from rif_plugins.errors import UsageError
from rif_plugins.training.holdout import is_held_out
from rif_plugins.training.picking import RIF_TARGETS, Picker, check_choice, in_turn

Values = Mapping[str, Any]
"""The raw values of a row, by column."""
RowRecord = Mapping[str, Any]
"""A record of ``rif-rows/1``."""
_PERTURBED = ("perturbed_original", "perturbed_similar")
_ALL = ("original", "similar", *_PERTURBED)


def row_key(values: Values, without: Iterable[str] = ()) -> str:
    """A row as the guard compares it: the order of its columns and the type of a number do not matter.

    Args:
        values: The row.
        without: Columns that do not count, such as the sensitive ones.

    >>> row_key({"age": 30.0, "sex": "f"}, ["sex"]) == row_key({"sex": "m", "age": 30}, ["sex"])
    True
    """
    left_out = set(without)
    cells = [(name, _plain(value)) for name, value in sorted(values.items()) if name not in left_out]
    return json.dumps(cells, ensure_ascii=True)


def _plain(value: Any) -> str:
    """A number in ten digits, so that encoding and decoding do not make another row of it."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return str(value)
    return f"{float(value):.10g}"


def is_held_out_row(values: Values, share: float, sensitive: Iterable[str], seed: int = 0) -> bool:
    """Whether the individual of this row is one of those that test; its similar rows fall on the same side.

    Args:
        values: The row as it is in the data.
        share: Expected share of individuals that test, 0 to 1.
        sensitive: Columns in which similar rows differ.
        seed: Another seed is another split.
    """
    return is_held_out(row_key(values, sensitive), share, seed)


class HeldOutRows:
    """The individuals that no training row may be: each held-out row with all its similar and perturbed rows.

    Args:
        rows: The held-out rows as they are.
        sensitive: Columns in which similar rows differ.
        records: Records of these rows; what the search made of them is held out too.
    """

    def __init__(
        self, rows: Iterable[Values], sensitive: Iterable[str], records: Iterable[RowRecord] = ()
    ) -> None:
        self._sensitive = tuple(sensitive)
        self._keys = {row_key(row, self._sensitive) for row in rows}
        for record in records:
            self._keys |= {row_key(record[name], self._sensitive) for name in _ALL if record.get(name)}

    def __contains__(self, values: object) -> bool:
        return isinstance(values, Mapping) and row_key(values, self._sensitive) in self._keys

    def __len__(self) -> int:
        """How many distinct individuals are held out."""
        return len(self._keys)


@dataclass(frozen=True, slots=True)
class TaughtRow:
    """One training row and where it comes from.

    Attributes:
        values: Raw values by column.
        label: Number of its class.
        weight: Weight in the loss; a row of the training data has 1.
        row: Number of the audited row in its file, from 1 on.
        record: Id of the record that holds the pair.
        target: Outcome of that record.
        attack: Attack that found it.
        side: ``"original"`` or ``"similar"``.
        similarity: How near the found row is to the data, where the record tells.
    """

    values: dict[str, Any]
    label: int
    weight: float
    row: int
    record: str
    target: str
    attack: str
    side: str
    similarity: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class RowAugmentation:
    """The rows, and what was left out.

    Attributes:
        rows: In the order of their records, the original side first.
        n_findings: Findings that were looked at.
        left_out: How many rows were left out, by reason: ``not valid`` (outside of the schema), ``too far``
            (at or below the similarity asked for), ``repeated`` (equal row and label), ``contradicted`` (the
            same row with two labels, here or in the training data), ``held out`` and ``over the cap``.
    """

    rows: tuple[TaughtRow, ...] = ()
    n_findings: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Counts by target, attack and side, as ``retrain.json`` keeps them."""
        return {
            "n_findings": self.n_findings,
            "n_rows": len(self.rows),
            "left_out": dict(self.left_out),
            **{
                f"by_{name}": dict(sorted(Counter(getattr(row, name) for row in self.rows).items()))
                for name in ("target", "attack", "side")
            },
        }


@dataclass(frozen=True)
class RowSelection:
    """Which found rows teach.

    Attributes:
        targets: Findings of these outcomes only.
        sides: Sides of a pair, of ``"original"`` and ``"similar"``.
        weight: Weight of every row.
        max_rows: Most rows; where there are more, a seeded choice of findings that takes the targets in turn.
            A pair is not cut in two, unless it is the only one.
        min_similarity: Only rows whose ``similarity`` is strictly above it (sigma of RobustFair).
        seed: Seed of the choice.
    """

    targets: Sequence[str] = RIF_TARGETS
    sides: Sequence[str] = SIDES
    weight: float = 1.0
    max_rows: int | None = None
    min_similarity: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no row could meet."""
        check_choice(self.targets, self.weight, self.max_rows)
        if unknown := [name for name in self.sides if name not in SIDES]:
            raise UsageError(f"sides that teach: expected some of {', '.join(SIDES)}, got {unknown[0]!r}")
        if self.min_similarity is not None and not 0 <= self.min_similarity < 1:
            raise UsageError(
                f"the similarity of augmented rows must be from 0 to below 1, got {self.min_similarity}"
            )


def augment_rows(
    records: Iterable[RowRecord],
    label_of: Callable[[RowRecord], int | None],
    selection: RowSelection | None = None,
    *,
    held_out: HeldOutRows | None = None,
    known: Mapping[str, int] | None = None,
) -> RowAugmentation:
    """Make training rows of the violations.

    Args:
        records: Records of `rif tabular`; each is a violation.
        label_of: Class number that the rows of a record are taught with: that of the row in the data, by the
            rule of this package. None leaves the record out.
        selection: Which rows; by default both sides of all of them.
        held_out: Individuals that no row may be; a violation near one of them teaches nothing.
        known: Labels of rows that are trained on anyway, by :func:`row_key`: they are not contradicted.
    """
    chosen = selection or RowSelection()
    labels = {}
    found = []
    for record in records:
        label = label_of(record) if record["outcome"] in chosen.targets else None
        if label is not None:
            found.append(record)
            labels[record["id"]] = label
    picker: Picker[TaughtRow] = Picker(known)
    names = {"id_of": itemgetter("id"), "target_of": itemgetter("outcome")}
    for record in in_turn(found, chosen.targets, chosen.seed, **names):
        if reason := _refused(record, chosen):
            picker.left_out[reason] += len(chosen.sides)
            continue
        is_closed = held_out is not None and record["original"] in held_out
        for row in _rows_of(record, labels[record["id"]], chosen):
            if is_closed or (held_out is not None and row.values in held_out):
                picker.left_out["held out"] += 1
            else:
                picker.add(row_key(row.values), row)
    rows = picker.rows(chosen.max_rows, [record["id"] for record in found])
    return RowAugmentation(rows, len(found), dict(picker.left_out))


def _refused(record: RowRecord, chosen: RowSelection) -> str | None:
    """Why a record teaches nothing."""
    if not record.get("is_valid", True):
        return "not valid"
    if chosen.min_similarity is None:
        return None
    similarity = record.get("similarity")
    return "too far" if similarity is None or similarity <= chosen.min_similarity else None


def _rows_of(record: RowRecord, label: int, chosen: RowSelection) -> Iterator[TaughtRow]:
    for side, name in zip(SIDES, _PERTURBED, strict=True):
        if side in chosen.sides:
            yield TaughtRow(
                dict(record[name]),
                label,
                chosen.weight,
                int(record["row"]),
                record["id"],
                record["outcome"],
                record["attack"],
                side,
                record.get("similarity"),
            )
