"""Runs in W&B and MLflow: with the packages' own offline modes where they are, and with small fakes."""

from __future__ import annotations

import csv
import json
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from fakes.runs import HOSTILE, WORDS, fake_run

from rif_plugins.cli.main import main
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import MissingDependencyError, UsageError
from rif_plugins.reports.trackers import ARTIFACTS, log_to_mlflow, log_to_wandb, metrics, parameters

RATE = {"value": 0.5, "low": 0.25, "high": 0.75, "successes": 4, "total": 8}
NOTHING = {"value": None, "low": None, "high": None, "successes": 0, "total": 0}


def run_with(summary: dict[str, Any], **configuration: Any) -> RunResult:
    return RunResult({"schema": "rif-run/1", **configuration}, (), summary)


# Metrics and parameters.


def test_metrics_by_hand() -> None:
    summary = {
        "schema": "rif-summary/1",
        "targets": ["robust_biased"],
        "n_pairs": 8,
        "is_odd": True,
        "rif_rate": RATE,
        "accuracy": NOTHING,
        "time": {"victim": 1.5, "search": None},
        "broken": float("nan"),
        "huge": 10**400,
        "skip_reasons": {"no sensitive token": 3},
        "by_target": {"robust_biased": {"n_found": 2, "steps": {"mean": {**RATE, "low": None}}}},
        "by_attribute": {"gender": {"rif_rate": RATE, "natural_rate": NOTHING, "mean_edits": RATE}},
        "by_label": {"0": {"name": "secret label", "n_pairs": 5}},
        "by_value": {"gender: he -> she": {"n_pairs": 5, "rif_rate": RATE}},
    }
    assert metrics(run_with(summary)) == {
        "n_pairs": 8.0,
        "rif_rate": 0.5,
        "rif_rate_low": 0.25,
        "rif_rate_high": 0.75,
        "time/victim": 1.5,
        "by_target/robust_biased/n_found": 2.0,
        "by_target/robust_biased/steps/mean": 0.5,
        "by_target/robust_biased/steps/mean_high": 0.75,
        "by_attribute/gender/rif_rate": 0.5,
        "by_attribute/gender/rif_rate_low": 0.25,
        "by_attribute/gender/rif_rate_high": 0.75,
        "by_label/0/n_pairs": 5.0,
    }


def test_names_of_metrics_are_plain_short_and_different() -> None:
    keys = ("a b", "a_b", "..", "性別", "../x", "k" * 500)
    found = metrics(run_with({"by_attribute": {key: {"n_pairs": i} for i, key in enumerate(keys)}}))
    assert found == {
        "by_attribute/a_b/n_pairs": 0.0,
        "by_attribute/a_b_2/n_pairs": 1.0,
        "by_attribute/unnamed/n_pairs": 2.0,
        "by_attribute/unnamed_2/n_pairs": 3.0,
        "by_attribute/x/n_pairs": 4.0,
        f"by_attribute/{'k' * 60}/n_pairs": 5.0,
    }


def test_no_text_is_in_the_name_of_a_metric() -> None:
    run = fake_run(30, hostile=True)
    found = metrics(run)
    assert found["rif_rate"] == run.summary["rif_rate"]["value"]
    assert (
        found["by_target/robust_biased/induced_rate_low"]
        == (run.summary["by_target"]["robust_biased"]["induced_rate"]["low"])
    )
    assert all(re.fullmatch(r"[A-Za-z0-9_/-]{1,250}", name) for name in found)
    pieces = {word for name in found for word in re.split("[/_]", name)}
    assert not pieces & {*WORDS, *HOSTILE, "he", "she", "waitress", "female", "Muslim", "christian"}


def test_parameters() -> None:
    run = run_with(
        {},
        model="embedded",
        data="a.csv",
        labels="given",
        settings={"seed": 3, "cache_dir": "/home/me/cache", "results": "r.jsonl", "lexicon": None},
        options={"model": "https://x.example/?key=1", "data": "d", "targets": [], "limit": 7},
        versions={},
        label_names=["no\ud800", "yes"],
        time={"victim": 2.0},
    )
    assert parameters(run) == {
        "model": "embedded",
        "data": "a.csv",
        "labels": "given",
        "label_names": ["no\ufffd", "yes"],
        "settings": {"seed": 3, "lexicon": None},
        "options": {"limit": 7},
    }


# Fakes of both packages: what is called, and what happens when they fail.


class FakeWandb(ModuleType):
    """Keeps what it gets; `error` is raised by `log`."""

    def __init__(self, folder: Path) -> None:
        super().__init__("wandb")
        self.folder, self.error = folder, None
        self.began: dict[str, Any] = {}
        self.logged: dict[str, float] = {}
        self.files: dict[str, bytes] = {}
        self.exit_code: int | None = None

    def Settings(self, **given: Any) -> dict[str, Any]:
        return given

    def Artifact(self, name: str, type: str) -> Any:
        return SimpleNamespace(name=name, type=type, add_file=self._add_file)

    def _add_file(self, path: str, **_: Any) -> None:
        self.files[Path(path).name] = Path(path).read_bytes()

    def init(self, **given: Any) -> Any:
        self.began = given
        place = self.folder / "offline-run-1" / "files"
        place.mkdir(parents=True, exist_ok=True)
        return SimpleNamespace(
            id="1", dir=str(place), log=self._log, log_artifact=lambda _: None, finish=self._finish
        )

    def _log(self, values: dict[str, float]) -> None:
        if self.error is not None:
            raise self.error
        self.logged = values

    def _finish(self, exit_code: int) -> None:
        self.exit_code = exit_code


class FakeMlflow(ModuleType):
    """One server with experiments, runs and files; refuses what the real one refuses."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.error: Exception | None = None
        self.addresses: list[str | None] = []
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, SimpleNamespace] = {}

    def MlflowClient(self, tracking_uri: str | None) -> FakeMlflow:
        self.addresses.append(tracking_uri)
        return self

    def get_experiment_by_name(self, name: str) -> Any:
        return SimpleNamespace(experiment_id=self.experiments[name]) if name in self.experiments else None

    def create_experiment(self, name: str) -> str:
        return self.experiments.setdefault(name, str(len(self.experiments)))

    def create_run(self, experiment: str, *, run_name: str, tags: dict[str, str]) -> Any:
        number = f"run{len(self.runs)}"
        self.runs[number] = SimpleNamespace(
            experiment=experiment, name=run_name, tags=tags, metrics={}, params={}, files={}, status="RUNNING"
        )
        return SimpleNamespace(info=SimpleNamespace(run_id=number))

    def log_batch(self, run: str, metrics: Any = (), params: Any = ()) -> None:
        if self.error is not None:
            raise self.error
        assert len(metrics) + len(params) <= 100
        self.runs[run].metrics.update({key: value for key, value, *_ in metrics})
        self.runs[run].params.update(dict(params))

    def log_artifact(self, run: str, path: str) -> None:
        self.runs[run].files[Path(path).name] = Path(path).read_bytes()

    def set_terminated(self, run: str, status: str) -> None:
        print("View run at http://127.0.0.1")  # the real one prints too
        self.runs[run].status = status


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeWandb:
    fake = FakeWandb(tmp_path / "wandb")
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return fake


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> FakeMlflow:
    fake = FakeMlflow()
    entities = ModuleType("mlflow.entities")
    entities.Param = entities.Metric = lambda *values: values  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    return fake


def test_what_wandb_gets(wandb: FakeWandb, tmp_path: Path) -> None:
    run = fake_run(12)
    place = log_to_wandb(run, project="fairness", folder=tmp_path)
    assert place == tmp_path / "wandb" / "offline-run-1"
    began = wandb.began
    assert (began["project"], began["mode"], began["dir"]) == ("fairness", "offline", str(tmp_path))
    assert began["name"] == "reviews-v2.py on reviews.csv"
    assert began["tags"] == ["rif-plugins", "rif-run/1", "labels given"]
    assert began["config"] == parameters(run)
    assert began["settings"]["console"] == "off"
    assert wandb.logged == metrics(run)
    assert tuple(wandb.files) == ARTIFACTS
    assert json.loads(wandb.files["summary.json"]) == run.summary
    assert wandb.exit_code == 0


def test_wandb_disabled_writes_no_texts(wandb: FakeWandb, tmp_path: Path) -> None:
    place = log_to_wandb(fake_run(12), project="p", mode="disabled", folder=tmp_path)
    assert wandb.files == {}
    assert not (place / "artifacts").exists()


def test_what_mlflow_gets(mlflow: FakeMlflow) -> None:
    run = fake_run(12)
    first = log_to_mlflow(run, experiment="fairness", tracking_uri="sqlite:///x.db")
    second = log_to_mlflow(run, experiment="fairness", name="again", artifacts=["summary.json"])
    assert mlflow.addresses == ["sqlite:///x.db", None]
    assert mlflow.experiments == {"fairness": "0"}
    logged = mlflow.runs[first]
    assert (logged.name, logged.status) == ("reviews-v2.py on reviews.csv", "FINISHED")
    assert logged.tags["rif.labels"] == "labels given"
    assert "pairs of similar texts" in logged.tags["mlflow.note.content"]
    assert logged.metrics == metrics(run)
    assert logged.params["settings.seed"] == "0"
    assert logged.params["settings.sensitive"] == "['gender', 'race', 'religion', 'age']"
    assert logged.params["versions.rif-plugins"] == "0.1.0"
    assert tuple(logged.files) == ARTIFACTS
    assert (mlflow.runs[second].name, list(mlflow.runs[second].files)) == ("again", ["summary.json"])


def test_long_parameters_are_cut(mlflow: FakeMlflow) -> None:
    run = run_with({"n_pairs": 1}, settings={"sensitive": "x" * 9000, "k" * 300: 1})
    params = mlflow.runs[log_to_mlflow(run, experiment="e", artifacts=())].params
    assert len(params["settings.sensitive"]) == 6000
    assert params[f"settings.{'k' * 60}"] == "1"


def test_a_tracker_that_fails_is_one_line_and_the_run_is_marked(
    wandb: FakeWandb, mlflow: FakeMlflow, tmp_path: Path
) -> None:
    wandb.error = mlflow.error = RuntimeError("server is\n  away")
    expected = r"^{} did not log the run: RuntimeError: server is away; mend that and log it again$"
    with pytest.raises(UsageError, match=expected.format("W&B")):
        log_to_wandb(fake_run(12), project="p", folder=tmp_path)
    assert wandb.exit_code == 1
    with pytest.raises(UsageError, match=expected.format("MLflow")):
        log_to_mlflow(fake_run(12), experiment="e")
    assert [run.status for run in mlflow.runs.values()] == ["FAILED"]


def to_wandb(run: RunResult, **given: Any) -> object:
    return log_to_wandb(run, **{"project": "p", **given})


def to_mlflow(run: RunResult, **given: Any) -> object:
    return log_to_mlflow(run, **{"experiment": "e", **given})


@pytest.mark.parametrize(
    ("log", "given", "expected"),
    [
        (to_wandb, {"mode": "on"}, r"mode is 'on': expected one of offline, online, disabled"),
        (to_wandb, {"project": " "}, "the name of the project is empty: give one, such as"),
        (to_mlflow, {"experiment": ""}, "the name of the experiment is empty: give one, such as"),
        (to_wandb, {"artifacts": ["a.txt"]}, r"artifacts has 'a\.txt': expected some of report\.html, find"),
        (to_mlflow, {"artifacts": "results.jsonl"}, r"artifacts has 'results\.jsonl': expected some of"),
    ],
)
def test_a_wrong_argument(log: Callable[..., object], given: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        log(fake_run(12), **given)


@pytest.mark.parametrize("log", [to_wandb, to_mlflow])
def test_a_run_without_a_summary(log: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match="the run has no summary, so no metrics to log: run `rif report`"):
        log(run_with({}))


@pytest.mark.parametrize(
    ("log", "module", "said"), [(to_wandb, "wandb", "W&B"), (to_mlflow, "mlflow", "MLflow")]
)
def test_an_absent_package(
    log: Callable[..., object], module: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    expected = (
        f"{module} is needed for logging a run to {said} and is not installed: "
        f"run `pip install 'rif-plugins[{module}]'`"
    )
    with pytest.raises(MissingDependencyError, match=f"^{re.escape(expected)}$"):
        log(fake_run(12))


# The command.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    fake_run(12).save(tmp_path / "run")
    return tmp_path / "run"


def test_the_command_logs_to_both(
    folder: Path, wandb: FakeWandb, mlflow: FakeMlflow, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), "--wandb", "P", "--mlflow", "E", "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    place = wandb.folder / "offline-run-1"
    assert captured.err.splitlines() == [
        f"W&B (offline): logged to {place}; send it with `wandb sync {place}`",
        "View run at http://127.0.0.1",
        "MLflow: logged to experiment E as run run0",
    ]
    assert (wandb.began["project"], wandb.began["dir"]) == ("P", str(folder))
    assert wandb.files.keys() == mlflow.runs["run0"].files.keys() == set(ARTIFACTS)
    for name in ARTIFACTS:
        assert wandb.files[name] == mlflow.runs["run0"].files[name] == (folder / name).read_bytes(), name


@pytest.mark.parametrize(
    ("asked", "files"), [("none", []), ("summary.json", ["summary.json"]), (",".join(ARTIFACTS), ARTIFACTS)]
)
def test_only_the_files_that_were_asked_for(
    folder: Path, mlflow: FakeMlflow, asked: str, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), "--mlflow", "E", "--artifacts", asked, "--quiet"]) == 0
    assert sorted(mlflow.runs["run0"].files) == sorted(files)
    assert capsys.readouterr() == ("", "")


def test_wandb_mode_of_the_environment(
    folder: Path, wandb: FakeWandb, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    assert main(["report", str(folder), "--wandb", "P"]) == 0
    assert wandb.began["mode"] == "online"
    assert "sync" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--artifacts", "none"], "--artifacts needs a tracker: give --wandb PROJECT or --mlflow EXPERIMENT"),
        (
            ["--wandb", "P", "--artifacts", "a,b"],
            "--artifacts a,b: expected some of report.html,findings.csv",
        ),
        (["--wandb", ""], "the name of the project is empty"),
    ],
)
def test_a_mistake_in_the_command(
    folder: Path, arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"rif: {re.escape(expected)}.*\n", captured.err)


def test_a_report_without_a_tracker_needs_neither(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert main(["report", str(folder), "--quiet"]) == 0


# The packages themselves, in the modes that need no network. Their own warnings are not this project's.


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("WANDB_MODE", "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    return tmp_path


def wandb_records(file: Path) -> list[Any]:
    """The records of an offline run: blocks of 32 KiB, each piece behind checksum, length and kind."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, position, part, found = file.read_bytes(), 7, b"", []
    while position + 7 <= len(data):
        if (left := -position % 32768) and left < 7:
            position += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, position)
        part += data[position + 7 : position + 7 + size]
        position += 7 + size
        if kind in (1, 4):  # whole, or the last piece
            found.append(Record.FromString(part))
            part = b""
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wandb_itself_offline(alone: Path) -> None:
    wandb = pytest.importorskip("wandb", reason="wandb is not installed: the extra [wandb]")
    run = fake_run(12, hostile=True)
    try:
        place = log_to_wandb(run, project="fairness", name="first", folder=alone / "out")
    finally:
        wandb.teardown()
    assert place.parent == alone / "out" / "wandb"
    assert place.name.startswith("offline-run-")
    (file,) = place.glob("*.wandb")
    records = wandb_records(file)
    (start,) = (record.run for record in records if record.HasField("run"))
    assert (start.project, start.display_name, next(iter(start.tags))) == ("fairness", "first", "rif-plugins")
    config = {item.key: json.loads(item.value_json) for item in start.config.update}
    assert config.items() >= parameters(run).items()
    (history,) = (record.history for record in records if record.HasField("history"))
    logged = {item.nested_key[0]: json.loads(item.value_json) for item in history.item}
    assert {key: value for key, value in logged.items() if not key.startswith("_")} == pytest.approx(
        metrics(run)
    )
    (artifact,) = (record.artifact for record in records if record.HasField("artifact"))
    assert {item.path for item in artifact.manifest.contents} == set(ARTIFACTS)
    for item in artifact.manifest.contents:
        assert Path(item.local_path).parent == place / "artifacts"
        assert Path(item.local_path).stat().st_size == item.size > 0
    assert not any(record.HasField("output_raw") for record in records)
    assert b"window.hacked" not in (place / "logs" / "debug-internal.log").read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_project_name_that_wandb_refuses(alone: Path) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: the extra [wandb]")
    with pytest.raises(UsageError, match=r"^W&B did not log the run: .*Invalid project name 'a/b'"):
        log_to_wandb(fake_run(12), project="a/b", folder=alone)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_mlflow_itself_in_a_folder(store: str, alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: the extra [mlflow]")
    if store == "sqlite":
        pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed: mlflow-skinny has no database")
        pytest.importorskip("alembic", reason="alembic is not installed: mlflow-skinny has no database")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions want to be asked
    uri = f"sqlite:///{alone / 'm.db'}" if store == "sqlite" else (alone / "runs").as_uri()
    run = fake_run(12, hostile=True)
    before = mlflow.get_tracking_uri()
    logged = [log_to_mlflow(run, experiment="fairness", tracking_uri=uri) for _ in range(2)]
    assert mlflow.active_run() is None
    assert mlflow.get_tracking_uri() == before
    client = mlflow.MlflowClient(tracking_uri=uri)
    first, second = (client.get_run(name) for name in logged)
    assert first.info.experiment_id == second.info.experiment_id
    assert first.info.status == "FINISHED"
    assert first.info.run_name.endswith("on reviews.csv")
    assert first.data.metrics == pytest.approx(metrics(run))
    assert first.data.params["model"] == run.configuration["model"]
    assert first.data.params["settings.min_equivalence"] == "0.8"
    assert first.data.tags["rif.tool"] == "rif-plugins"
    assert {item.path for item in client.list_artifacts(logged[0])} == set(ARTIFACTS)
    got = mlflow.artifacts.download_artifacts(
        run_id=logged[0], artifact_path="findings.csv", dst_path=str(alone), tracking_uri=uri
    )
    with Path(got).open(encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [record.id for record in run.findings]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_address_that_mlflow_does_not_know(alone: Path) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed: the extra [mlflow]")
    with pytest.raises(UsageError, match=r"^MLflow did not log the run: .*URI.*; mend that and log it again"):
        log_to_mlflow(fake_run(12), experiment="e", tracking_uri="foo://x")
