"""Tables 1 and 6 of RIFair (white box) in shape: single-axis and joint attack rates of five models."""

from __future__ import annotations

from typing import Any

import numpy as np

from rif_plugins.metrics.multi_run import multi_run_rates, reached_outcomes
from rif_plugins.runner.tabular_attacks import AttackBudget, build_attack, run_attack
from rif_plugins.runner.tabular_measure import measure
from rif_plugins.tables import FieldLayout
from rif_plugins.tables.datasets import TableData
from rif_plugins.tabular import rif_table

from .data import split
from .models import Trained, trained

MODELS = ("mlp", "wide_and_deep", "deepfm", "autoint", "tabtransformer")
READABLE = {
    "mlp": "MLP", "wide_and_deep": "Wide&Deep", "deepfm": "DeepFM", "autoint": "AutoInt",
    "tabtransformer": "TabTransformer",
}  # fmt: skip
CODING = {"mlp": "one_hot"}  # the attention of TabTransformer runs over all features: one a column


def attacked(
    name: str,
    data: TableData,
    *,
    n_train: int | None,
    n_rows: int,
    epochs: int,
    steps: int,
    step_size: float,
    eps: float,
    seed: int,
) -> dict[str, Any]:
    """Train one model and attack it: FGSM, ADF, and RIFair towards each of the three violations.

    Args:
        name: One of ``MODELS``.
        data: A data set.
        n_train: Training rows; None: all.
        n_rows: Rows attacked, drawn from the test rows.
        epochs: Of training.
        steps: Steps of RIFair and of ADF's global phase.
        step_size: Size of a step of a number.
        eps: Reach of FGSM, a share of each column's range.
        seed: Of everything that is drawn.
    """
    rows = split(data, coding=CODING.get(name, "categories"), seed=seed)
    model = trained(name, rows, seed=seed, rows=n_train, loss="ce", epochs=epochs, batch_size=64)
    index = np.random.default_rng(seed).permutation(len(rows.test_x))[:n_rows]
    x = np.asarray(rows.schema.project(rows.test_x[index], rows.test_x[index]))
    y = rows.test_y[index]
    clean = np.asarray(
        rif_table(model.target.estimator, x, y, rows.schema, keep_outcomes=True).outcomes, dtype=np.int8
    )
    single = {
        "fgsm": _single("fgsm", model, x, y, AttackBudget(1, 0, eps), seed=seed),
        "adf": _single("adf", model, x, y, AttackBudget(steps, 0, eps), seed=seed, step_size=step_size),
    }
    return {
        "model": name,
        "accuracy": model.accuracy,
        "training_seconds": round(model.seconds, 1),
        "clean": {
            "ACC": float((clean < 2).mean()),
            "FTA": float((clean % 2 == 0).mean()),
            "TFR": float((clean == 0).mean()),
        },
        "AR_attack": float((single["fgsm"]["false"] | (clean >= 2)).mean()),
        "IF_attack": float((single["adf"]["biased"] | (clean % 2 == 1)).mean()),
        "single_axis_black_box": single["fgsm"]["is_black_box"],
        **_joint(model, x, y, clean, AttackBudget(steps, 0, eps), seed=seed, step_size=step_size),
    }


def _single(
    name: str, model: Trained, x: np.ndarray, y: np.ndarray, budget: AttackBudget, **settings: Any
) -> dict[str, Any]:
    generated = run_attack(name, model.target, x, y, budget, **settings)
    measured = measure(generated, model.target, len(x))
    return {
        "false": measured.is_false_seed,
        "biased": measured.is_biased_seed,
        "is_black_box": bool(generated.cost.get("is_black_box")),
    }


def _joint(
    model: Trained,
    x: np.ndarray,
    y: np.ndarray,
    clean: np.ndarray,
    budget: AttackBudget,
    **settings: Any,
) -> dict[str, Any]:
    attack = build_attack("rifair-gradient", model.target, budget, **settings)
    given = x if model.target.packed is None else FieldLayout(model.target.schema).pack(x)
    histories = attack.generate_histories(given, y)
    reached = reached_outcomes([history.outcomes.T for history in histories.values()])
    return {
        "RIFair": multi_run_rates(reached).to_table(),
        "RIFair_from_clean": multi_run_rates(reached, clean, require_clean=True).to_table(),
        "mean_steps": float(np.mean([history.n_steps.mean() for history in histories.values()])),
    }
