"""Going on with a run that was stopped: what is finished, and whether it is the same run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rif_plugins.core.run_fields import check_configuration
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, read_json
from rif_plugins.errors import UsageError
from rif_plugins.proposers.asking import DEFAULT_TEMPERATURE
from rif_plugins.runner.options import AuditOptions, proposing_models

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
# What stands behind the settings of these names; runs of older releases do not say it.
_BEHIND = {"proposer_version": "proposer", "lexicon_version": "lexicon"}
_BY_ANSWERS = ("victim_fingerprint", "victim_answers")
_FREE_SETTINGS = (
    *("cache", "cache_dir", "cache_size", "batch_size", "results", "filter_order"),
    # A judge looks at finished records; a limit or a price decides none.
    *("judge", "judge_sample", "max_llm_calls", "llm_prompt_price", "llm_completion_price"),
)
# Settings of language models as proposers, with what they were in releases that do not say it.
_OF_PROPOSING_MODELS = {"llm_temperature": DEFAULT_TEMPERATURE}
_FREE_OPTIONS = ("filter_first", "device", "data", "limit", "offset", "prompt", "victim_timeout")


def refuse_earlier_run(out: Path) -> None:
    """Another run's results are never overwritten.

    Raises:
        UsageError: The folder holds results, or is no folder.
    """
    results = out / RESULTS_FILE
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file, expected a folder for the results: give another one with --out")
    if results.exists() and results.stat().st_size:
        raise UsageError(
            f"{results} holds an earlier run: give another folder with --out, go on with it by --resume, "
            "or delete it"
        )


def earlier_run(out: Path, configuration: Mapping[str, Any]) -> dict[str, Any] | None:
    """The configuration of the run that the folder holds; None where it has no results.

    Args:
        out: Folder of the earlier run.
        configuration: Of the run that wants to go on.

    Raises:
        UsageError: The folder holds another run.
        DataError: It has results, but no configuration that says whose they are.
    """
    if not (out / RESULTS_FILE).exists():
        return None
    earlier = read_json(out / RUN_FILE)
    check_configuration(earlier, out / RUN_FILE)
    _refuse_another(earlier, configuration, out)
    return earlier


def earlier_filter_first(out: Path, options: AuditOptions) -> bool | None:
    """The filter order of the run that the folder holds; that of the options where they say one."""
    if options.settings.filter_order != "auto" or not (out / RUN_FILE).exists():
        return options.filter_first
    return bool(read_json(out / RUN_FILE).get("filter_order") == "filter-first")


def _refuse_another(earlier: Mapping[str, Any], now: Mapping[str, Any], out: Path) -> None:
    # A victim that does not repeat its answers cannot be known again by them.
    is_changing = not _is_steady(earlier) and not _is_steady(now)
    for name in _SAME:
        if is_changing and name in _BY_ANSWERS:
            continue
        if earlier.get(name) != now.get(name):
            raise _other_run(out, name, earlier.get(name), now.get(name))
    is_asking = bool(proposing_models(str((now.get("settings") or {}).get("proposer"))))
    free_settings = _FREE_SETTINGS if is_asking else (*_FREE_SETTINGS, *_OF_PROPOSING_MODELS)
    for part, free in (("settings", free_settings), ("options", _FREE_OPTIONS)):
        before, after = earlier.get(part) or {}, now.get(part) or {}
        if part == "settings":
            before = {**_OF_PROPOSING_MODELS, **before}
        for name in sorted(set(before) | set(after)):
            if name not in free and before.get(name) != after.get(name):
                raise _other_run(out, name, before.get(name), after.get(name))
    for name in _BEHIND:
        if earlier.get(name) and earlier[name] != now.get(name):
            raise _other_run(out, name, earlier[name], now.get(name))


def _is_steady(configuration: Mapping[str, Any]) -> bool:
    """Whether the victim gave the same answers twice when it was checked."""
    checks = configuration.get("victim_checks") or []
    return all(c.get("status") == "pass" for c in checks if c.get("name") == "deterministic")


def _other_run(out: Path, name: str, before: Any, after: Any) -> UsageError:
    if name == "data_sha256":
        return UsageError(
            f"--resume: {out} holds a run on other data: give the same data, or another folder with --out"
        )
    if name in _BY_ANSWERS:
        return UsageError(
            f"--resume: {out} holds a run of another victim with this name: "
            "give the same model, or another folder with --out"
        )
    if name in _BEHIND:
        return UsageError(
            f"--resume: {out} holds a run with another {_BEHIND[name]} of this name ({before}, now {after}): "
            "give the same file or model, or another folder with --out"
        )
    return UsageError(
        f"--resume: {out} holds a run with another {name} ({before!r}, now {after!r}): "
        "repeat its options, or give another folder with --out"
    )
