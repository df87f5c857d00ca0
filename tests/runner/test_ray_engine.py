"""Shards on a local Ray cluster of two actors: the same records, whatever ends on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.runner_world import TEXTS, audit_options, found, write_victim

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.runner import Audit
from rif_plugins.runner import audit as run_audit
from rif_plugins.runner.places import Place

ray = pytest.importorskip("ray", reason="Ray is not installed")

# Ray leaves its children to themselves when it ends them.
pytestmark = pytest.mark.filterwarnings("ignore:.*subprocess .* is still running:ResourceWarning")

ROWS = [*TEXTS[:6], *((f"He cooked {i} good meals.", 1) for i in range(8))]
BAD = "actress"
FAULT = """

import os, signal
from pathlib import Path

_sound, _HERE = model, Path(__file__).parent


def model(texts):
    if any("actress" in text for text in texts) and os.getpid() != {driver} and {condition}:
        {action}
    return _sound(texts)


model.fingerprint = "keyword"
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One cluster for the tests of this file: a program's own connection is used and stays."""
    from rif_plugins.runner.ray_engine import _connected

    with _connected(ray, 2, None):
        yield


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    result = Audit.prepare(audit_options(tmp_path_factory.mktemp("sound"), ROWS)).run()
    return everything(result.records), dict(result.configuration["cost"])


def everything(records: Sequence[Record]) -> list[dict[str, Any]]:
    return list(map(found, records))


def run_on_ray(folder: Path, *, action: str = "", condition: str = "True", workers: int = 2) -> Any:
    options = audit_options(folder, ROWS)
    if action:
        file = write_victim(folder)
        fault = FAULT.format(driver=os.getpid(), action=action, condition=condition)
        file.write_text(file.read_text(encoding="utf-8") + fault, encoding="utf-8")
    return Audit.prepare(options).run(folder / "out", workers=workers, engine="ray")


@pytest.mark.usefixtures("cluster")
class TestOnACluster:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_the_same_records_as_in_one_process(self, tmp_path: Path, sound: Any, workers: int) -> None:
        result = run_on_ray(tmp_path, workers=workers)
        records, cost = sound
        assert everything(result.records) == records
        assert any(record["status"] == "induced" for record in records)
        assert result.configuration["cost"]["proposer_calls"] == cost["proposer_calls"]
        assert ray.is_initialized()

    def test_an_actor_that_is_killed_once_costs_nothing(self, tmp_path: Path, sound: Any) -> None:
        kill = "(_HERE / 'died').touch(); os.kill(os.getpid(), signal.SIGKILL)"
        result = run_on_ray(tmp_path, action=kill, condition="not (_HERE / 'died').exists()")
        assert (tmp_path / "died").exists()
        assert everything(result.records) == sound[0]

    def test_a_text_that_ends_its_actor_is_an_error_record(self, tmp_path: Path, sound: Any) -> None:
        result = run_on_ray(tmp_path, action="os._exit(7)")
        (error,) = [record for record in result.records if record.status == "error"]
        assert BAD in error.original
        assert "ended twice (its Ray actor ended)" in error.message
        others = [values for values in sound[0] if BAD not in values["original"]]
        assert everything([r for r in result.records if BAD not in r.original]) == others

    def test_an_actor_that_ends_while_it_loads(self, tmp_path: Path) -> None:
        options = audit_options(tmp_path, ROWS)
        file = write_victim(tmp_path)
        ready = Audit.prepare(options)
        file.write_text("import os\nos._exit(5)\n", encoding="utf-8")
        with pytest.raises(UsageError, match=r"one of 2 Ray actors ended while it loaded the victim"):
            ready.run(tmp_path / "out", workers=2, engine="ray")

    def test_what_a_worker_raises_ends_the_run_in_one_line(self, tmp_path: Path) -> None:
        options = audit_options(tmp_path, ROWS)
        file = write_victim(tmp_path)
        ready = Audit.prepare(options)
        file.unlink()
        with pytest.raises(UsageError) as raised:
            ready.run(tmp_path / "out", workers=2, engine="ray")
        assert "\n" not in str(raised.value)
        assert file.name in str(raised.value)

    def test_more_workers_than_processors(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"the Ray cluster has 2 processors, expected at least 3"):
            run_on_ray(tmp_path, workers=3)

    def test_devices_are_dealt_out_by_ray(self, tmp_path: Path) -> None:
        from rif_plugins.runner.ray_engine import RayEngine

        with pytest.raises(UsageError, match=r"--device cuda:1 does not go with --engine ray"):
            RayEngine(audit_options(tmp_path, ROWS, device="cuda:1"), 2)


def test_a_cluster_of_our_own_leaves_nothing(tmp_path: Path, sound: Any) -> None:
    options = audit_options(tmp_path, ROWS)
    home = tmp_path / "home"
    home.mkdir()
    earlier = set(Path(tempfile.gettempdir()).glob("rif-ray-*"))
    words = ["audit", "--model", options.model, "--data", options.data, "--engine", "ray", "--workers", "2"]
    more = ["--out", str(tmp_path / "out"), "--format", "json", "--entailment", "none", "--no-cache"]
    table = ["--proposer", options.settings.proposer]
    code = "import sys; from rif_plugins.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *words, *more, *table],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "HOME": str(home)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_pairs"] > 0
    lines = (tmp_path / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    stored = [json.loads(line) for line in lines]
    assert [record["outcome"] for record in stored] == [record["outcome"] for record in sound[0]]
    assert not list(home.rglob("*ray*"))
    assert set(Path(tempfile.gettempdir()).glob("rif-ray-*")) <= earlier


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, "spark"), r"engine 'spark': expected one of local, ray"),
        ((2, "local", "auto"), r"--ray-address auto goes with --engine ray only: say both"),
    ],
)
def test_places_that_are_none(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Place(*arguments)


def test_objects_do_not_travel_to_ray() -> None:
    with pytest.raises(UsageError, match=r"engine='ray' needs model and data as text"):
        run_audit(lambda texts: [[0.5, 0.5]] * len(texts), [("He ran.", 1)], engine="ray")


def test_no_cluster_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rif_plugins.runner.ray_engine import RayEngine

    def refuse(**options: Any) -> None:
        raise ConnectionError(f"no answer\nfrom {options['address']}")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(UsageError, match=r"--ray-address h:1: expected a Ray cluster .* no answer from h:1"):
        RayEngine(audit_options(tmp_path, ROWS), 2, address="h:1")


def test_without_ray_the_command_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rif_plugins.errors import MissingDependencyError
    from rif_plugins.runner.ray_engine import RayEngine

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install rif-plugins\[ray\]"):
        RayEngine(audit_options(tmp_path, ROWS), 2)
