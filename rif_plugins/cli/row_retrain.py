"""`rif retrain` for a folder of `rif tabular`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.cli.report import tell
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    from rif_plugins.runner.retraining import RetrainResult

_OF_ROWS = ("audited", "min_similarity")
_OF_TEXTS = ("text_column", "label_column", "label_map", "split", "test_split", "max_length", "device")


def is_row_run(folder: Path) -> bool:
    """Whether a folder is one of `rif tabular`."""
    from rif_plugins.core.run_result import RUN_FILE, read_json

    file = folder / RUN_FILE
    return file.is_file() and read_json(file).get("schema") == "rif-tabular/1"


def refuse_row_options(given: argparse.Namespace) -> None:
    """Refuse options that mean nothing for a run of texts.

    Raises:
        UsageError: One was given.
    """
    _refuse(given, _OF_ROWS, "rows", "texts")


def _refuse(given: argparse.Namespace, names: tuple[str, ...], of: str, run: str) -> None:
    for name in names:
        if getattr(given, name) is not None:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is for {of}, and {given.run} is a run of {run}: leave it out")


def retrain_run_of_rows(given: argparse.Namespace, plan: dict[str, Any]) -> RetrainResult:
    """Load the run, its table and its model, and retrain.

    Args:
        given: The command line.
        plan: What it says about the plan.

    Raises:
        UsageError: An option or a file cannot be used.
    """
    _refuse(given, _OF_TEXTS, "texts", "rows")
    if given.model is None:
        raise UsageError("a run of rows does not keep its model: name the model's file with --model FILE.py")
    if not given.model.endswith(".py"):
        raise UsageError(
            f"--model {given.model}: expected the FILE.py that `rif tabular` had, for a run of rows"
        )
    from rif_plugins.runner.row_fitting import load_row_fitter
    from rif_plugins.runner.row_retraining import RowPlan, retrain_rows
    from rif_plugins.runner.row_runs import encoded_table, load_row_run

    model, data = Path(given.model).expanduser(), Path(given.data).expanduser()
    chosen = RowPlan(**plan, min_similarity=given.min_similarity)
    run, module = load_row_run(given.run, model, _audited(given, data))
    x, y, notes = encoded_table(run.given, data, given.limit)
    test = None
    if given.test is not None:
        test_x, test_y, more = encoded_table(run.given, Path(given.test).expanduser())
        test, notes = (test_x, test_y), notes + more
    for note in (*run.given.notes, *notes):
        tell(given, f"note: {note}")
    fitter = load_row_fitter(
        module,
        model.name,
        epochs=given.epochs,
        learning_rate=given.learning_rate,
        batch_size=given.train_batch_size,
    )
    return retrain_rows(
        run,
        (x, y),
        fitter,
        chosen,
        train_name=data.name,
        test=test,
        out=given.out,
        tell=lambda line: tell(given, line),
    )


def _audited(given: argparse.Namespace, data: Path) -> Path:
    """The table that the run searched: as named, else the training data where they have its name."""
    if given.audited is not None:
        return Path(given.audited).expanduser()
    from rif_plugins.core.run_result import RUN_FILE, read_json

    searched = (read_json(given.run / RUN_FILE).get("options") or {}).get("data")
    if searched != data.name:
        raise UsageError(f"the run searched rows of {searched}: name that file with --audited, too")
    return data
