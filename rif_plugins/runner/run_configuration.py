"""What ``run.json`` says: what was asked, with which versions, and in the end what it took."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from rif_plugins.core.run_result import RUN_SCHEMA
from rif_plugins.examples.base import ExampleSet
from rif_plugins.proposers.base import version_of
from rif_plugins.runner.building import Parts, build_proposer
from rif_plugins.runner.costs import Cost
from rif_plugins.runner.options import AuditOptions
from rif_plugins.version import __version__

PACKAGES = ("numpy", "onnxruntime", "scipy", "torch", "transformers", "datasets", "scikit-learn")


def starting(
    options: AuditOptions,
    parts: Parts,
    examples: ExampleSet,
    *,
    label_names: Sequence[str],
    checks: Sequence[Mapping[str, str]],
    answers: str,
) -> dict[str, Any]:
    """The configuration of a run that starts now.

    Args:
        options: What to do; the filter order is decided.
        parts: Victim, filter, cache.
        examples: What is searched.
        label_names: Names of the classes.
        checks: What the checks of the victim say.
        answers: Digest of the victim's answers to a few sentences.

    Raises:
        UsageError: The proposer cannot be loaded.
        DataError: A file that it proposes from cannot be read.
    """
    asked = options.to_dict()
    settings = asked.pop("settings")
    return {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "model": parts.victim.name,
        "data": examples.source,
        "data_sha256": examples.sha256,
        "n_examples": len(examples),
        "victim_fingerprint": parts.fingerprint.value,
        "victim_answers": answers,
        "cache": _cache_state(parts),
        "label_names": list(label_names),
        "labels": options.labels,
        "targets": list(options.targets),
        "filter_order": "filter-first" if options.filter_first else "victim-first",
        "scorer": _scorer_name(parts),
        "proposer_version": version_of(build_proposer(options, parts)),
        "lexicon_version": parts.source.lexicon.version,
        "settings": settings,
        "options": asked,
        "victim_checks": [dict(check) for check in checks],
        "versions": _versions(),
        "started": _now(),
        "finished": None,
    }


def finished(
    configuration: Mapping[str, Any], *, cost: Cost, proposer_calls: int, seconds: float, n_resumed: int
) -> dict[str, Any]:
    """The configuration with its end.

    Args:
        configuration: That of the start.
        cost: What this session has cost; an earlier one is not counted.
        proposer_calls: Tokens that the proposer was asked about in this session.
        seconds: How long this session took.
        n_resumed: Examples that an earlier session had finished.
    """
    models = cost.victim_seconds + cost.entailment_seconds + cost.proposer_seconds
    return {
        **configuration,
        "finished": _now(),
        "seconds": round(seconds, 3),
        "n_resumed": n_resumed,
        "time": {
            "victim": round(cost.victim_seconds, 3),
            "entailment": round(cost.entailment_seconds, 3),
            "proposer": round(cost.proposer_seconds, 3),
            "search": round(max(0.0, seconds - models), 3),
        },
        "cost": {
            "victim_rows": cost.victim_rows,
            "cache_hits": cost.cache_hits,
            "stored_hits": cost.stored_hits,
            "entailment_rows": cost.entailment_rows,
            "entailment_hits": cost.entailment_hits,
            "proposer_calls": proposer_calls,
        },
    }


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _cache_state(parts: Parts) -> str:
    if parts.store is None:
        return "off"
    return "on" if parts.fingerprint.value is not None else f"entailment only: {parts.fingerprint.reason}"


def _scorer_name(parts: Parts) -> str:
    if parts.filter is None:
        return "none"
    return f"{parts.filter.scorer.name} {parts.filter.scorer.version}"


def _versions() -> dict[str, str]:
    from importlib import metadata

    versions = {"python": sys.version.split()[0]}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
