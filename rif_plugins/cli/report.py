"""`rif report`: every file of a run again from its records, and what all commands print and write alike."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.core.result_files import StoredRecords, count_examples
from rif_plugins.core.run_fields import check_configuration, check_summary
from rif_plugins.core.run_result import (
    RESULTS_FILE,
    RUN_FILE,
    RUN_SCHEMA,
    SUMMARY_FILE,
    RunResult,
    read_json,
    write_json,
)
from rif_plugins.errors import DataError, UsageError

CHARTS_FOLDER = "charts"
PARQUET_FILE = "records.parquet"
LOGGED_FILES = ("report.html", "findings.csv", SUMMARY_FILE)
UNKNOWN = "unknown"
_ORIGIN = "results file"
_NOT_TOLD = ("model", "data", "settings", "versions", "times", "names of the labels")
_DESCRIPTION = """\
Write summary.json, findings.csv and report.html of a run again from its results.jsonl and run.json, and print
the summary. The summary is computed anew from the records. A results file without a run.json, such as one of
`rif attack`, works too: give the file, and a folder with --out.

--wandb and --mlflow log the run to a tracker too: parameters, rates, and the files of --artifacts, of which
report.html and findings.csv hold texts. W&B stays offline (`wandb sync` sends the run) unless WANDB_MODE is
online; MLflow logs to MLFLOW_TRACKING_URI."""
_EPILOG = """\
examples:
  rif report out
  rif report out --charts --parquet
  rif report attack.jsonl --out out/attack
  rif report out --wandb robust-fairness
  rif report out --mlflow robust-fairness --artifacts summary.json

Exit codes: 0 done, 2 a mistake in the command or a file that is no result."""


def main(arguments: Sequence[str]) -> int:
    """Write the files of a run again and return the exit code.

    Raises:
        UsageError: A file cannot be read or written.
    """
    parser = CommandParser(prog="rif report", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("run", type=Path, metavar="DIR|FILE", help="folder of a run, or a results file")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (the folder of the run)")
    parser.add_argument("--charts", action="store_true", help="charts as PNG and SVG too, by matplotlib")
    parser.add_argument("--parquet", action="store_true", help=f"{PARQUET_FILE} too, every record a row")
    parser.add_argument("--wandb", metavar="PROJECT", help="log the run to this project of Weights & Biases")
    parser.add_argument("--mlflow", metavar="EXPERIMENT", help="log the run to this experiment of MLflow")
    parser.add_argument(
        "--artifacts", metavar="FILES", help=f"files to log: {','.join(LOGGED_FILES)} (all), or none"
    )
    add_printing(parser)
    given = parser.parse_args(list(arguments))
    artifacts = _artifacts(given)
    path = _run_of(given.run)
    run, out, notes = _read(path, given.out)
    run = RunResult(run.configuration, run.records, _summary(run, path if path.is_dir() else path.parent))
    if out.resolve() != path.resolve():
        _claim(out, run)
    for note in notes:
        tell(given, note)
    write_json(out / SUMMARY_FILE, run.summary)
    write_report(run, out, charts=given.charts, parquet=given.parquet)
    _track(run, out, given, artifacts)
    print_result(given, run.summary, lambda: _text(run, out))
    return 0


def _artifacts(given: argparse.Namespace) -> list[str]:
    """The files to log to a tracker.

    Raises:
        UsageError: A name is unknown, or there is no tracker.
    """
    if given.artifacts is None:
        return list(LOGGED_FILES)
    if given.wandb is None and given.mlflow is None:
        raise UsageError("--artifacts needs a tracker: give --wandb PROJECT or --mlflow EXPERIMENT too")
    names = [name.strip() for name in given.artifacts.split(",") if given.artifacts != "none"]
    if not set(names) <= set(LOGGED_FILES):
        raise UsageError(f"--artifacts {given.artifacts}: expected some of {','.join(LOGGED_FILES)}, or none")
    return names


def _track(run: RunResult, out: Path, given: argparse.Namespace, artifacts: list[str]) -> None:
    """Log the run to the trackers that were asked for."""
    if given.wandb is None and given.mlflow is None:
        return
    from rif_plugins.reports.trackers import log_to_mlflow, log_to_wandb

    # Trackers print on stdout, where JSON alone may be asked for.
    with redirect_stdout(io.StringIO() if given.quiet else sys.stderr):
        if given.wandb is not None:
            mode = os.environ.get("WANDB_MODE") or "offline"
            place = log_to_wandb(run, project=given.wandb, mode=mode, folder=out, artifacts=artifacts)
            sync = f"; send it with `wandb sync {place}`" if mode == "offline" else ""
            tell(given, f"W&B ({mode}): logged to {place}{sync}")
        if given.mlflow is not None:
            logged = log_to_mlflow(run, experiment=given.mlflow, artifacts=artifacts)
            tell(given, f"MLflow: logged to experiment {given.mlflow} as run {logged}")


def add_printing(parser: CommandParser) -> None:
    """Declare what all commands that print a result take."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def print_result(given: argparse.Namespace, data: Mapping[str, Any], text: Any) -> None:
    """Print a result as the command line asks: JSON alone, text, or nothing.

    Args:
        given: Has ``format`` and ``quiet``.
        data: The result as plain JSON values.
        text: Makes the text, called only where it is printed.
    """
    if given.quiet:
        return
    if given.format == "json":
        show(json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False))
    else:
        show(text())


def tell(given: argparse.Namespace, line: str) -> None:
    """A note beside the result, on stderr, unless nothing but errors is to be printed."""
    if not given.quiet:
        print(line, file=sys.stderr)


def show(text: str) -> None:
    """Print on stdout; characters that the terminal cannot show become question marks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))


def write_report(run: RunResult, out: Path, *, charts: bool = False, parquet: bool = False) -> None:
    """Write everything that shows a run: findings.csv, report.html, and what is asked for.

    Raises:
        UsageError: A file cannot be written.
        MissingDependencyError: A package that the charts or the Parquet file need is not installed.
    """
    from rif_plugins.reports.csv_file import write_csv
    from rif_plugins.reports.html import write_html

    write_csv(run, out / "findings.csv")
    write_html(run, out / "report.html")
    if charts:
        from rif_plugins.reports.charts import write_charts

        write_charts(run, out / CHARTS_FOLDER)
    if parquet:
        from rif_plugins.reports.frames import write_parquet

        write_parquet(run, out / PARQUET_FILE)


def _run_of(path: Path) -> Path:
    """The folder, where the results file of a whole run is named."""
    is_part = path.name == RESULTS_FILE and path.is_file() and (path.parent / RUN_FILE).is_file()
    return path.parent if is_part else path


def load_run(path: Path, *, renews_summary: bool = False) -> RunResult:
    """A run from its folder, or from a results file alone; the summary is that of the folder, or empty.

    Args:
        path: The folder, or the file.
        renews_summary: The summary will be computed again, so one that is not sound is left out.

    Raises:
        DataError: Neither of both, or a file is broken.
    """
    path = _run_of(path)
    if path.is_dir():
        if not (path / RUN_FILE).is_file() and (path / RESULTS_FILE).is_file():
            return _bare_run(path / RESULTS_FILE)
        run = RunResult.load(path)
        check_configuration(run.configuration, path / RUN_FILE)
        try:
            check_summary(run.summary, path / SUMMARY_FILE)
        except DataError:
            if not renews_summary:
                raise
            return replace(run, summary={})
        return run
    if not path.is_file():
        raise DataError(f"{path} does not exist: expected the folder of a run, or a results file")
    return _bare_run(path)


def _bare_run(results: Path) -> RunResult:
    """A run of which the records alone are known."""
    records = StoredRecords(results)
    records.check()
    if not len(records):
        raise DataError(f"{results} holds no record: expected a results file with one line or more")
    configuration = {
        "schema": RUN_SCHEMA,
        "origin": _ORIGIN,
        "version": UNKNOWN,
        "model": UNKNOWN,
        "data": f"{UNKNOWN}, records from {results.name}",
        "labels": UNKNOWN,
        "label_names": [],
        "settings": {},
        "n_examples": count_examples(records),
    }
    return RunResult(configuration, records)


def _read(path: Path, out: Path | None) -> tuple[RunResult, Path, list[str]]:
    """The run, where its files go, and what is to be said about it."""
    run = load_run(path, renews_summary=True)
    notes = []
    if run.configuration.get("origin") == _ORIGIN:
        notes.append(f"{path} has no run.json: {', '.join(_NOT_TOLD)} are not known")
        if not path.is_dir() and out is None:
            raise UsageError("a results file needs a folder for its report: give one with --out DIR")
    elif "finished" in run.configuration and run.configuration["finished"] is None:
        done = count_examples(run.records)
        total = run.configuration.get("n_examples", "?")
        notes.append(f"the run is not finished, it has {done} of {total} examples: go on with --resume")
    return run, path if out is None else out, notes


def _summary(run: RunResult, folder: Path) -> dict[str, Any]:
    from rif_plugins.metrics.summary import summarise_run
    from rif_plugins.runner.controls import read_controls

    settings = run.configuration.get("settings") or {}
    summary = summarise_run(run.records, run.configuration, seed=int(settings.get("seed") or 0))
    # What models were asked after the search is not in the records.
    summary |= {name: run.summary[name] for name in ("judge", "language_models") if name in run.summary}
    controls = read_controls(folder, run.configuration)
    return summary if controls is None else {**summary, "controls": controls}


def _claim(out: Path, run: RunResult) -> None:
    """Make another folder a run of its own, unless it holds the records of something else."""
    results = out / RESULTS_FILE
    if results.exists() and results.stat().st_size:
        before = read_json(out / RUN_FILE) if (out / RUN_FILE).is_file() else {}
        if before != dict(run.configuration):
            raise UsageError(f"{results} holds another run: give another folder with --out")
    run.save(out)


def _text(run: RunResult, out: Path) -> str:
    from rif_plugins.reports.text import render_text

    return f"{render_text(run)}\nreport:  {out / 'report.html'}\nsummary: {out / SUMMARY_FILE}"
