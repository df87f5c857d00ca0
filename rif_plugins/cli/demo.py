"""`rif demo`: TextAttack with the three RIFair recipes on the embedded victim and sentences, offline."""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rif_plugins import __version__
from rif_plugins.cli.arguments import CommandParser
from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.errors import RIFError, UsageError
from rif_plugins.metrics import Rate, summarise
from rif_plugins.settings import Settings, variable_of

COMMAND = "rif demo"
RECIPES = ("rifair-robust-biased", "rifair-unrobust-fair", "rifair-unrobust-biased")
EXIT_SOME_ERRORS = 3
_SHOWN_PAIRS = 3
_DESCRIPTION = """\
Attack the classifier of offensive language that ships with rif-plugins, on sentences that ship with it, once
for each of the three violations of robust individual fairness. Needs no network and no files."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo and return the exit code: 0, or 3 when an example ended in an error.

    Raises:
        UsageError: An option or the output folder cannot be used.
    """
    options = _parse(arguments)
    settings = Settings.load()
    results = _prepare(options.out)
    started, clock = datetime.now(timezone.utc), time.perf_counter()
    if not options.quiet:
        print("Importing TextAttack ...", flush=True)
    with _environment(options, results):
        _attack(options)
    records = list(read_records(results))
    summaries = {target: summarise(group) for target, group in _by_target(records).items()}
    _write_json(options.out / "summary.json", {name: _plain(value) for name, value in summaries.items()})
    run = {
        "command": COMMAND,
        "version": __version__,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 1),
        "victim": _victim_name(),
        "scorer": next((record.scorer for record in records if record.scorer), "none"),
        "num_examples": options.num_examples,
        "settings": dataclasses.asdict(settings),
    }
    _write_json(options.out / "run.json", run)
    if not options.quiet:
        _print_findings(records)
    _print_rates(summaries)
    print(
        f"\nrecords: {results}\nsummary: {options.out / 'summary.json'}\nrun:     {options.out / 'run.json'}"
    )
    return EXIT_SOME_ERRORS if any(record.status == "error" for record in records) else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    from rif_plugins.examples import load_examples

    n_available = len(load_examples())
    parser = CommandParser(prog=COMMAND, description=_DESCRIPTION)
    parser.add_argument("--out", type=Path, default=Path("out/demo"), help="folder for the files (out/demo)")
    parser.add_argument(
        "--num-examples", type=int, default=40, metavar="N", help=f"how many of the {n_available} (40)"
    )
    parser.add_argument("--quiet", action="store_true", help="only the table of rates at the end")
    options = parser.parse_args(list(arguments))
    if not 1 <= options.num_examples <= n_available:
        raise UsageError(f"--num-examples: expected 1 to {n_available}, got {options.num_examples}")
    return options


def _prepare(folder: Path) -> Path:
    """Make the folder; replace what an earlier demo left there, and nothing else."""
    results, run = folder / "results.jsonl", folder / "run.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if results.exists():
            if not _is_demo(run):
                raise UsageError(f"{results} belongs to another run: give another folder with --out")
            results.unlink()
        # First, so that a demo that is interrupted can be run again.
        _write_json(run, {"command": COMMAND, "version": __version__})
    except OSError as error:
        raise UsageError(
            f"--out: cannot write to {folder} ({error.strerror}); give another folder"
        ) from error
    return results


def _is_demo(run: Path) -> bool:
    try:
        content = json.loads(run.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("command") == COMMAND


@contextmanager
def _environment(options: argparse.Namespace, results: Path) -> Iterator[None]:
    """Tell the recipes where to write, and the host to be quiet; put everything back afterwards."""
    changes = {variable_of("results"): str(results)}
    if options.quiet:
        changes["TQDM_DISABLE"] = "1"
    before = {name: os.environ.get(name) for name in changes}
    level = logging.root.manager.disable
    os.environ.update(changes)
    try:
        with ExitStack() as stack:
            if options.quiet:
                # `--silent` leaves the lines about loaded files and the blank lines around the results.
                logging.disable(logging.INFO)
                stack.enter_context(redirect_stdout(io.StringIO()))
            yield
    finally:
        logging.disable(level)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _attack(options: argparse.Namespace) -> None:
    from rif_plugins.text import host

    host.register()
    victim_file = str(Path(host.__file__).with_name("embedded.py"))
    for recipe in RECIPES:
        command = ["attack", "--recipe", recipe, "--num-examples", str(options.num_examples)]
        command += ["--model-from-file", victim_file, "--dataset-from-file", victim_file, "--disable-stdout"]
        if options.quiet:
            command.append("--silent")
        code = host.run_command_line(command)
        if code:
            raise RIFError(
                f"TextAttack ended with exit code {code} on --recipe {recipe}: see its message above"
            )


def _by_target(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.target, []).append(record)
    return groups


def _print_findings(records: Sequence[Record]) -> None:
    """The first induced pairs of each target, as they came."""
    from rif_plugins.victims import EmbeddedVictim

    for target, group in _by_target(records).items():
        print(f"\n{target}: the first pairs that the search found")
        for record in [r for r in group if r.status == "induced"][:_SHOWN_PAIRS]:
            print(f"  {record.attribute}, label {EmbeddedVictim.label_names[record.label or 0]}")
            for side in ("original", "similar"):
                probabilities = record.probabilities[f"perturbed_{side}"]
                predicted = EmbeddedVictim.label_names[probabilities.index(max(probabilities))]
                text = getattr(record, f"perturbed_{side}")
                print(f"    {side:<9} {text}  [{predicted}, {max(probabilities):.2f}]")
                edits = [f"{e['from']} -> {e['to']}" for e in record.edits if e["side"] == side]
                if edits:
                    print(f"              edited: {', '.join(edits)}")


def _print_rates(summaries: dict[str, dict[str, Any]]) -> None:
    print("\nShare of pairs, with 95 % interval")
    for target, summary in summaries.items():
        print(f"  {target}")
        for name in ("natural_rate", "induced_rate", "rif_rate"):
            print(f"    {name:<13} {summary[name]}")


def _victim_name() -> str:
    from rif_plugins.victims import EmbeddedVictim

    return f"{EmbeddedVictim.name} ({EmbeddedVictim.version})"


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, default=str) + "\n", encoding="utf-8")
