"""kill -9 at random moments, fifty times: nothing is lost, nothing comes twice, nothing is different."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.killable_audits import KillableAudits
from fakes.runner_world import audit_options, found, write_data, write_victim

from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, RunResult
from rif_plugins.runner import Audit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
KILLS = 50
# A pair or none, an edit or none; two rows in three have their own wording.
ROWS = [
    (f"{('He', 'She', 'It')[i % 3]} cooked {i // 3} {('good', 'awful')[i % 2]} meals.", i % 2)
    for i in range(160)
]


class World:
    """Data, a victim, and what an undisturbed run finds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_victim(folder)
        write_data(folder, ROWS)
        result = Audit.prepare(audit_options(folder, ROWS)).run(folder / "undisturbed")
        self.records = list(map(found, result.records))
        self.size = (folder / "undisturbed" / RESULTS_FILE).stat().st_size
        self.summary = _without_costs(dict(result.summary))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    yield World(tmp_path_factory.mktemp("kills"))


def _without_costs(summary: dict[str, Any]) -> dict[str, Any]:
    """Counts and rates that do not depend on time or on what a cache holds."""
    names = (
        "n_examples",
        "n_pairs",
        "n_skipped",
        "n_errors",
        "n_records",
        "n_repeated",
        "rif_rate",
        "accuracy",
    )
    return {name: summary[name] for name in names}


class Killer:
    """Kills an audit when its file has grown by some bytes, or after some time; its end may come first."""

    def __init__(self, results: Path, moments: random.Random, most_bytes: int) -> None:
        self.results = results
        self.grown = moments.randrange(most_bytes)
        self.seconds = moments.uniform(0.0, 0.4) if moments.random() < 0.3 else 60.0

    def __call__(self, pid: int) -> None:
        before, start = self._size(), time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            while self._size() - before <= self.grown and time.monotonic() - start < self.seconds:
                time.sleep(0.001)
                os.kill(pid, 0)
            os.kill(pid, signal.SIGKILL)

    def _size(self) -> int:
        return self.results.stat().st_size if self.results.exists() else 0


def check(world: World, out: Path) -> None:
    """The folder holds what an undisturbed run writes."""
    assert list(map(found, read_records(out / RESULTS_FILE))) == world.records
    result = RunResult.load(out)
    assert result.configuration["finished"] is not None
    assert _without_costs(dict(result.summary)) == world.summary
    assert sorted(p.name for p in out.iterdir()) == sorted([RESULTS_FILE, RUN_FILE, SUMMARY_FILE])


def kill_often(world: World, folder: Path, kills: int, *, workers: int = 1, cache: str = "off") -> None:
    """Begin runs, and go on with them, until so many were killed; check each that comes to its end."""
    moments, n_killed, n_runs = random.Random(kills + workers), 0, 0
    with KillableAudits(world.folder, "fork") as audits:
        while n_killed < kills:
            out = folder / str(n_runs)
            wait = Killer(out / RESULTS_FILE, moments, world.size // 8)
            status = audits.run(out, wait, workers=workers, cache=cache)
            if status == signal.SIGKILL:
                n_killed += 1
                continue
            assert status == 0
            check(world, out)
            n_runs += 1
        out = folder / str(n_runs)
        assert audits.run(out, lambda pid: None, workers=workers, cache=cache) == 0
        check(world, out)


def test_a_run_that_was_killed_fifty_times_equals_one_that_was_not(world: World, tmp_path: Path) -> None:
    kill_often(world, tmp_path, KILLS)


def test_two_workers_that_were_killed_too(world: World, tmp_path: Path) -> None:
    kill_often(world, tmp_path, 10, workers=2)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_runs_with_a_cache_that_were_killed_too(world: World, tmp_path: Path, workers: int) -> None:
    kill_often(world, tmp_path, KILLS, workers=workers, cache="on")
