"""Runs as tables: pandas, Parquet, and a `datasets` data set of the found pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.core.run_result import RunResult
from rif_plugins.optional import require
from rif_plugins.reports.characters import well_formed
from rif_plugins.reports.output_file import whole_file
from rif_plugins.reports.rows import COLUMNS, TEXT_NAMES, finding_row
from rif_plugins.reports.view import distinct_findings

if TYPE_CHECKING:
    import datasets
    import pandas

_WHOLE = (
    "label",
    "n_edits_original",
    "n_edits_similar",
    *(f"prediction_{name}" for name in TEXT_NAMES),
    *("n_steps", "victim_rows", "cache_hits", "entailment_rows", "proposer_calls", "seed"),
    *("llm_calls", "within_standard_error"),
)
_FRACTIONS = (
    *(f"p_{name}" for name in TEXT_NAMES),
    "equivalence_original",
    "equivalence_similar",
    *("seconds", "standard_error", "agreement"),
)
_GROUP = 4096


def records_frame(run: RunResult, *, only_findings: bool = False) -> pandas.DataFrame:
    """One row a record: the columns of ``findings.csv``.

    Args:
        run: The run.
        only_findings: Leave out pairs that stand, skipped examples and errors.

    Raises:
        MissingDependencyError: pandas is not installed.
    """
    return _frame(_rows(run, only_findings))


def write_parquet(
    run: RunResult, path: Path | str, *, only_findings: bool = False, group: int = _GROUP
) -> None:
    """Write ``records_frame`` as Parquet, without making all of it at once.

    Args:
        run: The run; its records are read once and not kept.
        path: Where to write; the folder must exist.
        only_findings: Leave out pairs that stand, skipped examples and errors.
        group: Records of a row group.

    Raises:
        UsageError: The file cannot be written.
        MissingDependencyError: pandas or pyarrow is not installed.
    """
    arrow = require("pyarrow", purpose="Parquet files")
    parquet = require("pyarrow.parquet", package="pyarrow", purpose="Parquet files")
    schema = arrow.Schema.from_pandas(_stored([]), preserve_index=False)
    rows = _rows(run, only_findings)
    with (
        whole_file(path, makes_folder=False) as file,
        parquet.ParquetWriter(file, schema) as writer,
    ):
        while some := list(islice(rows, max(1, group))):
            writer.write_table(arrow.Table.from_pandas(_stored(some), schema=schema, preserve_index=False))


def _rows(run: RunResult, only_findings: bool) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in run.configuration.get("label_names") or []]
    records = distinct_findings(run) if only_findings else run.distinct()
    return (finding_row(record, names) for record in records)


def _frame(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    pandas = require("pandas", purpose="data frames of results")
    rows = list(rows)
    columns = {
        name: pandas.array([row[name] for row in rows], dtype="Int64" if name in _WHOLE else "Float64")
        if name in (*_WHOLE, *_FRACTIONS)
        else pandas.Series([_text(row[name]) for row in rows], dtype=object)
        for name in COLUMNS
    }
    return pandas.DataFrame(columns)


def _stored(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """A frame whose columns have the same types whatever they hold."""
    frame = _frame(rows)
    for name in set(COLUMNS) - {*_WHOLE, *_FRACTIONS}:
        frame[name] = frame[name].astype("string")
    return frame


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
