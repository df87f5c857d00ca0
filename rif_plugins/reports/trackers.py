"""A run in an experiment tracker, Weights & Biases or MLflow: parameters, metrics and files.

Metrics are numbers out of the run's summary under fixed names. Texts of findings leave this process only
inside the files of ``artifacts``: no name of a metric is made of a text, a word or a value of an attribute.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path, PurePath
from typing import Any

from rif_plugins.core.run_result import SUMMARY_FILE, RunResult, write_json
from rif_plugins.errors import RIFError, UsageError
from rif_plugins.optional import require
from rif_plugins.reports.characters import one_line, well_formed
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.html import write_html
from rif_plugins.reports.view import headline, model_name

ARTIFACTS = ("report.html", "findings.csv", SUMMARY_FILE)
WANDB_MODES = ("offline", "online", "disabled")
_WANDB_SETTINGS: dict[str, Any] = {
    "console": "off",  # what `rif report` prints has texts in it
    "save_code": False,
    "disable_git": True,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "silent": True,
}
_PURPOSE = "logging a run to {}"
_FACTS = (
    *("version", "started", "finished", "model", "data", "data_sha256", "n_examples"),
    *("victim_fingerprint", "labels", "label_names", "targets", "scorer", "filter_order"),
)
_FOLDERS = ("cache_dir", "results")  # say nothing about the run, and much about whose machine it was
_NAMED = ("model", "data", "targets")  # as given: an address can have a key in it; _FACTS has their names
_PARTS = ("by_attribute", "by_label")
_LEFT_OUT = (*_PARTS, "by_value", "skip_reasons")
_PART_METRICS = (
    *("n_pairs", "accuracy", "individual_fairness_rate", "robustness_rate", "fairness_rate", "rif_rate"),
    *("natural_rate", "induced_rate"),
)
_LARGEST = 1e300
_LONGEST_NAME = 128  # of a run
_LONGEST_PIECE = 60  # of the name of a metric, which has four pieces at most; MLflow takes 250 characters
_LONGEST_VALUE = 6000  # of a parameter of MLflow
_BATCH = 100  # parameters in one request to MLflow


def log_to_wandb(
    run: RunResult,
    *,
    project: str,
    name: str | None = None,
    mode: str = "offline",
    folder: Path | str = ".",
    artifacts: Sequence[str] = ARTIFACTS,
) -> Path:
    """Log a run to Weights & Biases, beside any run that is active already.

    What the terminal shows, code, the state of git and facts about the machine are not sent along.

    Args:
        run: The run.
        project: Name of the project.
        name: Name of the run in the tracker; None for model and data.
        mode: ``"offline"`` writes files that `wandb sync` sends later, ``"online"`` sends them,
            ``"disabled"`` does neither.
        folder: Where W&B makes its folder ``wandb``; the logged files lie in there too.
        artifacts: Which of ``ARTIFACTS`` to log.

    Returns:
        The folder of the logged run.

    Raises:
        UsageError: An argument is wrong, the run has no summary, or W&B fails.
        MissingDependencyError: wandb is not installed.
    """
    chosen = _checked(run, artifacts, project, "project")
    if mode not in WANDB_MODES:
        raise UsageError(f"mode is {mode!r}: expected one of {', '.join(WANDB_MODES)}")
    with _told("W&B"):
        wandb: Any = require("wandb", package="'rif-plugins[wandb]'", purpose=_PURPOSE.format("W&B"))
        where = Path(folder).resolve()
        where.mkdir(parents=True, exist_ok=True)  # W&B takes another folder where this one is missing
        tracked = wandb.init(
            project=project,
            name=name or _run_name(run),
            notes="".join(headline(run)),
            job_type="rif-audit",
            config=parameters(run),
            tags=list(_tags(run).values()),
            dir=str(where),
            mode=mode,
            reinit="create_new",
            settings=wandb.Settings(**_WANDB_SETTINGS),
        )
        exit_code = 1
        try:
            # In the folder of the logged run, not in the user's home: W&B sends them from where they lie.
            place = Path(tracked.dir).parent
            tracked.log(metrics(run))
            if chosen and mode != "disabled":
                files = wandb.Artifact(f"rif-report-{tracked.id}", type="rif-report")
                for path in _written(run, place / "artifacts", chosen):
                    files.add_file(str(path), policy="immutable", skip_cache=True)
                tracked.log_artifact(files)
            exit_code = 0
        finally:
            tracked.finish(exit_code=exit_code)
    return place


def log_to_mlflow(
    run: RunResult,
    *,
    experiment: str,
    tracking_uri: str | None = None,
    name: str | None = None,
    artifacts: Sequence[str] = ARTIFACTS,
) -> str:
    """Log a run to MLflow; neither its active run nor its global tracking address changes.

    Args:
        run: The run.
        experiment: Name of the experiment; it is created where there is none.
        tracking_uri: Address of a server or a database; None for MLflow's own default, which
            ``MLFLOW_TRACKING_URI`` sets.
        name: Name of the run in the tracker; None for model and data.
        artifacts: Which of ``ARTIFACTS`` to log.

    Returns:
        The id of the logged run.

    Raises:
        UsageError: An argument is wrong, the run has no summary, or MLflow fails.
        MissingDependencyError: MLflow is not installed.
    """
    chosen = _checked(run, artifacts, experiment, "experiment")
    needs = {"package": "'rif-plugins[mlflow]'", "purpose": _PURPOSE.format("MLflow")}
    with _told("MLflow"):
        mlflow: Any = require("mlflow", **needs)
        entities: Any = require("mlflow.entities", **needs)
        client = mlflow.MlflowClient(tracking_uri=tracking_uri)
        known = client.get_experiment_by_name(experiment)
        where = client.create_experiment(experiment) if known is None else known.experiment_id
        tags = {f"rif.{key}": value for key, value in _tags(run).items()}
        tags["mlflow.note.content"] = "".join(headline(run))
        tracked = client.create_run(where, run_name=name or _run_name(run), tags=tags).info.run_id
        status = "FAILED"
        try:
            given = [entities.Param(key, value) for key, value in _flat(parameters(run))]
            for start in range(0, len(given), _BATCH):
                client.log_batch(tracked, params=given[start : start + _BATCH])
            now = int(time.time() * 1000)
            numbers = [entities.Metric(key, value, now, 0) for key, value in metrics(run).items()]
            for start in range(0, len(numbers), _BATCH):
                client.log_batch(tracked, metrics=numbers[start : start + _BATCH])
            with tempfile.TemporaryDirectory() as folder:
                for path in _written(run, Path(folder), chosen):
                    client.log_artifact(tracked, str(path))
            status = "FINISHED"
        finally:
            client.set_terminated(tracked, status)
    return str(tracked)


def parameters(run: RunResult) -> dict[str, Any]:
    """What a run was made with: model, data and labels; ``settings``, ``options`` and ``versions`` nested.

    Folders of the machine and addresses as they were given stay out.
    """
    known = run.configuration
    found: dict[str, Any] = {key: known[key] for key in _FACTS if known.get(key) is not None}
    for group, hidden in (("settings", _FOLDERS), ("options", _NAMED), ("versions", ())):
        values = known.get(group) or {}
        found[group] = {str(key): value for key, value in values.items() if key not in hidden}
    kept = {key: value for key, value in found.items() if value != {}}
    text = well_formed(json.dumps(kept, ensure_ascii=False, default=str))
    return dict(json.loads(text))


def metrics(run: RunResult) -> dict[str, float]:
    """The numbers of a run's summary under flat names; what is not known is left out.

    A rate gives three: ``rif_rate``, ``rif_rate_low`` and ``rif_rate_high``, the ends of its 95 % interval.
    Parts follow a slash: ``by_target/robust_biased/induced_rate``. Of the parts by attribute and by label
    (its number) the main rates alone are given; the parts by value, named by words, are not given.
    """
    chosen = {key: value for key, value in run.summary.items() if key not in _LEFT_OUT}
    for part in _PARTS:
        blocks = run.summary.get(part) or {}
        chosen[part] = {
            key: {name: block[name] for name in _PART_METRICS if name in block}
            for key, block in blocks.items()
        }
    return dict(_scalars(chosen, ""))


def _scalars(block: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    taken: set[str] = set()
    for key, value in block.items():
        name = prefix + _piece(key, taken)
        if not isinstance(value, Mapping):
            named = {name: value}
        elif {"value", "low", "high"} <= value.keys():
            named = {name: value["value"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
        else:
            yield from _scalars(value, f"{name}/")
            continue
        for full, number in named.items():
            # The comparison is false for NaN and for integers that no float holds.
            if type(number) in (int, float) and -_LARGEST < number < _LARGEST:
                yield full, float(number)


def _piece(key: object, taken: set[str]) -> str:
    """A key as a part of a name that both trackers take, another one for every key of a block."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", str(key)).strip("_")[:_LONGEST_PIECE] or "unnamed"
    name = next(name for i in count(1) if (name := plain if i == 1 else f"{plain}_{i}") not in taken)
    taken.add(name)
    return name


def _flat(block: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Parameters as MLflow takes them: dotted names, texts of a bounded length."""
    taken: set[str] = set()
    for key, value in block.items():
        name = prefix + _piece(key, taken)
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name, str(value)[:_LONGEST_VALUE]


def _tags(run: RunResult) -> dict[str, str]:
    known = run.configuration
    labels = one_line(known.get("labels") or "unknown", 40)
    return {"tool": "rif-plugins", "schema": str(known.get("schema")), "labels": f"labels {labels}"}


def _run_name(run: RunResult) -> str:
    data = PurePath(str(run.configuration.get("data") or "data")).name
    return one_line(f"{model_name(run)} on {data}", _LONGEST_NAME)


def _checked(run: RunResult, artifacts: Iterable[str], name: str, what: str) -> list[str]:
    """The files to log, in their usual order.

    Raises:
        UsageError: A name is unknown or empty, or the run has no summary.
    """
    asked = [artifacts] if isinstance(artifacts, str) else list(artifacts)
    for wrong in (item for item in asked if item not in ARTIFACTS):
        expected = f"expected some of {', '.join(ARTIFACTS)}"
        raise UsageError(f"artifacts has {one_line(repr(wrong), 60)}: {expected}")
    if not name.strip():
        raise UsageError(f"the name of the {what} is empty: give one, such as 'robust-fairness'")
    if not run.summary:
        raise UsageError("the run has no summary, so no metrics to log: run `rif report` on its folder first")
    return [item for item in ARTIFACTS if item in asked]


def _written(run: RunResult, folder: Path, chosen: Iterable[str]) -> list[Path]:
    writers = {
        "report.html": lambda path: write_html(run, path),
        "findings.csv": lambda path: write_csv(run, path),
        SUMMARY_FILE: lambda path: write_json(path, run.summary),
    }
    paths = [folder / name for name in chosen]
    for path in paths:
        writers[path.name](path)
    return paths


@contextmanager
def _told(tracker: str) -> Iterator[None]:
    """Whatever a tracker raises, from a broken package to a server that is down, in one line."""
    try:
        yield
    except RIFError:
        raise
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}", 300)
        raise UsageError(f"{tracker} did not log the run: {reason}; mend that and log it again") from error
