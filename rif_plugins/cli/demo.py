"""`rif demo`: an audit of the embedded victim on the embedded sentences, offline, with its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rif_plugins.cli import audit
from rif_plugins.cli.arguments import CommandParser
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, read_json
from rif_plugins.errors import DataError, UsageError

_DESCRIPTION = """\
Audit the classifier of offensive language that ships with rif-plugins, on sentences that ship with it, and
write the report. Needs no network and no files; it is `rif audit --model embedded --data embedded`."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo and return the exit code of the audit.

    Raises:
        UsageError: An option or the output folder cannot be used.
    """
    parser = CommandParser(prog="rif demo", description=_DESCRIPTION)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the files (out/demo)")
    parser.add_argument("--limit", default="40", metavar="N", help="how many of the sentences (40)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    options = parser.parse_args(list(arguments))
    _replace_earlier_demo(options.out)
    command = [
        "--model",
        "embedded",
        "--data",
        "embedded",
        "--limit",
        options.limit,
        "--out",
        str(options.out),
    ]
    return audit.main([*command, *(["--quiet"] if options.quiet else [])])


def _replace_earlier_demo(folder: Path) -> None:
    """Delete the results of an earlier demo in the same folder, and of nothing else."""
    results = folder / RESULTS_FILE
    if not results.exists():
        return
    try:
        run = read_json(folder / RUN_FILE)
    except DataError:
        run = {}
    if run.get("model") != "embedded" or run.get("data") != "embedded":
        raise UsageError(f"{results} belongs to another run: give another folder with --out")
    try:
        results.unlink()
    except OSError as error:
        raise UsageError(
            f"--out: cannot write to {folder} ({error.strerror}); give another folder"
        ) from error
