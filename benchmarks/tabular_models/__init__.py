"""Classifiers of rows in plain torch, for benchmarks and examples: those of the two papers.

    model = build("deepfm", encoder.schema, seed=0)
    inputs = model_inputs("deepfm", encoder.schema, encoder.encode(frame))
    log = train(model, inputs, label, seed=0)

Every model returns logits ``(n, C)``: FCNN, MLP and TabTransformer from rows ``(n, d)``, the others from
packed rows ``[index | value]`` of ``FieldLayout.pack``.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from rif_plugins.tables import FieldLayout, TableSchema

from .embedding_models import AutoInt, DeepFM, WideAndDeep
from .initialisation import initialise
from .row_models import FCNN, MLP, TabTransformer
from .training import TrainingLog, accuracy, predict, train

__all__ = [
    "FCNN",
    "MLP",
    "MODELS",
    "AutoInt",
    "DeepFM",
    "TabTransformer",
    "TrainingLog",
    "WideAndDeep",
    "accuracy",
    "build",
    "model_inputs",
    "predict",
    "train",
]

ROW_MODELS = {"fcnn": FCNN, "mlp": MLP, "tabtransformer": TabTransformer}
EMBEDDING_MODELS = {"wide_and_deep": WideAndDeep, "deepfm": DeepFM, "autoint": AutoInt}
MODELS = (*ROW_MODELS, *EMBEDDING_MODELS)


def build(name: str, schema: TableSchema, *, n_classes: int = 2, seed: int = 0) -> nn.Module:
    """A model with weights drawn from ``seed`` alone, in evaluation mode."""
    if name not in MODELS:
        raise ValueError(f"model {name!r} does not exist: expected one of {', '.join(MODELS)}")
    with torch.random.fork_rng(devices=[]):  # torch draws weights of its own while it builds
        if name in ROW_MODELS:
            model: nn.Module = ROW_MODELS[name](schema.n_features, n_classes)
        else:
            layout = FieldLayout(schema)
            model = EMBEDDING_MODELS[name](layout.n_fields, layout.vocabulary_size, n_classes)
    initialise(model, torch.Generator().manual_seed(seed), glorot=name == "fcnn")
    return model.eval()


def model_inputs(name: str, schema: TableSchema, x: np.ndarray) -> np.ndarray:
    """Rows of the schema ``(n, d)`` in the form that a model reads, float32."""
    if name in EMBEDDING_MODELS:
        return FieldLayout(schema).pack(x).astype(np.float32)
    return np.asarray(x, dtype=np.float32)
