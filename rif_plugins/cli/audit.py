"""`rif audit`: all targets of one model on one data set, and the files that show the result."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.audit_options import add_options, options_from
from rif_plugins.cli.report import print_result, write_report
from rif_plugins.core.addresses import without_secrets
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    from rif_plugins.runner.audit import Audit, Progress
    from rif_plugins.runner.audit_result import AuditResult
    from rif_plugins.runner.gates import Gate
    from rif_plugins.runner.options import AuditOptions

EXIT_DONE, EXIT_UNMET, EXIT_SOME_ERRORS = 0, 1, 3
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
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
  rif audit --model llm:NAME --prompt prompt.txt --labels negative,positive --data reviews.csv --out out

Settings can also stand in rif.toml or in RIF_* environment variables. Exit codes: 0 done, 1 --fail-under not
met, 2 a mistake in the command, 3 done, but some examples ended in an error, 130 interrupted (Ctrl-C), 143
ended by SIGTERM. What an interrupted run has written stays: go on with --resume."""


def main(arguments: Sequence[str]) -> int:
    """Run an audit and return the exit code.

    Raises:
        UsageError: An option, the model, the data or the folder cannot be used.
    """
    parser = CommandParser(prog="rif audit", description=_DESCRIPTION, epilog=_EPILOG)
    add_options(parser)
    given = parser.parse_args(list(arguments))
    options = options_from(given)
    _check_file(given.junit)
    from rif_plugins.runner.gates import Gate
    from rif_plugins.runner.resuming import refuse_earlier_run

    gate = Gate.of(given.fail_under, given.baseline)
    if not (given.resume or given.dry_run):
        refuse_earlier_run(given.out)
    # What a user's model prints must not stand between the lines of JSON.
    is_plain = given.format == "text" and not given.quiet
    with nullcontext() if is_plain else redirect_stdout(sys.stderr):
        audit = _prepared(options, is_told=is_plain)
        if given.dry_run:
            from rif_plugins.runner.estimating import estimate

            cost = estimate(audit)
        else:
            run, code = _run(audit, given, _progress if is_plain else None)
    if given.dry_run:
        print_result(given, cost.to_dict(), cost.text)
        return EXIT_DONE
    if run is None:
        print(f"rif audit: {_interruption(audit, given.out, code)}", file=sys.stderr)
        return code
    unmet = gate.unmet(run)
    write_report(run, given.out)
    if given.junit is not None:
        from rif_plugins.reports.junit import write_junit

        write_junit(run, given.junit, accepted=gate.accepted, unmet=unmet)
    print_result(given, run.summary, lambda: _text(run, given, gate))
    for line in unmet:
        print(f"rif audit: {line}", file=sys.stderr)
    if unmet:
        return EXIT_UNMET
    return EXIT_SOME_ERRORS if run.summary["n_errors"] else EXIT_DONE


class _TerminatedError(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


def _run(
    audit: Audit, given: argparse.Namespace, progress: Progress | None
) -> tuple[AuditResult | None, int]:
    """The result, or None and the exit code of a run that was interrupted; what it has written is whole."""
    try:
        with _terminable():
            run = audit.run(
                given.out,
                workers=given.workers,
                engine=given.engine,
                ray_address=given.ray_address,
                resume=given.resume,
                progress=progress,
                keep_records=False,
            )
    except _TerminatedError:
        return None, EXIT_TERMINATED
    except KeyboardInterrupt:
        return None, EXIT_INTERRUPTED
    return run, EXIT_DONE


@contextmanager
def _terminable() -> Iterator[None]:
    """Take SIGTERM for a kind of Ctrl-C, so that workers are ended and files are closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _terminate(number: int, frame: object) -> None:
    raise _TerminatedError


def _interruption(audit: Audit, out: Path, code: int) -> str:
    what = "interrupted" if code == EXIT_INTERRUPTED else "ended by SIGTERM"
    if not audit.n_finished:
        return f"{what} before an example was finished"
    return f"{what}; {audit.n_finished} of {len(audit.examples)} examples stand in {out}, go on with --resume"


def _prepared(options: AuditOptions, *, is_told: bool) -> Audit:
    from rif_plugins.runner.audit import Audit

    if is_told:
        print(f"loading {without_secrets(options.model)} and {options.data} ...", file=sys.stderr, flush=True)
    audit = Audit.prepare(options)
    for check in audit.checks:
        if check["status"] != "pass" and is_told:
            print(f"victim check {check['name']}: {check['status']}: {check['message']}", file=sys.stderr)
    return audit


def _check_file(path: Path | None) -> None:
    """Find a file that cannot be written before the hours of a run."""
    if path is not None and (path.is_dir() or (path.parent.exists() and not path.parent.is_dir())):
        raise UsageError(f"--junit {path}: expected the path of a file to write, such as out/rif.xml")


def _progress(batches: Iterable[list[Record]], total: int) -> Iterable[list[Record]]:
    from tqdm import tqdm

    bar = tqdm(batches, total=total, unit="example", desc="audit", file=sys.stderr)
    n_found = 0
    for found in bar:
        n_found += sum(record.is_found and record.status == "induced" for record in found)
        bar.set_postfix(induced=n_found, refresh=False)
        yield found


def _text(run: RunResult, given: argparse.Namespace, gate: Gate) -> str:
    from rif_plugins.reports.text import render_text

    lines = [render_text(run)]
    if given.baseline is not None:
        n_found = n_new = 0
        for record in run.distinct():
            n_found += record.is_found
            n_new += record.is_found and record.id not in gate.accepted
        lines.append(f"findings that {given.baseline.name} does not accept: {n_new} of {n_found}")
    lines.append(f"report:  {given.out / 'report.html'}\nrecords: {given.out / 'results.jsonl'}")
    return "\n".join(lines)
