"""A network of Adult's rows, searched with RobustFair from its training rows, as retraining takes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tabular_lab import data as tables
from tabular_lab.models import as_target
from tabular_models import build, train

from rif_plugins.runner.row_fitting import TrainingTable
from rif_plugins.runner.row_runs import RowRun
from rif_plugins.runner.tabular import run_tabular
from rif_plugins.runner.tabular_attacks import AttackBudget
from rif_plugins.runner.tabular_files import records_of
from rif_plugins.runner.tabular_input import TabularInput, TabularOptions
from rif_plugins.tables import TableEncoder

N_SEEDS = 1500
BUDGET = AttackBudget(3, 2)
TARGETS = ("robust_biased", "unrobust_fair", "unrobust_biased")
BIASED = ("robust_biased", "unrobust_biased")


@dataclass(frozen=True)
class Network:
    """128-64-32 units, Adam, cross-entropy; every added row has weight 1."""

    epochs: int
    name: str = "multilayer perceptron"

    def fit(self, rows: TrainingTable, seed: int) -> Any:
        """Train from scratch."""
        module = build("mlp", rows.encoder.schema, seed=seed)
        train(module, rows.x, rows.y, epochs=self.epochs, batch_size=512, seed=seed)
        return module


def searched_run(loaded: Any, network: Network, seed: int, split: int) -> tuple[RowRun, Any, Any]:
    """The network as it is, searched from training rows; training and test data as arrays.

    Args:
        loaded: The data set.
        network: What is trained.
        seed: Of the training.
        split: Draws the seeds of the search.
    """
    is_train = loaded.is_train
    bounded = loaded.bounded_by(is_train)
    encoder = TableEncoder(tables.as_codes(bounded), scaling="min_max")
    x = encoder.from_raw(TableEncoder(bounded).encode(loaded.frame, out_of_range="clip"))
    y = np.asarray(loaded.label, dtype=np.int64)
    data = (x[is_train], y[is_train])
    module = network.fit(TrainingTable(*data, np.ones(len(data[1])), encoder), 1000 + seed)
    target = as_target("mlp", module, tables.split(loaded))
    options = TabularOptions(
        Path("network"),
        Path("adult"),
        attacks=("robustfair",),
        budget=BUDGET,
        n_seeds=N_SEEDS,
        seed=split,
        max_records=None,
        label_names=tuple(loaded.label_names),
    )
    numbers = np.arange(1, len(data[1]) + 1)
    given = TabularInput(
        options, encoder, *data, numbers, tuple(loaded.label_names), target, "array", is_inferred=False
    )
    found = run_tabular(given)
    records = tuple(record for attack in found.attacks for record in records_of(found, attack))
    run = RowRun(dict(found.configuration), records, given, found.seeds)
    return run, data, (x[~is_train], y[~is_train])
