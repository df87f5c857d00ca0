"""`rif audit`: all targets of one model on one data set, and the files that show the result."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.audit_options import add_options, options_from
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult

EXIT_DONE, EXIT_UNMET, EXIT_SOME_ERRORS = 0, 1, 3
_DESCRIPTION = """\
Does a text classifier treat similar individuals the same when the wording changes? Searches every pair of
similar texts of the data for all three violations of robust individual fairness, with a robustness-only and
a fairness-only attack beside them. Writes run.json, results.jsonl, summary.json, findings.csv and
report.html."""
_EPILOG = """\
examples:
  rif audit --model embedded --data embedded --out out
  rif audit --model ./my-bert --data reviews.csv --sensitive gender,race --out out
  rif audit --model victim.py --data test.jsonl --out out --fail-under rif_rate=0.9 --junit out/rif.xml

Settings can also stand in rif.toml or in RIF_* environment variables. Exit codes: 0 done, 1 --fail-under not
met, 2 a mistake in the command, 3 done, but some examples ended in an error."""


def main(arguments: Sequence[str]) -> int:
    """Run an audit and return the exit code.

    Raises:
        UsageError: An option, the model, the data or the folder cannot be used.
    """
    parser = CommandParser(prog="rif audit", description=_DESCRIPTION, epilog=_EPILOG)
    add_options(parser)
    given = parser.parse_args(list(arguments))
    options = options_from(given)
    from rif_plugins.runner.audit import Audit
    from rif_plugins.runner.gates import Gate

    gate = Gate.of(given.fail_under, given.baseline)
    is_quiet = given.quiet or given.format == "json"
    if not is_quiet:
        print(f"loading {options.model} and {options.data} ...", file=sys.stderr, flush=True)
    audit = Audit.prepare(options)
    for check in audit.checks:
        if check["status"] != "pass" and not is_quiet:
            print(f"victim check {check['name']}: {check['status']}: {check['message']}", file=sys.stderr)
    if given.dry_run:
        from rif_plugins.runner.estimating import estimate

        print(estimate(audit).text())
        return EXIT_DONE
    run = audit.run(
        given.out,
        workers=given.workers,
        resume=given.resume,
        progress=None if is_quiet else _progress,
    )
    unmet = gate.unmet(run)
    _write(run, given.out, given.junit, gate.accepted, unmet)
    _print(run, given, unmet)
    if unmet:
        return EXIT_UNMET
    return EXIT_SOME_ERRORS if any(record.status == "error" for record in run.records) else EXIT_DONE


def _progress(batches: Iterable[list[Record]], total: int) -> Iterable[list[Record]]:
    from tqdm import tqdm

    bar = tqdm(batches, total=total, unit="example", desc="audit", file=sys.stderr)
    n_found = 0
    for found in bar:
        n_found += sum(record.is_found and record.status == "induced" for record in found)
        bar.set_postfix(induced=n_found, refresh=False)
        yield found


def _write(
    run: RunResult, out: Path, junit: Path | None, accepted: frozenset[str], unmet: Sequence[str]
) -> None:
    from rif_plugins.reports.csv_file import write_csv
    from rif_plugins.reports.html import write_html

    write_csv(run, out / "findings.csv")
    write_html(run, out / "report.html")
    if junit is not None:
        from rif_plugins.reports.junit import write_junit

        write_junit(run, junit, accepted=accepted, unmet=unmet)


def _print(run: RunResult, given: Any, unmet: Sequence[str]) -> None:
    if given.format == "json":
        print(json.dumps(run.summary, indent=2, ensure_ascii=True, allow_nan=False))
    elif not given.quiet:
        from rif_plugins.reports.text import render_text

        print(render_text(run))
        print(f"\nreport:  {given.out / 'report.html'}\nrecords: {given.out / 'results.jsonl'}")
    for line in unmet:
        print(f"rif audit: {line}", file=sys.stderr)
