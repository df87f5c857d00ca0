"""`rif compare`: models ranked on robustness, fairness and both, and where the order changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.report import add_printing, load_run, print_result, tell
from rif_plugins.core.run_result import RunResult, write_json
from rif_plugins.errors import UsageError

COMPARISON_FILE = "comparison.json"
# What two runs must share, or a difference between the models may come from it.
_ALIKE = (
    *("proposer", "entailment", "min_equivalence", "veto", "scope", "max_positions", "max_edits"),
    *("max_candidates", "saliency", "beam", "exhaustive", "n_wrong_labels", "seed"),
)
_DESCRIPTION = """\
Rank the models of two or more runs on robustness, on fairness and on both at once (RIF), on the pairs that
all runs share, with 95 % intervals and paired tests; say where the order of the models changes between the
axes, or that it does not. The runs must have the same data, lexicon, counterparts and seed."""
_EPILOG = """\
examples:
  rif compare out/bert out/cnn out/tfidf --out out/comparison
  rif compare a b --names "before,after"

With --out: comparison.json, comparison.html, ranks.png and ranks.svg. Exit codes: 0 done, 2 a mistake in the
command, or runs that share no pair."""


def main(arguments: Sequence[str]) -> int:
    """Compare runs and return the exit code.

    Raises:
        UsageError: Fewer than two runs, names that do not fit, or no pair that all runs share.
    """
    parser = CommandParser(prog="rif compare", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help="folders of runs")
    parser.add_argument("--names", metavar="A,B", help="what to call the models (the names of the folders)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the files (none is written)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the bootstrap (0)")
    add_printing(parser)
    given = parser.parse_args(list(arguments))
    if given.seed < 0:
        raise UsageError(f"--seed: expected a whole number from 0, got {given.seed}")
    names = _names(given.runs, given.names)
    from rif_plugins.metrics.compare import compare_runs
    from rif_plugins.runner.comparing import comparable

    runs = comparable([load_run(path) for path in given.runs])
    comparison = compare_runs(runs, names, seed=given.seed)
    data = comparison.to_dict()
    n_pairs = comparison.n_pairs.values()
    if comparison.n_shared < max(n_pairs):
        tell(
            given,
            f"{comparison.n_shared} pairs of at most {max(n_pairs)} are shared: only these are compared",
        )
    for note in _notes(names, runs):
        tell(given, note)
    if given.out is not None:
        _write(data, given.out)
    print_result(given, data, lambda: _text(comparison.to_text(), given.out))
    return 0


def _names(paths: Sequence[Path], given: str | None) -> list[str]:
    """Names of the models: those given, else the shortest endings of the paths that differ."""
    if len(paths) < 2:
        raise UsageError("got 1 run to compare, expected two or more: give two folders or more")
    resolved = [path.resolve() for path in paths]
    if len(set(resolved)) < len(paths):
        twice = next(path for i, path in enumerate(paths) if resolved[i] in resolved[:i])
        raise UsageError(f"{twice} is given twice, expected different runs: leave one out")
    if given is None:
        return _endings(resolved)
    names = [name.strip() for name in given.split(",")]
    if len(names) != len(paths) or not all(names):
        raise UsageError(
            f"--names {given}: expected {len(paths)} names, separated by commas, one a run; "
            f"got {sum(map(bool, names))}"
        )
    return names


def _endings(paths: Sequence[Path]) -> list[str]:
    longest = max(len(path.parts) for path in paths)
    for n in range(1, longest + 1):
        names = ["/".join(path.parts[-n:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _notes(names: Sequence[str], runs: Sequence[RunResult]) -> list[str]:
    """What makes the comparison less than exact: other data, other search settings, unfinished runs."""
    notes = []
    configurations = [run.configuration for run in runs]
    for key, what in (("labels", "source of labels"), ("scorer", "entailment model")):
        values = [c.get(key) for c in configurations]
        if len(set(map(str, values))) > 1:
            notes.append(f"the runs differ in their {what}: {_listed(names, values)}")
    for key in _ALIKE:
        values = [(c.get("settings") or {}).get(key) for c in configurations]
        if len(set(map(str, values))) > 1:
            notes.append(
                f"the runs were searched with another {key} ({_listed(names, values)}): differences may come "
                "from that"
            )
    for name, configuration in zip(names, configurations, strict=True):
        if "finished" in configuration and configuration["finished"] is None:
            notes.append(f"the run of {name} is not finished")
    return notes


def _listed(names: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


def _write(data: Mapping[str, Any], out: Path) -> None:
    from rif_plugins.reports.charts import FORMATS, ranks_figure, save_figure
    from rif_plugins.reports.html import write_comparison_html

    write_json(out / COMPARISON_FILE, data)
    write_comparison_html(data, out / "comparison.html")
    figure = ranks_figure(data)
    if figure is not None:
        for kind in FORMATS:
            save_figure(figure, out / f"ranks.{kind}")


def _text(text: str, out: Path | None) -> str:
    return text.rstrip("\n") if out is None else f"{text}\nreport: {out / 'comparison.html'}"
