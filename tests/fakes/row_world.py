"""Small tables and models for the tests of row attacks. Import ART and torch inside functions only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.tables import ColumnSpec, Relation, TableSchema

FloatArray = NDArray[np.float64]

# Model M2: z = 0.1 + x0 - 2 x1 + 0.5 x2 + 0.3 a + a (-2 x0 - 0.5 x2); P(1) = sigmoid(z).
V = np.array([[0.2, 0.4, 0.6, 0.0]])
V_SIMILAR = np.array([[0.2, 0.4, 0.6, 1.0]])


def unit_schema(*, low: float | None = None, high: float | None = None) -> TableSchema:
    """Three numbers and a sensitive column {0, 1}."""
    numbers = tuple(ColumnSpec(f"x{i}", "numeric", low=low, high=high) for i in range(3))
    return TableSchema((*numbers, ColumnSpec("a", "categorical", values=(0.0, 1.0), sensitive=True)))


def mixed_schema(*, relations: tuple[Relation, ...] = ()) -> TableSchema:
    """Every kind of column; 11 features; sensitive race (3) and sex (2); country immutable."""
    return TableSchema(
        (
            ColumnSpec("age", "integer", low=17, high=90),
            ColumnSpec("gain", "numeric", low=0.0, high=1.0),
            ColumnSpec("work", "categorical", values=(0.0, 1.0, 2.0, 5.0)),
            ColumnSpec("grade", "ordinal", values=(0.0, 0.25, 0.5, 1.0)),
            ColumnSpec("marital", "one_hot", width=3),
            ColumnSpec("hours", "integer", low=0.0, high=1.0, grid=0.125),
            ColumnSpec("country", "categorical", values=(0.0, 1.0, 2.0), immutable=True),
            ColumnSpec("race", "categorical", values=(0.0, 1.0, 2.0), sensitive=True),
            ColumnSpec("sex", "categorical", values=(0.0, 1.0), sensitive=True),
        ),
        relations,
    )


def mixed_rows(n: int, seed: int = 0) -> FloatArray:
    """Valid rows of the mixed schema."""
    g = np.random.default_rng(seed)
    return np.column_stack(
        [
            g.integers(17, 91, n),
            g.random(n),
            g.choice([0.0, 1.0, 2.0, 5.0], n),
            g.choice([0.0, 0.25, 0.5, 1.0], n),
            np.eye(3)[g.integers(0, 3, n)],
            g.integers(0, 9, n) * 0.125,
            g.integers(0, 3, n),
            g.integers(0, 3, n),
            g.integers(0, 2, n),
        ]
    ).astype(np.float64)


# Scales that bring the mixed columns to about one.
MIXED_SCALE = np.array([1 / 90, 1, 0.2, 1, 1, 1, 1, 1, 0.5, 0.5, 1])


def torch_module(
    d: int, *, n_outputs: int = 2, form: str = "softmax", seed: int = 0, scale: FloatArray | None = None
) -> Any:
    """A small network with fixed weights: tanh of a layer, then ``softmax``, ``logits`` or ``sigmoid``."""
    import torch

    g = np.random.default_rng(seed)
    first = g.normal(0, 1.0, (16, d)) * (np.ones(d) if scale is None else scale)
    second = g.normal(0, 0.9, (n_outputs, 16))
    hidden, last = torch.nn.Linear(d, 16), torch.nn.Linear(16, n_outputs)
    with torch.no_grad():
        hidden.weight.copy_(torch.from_numpy(first))
        hidden.bias.copy_(torch.from_numpy(g.normal(0, 0.3, 16)))
        last.weight.copy_(torch.from_numpy(second))
        last.bias.copy_(torch.from_numpy(np.zeros(n_outputs)))
    tails = {"softmax": [torch.nn.Softmax(dim=1)], "logits": [], "sigmoid": [torch.nn.Sigmoid()]}
    return torch.nn.Sequential(hidden, torch.nn.Tanh(), last, *tails[form])


def wrap(module: Any, d: int, n_labels: int = 2, **settings: Any) -> Any:
    """An ART PyTorchClassifier."""
    import torch
    from art.estimators.classification import PyTorchClassifier

    settings.setdefault("loss", torch.nn.CrossEntropyLoss())
    return PyTorchClassifier(
        model=module, input_shape=(d,), nb_classes=n_labels, device_type="cpu", **settings
    )


def mixed_classifier(form: str = "softmax", n_outputs: int = 2, seed: int = 0) -> Any:
    """An ART classifier of mixed rows."""
    module = torch_module(11, n_outputs=n_outputs, form=form, seed=seed, scale=MIXED_SCALE)
    return wrap(module, 11, max(n_outputs, 2))


def m2_module(*, additive: bool = False, double: bool = False) -> Any:
    """Model M2 as a softmax of two outputs; ``additive`` drops a."""
    import torch

    class M2(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            kind = torch.float64 if double else torch.float32
            self.w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5], dtype=kind))

        def forward(self, x: Any) -> Any:
            z = 0.1 + x[:, :3] @ self.w
            if not additive:
                a = x[:, 3]
                z = z + 0.3 * a + a * (-2 * x[:, 0] - 0.5 * x[:, 2])
            p = torch.sigmoid(z)
            return torch.stack([1 - p, p], dim=1)

    return M2()


def m2_classifier(*, additive: bool = False, double: bool = False) -> Any:
    """Model M2 in ART, with the mean squared error as its loss."""
    import torch

    return wrap(m2_module(additive=additive, double=double), 4, loss=torch.nn.MSELoss())
