"""The options of `rif audit`, and the value that the runner takes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rif_plugins.errors import UsageError
from rif_plugins.settings import FIELDS, Settings, allowed_values

if TYPE_CHECKING:
    from rif_plugins.cli.arguments import CommandParser
    from rif_plugins.runner.options import AuditOptions

# `--out` is the folder; the recipes' results file and pair modes have no place in an audit.
_NOT_HERE = ("results", "positions")


def add_options(parser: CommandParser) -> None:
    """Declare everything that `rif audit` takes."""
    what = parser.add_argument_group("what")
    what.add_argument(
        "--model",
        required=True,
        metavar="M",
        help="a Hugging Face folder or name, a file.py with a variable `model`, an http(s) address, "
        "llm:NAME (with --prompt and --labels), or `embedded`",
    )
    what.add_argument(
        "--prompt",
        type=Path,
        metavar="FILE",
        help="for llm:NAME: a text with {text} once, and {labels} where the classes should stand",
    )
    what.add_argument(
        "--data",
        required=True,
        metavar="D",
        help="a CSV, TSV, JSONL or Parquet file, a folder or name for the package datasets, or `embedded`",
    )
    what.add_argument(
        "--targets",
        default="all",
        metavar="NAMES",
        help="all, or some of robust_biased, unrobust_fair, unrobust_biased, robustness_only, fairness_only",
    )
    for name, text in (
        ("--text-column", "column of the texts"),
        ("--label-column", "column of the labels"),
        ("--similar-column", "column of ready similar texts, in place of the lexicon's"),
        ("--split", "split of a data set"),
    ):
        what.add_argument(name, metavar="NAME", help=text)
    what.add_argument("--limit", type=_whole(1), metavar="N", help="most examples")
    what.add_argument("--offset", type=_whole(0), default=0, metavar="N", help="rows to pass over first")
    what.add_argument(
        "--labels",
        action="append",
        default=[],
        metavar="given|predicted|A,B",
        help="predicted: the victim's own answer (given); for llm:NAME the classes it chooses among, with "
        "commas; give it twice for both",
    )
    what.add_argument(
        "--label-map", type=Path, metavar="FILE", help="JSON or TOML: label of the data = class"
    )
    what.add_argument("--label-names", metavar="A,B", help="names of the classes, in the victim's order")
    what.add_argument("--device", metavar="NAME", help="torch device of a Hugging Face model")
    what.add_argument("--max-length", type=_whole(1), metavar="N", help="most tokens of a text")
    what.add_argument(
        "--protect", action="append", default=[], metavar="WORD", help="a word no edit may touch or write"
    )
    what.add_argument(
        "--controls",
        action="store_true",
        help="also swap between terms of the same group: how much is plain sensitivity to any swap?",
    )
    how = parser.add_argument_group("how (settings, as in rif.toml)")
    for key in FIELDS:
        if key not in _NOT_HERE:
            how.add_argument(
                f"--{key.replace('_', '-')}", dest=f"setting_{key}", metavar="VALUE", help=allowed_values(key)
            )
    how.add_argument("--no-cache", action="store_true", help="the same as --cache off")
    how.add_argument("--query-budget", type=_whole(1), metavar="N", help="most victim rows of one example")
    run = parser.add_argument_group("run and result")
    run.add_argument("--out", type=Path, default=Path("out/audit"), metavar="DIR", help="folder (out/audit)")
    run.add_argument("--workers", type=_whole(1), default=1, metavar="N", help="processes, a victim in each")
    run.add_argument("--engine", choices=("local", "ray"), default="local", help="where workers run (local)")
    run.add_argument("--ray-address", metavar="A", help="a Ray cluster (default: one on this machine)")
    run.add_argument("--resume", action="store_true", help="go on with the run that the folder holds")
    run.add_argument(
        "--victim-timeout",
        type=_seconds,
        metavar="SECONDS",
        help="give a call of the victim up after this time (runs it in a process of its own)",
    )
    run.add_argument("--dry-run", action="store_true", help="count pairs, estimate rows and minutes, stop")
    run.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="RATE=X",
        help="exit with 1 when a rate of summary.json is lower, such as rif_rate=0.9",
    )
    run.add_argument("--baseline", type=Path, metavar="FILE", help="accepted findings: only new ones count")
    run.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML for a CI server")
    run.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    run.add_argument("--quiet", action="store_true", help="print nothing but errors")


def options_from(given: argparse.Namespace) -> AuditOptions:
    """The runner's options from the command line; settings files and variables stand behind it.

    Raises:
        UsageError: A value is not one of those allowed.
    """
    from rif_plugins.runner.options import AuditOptions, check_language_models, parse_labels, parse_targets
    from rif_plugins.runner.places import Place

    changed = {key: getattr(given, f"setting_{key}") for key in FIELDS if key not in _NOT_HERE}
    changed = {key: value for key, value in changed.items() if value is not None}
    if given.no_cache:
        if changed.get("cache", "off") != "off":
            raise UsageError("--no-cache and --cache on contradict each other: give one of them")
        changed["cache"] = "off"
    names = None if given.label_names is None else tuple(n.strip() for n in given.label_names.split(","))
    labels, names = parse_labels(given.labels, names, given.model)
    options = AuditOptions(
        model=given.model,
        data=given.data,
        settings=Settings.load().updated(**changed),
        targets=parse_targets(given.targets),
        text_column=given.text_column,
        label_column=given.label_column,
        similar_column=given.similar_column,
        split=given.split,
        limit=given.limit,
        offset=given.offset,
        labels=labels,
        label_map=given.label_map,
        label_names=names,
        query_budget=given.query_budget,
        protect=tuple(given.protect),
        controls=given.controls,
        device=given.device,
        max_length=given.max_length,
        prompt=given.prompt,
        victim_timeout=given.victim_timeout,
    )
    check_language_models(options, Place(given.workers, given.engine, given.ray_address))
    return options


def _seconds(text: str) -> float:
    """An argparse type: seconds above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text}")
    return seconds


def _whole(least: int) -> type[int]:
    """An argparse type: a whole number from ``least``."""

    class Whole(int):
        def __new__(cls, text: str) -> Whole:
            number = super().__new__(cls, text)
            if number < least:
                raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text}")
            return number

    Whole.__name__ = f"whole number from {least}"
    return Whole
