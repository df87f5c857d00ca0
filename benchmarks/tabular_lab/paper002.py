"""Tables 3, 4 and 6 of RobustFair in shape: techniques on one model, counts and rates over runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rif_plugins.runner.tabular_attacks import AXES, AttackBudget, RowTarget, run_attack
from rif_plugins.runner.tabular_measure import MeasuredAttack, draw_seeds, measure
from rif_plugins.tabular import rif_table

from .data import Split

TECHNIQUES = ("fgsm", "pgd", "apgd", "acg", "adf", "eidig", "robustfair")
SEARCHES = ("adf", "eidig", "dice", "robustfair")
FIGURES = ("n_f", "n_b", "n_fb", "sum", "r_f", "r_b", "r_fb", "tf", "tb", "ff", "fb", "own", "similarity",
           "outside", "broken_seeds", "victim_rows", "gradient_rows", "seconds")  # fmt: skip


def run(
    data: Split,
    target: RowTarget,
    voters: Sequence[RowTarget],
    techniques: Sequence[str],
    budget: AttackBudget,
    *,
    n_seeds: int,
    seed: int,
    settings: dict[str, Any],
) -> dict[str, dict[str, float]]:
    """One run: the same seeds for every technique.

    Args:
        data: Rows.
        target: The model under attack.
        voters: Models whose vote labels the rows of the fairness techniques; none: their seed's label.
        techniques: Names.
        budget: What a seed may cost.
        n_seeds: How many rows of the test set.
        seed: Of the clustering, the draws and the attacks.
        settings: Further settings of all attacks.
    """
    index, chosen = draw_seeds(data.test_x, data.test_y, data.schema, n_seeds, seed)
    x, y = np.asarray(data.schema.project(data.test_x[index], data.test_x[index])), data.test_y[index]
    before = rif_table(target.estimator, x, y, data.schema, keep_outcomes=True)
    is_clean = np.asarray(before.outcomes == 0)
    found: dict[str, dict[str, float]] = {}
    for name in techniques:
        own = dict(settings)
        if AXES[name] == "fairness" and voters:
            own["label_estimators"] = [voter.estimator for voter in voters]
        generated = run_attack(name, target, x, y, budget, seed=seed, **own)
        measured = measure(generated, target, len(x), seeds=chosen)
        found[name] = figures(measured, is_clean)
    return found


def figures(measured: MeasuredAttack, is_clean: np.ndarray) -> dict[str, float]:
    """The numbers of one technique in one run, under ``FIGURES``."""
    counts, n = measured.confusion, max(len(measured.generated), 1)
    table = measured.to_dict(is_clean)
    rate = measured.seed_rate(is_clean)
    return {
        "n_f": counts.n_false, "n_b": counts.n_biased, "n_fb": counts.n_false_or_biased,
        "sum": len(measured.generated), "r_f": counts.n_false / n, "r_b": counts.n_biased / n,
        "r_fb": counts.n_false_or_biased / n, "tf": counts.robust_fair, "tb": counts.robust_biased,
        "ff": counts.unrobust_fair, "fb": counts.unrobust_biased, "own": measured.own_axis,
        "similarity": table["mean_similarity"] if table["mean_similarity"] is not None else math.nan,
        "outside": table["n_outside"], "broken_seeds": rate.value if rate.value is not None else math.nan,
        "victim_rows": table["victim_rows"], "gradient_rows": table["gradient_rows"],
        "seconds": table["seconds"],
    }  # fmt: skip


def pooled(runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, dict[str, Any]]]:
    """By technique and figure: mean over runs with the 95 % t interval, and every run."""
    return {
        name: {key: mean_interval([run[name][key] for run in runs]) for key in FIGURES} for name in runs[0]
    }


def mean_interval(values: Sequence[float]) -> dict[str, Any]:
    """Mean and Student's 95 % interval; no interval for one value, none of both without a number."""
    known = [float(value) for value in values if not math.isnan(value)]
    if not known:
        return {"mean": None, "low": None, "high": None, "runs": []}
    mean = float(np.mean(known))
    if len(known) < 2:
        return {"mean": mean, "low": None, "high": None, "runs": known}
    from scipy.stats import t

    half = float(t.ppf(0.975, len(known) - 1) * np.std(known, ddof=1) / math.sqrt(len(known)))
    return {"mean": mean, "low": mean - half, "high": mean + half, "runs": known}


def not_ahead(figures_by_name: dict[str, dict[str, dict[str, Any]]]) -> dict[str, list[str]]:
    """Where RobustFair has no higher mean than a technique of one axis.

    Returns:
        By figure: ``n_fb``, all rows measured on both axes; ``own``, each technique's own axis, as in the
        paper; ``r_fb``, the share of rows; ``per_row``, found rows by rows asked of the model;
        ``broken_seeds``, the share of clean seeds.
    """
    if "robustfair" not in figures_by_name:
        return {}
    out: dict[str, list[str]] = {}
    for key in ("own", "n_fb", "r_fb", "per_row", "broken_seeds"):
        values = {name: _value(found, key) for name, found in figures_by_name.items()}
        best = values["robustfair"]
        out[key] = [
            name
            for name, value in values.items()
            if AXES[name] != "both" and best is not None and value is not None and value >= best
        ]
    return out


def _value(found: dict[str, dict[str, Any]], key: str) -> float | None:
    if key == "per_row":
        asked = found["victim_rows"]["mean"]
        return found["n_fb"]["mean"] / asked if asked else None
    return found[key]["mean"]
