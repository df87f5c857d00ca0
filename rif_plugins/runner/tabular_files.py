"""The files of `rif tabular`: records of rows in raw values, findings for a spreadsheet, schema, summary.

A record of ``results.jsonl``, schema ``rif-rows/1``::

    schema, id, attack, row (of the data file, from 1 on), label, outcome, clean_outcome,
    prediction, similar_prediction                      (names of classes)
    original, similar, perturbed_original, perturbed_similar   ({column: raw value})
    changed (columns that the attack moved), differs (columns in which the similar row differs),
    direction, phase, step, is_valid, similarity

``similar`` is a counterpart with another label than the original where there is one, else the farthest by
output. ``label`` is the right label of the perturbed row, which an attack may have estimated.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.run_result import write_json
from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import OUTCOMES
from rif_plugins.reports.csv_file import guarded
from rif_plugins.reports.output_file import write_whole
from rif_plugins.runner.tabular import TabularRun
from rif_plugins.runner.tabular_measure import MeasuredAttack
from rif_plugins.tables import TableEncoder

ROWS_SCHEMA = "rif-rows/1"
RESULTS_FILE, FINDINGS_FILE, SCHEMA_FILE = "results.jsonl", "findings.csv", "schema.toml"
RUN_FILE, SUMMARY_FILE = "run.json", "summary.json"
_SIDES = ("original", "similar", "perturbed_original", "perturbed_similar")


def check_folder(out: Path) -> None:
    """Refuse a folder that holds the results of something else.

    Raises:
        UsageError: It does.
    """
    results = out / RESULTS_FILE
    if not results.exists():
        return
    try:
        with results.open("rb") as file:
            head = file.readline(200)
    except OSError as error:
        raise UsageError(f"cannot read {results}: {error.strerror}: choose another --out") from None
    if head and f'"schema": "{ROWS_SCHEMA}"'.encode() not in head:
        raise UsageError(f"{results} holds the results of another command: choose another --out")


def write_run(run: TabularRun, out: Path) -> dict[str, Any]:
    """Write all files and return the summary.

    Raises:
        UsageError: The folder cannot be written, or holds other results.
    """
    check_folder(out)
    records = [record for measured in run.attacks for record in records_of(run, measured)]
    lines = "".join(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n" for record in records)
    summary = run.summary()
    written: dict[str, int] = {}
    for record in records:
        written[record["attack"]] = written.get(record["attack"], 0) + 1
    for table in summary["attacks"]:
        table["n_records"] = written.get(table["attack"], 0)
    write_whole(out / RESULTS_FILE, lines.encode("ascii"))
    write_whole(out / FINDINGS_FILE, findings(records, run.given.encoder.raw.names).encode())
    write_whole(out / SCHEMA_FILE, run.given.encoder.raw.to_toml().encode())
    write_json(out / RUN_FILE, run.configuration)
    write_json(out / SUMMARY_FILE, summary)
    return summary


def records_of(run: TabularRun, measured: MeasuredAttack) -> Iterator[dict[str, Any]]:
    """The violations that one attack generated, most a seed's first ones, up to ``max_records``.

    Where there are more, every seed keeps its first, then every seed its second, and so on.
    """
    generated, given = measured.generated, run.given
    found = np.flatnonzero(measured.outcomes > 0)
    limit = given.options.max_records
    if limit is not None and len(found) > limit:
        found = np.sort(found[np.argsort(_rank(generated.source[found]), kind="stable")[:limit]])
    if not len(found):
        return
    from rif_plugins.tabular.counterparts import SimilarRows
    from rif_plugins.tabular.gradients import prediction_source

    rows, original = generated.rows[found], generated.original[found]
    schema = given.encoder.schema
    similar = SimilarRows(schema, prediction_source(given.target.estimator))
    known = similar.assess(rows)
    sides = (
        original,
        similar.with_tuple(original, known.farthest),
        rows,
        similar.with_tuple(rows, known.farthest),
    )
    raw = {name: raw_rows(side, given.encoder) for name, side in zip(_SIDES, sides, strict=True)}
    outside = schema.violations(rows, original)
    nearness = measured.similarity
    names = given.label_names
    for place, number in enumerate(found):
        values = {name: side[place] for name, side in raw.items()}
        seed = int(generated.source[number])
        yield {
            "schema": ROWS_SCHEMA,
            "id": f"{generated.attack}-{number}",
            "attack": generated.attack,
            "row": int(given.numbers[run.seeds[seed]]),
            "label": names[int(generated.label[number])],
            "outcome": str(OUTCOMES[int(measured.outcomes[number])]),
            "clean_outcome": str(OUTCOMES[int(run.clean[seed])]),
            "prediction": names[int(known.prediction[place])],
            "similar_prediction": names[int(known.similar_prediction[place])],
            **values,
            "changed": _differing(values["original"], values["perturbed_original"]),
            "differs": _differing(values["perturbed_original"], values["perturbed_similar"]),
            "direction": str(generated.direction[number]),
            "phase": str(generated.phase[number]),
            "step": int(generated.step[number]),
            "is_valid": not bool(outside[place]),
            "similarity": None if nearness is None else round(float(nearness[number]), 6),
        }


def _rank(source: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which of its seed's rows each row is, from 0 on."""
    order = np.argsort(source, kind="stable")
    starts = np.r_[True, source[order][1:] != source[order][:-1]]
    place = np.arange(len(source))
    rank = np.empty(len(source), dtype=np.int64)
    rank[order] = place - np.maximum.accumulate(np.where(starts, place, 0))
    return rank


def raw_rows(x: NDArray[np.float64], encoder: TableEncoder) -> list[dict[str, Any]]:
    """Array rows as plain raw values, ``{column: value}`` each."""
    frame = encoder.decode(x)
    return [
        {str(name): _plain(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return round(plain, 12) if isinstance(plain, float) else plain


def _differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [name for name, value in before.items() if after[name] != value]


def findings(records: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    """The records as CSV: what changed in words, then the perturbed row column by column."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    head = ("id", "attack", "row", "outcome", "clean_outcome", "label", "prediction", "similar_prediction",
            "changes", "similar_has", "is_valid", "similarity")  # fmt: skip
    writer.writerow([*head, *(guarded(name) for name in columns)])
    for record in records:
        before, after = record["original"], record["perturbed_original"]
        other = record["perturbed_similar"]
        changes = "; ".join(f"{name}: {before[name]} -> {after[name]}" for name in record["changed"])
        cells = [*(record[name] for name in head[:8]), changes]
        cells.append("; ".join(f"{name}: {other[name]}" for name in record["differs"]))
        cells += [record["is_valid"], record["similarity"], *(after[name] for name in columns)]
        writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in cells])
    return file.getvalue()
