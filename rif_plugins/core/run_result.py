"""One audit as a whole: what was asked, every record, and the rates.

Everything that shows or compares runs (text, JSON, CSV, HTML, tables of models) renders one ``RunResult``,
so that all of them agree. On disk it is a folder: ``run.json``, ``results.jsonl``, ``summary.json``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rif_plugins.core.outcomes import ALL_TARGETS as ALL_TARGETS
from rif_plugins.core.outcomes import AXES as AXES
from rif_plugins.core.outcomes import FAIRNESS_ONLY as FAIRNESS_ONLY
from rif_plugins.core.outcomes import ROBUSTNESS_ONLY as ROBUSTNESS_ONLY
from rif_plugins.core.result_files import RecordWriter, StoredRecords, read_records
from rif_plugins.core.results import Record
from rif_plugins.errors import DataError, UsageError

RUN_SCHEMA = "rif-run/1"
_MAX_BYTES = 64 << 20
RUN_FILE = "run.json"
RESULTS_FILE = "results.jsonl"
SUMMARY_FILE = "summary.json"


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Attributes:
        configuration: What ``run.json`` holds: model, data, settings, versions, seeds, times, checks.
        records: One a pair and target, in the order of the data; ``StoredRecords`` where there may be too
            many for the memory.
        summary: What ``summary.json`` holds: counts and rates as plain JSON values.
    """

    configuration: Mapping[str, Any]
    records: Sequence[Record]
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Record, ...]:
        """The records that end in their target outcome."""
        return tuple(record for record in self.records if record.is_found)

    def distinct(self) -> Iterator[Record]:
        """Every record once, in order; a later record of the same id stands in the place of the earlier one.

        ``StoredRecords`` are read one by one and not kept.
        """
        if isinstance(self.records, StoredRecords):
            yield from self.records.distinct()
        else:
            yield from {record.id: record for record in self.records}.values()

    @classmethod
    def load(cls, folder: Path | str) -> RunResult:
        """Read a run's folder.

        The records of a finished run stay in their file, which must not change while they are used.

        Raises:
            DataError: A file is missing or is none of this project.
        """
        where = Path(folder)
        if not where.is_dir():
            raise DataError(f"{where} is no folder: expected the output folder of `rif audit`")
        configuration = read_json(where / RUN_FILE)
        if configuration.get("schema") != RUN_SCHEMA:
            raise DataError(
                f"{where / RUN_FILE} has schema {configuration.get('schema')!r}, expected {RUN_SCHEMA!r}"
            )
        summary = read_json(where / SUMMARY_FILE) if (where / SUMMARY_FILE).is_file() else {}
        return cls(configuration, _records_of(where / RESULTS_FILE, configuration), summary)

    def save(self, folder: Path | str) -> None:
        """Write the three files; the records replace a results file of the same run."""
        where = Path(folder)
        temporary = where / f"{RESULTS_FILE}.new"
        temporary.unlink(missing_ok=True)
        write_records(temporary, self.records)
        temporary.replace(where / RESULTS_FILE)
        write_json(where / RUN_FILE, self.configuration)
        write_json(where / SUMMARY_FILE, self.summary)


def _records_of(path: Path, configuration: Mapping[str, Any]) -> Sequence[Record]:
    """Checked records; they stay in the file where nothing writes to it any more."""
    if configuration.get("finished") is None:
        return tuple(read_records(path))
    records = StoredRecords(path)
    records.check()
    return records


def write_records(path: Path | str, records: Iterable[Record]) -> None:
    """Append records to a file."""
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def read_json(path: Path | str) -> dict[str, Any]:
    """Read one JSON object.

    Raises:
        DataError: The file is missing, or holds no JSON object.
    """
    source = Path(path)
    try:
        if source.stat().st_size > _MAX_BYTES:
            raise DataError(f"{source} is larger than {_MAX_BYTES >> 20} MB: expected a file of `rif audit`")
        data = json.loads(source.read_text(encoding="utf-8"))
    except DataError:
        raise
    except OSError as error:
        raise DataError(
            f"{source} cannot be read ({error.strerror}): expected a file of `rif audit`"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source}: expected a JSON object, got broken JSON") from error
    if not isinstance(data, dict):
        raise DataError(f"{source}: expected a JSON object, got {type(data).__name__}")
    return data


def write_json(path: Path | str, data: Mapping[str, Any]) -> None:
    """Write one JSON object so that a reader never sees half of it.

    Raises:
        UsageError: The file cannot be written.
    """
    target = Path(path)
    text = json.dumps(dict(data), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
    temporary = target.with_name(target.name + ".new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)  # half a file helps nobody, and takes room that is needed
        raise UsageError(
            f"cannot write {target}: {error.strerror}; choose a folder that you may write to"
        ) from error
