"""A record as one flat row: the columns of ``findings.csv``, of data frames and of exported data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.reports.spans import SIDES
from rif_plugins.reports.sureness import (
    is_within_standard_error,
    largest_standard_error,
    lowest_agreement,
)

TEXT_NAMES = ("original", "similar", "perturbed_original", "perturbed_similar")
COLUMNS: tuple[str, ...] = (
    *("id", "example", "target", "status", "attribute", "value_from", "value_to", "label", "label_name"),
    *("clean_outcome", "outcome", *TEXT_NAMES),
    *(f"n_edits_{side}" for side in SIDES),
    *(f"equivalence_{side}" for side in SIDES),
    *(f"p_{name}" for name in TEXT_NAMES),
    *(f"prediction_{name}" for name in TEXT_NAMES),
    *("n_steps", "victim_rows", "cache_hits", "entailment_rows", "proposer_calls"),
    *("seconds", "seed", "scorer", "stop_reason", "message"),
    *("llm_calls", "standard_error", "within_standard_error", "agreement", "notes"),
)
"""``p_*`` is the probability of the label, ``prediction_*`` the predicted label.

Where the model does not repeat its answers, ``standard_error`` is the larger one of the edited texts,
``within_standard_error`` 1 where one of their answers leads by so little that it could as well be another,
``agreement`` the lower share of repeated askings that agree.
"""


def finding_row(record: Record, label_names: Sequence[str]) -> dict[str, Any]:
    """The columns of one record, in the order of ``COLUMNS``; None where there is nothing."""
    row: dict[str, Any] = {name: getattr(record, name, None) for name in COLUMNS}
    label = record.label
    has_name = label is not None and 0 <= label < len(label_names)
    row["label_name"] = str(label_names[label]) if has_name and label is not None else None
    for side in SIDES:
        row[f"n_edits_{side}"] = sum(edit.get("side") == side for edit in record.edits)
        row[f"equivalence_{side}"] = record.equivalence.get(side, {}).get("score")
    for name in TEXT_NAMES:
        p = record.probabilities.get(name) or []
        row[f"p_{name}"] = p[label] if label is not None and 0 <= label < len(p) else None
        row[f"prediction_{name}"] = max(range(len(p)), key=p.__getitem__) if p else None
    row["n_steps"] = max(0, len(record.trajectory) - 1)
    for name in ("victim_rows", "cache_hits", "entailment_rows", "proposer_calls", "llm_calls"):
        row[name] = record.queries.get(name)
    is_within = is_within_standard_error(record)
    row["standard_error"] = largest_standard_error(record)
    row["within_standard_error"] = None if is_within is None else int(is_within)
    row["agreement"] = lowest_agreement(record)
    row["notes"] = "; ".join(record.notes) or None
    return row
