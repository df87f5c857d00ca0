"""What retrains the victims of the studies on texts."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from rif_plugins.runner.fitting import FunctionFitter

SETTINGS: dict[str, dict[str, Any]] = {
    "cnn": {"epochs": 6, "batch_size": 50, "filters": 64, "learning_rate": 1e-3},
    "bilstm": {"epochs": 6, "batch_size": 50, "units": 64, "learning_rate": 2e-3},
    "transformer": {"epochs": 8, "batch_size": 50, "width": 64, "layers": 2, "learning_rate": 1e-3},
}
"""The word networks, as the scripts of ``sst2_victims`` train them."""


def word_fitter(name: str, label_names: tuple[str, ...], glove: Path | None) -> FunctionFitter:
    """Trains a word network from scratch; weights of rows are weights in the loss.

    Args:
        name: A name of ``SETTINGS``.
        label_names: Names of the classes.
        glove: Folder with the word vectors; the Transformer needs none.
    """

    def fit(rows: list[str], labels: list[int], weights: list[float], seed: int) -> Any:
        import torch

        args = argparse.Namespace(**SETTINGS[name], seed=seed % 2**31, glove=glove)
        train = import_module(f"sst2_victims.{name}").train
        with torch.random.fork_rng(devices=[]):  # the trainings draw from the global generator
            torch.manual_seed(args.seed)
            if name == "cnn":
                return train(rows, labels, len(label_names), glove, args, weights)[0]
            return train(rows, labels, len(label_names), args, weights)

    return FunctionFitter(name, fit, label_names)
