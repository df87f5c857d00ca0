"""`rif tabular`: attacks on one classifier of rows, ours and ART's, in one table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.tabular_types import names, whole
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    from rif_plugins.runner.tabular_input import TabularInput, TabularOptions

EXIT_DONE, EXIT_UNMET, EXIT_SOME_ERRORS = 0, 1, 3
_DESCRIPTION = """\
Does a classifier of rows give false or biased answers near the rows of a table? Runs attacks that look for
both (RobustFair, RIFair), for bias (ADF, EIDIG, DICE) and for wrong answers (ART's FGSM, PGD, APGD, ACG) from
the same rows at equal budgets, keeps every row valid, and measures all of them in the same terms. Writes
run.json, results.jsonl, summary.json, findings.csv and schema.toml."""
_EPILOG = """\
The model's file sets `model`: a fitted scikit-learn classifier, a torch module that returns logits, a
classifier of ART, or a function from rows (n, d) to (n, classes). It may set `label_names`, `relations`
(rules between columns) and `encoder` (a TableEncoder, where the model reads scaled or one-hot rows).
`rif tabular tell` is another command: it tells rows as texts for `rif audit`; see `rif tabular tell --help`.

examples:
  rif tabular --model model.py --data adult.csv --sensitive race,sex --out out
  rif tabular --model model.py --data adult.csv --schema out/schema.toml --attack robustfair,adf,pgd --out out

Exit codes: 0 done, 1 --fail-under not met, 2 a mistake in the command, 3 done, but some attacks ended in an
error."""


def main(arguments: Sequence[str]) -> int:
    """Run the attacks and return the exit code.

    Raises:
        UsageError: An option, the model, the data, the schema or the folder cannot be used.
    """
    if arguments and arguments[0] == "tell":
        from rif_plugins.cli import tabular_tell

        return tabular_tell.main(arguments[1:])
    parser = CommandParser(prog="rif tabular", description=_DESCRIPTION, epilog=_EPILOG)
    _add_options(parser)
    given = parser.parse_args(list(arguments))
    options = _options(given)
    from rif_plugins.runner.gates import Gate

    gate = Gate.of(given.fail_under, None)
    from rif_plugins.runner.tabular_files import check_folder

    check_folder(given.out)
    is_quiet = given.quiet or given.format == "json"
    _say(is_quiet, f"loading {options.model} and {options.data} ...")
    from rif_plugins.runner.tabular import run_tabular
    from rif_plugins.runner.tabular_files import write_run
    from rif_plugins.runner.tabular_input import TabularInput

    table = TabularInput.prepare(options)
    _confirm(table, given, is_quiet)
    for note in table.notes:
        _say(is_quiet, f"note: {note}")
    run = run_tabular(table, lambda line: _say(is_quiet, line))
    summary = write_run(run, given.out)
    if given.format == "json":
        print(json.dumps(summary, indent=2, ensure_ascii=True, allow_nan=False))
    elif not given.quiet:
        from rif_plugins.cli.report import show
        from rif_plugins.runner.tabular_text import render

        show(render(summary))
        show(f"\nrecords: {given.out / 'results.jsonl'}\ntable:   {given.out / 'findings.csv'}")
    unmet = gate.unmet(RunResult(run.configuration, (), summary))
    for line in unmet:
        print(f"rif tabular: {line}", file=sys.stderr)
    if unmet:
        return EXIT_UNMET
    return EXIT_SOME_ERRORS if run.errors else EXIT_DONE


def _add_options(parser: CommandParser) -> None:
    what = parser.add_argument_group("what")
    what.add_argument(
        "--model", required=True, type=Path, metavar="FILE.py", help="sets the variable `model`"
    )
    what.add_argument(
        "--data", required=True, type=Path, metavar="D", help="CSV, TSV or Parquet with a header"
    )
    what.add_argument(
        "--schema", type=Path, metavar="S.toml", help="the columns; without it they are inferred"
    )
    what.add_argument("--attack", default="all", metavar="NAMES", help="all, or some of " + _attack_names())
    for name, text in (
        ("--sensitive", "columns in which similar rows differ (needed without --schema)"),
        ("--immutable", "columns that no attack may change"),
        ("--categorical", "columns of numbers that are codes, for an inferred schema"),
    ):
        what.add_argument(name, type=names, default=(), metavar="A,B", help=text)
    what.add_argument("--label-column", metavar="NAME", help="the right labels (label, target, class or y)")
    what.add_argument(
        "--label-names",
        type=names,
        metavar="A,B",
        help="values of the labels, in the model's order of classes",
    )
    what.add_argument(
        "--labels", choices=("given", "predicted"), default="given", help="predicted: the model's own answers"
    )
    what.add_argument("--missing", choices=("error", "drop"), default="error", help="rows that miss a value")
    what.add_argument(
        "--out-of-range",
        choices=("raise", "clip"),
        default="raise",
        help="numbers beyond the schema's bounds",
    )
    what.add_argument("--limit", type=whole(1), metavar="N", help="most rows of the data")
    reading = parser.add_argument_group("what the model reads")
    reading.add_argument("--scaling", choices=("identity", "min_max"), default="identity", help="of numbers")
    reading.add_argument(
        "--one-hot", type=_one_hot, default=False, metavar="all|A,B", help="categories that become groups"
    )
    reading.add_argument(
        "--reads",
        choices=("auto", "array", "frame"),
        default="auto",
        help="the encoded array, or a DataFrame of raw values (auto: as a scikit-learn model was fitted)",
    )
    how = parser.add_argument_group("how")
    how.add_argument("--seeds", type=_seeds, default=100, metavar="N|all", help="rows to start from (100)")
    how.add_argument("--seed", type=whole(0), default=0, metavar="N", help="of everything that is drawn (0)")
    how.add_argument("--global-steps", type=whole(0), default=10, metavar="N", help="steps of a seed (10)")
    how.add_argument("--local-steps", type=whole(0), default=10, metavar="N", help="steps around a row (10)")
    how.add_argument(
        "--eps", type=float, default=0.1, metavar="X", help="reach of ART's attacks, share of a range (0.1)"
    )
    how.add_argument(
        "--gradients",
        choices=("auto", "white_box", "finite", "zero_order"),
        default="auto",
        help="auto: the model's own, else differences of outputs",
    )
    how.add_argument("--batch-size", type=whole(1), default=4096, metavar="N", help="rows a call (4096)")
    result = parser.add_argument_group("result")
    result.add_argument("--out", type=Path, default=Path("out/tabular"), metavar="DIR", help="(out/tabular)")
    result.add_argument(
        "--max-records", type=whole(0), default=2000, metavar="N", help="most an attack (2000; 0: all)"
    )
    result.add_argument("--yes", action="store_true", help="take an inferred schema without asking")
    result.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="RATE=X",
        help="exit with 1 when a rate of summary.json is lower, such as rif_rate=0.9",
    )
    result.add_argument("--format", choices=("text", "json"), default="text", help="what is printed (text)")
    result.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _options(given: argparse.Namespace) -> TabularOptions:
    from rif_plugins.runner.tabular_attacks import AttackBudget, parse_attacks
    from rif_plugins.runner.tabular_input import TabularOptions

    return TabularOptions(
        model=given.model.expanduser(),
        data=given.data.expanduser(),
        schema=given.schema,
        attacks=parse_attacks(given.attack),
        budget=AttackBudget(given.global_steps, given.local_steps, given.eps),
        n_seeds=given.seeds,
        max_records=given.max_records or None,
        **{
            name: getattr(given, name)
            for name in ("seed", "sensitive", "immutable", "categorical", "label_column", "label_names",
                         "labels", "gradients", "scaling", "one_hot", "reads", "missing", "out_of_range",
                         "limit", "batch_size")
        },
    )  # fmt: skip


def _confirm(table: TabularInput, given: argparse.Namespace, is_quiet: bool) -> None:
    """Show an inferred schema, and ask whether it is right where somebody can answer.

    Raises:
        UsageError: The answer is no; the schema was written, to be corrected.
    """
    if not table.is_inferred:
        return
    file = given.out / "schema.toml"
    _say(is_quiet, f"schema inferred from {table.options.data.name}:\n{table.encoder.raw.describe()}")
    if is_quiet or given.yes or not sys.stdin.isatty():
        _say(is_quiet, f"written to {file}: correct it and say --schema, where it is wrong")
        return
    print("Is this right? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        from rif_plugins.reports.output_file import write_whole

        write_whole(file, table.encoder.raw.to_toml().encode())
        raise UsageError(f"the schema was written to {file}: correct it there, then say --schema {file}")


def _attack_names() -> str:
    from rif_plugins.runner.tabular_attacks import ATTACK_NAMES

    return ",".join(ATTACK_NAMES)


def _one_hot(text: str) -> tuple[str, ...] | bool:
    return True if text.strip() == "all" else names(text)


def _seeds(text: str) -> int | None:
    return None if text.strip() == "all" else whole(1)(text)


def _say(is_quiet: bool, line: str) -> None:
    if not is_quiet:
        print(line, file=sys.stderr, flush=True)
