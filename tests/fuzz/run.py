"""`make fuzz`: all targets for a bounded time; says how many cases each has seen and what failed.

Half of the time of each target goes to hypothesis, half to fast random values. A failure is printed with a
value that leads to it, made smaller where it is a text or a file, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.all_targets import TARGETS
from fuzz.engine import Target, run_case, shrink
from hypothesis import HealthCheck, given, seed, settings

LONGEST_CASE = 20  # seconds
_SLICE = 2.0


class HangError(Exception):
    """A case took too long."""


@dataclass
class Tally:
    """What one target has seen."""

    n_hypothesis: int = 0
    n_quick: int = 0
    n_refused: int = 0
    seconds: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def n_cases(self) -> int:
        return self.n_hypothesis + self.n_quick


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("FUZZ_SECONDS", 300)))
    parser.add_argument("--seed", type=int, default=None, help="the same values again (another each time)")
    parser.add_argument("--only", default="", metavar="PART", help="targets whose name holds this")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz.json"))
    given_ = parser.parse_args(arguments)
    first_seed = random.SystemRandom().randrange(2**32) if given_.seed is None else given_.seed
    targets = [target for target in TARGETS if given_.only in target.name]
    if not targets:
        parser.error(f"--only {given_.only}: no target has this in its name")
    # Deprecations of other packages are no findings; numbers that overflow are for the checks to see.
    warnings.simplefilter("ignore")
    tallies = {target.name: Tally() for target in targets}
    started = time.perf_counter()
    n_round = 0
    while time.perf_counter() - started < given_.seconds:
        for number, target in enumerate(targets):
            left = given_.seconds - (time.perf_counter() - started)
            if left <= 0:
                break
            share = min(_SLICE, max(0.05, given_.seconds / len(targets) / 2), left)
            rng = random.Random(first_seed + 10007 * n_round + number)
            _spend(target, tallies[target.name], share, rng)
        n_round += 1
    seconds = time.perf_counter() - started
    _show(tallies, first_seed, seconds)
    _write(given_.out, tallies, first_seed, seconds)
    return 1 if any(tally.failures for tally in tallies.values()) else 0


def _spend(target: Target, tally: Tally, seconds: float, rng: random.Random) -> None:
    clock = time.perf_counter()
    _quick_cases(target, tally, clock + seconds / 2, rng)
    _hypothesis_cases(target, tally, clock + seconds, rng)
    tally.seconds += time.perf_counter() - clock


def _quick_cases(target: Target, tally: Tally, end: float, rng: random.Random) -> None:
    while time.perf_counter() < end:
        value = target.quick(rng)
        tally.n_quick += 1
        try:
            tally.n_refused += not _bounded(target, value)
        except Exception as error:
            _note(target, tally, value, error)


def _hypothesis_cases(target: Target, tally: Tally, end: float, rng: random.Random) -> None:
    failing: list[Any] = []

    def case(value: Any) -> None:
        if time.perf_counter() > end and not failing:
            raise _EnoughError
        tally.n_hypothesis += 1
        try:
            tally.n_refused += not _bounded(target, value)
        except Exception:
            failing[:] = [value]
            raise

    run = given(value=target.strategy)(case)
    run = seed(rng.randrange(2**32))(run)
    run = settings(
        max_examples=1_000_000,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )(run)
    try:
        run()
    except _EnoughError:
        pass
    except Exception as error:
        _note(target, tally, failing[0] if failing else None, error)


class _EnoughError(BaseException):
    """The time of the target is over."""


def _bounded(target: Target, value: Any) -> bool:
    """One case, ended after ``LONGEST_CASE`` seconds where the platform can."""
    if not hasattr(signal, "SIGALRM"):
        return run_case(target, value)
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_CASE)
    try:
        return run_case(target, value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _too_long(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise HangError(f"the case took more than {LONGEST_CASE} s")


def _note(target: Target, tally: Tally, value: Any, error: Exception) -> None:
    """Keep one value for each place in the code that fails."""
    lines = traceback.extract_tb(error.__traceback__)
    inside = [line for line in lines if "rif_plugins" in line.filename] or lines
    where = f"{type(error).__name__} in {Path(inside[-1].filename).name}:{inside[-1].lineno}"
    if where in tally.failures:
        return
    tally.failures[where] = ""
    small = shrink(target, value)
    tally.failures[where] = repr(small)[:1000]
    message = " ".join(str(error).split())[:300]
    print(f"FAILED {target.name}: {where}: {message}\n  value: {tally.failures[where]}", flush=True)


def _show(tallies: dict[str, Tally], first_seed: int, seconds: float) -> None:
    width = max(map(len, tallies))
    print(f"{'target':<{width}}  {'cases':>9}  {'hypothesis':>10}  {'refused':>8}  {'a second':>8}  failures")
    for name, tally in tallies.items():
        refused = tally.n_refused / max(1, tally.n_cases)
        rate = tally.n_cases / max(1e-9, tally.seconds)
        figures = f"{tally.n_cases:>9,}  {tally.n_hypothesis:>10,}  {refused:>8.1%}  {rate:>8,.0f}"
        print(f"{name:<{width}}  {figures}  {len(tally.failures)}")
    total = sum(tally.n_cases for tally in tallies.values())
    n_failures = sum(len(tally.failures) for tally in tallies.values())
    print(
        f"{total:,} cases of {len(tallies)} targets in {seconds:.0f} s ({total / seconds:,.0f} a second), "
        f"{n_failures} failures; seed {first_seed}"
    )


def _write(path: Path, tallies: dict[str, Tally], first_seed: int, seconds: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {
        "schema": "rif-fuzz/1",
        "seed": first_seed,
        "seconds": round(seconds, 1),
        "n_cases": sum(tally.n_cases for tally in tallies.values()),
        "targets": {
            name: {"n_cases": tally.n_cases, **{k: v for k, v in vars(tally).items() if k != "seconds"}}
            for name, tally in tallies.items()
        },
    }
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
