"""One run of an audit while it goes on: what is to be searched, written and counted."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.core.result_files import StoredRecords
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, write_json
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.metrics.summary import RunSummary
from rif_plugins.runner.audit_result import AuditResult
from rif_plugins.runner.building import build_sweep
from rif_plugins.runner.controls import run_controls
from rif_plugins.runner.costs import Cost, cost_of, counted
from rif_plugins.runner.guarding import close_parts
from rif_plugins.runner.judging import run_judges
from rif_plugins.runner.places import Place
from rif_plugins.runner.result_log import ResultLog
from rif_plugins.runner.resuming import earlier_filter_first, earlier_run, refuse_earlier_run
from rif_plugins.runner.run_configuration import finished
from rif_plugins.runner.workers import run_workers

if TYPE_CHECKING:
    from rif_plugins.runner.audit import Audit


class Session:
    """One run of an audit, from its claim on the folder to its result."""

    def __init__(self, audit: Audit, out: Path | None, *, keep_records: bool) -> None:
        self.audit = audit
        self.out = out
        self.clock = time.perf_counter()
        self.cost = Cost()
        self.proposer_calls = 0
        self.n_resumed = 0
        self.todo: list[Example] = []
        self.configuration: dict[str, Any] = {}
        self._search: Generator[list[Record], None, None] | None = None
        self._summary = RunSummary()
        self._kept: list[Record] | None = [] if keep_records else None
        ids = [example.id for example in audit.examples.examples]
        self._log = None if out is None else ResultLog(out / RESULTS_FILE, ids, self._see)

    def begin(self, *, is_resumed: bool) -> None:
        """Find out what is to be done, and make the folder ours."""
        audit, out = self.audit, self.out
        if out is not None and is_resumed:
            # The order was measured; measuring it again must not change how the rest is searched.
            filter_first = earlier_filter_first(out, audit.options)
            audit.options = replace(audit.options, filter_first=filter_first)
        self.configuration = audit.configuration()
        self.todo = list(audit.examples.examples)
        if out is None or self._log is None:
            return
        earlier = earlier_run(out, self.configuration) if is_resumed else None
        if earlier is not None:
            self._log.take_up(is_whole=earlier.get("finished") is not None)
        elif not is_resumed:
            refuse_earlier_run(out)
        self.n_resumed = self._log.n_finished
        self.todo = [example for example in self.todo if example.id not in self._log]
        write_json(out / RUN_FILE, self.configuration)
        self._log.open()

    def search(self, place: Place) -> Iterator[list[Record]]:
        """Search what is to be done, in this process or in several; the records of each example."""
        self._search = self._batches(place)
        return self._search

    def _batches(self, place: Place) -> Generator[list[Record], None, None]:
        options, parts = self.audit.options, self.audit.parts
        if place.is_spread:
            options = replace(options, found_output=parts.engine.output)
            close_parts(parts)
            for shard in run_workers(options, self.todo, place.workers, start=place.start):
                self.cost = self.cost + shard.cost
                yield from shard.records
            return
        sweep = build_sweep(options, parts)
        before = cost_of(sweep)
        for found in sweep.run(self.todo):
            self.cost = cost_of(sweep) - before
            yield found
        self.cost = cost_of(sweep) - before

    def take(self, records: list[Record]) -> None:
        """Write the records of one example down."""
        self.proposer_calls += counted(records, "proposer_calls")
        if self._log is None:
            self._see(records)
        else:
            self._log.append(records)

    def _see(self, records: Sequence[Record]) -> None:
        for record in records:
            self._summary.add(record)
        if self._kept is not None:
            self._kept += records

    def stopped(self, error: UsageError) -> UsageError:
        """The error that ends the run, and how to go on where that is possible."""
        if self._log is None or not self._log.n_finished or self._search is None:
            return error
        n, total = self._log.n_finished, len(self.audit.examples)
        advice = f"{n} of {total} examples stand in {self.out}, go on with --resume"
        return type(error)(f"{error}; {advice}")

    def close(self) -> None:
        """End what was started; the files are whole."""
        if self._search is not None:
            self._search.close()
        if self._log is not None:
            self._log.close()
            self.audit.n_finished = self._log.n_finished
        close_parts(self.audit.parts)

    def result(self) -> AuditResult:
        """Everything that was found, once all is searched; its files are written."""
        audit, out = self.audit, self.out
        if self._log is not None:
            self._log.put_in_order()
        seconds = time.perf_counter() - self.clock
        configuration = finished(
            self.configuration,
            cost=self.cost,
            proposer_calls=self.proposer_calls,
            seconds=seconds,
            n_resumed=self.n_resumed,
        )
        summary = self._summary.to_dict(configuration, seed=audit.options.settings.seed)
        if audit.options.controls:
            summary["controls"] = run_controls(
                audit.options, audit.parts, audit.examples.examples, configuration, out
            )
            close_parts(audit.parts)
        if audit.options.settings.judge is not None:
            summary["judge"] = run_judges(audit.options, audit.parts.models, self._records())
        if audit.parts.models.is_used:
            configuration = {**configuration, "language_models": audit.parts.models.to_dict()}
            summary["language_models"] = configuration["language_models"]
        if out is not None:
            write_json(out / RUN_FILE, configuration)
            write_json(out / SUMMARY_FILE, summary)
        return AuditResult(configuration, self._records(), summary)

    def _records(self) -> Sequence[Record]:
        """In the order of the data."""
        if self._kept is None and self.out is not None:
            return StoredRecords(self.out / RESULTS_FILE, are_distinct=True)
        order = {example.id: i for i, example in enumerate(self.audit.examples.examples)}
        return tuple(sorted(self._kept or (), key=lambda record: order.get(record.example, len(order))))
