"""`rif retrain`: teach a model what an audit found, and search it again."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.cli.report import add_printing, load_run, print_result, tell
from rif_plugins.core.run_result import RESULTS_FILE
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    from rif_plugins.metrics.before_after import Change
    from rif_plugins.runner.retraining import RetrainResult

_DESCRIPTION = """\
Teach a model the findings of an audit and search it again. The audited examples are split: findings on one
part become training rows (both sides, with the label of the original); the other part is never trained on and
is searched afresh on every model that was trained. "Before" is what the audit found there (texts), or a fresh
search of the model as it is (rows). A control is trained on the training data alone. DIR is a folder of
`rif audit` (texts) or of `rif tabular` (rows)."""
_EPILOG = """\
examples:
  rif retrain out --model embedded --data train.csv --out out/retrained
  rif retrain out --model ./my-bert --data train.tsv --epochs 2 --seeds 3 --out out/retrained
  rif retrain out --model victim.py --data train.jsonl      where victim.py has fit(texts, labels)
  rif retrain out/tabular --model model.py --data train.csv --audited searched.csv --out out/retrained

Writes retrain.json, augmentation.jsonl (each row with the finding it comes from) and, for each training, the
model (Hugging Face and embedded kinds) and the files of its audit. The embedded kind is trained from scratch
on the training data, a Hugging Face model goes on from its weights, a file.py does what its `fit` does.

Rows: model.py has fit(x, y), or its `model` is a scikit-learn classifier (a clone is fitted) or a torch
module (trained from fresh weights). augmentation.csv holds the added rows in the form of the training data;
the models are not kept."""


def main(arguments: Sequence[str]) -> int:
    """Retrain, search again, print the table.

    Raises:
        UsageError: The run, the model or the data cannot be used.
    """
    given = _parser().parse_args(list(arguments))
    for folder in sorted(given.out.glob("*-[0-9]*")) if given.out.is_dir() else ():
        if (folder / RESULTS_FILE).exists():
            raise UsageError(f"{given.out} holds an earlier retraining: give another folder with --out")
    try:
        given.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {given.out}: {error.strerror}; give another folder with --out"
        ) from error
    from rif_plugins.cli.row_retrain import is_row_run, refuse_row_options, retrain_run_of_rows

    if is_row_run(given.run):
        result = retrain_run_of_rows(given, plan_of(given))
    else:
        refuse_row_options(given)
        result = _retrain_texts(given)
    print_result(given, result.to_dict(), lambda: f"{text_of(result)}\n\nfiles: {given.out}")
    return 0


def plan_of(given: argparse.Namespace) -> dict[str, Any]:
    """What the command line says about the plan, for texts and rows alike."""
    return {
        "seeds": given.seeds,
        "seed": given.seed,
        "held_out": given.held_out,
        "weight": given.weight,
        "max_share": given.max_share,
        "has_control": not given.no_control,
        **({} if given.targets is None else {"targets": _targets(given.targets)}),
    }


def _retrain_texts(given: argparse.Namespace) -> RetrainResult:
    run = load_run(given.run)
    from rif_plugins.examples.loading import load_examples
    from rif_plugins.runner.fitting import load_fitter
    from rif_plugins.runner.retraining import RetrainPlan, retrain

    plan = RetrainPlan(**plan_of(given))
    names = tuple(map(str, run.configuration.get("label_names") or ()))
    columns: dict[str, Any] = {
        "text_column": given.text_column,
        "label_column": given.label_column,
        "label_map": given.label_map,
        "label_names": names or None,
    }
    train = load_examples(given.data, split=given.split, limit=given.limit, **columns)
    test = None if given.test is None else load_examples(given.test, split=given.test_split, **columns)
    spec = given.model or (run.configuration.get("options") or {}).get("model")
    if not spec:
        raise UsageError("the run does not tell which model it audited: name one with --model")
    fitter = load_fitter(
        str(spec),
        names,
        epochs=3 if given.epochs is None else given.epochs,
        learning_rate=2e-5 if given.learning_rate is None else given.learning_rate,
        batch_size=32 if given.train_batch_size is None else given.train_batch_size,
        max_length=given.max_length,
        device=given.device,
    )
    return retrain(run, train, fitter, plan, test=test, out=given.out, tell=lambda line: tell(given, line))


def _parser() -> CommandParser:
    parser = CommandParser(prog="rif retrain", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("run", type=Path, metavar="DIR", help="folder of `rif audit` or `rif tabular`")
    parser.add_argument("--model", metavar="M", help="what to train (the model of the run)")
    parser.add_argument("--data", required=True, metavar="TRAIN", help="training data, as for `rif audit`")
    parser.add_argument(
        "--test", metavar="D", help="data for the clean accuracy, never taught (the held-out examples)"
    )
    parser.add_argument(
        "--audited", type=Path, metavar="D", help="rows: the table that was searched (--data)"
    )
    for name, text in (
        ("--text-column", "column of the texts"),
        ("--label-column", "column of the labels"),
        ("--split", "split of the training data"),
        ("--test-split", "split of --test"),
    ):
        parser.add_argument(name, metavar="NAME", help=text)
    parser.add_argument(
        "--label-map", type=Path, metavar="FILE", help="JSON or TOML: label of the data = class"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="most training rows")
    parser.add_argument("--targets", metavar="NAMES", help="teach findings of these targets only (all three)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings of each kind (1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of split and trainings (0)")
    parser.add_argument(
        "--held-out", type=float, default=0.5, metavar="SHARE", help="share of the examples that test (0.5)"
    )
    parser.add_argument("--weight", type=float, default=1.0, metavar="W", help="weight of an added row (1)")
    parser.add_argument(
        "--max-share",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="most added rows, as a share of the data (1)",
    )
    parser.add_argument("--no-control", action="store_true", help="do not train on the data alone as well")
    parser.add_argument(
        "--min-similarity", type=float, metavar="S", help="rows: teach only what is nearer to the data than S"
    )
    for name, kind, metavar, text in (
        ("--epochs", int, "N", "passes over the data (Hugging Face 3, torch rows 25)"),
        ("--learning-rate", float, "R", "largest rate (Hugging Face 2e-5, torch rows 0.001)"),
        ("--train-batch-size", int, "N", "rows a step (Hugging Face 32, torch rows 64)"),
    ):
        parser.add_argument(name, type=kind, metavar=metavar, help=text)
    parser.add_argument("--max-length", type=int, metavar="N", help="Hugging Face: most tokens of a text")
    parser.add_argument("--device", metavar="NAME", help="torch device of the retrained model's audit")
    parser.add_argument(
        "--out", type=Path, default=Path("out/retrain"), metavar="DIR", help="folder (out/retrain)"
    )
    add_printing(parser)
    return parser


def _targets(names: str) -> tuple[str, ...]:
    return tuple(name.strip().replace("-", "_") for name in names.split(",") if name.strip())


def text_of(result: RetrainResult) -> str:
    """The tables that people read."""
    rows = result.augmentation
    configuration = result.configuration
    unit = configuration.get("unit", "examples of the audit")
    kind = unit.split()[0]
    lines = [
        f"taught: {len(rows)} rows from {rows.n_findings} findings, beside {configuration['n_train']} rows "
        f"of {configuration['train']}",
        f"tested: {configuration['n_held_out']} {unit} that were not taught, searched afresh",
        *([f"clean rows: {configuration['n_test']}"] if "n_test" in configuration else ()),
        "",
        *_table("before", "after", result.changes),
    ]
    if result.over_control:
        lines += ["", "the same against the control, trained on the data alone:", ""]
        lines += _table("control", "after", result.over_control)
    n_before = configuration["n_findings_held_out"]
    lines += ["", f"findings of before on the tested {kind}: {n_before}; still hold:"]
    for arm, rates in result.frozen.items():
        others = result.frozen_any.get(arm)
        for number, rate in enumerate(rates):
            more = "" if others is None else f"; false or biased in whatever way: {others[number]}"
            lines.append(f"  {arm}, seed {number + 1}: {rate}{more}")
    searched = "from these seeds" if "unit" in configuration else "with these candidates"
    lines += [
        "",
        f"* the 95 % interval of the difference (paired, over {kind}) leaves out zero. A lower rate says",
        f"  that this search finds less {searched}, not that all individuals are treated alike.",
    ]
    return "\n".join(lines)


def _table(first: str, second: str, changes: Sequence[Change]) -> list[str]:
    head = ("rate", first, second, "difference", "95 % interval", "", "seeds differ by")
    body = [
        (
            change.name.replace(".", " ").replace("_rate", "").replace("_", " "),
            _percent(change.before),
            _percent(change.after),
            _signed(change.difference),
            "" if change.low is None else f"{_signed(change.low)} to {_signed(change.high)}",
            "*" if change.is_clear else "",
            "" if change.spread is None else f"{100 * change.spread:.1f}",
        )
        for change in changes
    ]
    rows = [head, *body]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in rows]


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{100 * value:.1f} %"


def _signed(value: float | None) -> str:
    return "none" if value is None else f"{100 * value:+.1f}"
