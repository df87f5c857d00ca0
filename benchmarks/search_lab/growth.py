"""Does the cost of a sweep grow linearly, and its memory not at all?

    python benchmarks/search_lab/growth.py --victim out/sst2_tfidf.npz --out out/growth.json

Sweeps 100, 1,000 and 10,000 generated examples, each size in a process of its own, without a filter: rows,
seconds and peak memory of an example. All examples are distinct, and each carries its own number, which no
edit may touch, so that no text of one example can be a text of another: nothing is answered from memory
that another example has paid for. The other sizes are compared with the first.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter, load_scorer
from rif_plugins.examples.base import Example
from rif_plugins.proposers import load_proposer
from rif_plugins.runner.sweep import Sweep
from rif_plugins.similar import Lexicon, PairSource
from rif_plugins.victims import TfidfLinearModel
from search_lab.metering import clock, memory_mb

ATTRIBUTE = "gender"
WARM_UP = 64
_PEOPLE = ("man", "boy", "father", "son", "brother", "husband", "uncle", "gentleman", "actor", "king")
_PRAISE = ("wonderful", "charming", "brilliant", "funny", "touching", "clever", "gorgeous", "smart")
_BLAME = ("dull", "awful", "boring", "stupid", "clumsy", "tedious", "silly", "weak")
_NOUNS = ("movie", "story", "performance", "picture", "script", "comedy", "drama", "scene", "tale", "show")
_VERBS = ("tells", "shows", "offers", "creates", "finds", "makes", "gives", "brings")
_ENDINGS = (
    "before the end of the long evening",
    "after a quick start and a slow finish",
    "in a small town near the old road",
    "with a good heart and a strong voice",
    "for an audience that wants to laugh",
    "although the problem never gets solved",
)


def examples(n: int, seed: int = 0) -> Iterator[Example]:
    """``n`` distinct sentences about a man, each with its own number; the seed decides the words."""
    rng = random.Random(seed)
    for number in range(n):
        label = rng.randrange(2)
        words = _PRAISE if label else _BLAME
        first, second = rng.sample(words, 2)
        noun, other = rng.sample(_NOUNS, 2)
        text = (
            f"review {number:06d} : the {rng.choice(_PEOPLE)} {rng.choice(_VERBS)} a {first} {noun} "
            f"and his {other} looks {second} {rng.choice(_ENDINGS)} ."
        )
        yield Example(f"generated-{number:06d}", text, label)


def check_distinct(n: int, seed: int = 0) -> None:
    """Refuse a generator that repeats a text, or whose counterparts lack the number."""
    source = PairSource(Lexicon.load(), [ATTRIBUTE])
    seen: set[str] = set()
    for number, example in enumerate(examples(n, seed)):
        pairs = source.pairs_of(example.text)
        texts = [example.text, *(pair.similar for pair in pairs)]
        if not pairs or any(f" {number:06d} " not in text for text in texts) or not seen.isdisjoint(texts):
            raise SystemExit(f"example {number} is not distinct or has no counterpart: {example.text}")
        seen.update(texts)


def measure(args: argparse.Namespace, n: int) -> dict[str, Any]:
    """One sweep in this process."""
    lexicon = Lexicon.load()
    engine = VictimEngine(TfidfLinearModel.load(args.victim), output="probabilities", batch_size=64)
    scorer = load_scorer(args.entailment)
    sweep = Sweep(
        engine,
        PairSource(lexicon, [ATTRIBUTE]),
        load_proposer("wordnet", max_candidates=12, protected=lexicon.is_sensitive),
        None if scorer is None else EntailmentFilter(scorer),
    )
    for _ in sweep.run(examples(WARM_UP, seed=args.seed + 1)):
        pass
    engine.clear()
    rows, hits = engine.rows, engine.cache_hits
    counts = {"records": 0, "found": 0, "errors": 0, "rows_of_examples": 0}
    with clock() as measured:
        start = memory_mb("VmRSS")
        for records in sweep.run(examples(n, args.seed)):
            counts["records"] += len(records)
            counts["found"] += sum(record.is_found for record in records)
            counts["errors"] += sum(record.status == "error" for record in records)
            counts["rows_of_examples"] += records[0].queries.get("victim_rows", 0)
    return {
        "examples": n,
        **counts,
        "victim_rows": engine.rows - rows,
        "cache_hits": engine.cache_hits - hits,
        "rows_per_example": round((engine.rows - rows) / n, 3),
        "hits_per_example": round((engine.cache_hits - hits) / n, 3),
        "seconds": round(measured.seconds, 3),
        "cpu_seconds": round(measured.cpu_seconds, 3),
        "ms_per_example": round(1000 * measured.seconds / n, 3),
        "cpu_ms_per_example": round(1000 * measured.cpu_seconds / n, 3),
        "start_mb": None if start is None else round(start, 1),
        "peak_mb": measured.peak_mb,
        "growth_mb": measured.growth_mb,
    }


def compared(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each size against the first: rows, time and memory."""
    first = runs[0]
    return [
        {
            "examples": run["examples"],
            "rows_ratio": round(run["rows_per_example"] / first["rows_per_example"], 4),
            "seconds_ratio": round(run["ms_per_example"] / first["ms_per_example"], 4),
            "cpu_seconds_ratio": round(run["cpu_ms_per_example"] / first["cpu_ms_per_example"], 4),
            "more_mb": None if run["peak_mb"] is None else round(run["peak_mb"] - first["peak_mb"], 1),
        }
        for run in runs
    ]


def parse() -> argparse.Namespace:
    """Command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--victim", type=Path, required=True, help="a TF-IDF victim (sst2_victims/tfidf.py)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--entailment", default="none", help="none (default) or embedded")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out") / "growth.json")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """One process for each size; the result as JSON."""
    args = parse()
    if args.only is not None:
        print(json.dumps(measure(args, args.only)))
        return 0
    check_distinct(max(args.sizes), args.seed)
    runs = []
    for size in args.sizes:
        options = [
            "--victim",
            args.victim,
            "--entailment",
            args.entailment,
            "--seed",
            args.seed,
            "--only",
            size,
        ]
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), *map(str, options)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        runs.append(json.loads(done.stdout.splitlines()[-1]))
        print(runs[-1], flush=True)
    from search_lab.provenance import provenance

    report = {
        "provenance": provenance("benchmarks/search_lab/growth.py"),
        "settings": {"entailment": args.entailment, "seed": args.seed, "distinct": True},
        "runs": runs,
        "compared": compared(runs),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report["compared"], indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
