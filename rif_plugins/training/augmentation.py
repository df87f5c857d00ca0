"""Both sides of found pairs as training rows with the label of the original.

The similar text is the same individual but for the sensitive tokens, and an admissible edit keeps the meaning
(assumption A1 of the paper), so the right answer is the label of the original on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rif_plugins.core.pairs import SIDES
from rif_plugins.core.results import Record
from rif_plugins.training.holdout import normalised
from rif_plugins.training.picking import RIF_TARGETS as RIF_TARGETS
from rif_plugins.training.picking import Picker, check_choice, in_turn


@dataclass(frozen=True, slots=True)
class AugmentedRow:
    """One training row and where it comes from.

    Attributes:
        text: The text.
        label: Its class.
        weight: Weight in the loss; a row of the training data has 1.
        example: Name of the audited example.
        record: Id of the record that holds the pair.
        target: Target of that record.
        status: Its status: ``induced``, ``natural`` or ``shifted``.
        side: ``"original"`` or ``"similar"``.
        is_edited: Whether the text has meaning-preserving edits.
    """

    text: str
    label: int
    weight: float
    example: str
    record: str
    target: str
    status: str
    side: str
    is_edited: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Augmentation:
    """The rows, and what was left out.

    Attributes:
        rows: In the order of their records, the original side first.
        n_findings: Findings that were looked at.
        left_out: How many rows were left out, by reason: ``repeated`` (equal text and label),
            ``contradicted`` (the same text with two labels, here or in the training data), ``held out`` and
            ``over the cap``.
    """

    rows: tuple[AugmentedRow, ...]
    n_findings: int
    left_out: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Counts by target, status and side, as ``retrain.json`` keeps them."""
        return {
            "n_findings": self.n_findings,
            "n_rows": len(self.rows),
            "left_out": dict(self.left_out),
            **{
                f"by_{name}": dict(sorted(Counter(getattr(row, name) for row in self.rows).items()))
                for name in ("target", "status", "side")
            },
        }


def augment(
    records: Iterable[Record],
    *,
    targets: Sequence[str] = RIF_TARGETS,
    weight: float = 1.0,
    max_rows: int | None = None,
    held_out: Container[str] = frozenset(),
    known: Mapping[str, int] | None = None,
    seed: int = 0,
) -> Augmentation:
    """Make training rows of the findings.

    Args:
        records: Records of an audit; those that found nothing are passed over.
        targets: Take findings of these targets only.
        weight: Weight of every row.
        max_rows: Most rows; where there are more, a seeded choice of findings that takes the targets in turn.
            A pair is not cut in two, unless it is the only one.
        held_out: Texts that no row may hold, such as :class:`~rif_plugins.training.holdout.HeldOutTexts`; a
            finding on one of them teaches nothing, since its edited texts are as good as the text.
        known: Labels of texts that are trained on anyway, by normalised text: they are not contradicted.
        seed: Seed of that choice.

    Raises:
        UsageError: A target is unknown, the weight is not positive, or ``max_rows`` is below 1.
    """
    check_choice(targets, weight, max_rows)
    found = [r for r in records if r.is_found and r.target in targets and r.label is not None]
    picker: Picker[AugmentedRow] = Picker(known)
    order = in_turn(found, targets, seed, id_of=lambda r: r.id, target_of=lambda r: r.target)
    for record in order:
        is_closed = record.original in held_out or record.similar in held_out
        for row in _rows_of(record, weight):
            if is_closed or row.text in held_out:
                picker.left_out["held out"] += 1
            else:
                picker.add(normalised(row.text), row)
    rows = picker.rows(max_rows, [record.id for record in found])
    return Augmentation(rows, len(found), dict(picker.left_out))


def _rows_of(record: Record, weight: float) -> list[AugmentedRow]:
    """Both perturbed sides; a side without edits is the unedited text."""
    if record.label is None:
        return []
    edited = {edit.get("side") for edit in record.edits}
    texts = (record.perturbed_original or record.original, record.perturbed_similar or record.similar)
    return [
        AugmentedRow(
            text,
            record.label,
            weight,
            record.example,
            record.id,
            record.target,
            record.status,
            side,
            side in edited,
        )
        for side, text in zip(SIDES, texts, strict=True)
        if text.strip()
    ]
