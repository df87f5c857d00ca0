"""How large may the data be? `rif audit` as its users run it, on generated reviews.

    python benchmarks/scale.py --out out/scale.json
    python benchmarks/scale.py --sizes 1000 10000 100000 --parts growth

Every review is a text of its own with its own number in it, so that nothing is answered from memory that
another one has paid for. The victim is the embedded one, the candidates come from a table, one process a run.

* ``growth``: without a filter, at every size: seconds, rows, peak memory and bytes of results.
* ``filter``: 1,000 reviews with the embedded entailment model.
* ``workers``: a victim that keeps one processor busy; one process and two, one Ray actor and two.
* ``bookkeeping``: the share of a run that the log of finished examples takes, which ``--resume`` reads.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from search_lab.growth import examples
from search_lab.provenance import provenance

PARTS = ("growth", "filter", "workers", "bookkeeping")
BUSY = '''"""A victim that keeps one processor busy for about a millisecond a text."""

from hashlib import blake2b

label_names = ["negative", "positive"]
_PIECES = range(1, 9)


def _p(text):
    total = 0
    for size in _PIECES:
        for start in range(len(text) - size + 1):
            total += blake2b(text[start : start + size].encode(), digest_size=1).digest()[0] - 127
    return 1 / (1 + 2.718281828 ** (-total / 3000))


def model(texts):
    return [[1 - p, p] for p in map(_p, texts)]


model.fingerprint = "busy"
'''


class Bench:
    """Runs of `rif audit` in a folder that is thrown away."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.table = folder / "table.jsonl"
        self.table.write_text("".join(_table_lines(seed)), encoding="utf-8")
        self.busy = folder / "busy.py"
        self.busy.write_text(BUSY, encoding="utf-8")

    def data(self, n: int) -> Path:
        """A CSV file with ``n`` reviews."""
        path = self.folder / f"reviews_{n}.csv"
        if not path.exists():
            with path.open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(("text", "label"))
                rows.writerows((example.text, example.label) for example in examples(n, self.seed))
        return path

    def audit(
        self, n: int, *options: str, model: str = "embedded", threads: int | None = None
    ) -> dict[str, Any]:
        """One run, from start to end of its process.

        Returns:
            Seconds and peak memory of the process and its children, rows, and what ``run.json`` says.
        """
        out = Path(tempfile.mkdtemp(dir=self.folder))
        words = ["audit", "--model", model, "--data", str(self.data(n)), "--labels", "predicted"]
        words += ["--sensitive", "gender", "--proposer", f"table:{self.table}", "--no-cache", "--quiet"]
        words += ["--out", str(out), *options]
        environment = dict(os.environ)
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        start = time.perf_counter()
        command = [sys.executable, "-m", "rif_plugins.cli.main", *words]
        pid = os.posix_spawn(sys.executable, command, environment)
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        if os.waitstatus_to_exitcode(status) != 0:
            raise SystemExit(f"rif {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        results = out / "results.jsonl"
        return {
            "examples": n,
            "pairs": summary["n_pairs"],
            "records": summary["n_records"],
            "errors": summary["n_errors"],
            "seconds": round(seconds, 2),
            "search_seconds": run["seconds"],
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
            "peak_mb": round(usage.ru_maxrss / 1024, 1),
            "victim_rows": run["cost"]["victim_rows"],
            "answers_from_memory": run["cost"]["cache_hits"],
            "entailment_rows": run["cost"]["entailment_rows"],
            "results_mb": round(results.stat().st_size / 1e6, 2),
            "ms_per_example": round(1000 * seconds / n, 2),
            "rows_per_example": round(run["cost"]["victim_rows"] / n, 2),
        }


def _table_lines(seed: int) -> list[str]:
    """Candidates of WordNet for all words of the reviews, as rows of a table."""
    from rif_plugins.core.tokens import word_spans
    from rif_plugins.proposers import TokenContext, load_proposer
    from rif_plugins.similar import Lexicon

    lexicon = Lexicon.load()
    proposer = load_proposer("wordnet", max_candidates=12, protected=lexicon.is_sensitive)
    contexts: dict[str, TokenContext] = {}
    for example in examples(300, seed):
        for span in word_spans(example.text):
            word = example.text[span.start : span.end]
            if word.isalpha():
                contexts.setdefault(word, TokenContext(example.text, span.start, span.end))
    found = zip(contexts, proposer.propose(list(contexts.values())), strict=True)
    rows = [{"token": word, "candidate": one.text} for word, candidates in found for one in candidates]
    return [json.dumps(row) + "\n" for row in rows]


def growth(bench: Bench, sizes: Sequence[int], n_workers: int) -> list[dict[str, Any]]:
    """One run a size, without a filter."""
    return [
        _told(
            {
                "workers": n_workers,
                **bench.audit(n, "--entailment", "none", "--workers", str(n_workers), threads=1),
            }
        )
        for n in sizes
    ]


def with_filter(bench: Bench, n: int) -> list[dict[str, Any]]:
    """One run with the embedded entailment model."""
    return [_told(bench.audit(n, "--entailment", "embedded"))]


KINDS = {
    "one process": (),
    "two processes": ("--workers", "2"),
    "one Ray actor": ("--engine", "ray"),
    "two Ray actors": ("--engine", "ray", "--workers", "2"),
}


def workers(bench: Bench, n: int, repeats: int, *, only_ray: bool) -> list[dict[str, Any]]:
    """One worker against two, of both engines, with one thread each; paired runs, medians."""
    kinds = {name: options for name, options in KINDS.items() if not only_ray or "ray" in options}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in kinds}
    for _ in range(repeats):
        for name, options in kinds.items():
            one = bench.audit(n, "--entailment", "none", *options, model=str(bench.busy), threads=1)
            runs[name].append(_told({"kind": name, **one}))
    return [
        {
            "kind": name,
            "examples": n,
            "runs": len(found),
            "seconds": statistics.median(run["seconds"] for run in found),
            "search_seconds": statistics.median(run["search_seconds"] for run in found),
            "records": found[0]["records"],
        }
        for name, found in runs.items()
    ]


def bookkeeping(bench: Bench, n: int, repeats: int) -> list[dict[str, Any]]:
    """Processor seconds inside the log of finished examples, as a share of the run's."""
    from rif_plugins import audit
    from rif_plugins.core.result_files import RecordWriter
    from rif_plugins.runner.result_log import ResultLog

    inside = {"log": 0.0, "writer": 0.0}

    def metered(kind: type, method: str, name: str) -> None:
        original = getattr(kind, method)

        def timed(*args: Any, **options: Any) -> Any:
            start = time.process_time()
            try:
                return original(*args, **options)
            finally:
                inside[name] += time.process_time() - start

        setattr(kind, method, timed)

    metered(ResultLog, "_add", "log")
    metered(ResultLog, "put_in_order", "log")
    metered(RecordWriter, "write_all", "writer")
    shares = []
    for _ in range(repeats):
        inside.update(log=0.0, writer=0.0)
        summary = metered_summary(ResultLog)
        start = time.process_time()
        audit(
            model="embedded",
            data=str(bench.data(n)),
            labels="predicted",
            sensitive="gender",
            proposer=f"table:{bench.table}",
            entailment="none",
            cache="off",
            out=tempfile.mkdtemp(dir=bench.folder),
        )
        whole = time.process_time() - start
        shares.append(
            {
                "log": (inside["log"] - summary.pop()) / whole,
                "writing": inside["writer"] / whole,
                "seconds": round(whole, 2),
            }
        )
    return [
        {
            "examples": n,
            "runs": repeats,
            "cpu_seconds": statistics.median(share["seconds"] for share in shares),
            "log_share": round(statistics.median(share["log"] for share in shares), 5),
            "writing_share": round(statistics.median(share["writing"] for share in shares), 5),
        }
    ]


def metered_summary(kind: Any) -> list[float]:
    """Time of the callback that the log calls for each example: the summary's, not the log's own."""
    spent = [0.0]
    original = kind.__init__

    def made(self: Any, path: Path, ids: Any, each: Any) -> None:
        def timed(records: Any) -> None:
            start = time.process_time()
            each(records)
            spent[0] += time.process_time() - start

        original(self, path, ids, timed)
        kind.__init__ = original

    kind.__init__ = made
    return spent


def _told(run: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(run), flush=True)
    return run


def page(report: dict[str, Any]) -> str:
    """The tables as Markdown."""
    origin = report["provenance"]
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    lines = ["# Scale", "", f"{origin['time'][:10]}, {origin['cpu']}, {origin['cores']} cores, {versions}, "]
    lines[-1] += f"commit {origin['commit']}, load {origin['load_at_start']} at the start."
    lines += ["", "```", origin["command"], "```", ""]
    for part, rows in report["parts"].items():
        columns = list(rows[0])
        lines += [f"## {part}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(_cell(row[column]) for column in columns) + " |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def parse() -> argparse.Namespace:
    """Command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--growth-workers", type=int, default=1, help="processes of the part growth")
    parser.add_argument("--filtered", type=int, default=1_000, help="reviews of the part filter")
    parser.add_argument("--worker-examples", type=int, default=400, help="reviews of the part workers")
    parser.add_argument("--only-ray", action="store_true", help="leave processes out of the part workers")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out") / "scale.json")
    return parser.parse_args()


def main() -> int:
    """Run the parts, write JSON and page after each."""
    args = parse()
    report: dict[str, Any] = {"provenance": provenance("benchmarks/scale.py"), "parts": {}}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rif-scale-") as folder:
        bench = Bench(Path(folder), args.seed)
        calls = {
            "growth": lambda: growth(bench, args.sizes, args.growth_workers),
            "filter": lambda: with_filter(bench, args.filtered),
            "workers": lambda: workers(bench, args.worker_examples, args.repeats, only_ray=args.only_ray),
            "bookkeeping": lambda: bookkeeping(bench, 2_000, args.repeats),
        }
        for part in args.parts:
            report["parts"][part] = calls[part]()
            args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            args.out.with_suffix(".md").write_text(page(report), encoding="utf-8")
    print(f"{args.out} and {args.out.with_suffix('.md')}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
