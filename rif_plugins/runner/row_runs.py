"""A folder of `rif tabular`, with its table and its model loaded again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.run_result import read_json
from rif_plugins.errors import DataError, UsageError
from rif_plugins.runner.tabular_attacks import ATTACK_NAMES, AttackBudget, RowTarget
from rif_plugins.runner.tabular_files import RESULTS_FILE, ROWS_SCHEMA, RUN_FILE, SCHEMA_FILE, raw_rows
from rif_plugins.runner.tabular_input import TabularInput, TabularOptions, describe_table, read_table
from rif_plugins.runner.tabular_labels import class_names, class_numbers
from rif_plugins.tables import TableEncoder
from rif_plugins.training.rows import row_key
from rif_plugins.victims.python_file import run_file

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_LONGEST_LINE = 1 << 20
_NEEDED = ("id", "attack", "row", "label", "outcome", "original", "similar", "perturbed_original",
           "perturbed_similar")  # fmt: skip
_KEPT = ("seed", "label_column", "gradients", "scaling", "reads", "missing", "out_of_range", "limit",
         "batch_size", "max_records", "n_seeds")  # fmt: skip


@dataclass(frozen=True)
class RowRun:
    """A finished run of `rif tabular`, ready to be searched again.

    Attributes:
        configuration: What ``run.json`` holds.
        records: The violations, as ``results.jsonl`` holds them.
        given: Table, schema and the classifier as it is.
        seeds: ``(k,)`` positions of the run's seeds in ``given.x``.
    """

    configuration: dict[str, Any]
    records: tuple[dict[str, Any], ...]
    given: TabularInput
    seeds: IntArray

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns in which similar rows differ."""
        return tuple(column.name for column in self.given.encoder.raw.columns if column.sensitive)


def read_row_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a ``results.jsonl`` of `rif tabular`.

    Raises:
        DataError: The file is missing, or a line is no such record.
    """
    if not path.is_file():
        raise DataError(f"results file {path} does not exist: expected the folder of a `rif tabular`")
    with path.open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(_LONGEST_LINE + 1), b""), 1):
            try:
                record = json.loads(line) if len(line) <= _LONGEST_LINE else None
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict) or record.get("schema") != ROWS_SCHEMA:
                raise DataError(f"{path}, line {number}: expected a record of schema {ROWS_SCHEMA!r}")
            absent = [name for name in _NEEDED if name not in record]
            if absent or not all(isinstance(record[name], dict) for name in _NEEDED[5:]):
                what = f"without {absent[0]!r}" if absent else "with a row that is no object"
                raise DataError(f"{path}, line {number}: a record {what}: run `rif tabular` again")
            yield record


def load_row_run(folder: Path, model: Path, audited: Path) -> tuple[RowRun, ModuleType]:
    """Read a run, run the model's file, and read the table that was searched.

    Args:
        folder: Output of `rif tabular`.
        model: The model's file.
        audited: The table whose rows the run started from.

    Returns:
        The run, and the model's file as a module.

    Raises:
        UsageError: The run took the model's own answers as labels.
        DataError: A file is broken, or the table is not the one of the run.
    """
    configuration = read_json(folder / RUN_FILE)
    options = options_of(configuration, folder, model, audited)
    if (configuration.get("options") or {}).get("labels") == "predicted":
        raise UsageError(
            "the run took the model's own answers as labels, so no right label is known to teach: "
            "run `rif tabular` with --labels given"
        )
    module = run_file(model)
    if not hasattr(module, "model"):
        raise UsageError(f"{model.name} sets no variable `model`: set it to the model that was searched")
    own = getattr(module, "encoder", None)
    frame, numbers, notes = read_table(options)
    wanted = options if own is None else replace(options, schema=None)
    encoder, label, _ = describe_table(wanted, frame, own, getattr(module, "relations", ()))
    x = encoder.encode(frame, out_of_range=options.out_of_range)  # type: ignore[arg-type]
    target, reads, names = row_target(module.model, encoder, x, options, module)
    y = class_numbers(frame[label], names, len(names), numbers)
    options = replace(options, label_column=label)
    given = TabularInput(options, encoder, x, y, numbers, names, target, reads, False, tuple(notes))
    records = tuple(read_row_records(folder / RESULTS_FILE))
    return RowRun(configuration, records, given, _seeds(configuration, records, given)), module


def options_of(configuration: dict[str, Any], folder: Path, model: Path, audited: Path) -> TabularOptions:
    """The options of the run, for the same search on another model.

    Raises:
        DataError: ``run.json`` does not hold them.
    """
    try:
        stored = dict(configuration["options"])
        groups = stored["one_hot"]
        attacks = tuple(name for name in stored["attacks"] if name in ATTACK_NAMES)
        return TabularOptions(
            model=model,
            data=audited,
            schema=folder / SCHEMA_FILE,
            attacks=attacks,
            budget=AttackBudget(**stored["budget"]),
            label_names=tuple(map(str, configuration["label_names"])),
            one_hot=groups if isinstance(groups, bool) else tuple(groups),
            **{name: stored[name] for name in _KEPT},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{folder / RUN_FILE} does not tell the options of its run ({error}): run `rif tabular` again"
        ) from error


def row_target(
    model: Any, encoder: TableEncoder, x: FloatArray, options: TabularOptions, module: Any = None
) -> tuple[RowTarget, str, tuple[str, ...]]:
    """A model as attacks take it, what it is called with, and the names of its classes.

    Raises:
        UsageError: It has another number of classes than the run.
    """
    from rif_plugins.tabular.host import import_host

    import_host()
    from rif_plugins.tabular.estimators import as_estimator

    found = as_estimator(model, encoder, x, reads=options.reads)  # type: ignore[arg-type]
    names = class_names(options.label_names, module, found) or ()
    return RowTarget(found.plain, encoder.schema, found.packed), found.reads, names


def encoded_table(
    given: TabularInput, path: Path, limit: int | None = None
) -> tuple[FloatArray, IntArray, list[str]]:
    """Another table with the same columns: rows ``(n, d)``, labels ``(n,)``, and notes.

    Numbers beyond the bounds of the schema are put on the nearest bound, and counted in a note.

    Raises:
        DataError: It lacks a column, or a label is none of the run's.
    """
    options = replace(given.options, data=path, limit=limit)
    frame, numbers, notes = read_table(options)
    name = options.label_column
    if name not in frame.columns:
        raise DataError(f"{path.name} has no column {name!r}, which held the labels of the run: add it")
    x = given.encoder.encode(frame, out_of_range="clip")
    n_beyond = int((given.encoder.encode(frame, out_of_range="keep") != x).any(axis=1).sum())
    if n_beyond:
        notes.append(f"{path.name}: {n_beyond} rows hold numbers beyond the schema, put on its bounds")
    y = class_numbers(frame[name], given.label_names, len(given.label_names), numbers)
    return x, y, notes


def _seeds(
    configuration: dict[str, Any], records: tuple[dict[str, Any], ...], given: TabularInput
) -> IntArray:
    """Positions of the run's seeds; the table must hold them as the records do."""
    place = {int(number): position for position, number in enumerate(given.numbers)}
    advice = "name the table that was searched with --audited"
    file = given.options.data.name
    rows = [int(number) for number in configuration.get("seed_rows") or ()]
    for number in rows:
        if number not in place:
            raise DataError(f"the run started from row {number}, which {file} does not have: {advice}")
    seeds = np.asarray([place[number] for number in rows], dtype=np.int64)
    known = dict(zip(rows, raw_rows(given.x[seeds], given.encoder) if rows else (), strict=True))
    for record in records:
        values = known.get(record["row"])
        if values is None or row_key(values) != row_key(record["original"]):
            raise DataError(f"row {record['row']} of {file} is not that of the run: {advice}")
    return seeds
