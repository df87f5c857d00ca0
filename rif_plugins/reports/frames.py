"""Runs as tables: pandas, Parquet, and a `datasets` data set of the found pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.optional import require
from rif_plugins.reports.characters import well_formed
from rif_plugins.reports.rows import COLUMNS, TEXT_NAMES, finding_row
from rif_plugins.reports.view import distinct_findings, distinct_records

if TYPE_CHECKING:
    import datasets
    import pandas

_WHOLE = (
    "label",
    "n_edits_original",
    "n_edits_similar",
    *(f"prediction_{name}" for name in TEXT_NAMES),
    *("n_steps", "victim_rows", "cache_hits", "entailment_rows", "proposer_calls", "seed"),
)
_FRACTIONS = (
    *(f"p_{name}" for name in TEXT_NAMES),
    "equivalence_original",
    "equivalence_similar",
    "seconds",
)


def records_frame(run: RunResult, *, only_findings: bool = False) -> pandas.DataFrame:
    """One row a record: the columns of ``findings.csv``.

    Args:
        run: The run.
        only_findings: Leave out pairs that stand, skipped examples and errors.

    Raises:
        MissingDependencyError: pandas is not installed.
    """
    pandas = require("pandas", purpose="data frames of results")
    names = [str(name) for name in run.configuration.get("label_names") or []]
    records = distinct_findings(run) if only_findings else distinct_records(run)
    rows = [finding_row(record, names) for record in records]
    columns = {
        name: pandas.array([row[name] for row in rows], dtype="Int64" if name in _WHOLE else "Float64")
        if name in (*_WHOLE, *_FRACTIONS)
        else pandas.Series([_text(row[name]) for row in rows], dtype=object)
        for name in COLUMNS
    }
    return pandas.DataFrame(columns)


def write_parquet(run: RunResult, path: Path | str, *, only_findings: bool = False) -> None:
    """Write ``records_frame`` as Parquet.

    Raises:
        UsageError: The file cannot be written.
        MissingDependencyError: pandas or pyarrow is not installed.
    """
    require("pyarrow", purpose="Parquet files")
    frame = records_frame(run, only_findings=only_findings)
    for name in set(COLUMNS) - {*_WHOLE, *_FRACTIONS}:
        frame[name] = frame[name].astype("string")
    try:
        frame.to_parquet(path, index=False)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error}; choose a folder that you may write to") from error


def findings_dataset(run: RunResult) -> datasets.Dataset:
    """The found pairs as a `datasets` data set: one row a side, with the right label.

    Columns ``text``, ``label``, ``side``, ``is_perturbed`` and, to trace a row back, ``finding``,
    ``example``, ``target``, ``status``, ``attribute``, ``value``. Texts that several findings share come
    once for each of them. Findings without a label are left out.

    Raises:
        MissingDependencyError: `datasets` is not installed.
    """
    datasets = require("datasets", purpose="data sets of findings")
    rows = [row for record in distinct_findings(run) if record.label is not None for row in _sides(record)]
    names = [well_formed(str(name)) for name in run.configuration.get("label_names") or []]
    has_names = len(set(names)) == len(names) and all(row["label"] < len(names) for row in rows)
    label: Any = datasets.ClassLabel(names=names) if names and has_names else datasets.Value("int64")
    text = datasets.Value("string")
    features = datasets.Features(
        {
            "text": text,
            "label": label,
            "is_perturbed": datasets.Value("bool"),
            **dict.fromkeys(("side", "finding", "example", "target", "status", "attribute", "value"), text),
        }
    )
    columns = {name: [row[name] for row in rows] for name in features}
    return datasets.Dataset.from_dict(columns, features=features)


def _sides(record: Any) -> list[dict[str, Any]]:
    return [
        {
            "text": well_formed(getattr(record, f"perturbed_{side}") or getattr(record, side)),
            "label": int(record.label),
            "is_perturbed": any(edit.get("side") == side for edit in record.edits),
            "side": side,
            "finding": record.id,
            "example": well_formed(record.example),
            "target": record.target,
            "status": record.status,
            "attribute": well_formed(record.attribute),
            "value": well_formed(value),
        }
        for side, value in (("original", record.value_from), ("similar", record.value_to))
    ]


def _text(value: Any) -> Any:
    return well_formed(value) if isinstance(value, str) else value
