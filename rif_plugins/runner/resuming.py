"""Going on with a run that was stopped: what is finished, and whether it is the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, read_json, write_records
from rif_plugins.errors import UsageError
from rif_plugins.runner.options import AuditOptions

# What decides the records; paths of the cache, batch sizes and dates do not.
_SAME = (
    "schema",
    "version",
    "model",
    "data_sha256",
    "victim_fingerprint",
    "victim_answers",
    "labels",
    "targets",
    "scorer",
    "filter_order",
)
_FREE_SETTINGS = ("cache", "cache_dir", "cache_size", "batch_size", "results", "filter_order")
_FREE_OPTIONS = ("filter_first", "device", "data", "limit", "offset")


def finished_records(out: Path, configuration: Mapping[str, Any]) -> dict[str, list[Record]]:
    """The records of the examples that an earlier run has finished; the results file is cut to them.

    Records are written example by example, so only the last one may be incomplete: it is done again. So are
    examples that ended in an error.

    Args:
        out: Folder of the earlier run.
        configuration: Of the run that wants to go on.

    Raises:
        UsageError: The folder holds another run.
        DataError: A line of its results is no record.
    """
    results = out / RESULTS_FILE
    if not results.exists():
        return {}
    earlier = read_json(out / RUN_FILE)
    _refuse_another(earlier, configuration, out)
    done: dict[str, list[Record]] = {}
    last = ""
    for record in read_records(results):
        done.setdefault(record.example, []).append(record)
        last = record.example
    is_finished = earlier.get("finished") is not None
    if last and not is_finished:
        del done[last]
    done = {
        example: records
        for example, records in done.items()
        if not any(record.status == "error" for record in records)
    }
    temporary = results.with_name(results.name + ".new")
    temporary.unlink(missing_ok=True)
    write_records(temporary, (record for records in done.values() for record in records))
    temporary.replace(results)
    return done


def earlier_filter_first(out: Path, options: AuditOptions) -> bool | None:
    """The filter order of the run that the folder holds; that of the options where they say one."""
    if options.settings.filter_order != "auto" or not (out / RUN_FILE).exists():
        return options.filter_first
    return bool(read_json(out / RUN_FILE).get("filter_order") == "filter-first")


def _refuse_another(earlier: Mapping[str, Any], now: Mapping[str, Any], out: Path) -> None:
    for name in _SAME:
        if earlier.get(name) != now.get(name):
            raise _other_run(out, name, earlier.get(name), now.get(name))
    for part, free in (("settings", _FREE_SETTINGS), ("options", _FREE_OPTIONS)):
        before, after = earlier.get(part) or {}, now.get(part) or {}
        for name in sorted(set(before) | set(after)):
            if name not in free and before.get(name) != after.get(name):
                raise _other_run(out, name, before.get(name), after.get(name))


def _other_run(out: Path, name: str, before: Any, after: Any) -> UsageError:
    if name == "data_sha256":
        return UsageError(
            f"--resume: {out} holds a run on other data: give the same data, or another folder with --out"
        )
    if name in ("victim_fingerprint", "victim_answers"):
        return UsageError(
            f"--resume: {out} holds a run of another victim with this name: "
            "give the same model, or another folder with --out"
        )
    return UsageError(
        f"--resume: {out} holds a run with another {name} ({before!r}, now {after!r}): "
        "repeat its options, or give another folder with --out"
    )
