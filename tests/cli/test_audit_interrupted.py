"""`rif audit` that is interrupted, ended, or out of disk: one line, the right exit code, and --resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fakes.audit_world import VICTIM, options, run_rif, write_rows, write_world

from rif_plugins.core.result_files import read_records

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
N = 150
SLOW = (
    VICTIM.replace(
        "        sums =", "        __import__('time').sleep(0.02)\n        leave_pid()\n        sums ="
    )
    + """

def leave_pid():
    import os, pathlib
    (pathlib.Path(__file__).parent / "pids" / str(os.getpid())).touch()
"""
)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    write_world(tmp_path / "world")
    (tmp_path / "world" / "pids").mkdir()
    (tmp_path / "world" / "victim.py").write_text(SLOW, encoding="utf-8")
    rows = [(f"{'he' if i % 2 else 'she'} is {'good' if i % 3 else 'bad'} {i}", "positive") for i in range(N)]
    write_rows(tmp_path / "world" / "data.csv", ("text", "label"), rows)
    return tmp_path / "world"


def started(world: Path, *more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "HOME": str(world.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "rif_plugins.cli.main", "audit", *options(), "--out", "out", *more]
    # Whoever runs the tests in the background has Ctrl-C ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, cwd=world, env=environment, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)


def records_of(out: Path) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in record.to_dict().items() if k not in ("queries", "seconds")}
        for record in read_records(out / "results.jsonl")
    ]


def wait_for_records(world: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    results = world / "out" / "results.jsonl"
    while not (results.exists() and results.stat().st_size):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)


def are_gone(world: Path) -> bool:
    """Whether every process that has asked the victim is gone; they are given a moment."""
    pids = [int(file.name) for file in (world / "pids").iterdir()]
    for _ in range(100):
        alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if not alive:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("number", "code", "words", "workers"),
    [
        (signal.SIGINT, 130, "interrupted", 1),
        (signal.SIGTERM, 143, "ended by SIGTERM", 1),
        (signal.SIGINT, 130, "interrupted", 2),
    ],
)
def test_an_interrupted_run_says_so_and_goes_on(
    world: Path, number: int, code: int, words: str, workers: int
) -> None:
    process = started(world, "--workers", str(workers))
    wait_for_records(world, process)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    n = len({record["example"] for record in records_of(world / "out")})
    assert 0 < n < N
    last = stderr.splitlines()[-1]
    assert last == f"rif audit: {words}; {n} of {N} examples stand in out, go on with --resume"
    assert "Traceback" not in stderr
    assert are_gone(world)
    assert json.loads((world / "out" / "run.json").read_text(encoding="utf-8"))["finished"] is None
    assert (
        run_rif("audit", *options(), "--out", "out", "--resume", cwd=world, home=world.parent).returncode == 0
    )
    assert run_rif("audit", *options(), "--out", "whole", cwd=world, home=world.parent).returncode == 0
    assert records_of(world / "out") == records_of(world / "whole")


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_end_with_a_run_that_is_killed(world: Path, workers: int) -> None:
    process = started(world, "--workers", str(workers), "--victim-timeout", "30")
    wait_for_records(world, process)
    process.kill()
    process.communicate(timeout=60)
    assert len(list((world / "pids").iterdir())) >= workers
    assert are_gone(world)


def test_a_full_disk_is_said_in_one_line(world: Path) -> None:
    arguments = ["audit", *options(), "--out", "out", "--quiet"]
    limited = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", sys.executable, "-m", "rif_plugins.cli.main"]
    environment = {**os.environ, "HOME": str(world.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*limited, *arguments], cwd=world, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 2
    n = len({record["example"] for record in records_of(world / "out")})
    assert 0 < n < N
    (line,) = done.stderr.splitlines()
    assert line == (
        "rif: cannot write out/results.jsonl: File too large; what stands there already is whole; "
        f"{n} of {N} examples stand in out, go on with --resume"
    )
    again = run_rif(*arguments, "--resume", cwd=world, home=world.parent)
    assert (again.returncode, again.stderr) == (0, "")
    assert len({record["example"] for record in records_of(world / "out")}) == N


def test_errors_in_some_examples_are_exit_code_3(world: Path) -> None:
    source = VICTIM.replace(
        "        sums =", "        assert not any('7' in text for text in texts)\n        sums ="
    )
    (world / "victim.py").write_text(source, encoding="utf-8")
    done = run_rif("audit", *options(), "--out", "out", "--quiet", cwd=world, home=world.parent)
    assert done.returncode == 3, done.stderr
    errors = [record for record in records_of(world / "out") if record["status"] == "error"]
    assert len(errors) == sum("7" in str(i) for i in range(N))
    assert "the victim raised AssertionError" in errors[0]["message"]
    summary = json.loads((world / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["n_errors"] == len(errors)
