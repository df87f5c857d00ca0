"""One audit from the options to the folder with its files."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rif_plugins.core.pairs import Pair
from rif_plugins.core.result_files import RecordWriter
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import (
    RESULTS_FILE,
    RUN_FILE,
    RUN_SCHEMA,
    SUMMARY_FILE,
    write_json,
)
from rif_plugins.core.victim import VictimCallError
from rif_plugins.diagnostics.victim_checks import check_victim
from rif_plugins.errors import DataError, RIFError, UsageError, VictimRowError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.metrics.summary import summarise_run
from rif_plugins.runner.audit_result import AuditResult
from rif_plugins.runner.building import (
    Parts,
    build_parts,
    build_sweep,
    decides_filter_first,
    read_examples,
)
from rif_plugins.runner.controls import run_controls
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.resuming import earlier_filter_first, finished_records
from rif_plugins.runner.sweep import check_labels
from rif_plugins.runner.workers import Cost, cost_of, run_workers
from rif_plugins.version import __version__
from rif_plugins.victims.base import Victim
from rif_plugins.victims.fingerprint import probe_digest

_ASKED_ALONE = 32
PACKAGES = ("numpy", "onnxruntime", "scipy", "torch", "transformers", "datasets", "scikit-learn")
Progress = Callable[[Iterable[list[Record]], int], Iterable[list[Record]]]


@dataclass
class Audit:
    """An audit that is ready to run: everything is loaded and checked, nothing is searched yet.

    Attributes:
        options: What to do; the filter order is decided.
        parts: Victim, filter, cache, lexicon.
        examples: What to search.
        checks: What the checks of the victim say.
        answers: Digest of the victim's answers to a few sentences; tells victims apart that have no
            fingerprint.
    """

    options: AuditOptions
    parts: Parts
    examples: ExampleSet
    checks: list[dict[str, str]]
    answers: str = ""

    @classmethod
    def prepare(
        cls, options: AuditOptions, *, victim: Victim | None = None, examples: ExampleSet | None = None
    ) -> Audit:
        """Load and check everything that the options name.

        Args:
            options: The options.
            victim: In place of ``options.model``.
            examples: In place of ``options.data``.

        Raises:
            UsageError: Something cannot be loaded, or the victim cannot be audited.
            DataError: A label is no class of the victim, or two examples have the same id.
        """
        options.plan()
        parts = build_parts(options, victim)
        names = options.label_names or parts.victim.label_names
        examples = examples or read_examples(options, names)
        texts = [example.text for example in examples.examples]
        _refuse_same_ids(examples)
        checks = _checked_victim(parts, examples, texts)
        check_labels(examples.examples, parts.engine.n_labels)
        _check_names(names, parts)
        if options.filter_first is None:
            options = replace(options, filter_first=decides_filter_first(options, parts, texts))
        return cls(options, parts, examples, checks, _answers_digest(parts))

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes; their numbers where nothing names them."""
        names = self.options.label_names or self.examples.label_names or self.parts.victim.label_names
        n = self.parts.engine.n_labels or 0
        return tuple(names) if names is not None else tuple(str(i) for i in range(n))

    def pairs(self) -> Iterator[tuple[Example, list[Pair]]]:
        """Every example with its pairs, for a dry run."""
        for example in self.examples.examples:
            is_empty = not example.text.strip()
            yield example, [] if is_empty else self.parts.source.pairs_of(example.text, example.similar)

    def run(
        self,
        out: Path | None = None,
        *,
        workers: int = 1,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> AuditResult:
        """Search all examples.

        Args:
            out: Folder of the files; None writes none.
            workers: Processes; more than one needs a victim that ``options.model`` names.
            resume: Go on with the run that the folder holds.
            progress: Wraps the iteration over examples, to show how far it is.

        Raises:
            UsageError: The folder holds another run, or cannot be written.
        """
        started, clock = datetime.now(timezone.utc), time.perf_counter()
        if out is not None and resume:
            # The order was measured; measuring it again must not change how the rest is searched.
            self.options = replace(self.options, filter_first=earlier_filter_first(out, self.options))
        configuration = self._configuration(started)
        done = finished_records(out, configuration) if out is not None and resume else {}
        if out is not None:
            _claim(out, configuration, is_resumed=resume)
        todo = [example for example in self.examples.examples if example.id not in done]
        cost = _CostMeter()
        batches: Iterable[list[Record]] = self._batches(todo, workers, cost)
        if progress is not None:
            batches = progress(batches, len(todo))
        records: list[Record] = [record for found in done.values() for record in found]
        writer = RecordWriter(out / RESULTS_FILE) if out is not None else None
        try:
            for found in batches:
                for record in found:
                    if writer is not None:
                        writer.write(record)
                records += found
        finally:
            if writer is not None:
                writer.close()
            self.parts.close()
        order = {example.id: i for i, example in enumerate(self.examples.examples)}
        records.sort(key=lambda record: order.get(record.example, len(order)))
        seconds = time.perf_counter() - clock
        configuration = self._finished(configuration, records, cost.total, seconds, len(done))
        summary = summarise_run(records, configuration, seed=self.options.settings.seed)
        if self.options.controls:
            summary["controls"] = run_controls(
                self.options, self.parts, self.examples.examples, configuration, out
            )
            self.parts.close()
        result = AuditResult(configuration, tuple(records), summary)
        if out is not None and done:
            result.save(out)  # examples that were tried again stand at the end of the file: back in order
        elif out is not None:
            write_json(out / RUN_FILE, configuration)
            write_json(out / SUMMARY_FILE, summary)
        return result

    def _batches(self, examples: Sequence[Example], workers: int, cost: _CostMeter) -> Iterator[list[Record]]:
        if workers > 1:
            options = replace(self.options, filter_first=bool(self.options.filter_first))
            for shard, spent in run_workers(options, examples, workers):
                cost.total = cost.total + spent
                yield from shard
            return
        sweep = build_sweep(self.options, self.parts)
        before = cost_of(sweep)
        for found in sweep.run(examples):
            yield found
            cost.total = cost_of(sweep) - before
        cost.total = cost_of(sweep) - before

    def _configuration(self, started: datetime) -> dict[str, Any]:
        options = self.options.to_dict()
        settings = options.pop("settings")
        return {
            "schema": RUN_SCHEMA,
            "version": __version__,
            "model": self.parts.victim.name,
            "data": self.examples.source,
            "data_sha256": self.examples.sha256,
            "n_examples": len(self.examples),
            "victim_fingerprint": self.parts.fingerprint.value,
            "victim_answers": self.answers,
            "cache": _cache_state(self.parts),
            "label_names": list(self.label_names),
            "labels": self.options.labels,
            "targets": list(self.options.targets),
            "filter_order": "filter-first" if self.options.filter_first else "victim-first",
            "scorer": "none" if self.parts.filter is None else _scorer_name(self.parts),
            "settings": settings,
            "options": options,
            "victim_checks": self.checks,
            "versions": _versions(),
            "started": started.isoformat(timespec="seconds"),
            "finished": None,
        }

    def _finished(
        self,
        configuration: dict[str, Any],
        records: Sequence[Record],
        cost: Cost,
        seconds: float,
        n_resumed: int,
    ) -> dict[str, Any]:
        """The configuration with its end: seconds and costs are those of this session."""
        models = cost.victim_seconds + cost.entailment_seconds + cost.proposer_seconds
        return {
            **configuration,
            "finished": datetime.now(timezone.utc).isoformat(timespec="seconds"),
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
                "proposer_calls": sum(record.queries.get("proposer_calls", 0) for record in records),
            },
        }


class _CostMeter:
    """Where the batches leave what they have cost."""

    def __init__(self) -> None:
        self.total = Cost()


def _refuse_same_ids(examples: ExampleSet) -> None:
    seen: set[str] = set()
    for example in examples.examples:
        if example.id in seen:
            raise DataError(
                f"two examples have the id {example.id!r}, expected one id an example: "
                "give (text, label) tuples, which are named one by one"
            )
        seen.add(example.id)


def _checked_victim(parts: Parts, examples: ExampleSet, texts: Sequence[str]) -> list[dict[str, str]]:
    """Run the checks; a victim that gives no usable answer at all is refused.

    One that fails on some texts is not: those examples will end in an error, the others are searched.
    """
    covered = sum(bool(parts.source.pairs_of(e.text, e.similar)) for e in examples.examples if e.text.strip())
    checks = check_victim(
        lambda some: parts.engine.probabilities(some, fresh=True),
        texts,
        [example.label for example in examples.examples],
        raw=parts.victim.predict,
        output=parts.engine.output,
        label_names=examples.label_names,
        seen=parts.victim.seen,
        covered=(covered, len(texts)),
    )
    broken = next((check for check in checks if check.name == "answers" and check.status == "fail"), None)
    if broken is not None:
        if not _answers_any(parts, texts):
            raise UsageError(f"the victim {parts.victim.name} cannot be audited: {broken.message}")
        checks = [replace(c, status="warn") if c is broken else c for c in checks]
    return [check.to_dict() for check in checks]


def _answers_any(parts: Parts, texts: Sequence[str]) -> bool:
    """Whether the victim has an answer to any of a few texts, asked one by one after all of them together."""
    some = list(dict.fromkeys(texts))[:_ASKED_ALONE]
    for asked in (some, *([text] for text in some)):
        try:
            parts.engine.probabilities(asked, fresh=True)
        except (VictimCallError, VictimRowError):
            continue
        except RIFError:
            return False  # its answers have no usable form at all
        return True
    return False


def _answers_digest(parts: Parts) -> str:
    try:
        return probe_digest(parts.victim.predict)
    except Exception:  # a victim may refuse a sentence; it is audited all the same
        return ""


def _check_names(names: Sequence[str] | None, parts: Parts) -> None:
    n_labels = parts.engine.n_labels
    if names is not None and n_labels is not None and len(names) != n_labels:
        raise UsageError(
            f"the victim {parts.victim.name} has {n_labels} classes, got {len(names)} names "
            f"({', '.join(names)}): give one a class, in the order of its columns"
        )


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


def _claim(out: Path, configuration: dict[str, Any], *, is_resumed: bool) -> None:
    """Make the folder ours."""
    if not is_resumed:
        refuse_earlier_run(out)
    write_json(out / RUN_FILE, configuration)
