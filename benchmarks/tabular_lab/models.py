"""Trained classifiers as ART estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tabular_models import EMBEDDING_MODELS, build, model_inputs, predict, train

from rif_plugins.runner.tabular_attacks import RowTarget
from rif_plugins.tables import FieldLayout

from .data import Split


@dataclass(frozen=True)
class Trained:
    """A model with what its training gave."""

    target: RowTarget
    module: Any
    accuracy: float
    seconds: float
    seed: int = 0
    is_constant: bool = False


def living(name: str, data: Split, *, seed: int, tries: int = 10, **settings: Any) -> Trained:
    """The first of several networks that does not give every row the same label.

    RobustFair's network has a bottleneck of two units with ReLU: where training switches both off, all
    outputs are equal and all gradients zero. Such a network can be attacked by nobody.

    Args:
        name: A model.
        data: Rows.
        seed: The first seed to try; the next ones follow.
        tries: How many.
        **settings: Those of ``train``.
    """
    for number in range(tries):
        model = trained(name, data, seed=seed + number, **settings)
        if not model.is_constant:
            break
    return model


def trained(name: str, data: Split, *, seed: int, rows: int | None = None, **settings: Any) -> Trained:
    """Train a model of ``tabular_models`` and make it a target of attacks.

    Args:
        name: Its name.
        data: Rows, coded as the model reads them.
        seed: Of weights and batches.
        rows: Number of training rows; None: all.
        **settings: Those of ``train``.
    """
    module = build(name, data.schema, seed=seed)
    some = np.random.default_rng(seed).permutation(len(data.train_x))[:rows]
    log = train(
        module, model_inputs(name, data.schema, data.train_x[some]), data.train_y[some], seed=seed, **settings
    )
    inputs = model_inputs(name, data.schema, data.test_x)
    answers = predict(module, inputs)
    right = float((answers.argmax(axis=1) == data.test_y).mean())
    is_constant = bool(np.ptp(answers, axis=0).max() < 1e-6)
    return Trained(as_target(name, module, data), module, right, log.seconds, seed, is_constant)


def as_target(name: str, module: Any, data: Split) -> RowTarget:
    """The ART estimators around a trained model."""
    import torch
    from art.estimators.classification import PyTorchClassifier

    from rif_plugins.tabular.row_estimator import RowEstimator

    def wrapped(width: int) -> Any:
        return PyTorchClassifier(
            module, loss=torch.nn.CrossEntropyLoss(), input_shape=(width,), nb_classes=2, device_type="cpu"
        )

    if name not in EMBEDDING_MODELS:
        return RowTarget(wrapped(data.schema.n_features), data.schema)
    layout = FieldLayout(data.schema)

    def probabilities(x: np.ndarray) -> np.ndarray:
        return predict(module, layout.pack(nearest_codes(x, data)))

    plain = RowEstimator(probabilities, data.schema.n_features, 2)
    return RowTarget(plain, data.schema, packed=wrapped(2 * layout.n_fields))


def nearest_codes(x: np.ndarray, data: Split) -> np.ndarray:
    """Rows with every category at the nearest of its codes, as an embedding needs them."""
    out = np.array(x, dtype=np.float64)
    for column in data.schema.columns:
        if column.values is not None:
            part = data.schema.slice_of(column.name)
            out[:, part] = column.nearest(out[:, part])
    return out
