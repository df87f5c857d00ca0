"""From the file of ``--model`` to a classifier of rows that can be trained again."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError
from rif_plugins.tables import FieldLayout, TableEncoder

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class TrainingTable:
    """What a model of rows is trained on: the data, then the augmented rows.

    Attributes:
        x: Encoded rows ``(n, d)``.
        y: Their classes ``(n,)``.
        weights: ``(n,)`` in the loss.
        encoder: Decodes ``x``.
        reads: What the model is called with: ``"array"``, ``"frame"`` or ``"packed"``.
        n_augmented: How many rows, the last ones, are augmented.
    """

    x: FloatArray
    y: IntArray
    weights: FloatArray
    encoder: TableEncoder
    reads: str = "array"
    n_augmented: int = 0

    def inputs(self) -> Any:
        """The rows in the form that the model is called with."""
        if self.reads == "frame":
            return self.encoder.decode(self.x)
        return FieldLayout(self.encoder.schema).pack(self.x) if self.reads == "packed" else self.x


class RowFitter(Protocol):
    """Trains a fresh model of rows; equal rows and seed give an equal one where the model's code does."""

    @property
    def name(self) -> str:
        """What to call the model."""
        ...  # pragma: no cover

    def fit(self, rows: TrainingTable, seed: int) -> Any:
        """Train and return a model that `rif tabular` takes."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class RowFunctionFitter:
    """A user's function ``fit(x, y, ...)`` that returns what `rif tabular` takes as ``model``.

    ``weights`` and ``seed`` are handed over by name where the function takes them.
    """

    name: str
    function: Callable[..., Any]

    def fit(self, rows: TrainingTable, seed: int) -> Any:
        """Call the function.

        Raises:
            UsageError: It raises, or returns nothing.
        """
        known = inspect.signature(self.function).parameters
        takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
        offered = {"weights": rows.weights, "seed": seed}
        extra = {name: value for name, value in offered.items() if takes_all or name in known}
        try:
            model = self.function(rows.inputs(), rows.y, **extra)
        except Exception as error:
            line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise UsageError(f"{self.name}: fit raised {line}: mend the function") from error
        if model is None:
            raise UsageError(f"{self.name}: fit returned None, expected the trained model: return it")
        return model


@dataclass(frozen=True)
class RowEstimatorFitter:
    """A scikit-learn classifier of rows: a clone of it is fitted each time."""

    name: str
    estimator: Any

    def fit(self, rows: TrainingTable, seed: int) -> Any:
        """Fit a clone; weights reach the last step of a pipeline, the seed every ``random_state``.

        Raises:
            UsageError: The estimator cannot be fitted to the rows.
        """
        from sklearn.base import clone

        model = clone(self.estimator)
        names = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        model.set_params(**dict.fromkeys(names, seed))
        inputs = rows.inputs()
        columns = getattr(self.estimator, "feature_names_in_", None)
        if rows.reads == "frame" and columns is not None:
            inputs = inputs[list(columns)]
        extra: dict[str, Any] = {}
        if len(np.unique(rows.weights)) > 1:
            steps = getattr(model, "steps", None)
            extra = {f"{steps[-1][0]}__sample_weight" if steps else "sample_weight": rows.weights}
        try:
            model.fit(inputs, rows.y, **extra)
        except (TypeError, ValueError) as error:
            line = " ".join(str(error).split())[:200]
            raise UsageError(
                f"{self.name}: the estimator cannot be fitted ({line}): give a function `fit`, or weight 1"
            ) from error
        return model


@dataclass(frozen=True)
class ModuleFitter:
    """A torch module that returns logits, trained from fresh weights by Adam and weighted cross-entropy.

    Attributes:
        name: What to call the model.
        module: It gives the shape; its weights are drawn again and it stays as it is.
        epochs: Passes over the data.
        learning_rate: Of Adam.
        batch_size: Rows a step.
    """

    name: str
    module: Any
    epochs: int = 25
    learning_rate: float = 1e-3
    batch_size: int = 64

    def fit(self, rows: TrainingTable, seed: int) -> Any:
        """Train a copy.

        Raises:
            UsageError: Some weights cannot be drawn again, or the module returns no column a class.
        """
        import copy

        import torch

        model = copy.deepcopy(self.module).train()
        parameter = next(model.parameters())
        x = torch.as_tensor(np.asarray(rows.inputs()), dtype=parameter.dtype, device=parameter.device)
        y = torch.as_tensor(rows.y, device=parameter.device)
        weights = torch.as_tensor(rows.weights, dtype=parameter.dtype, device=parameter.device)
        with torch.random.fork_rng(devices=[]):  # dropout and fresh weights draw from the global generator
            torch.set_rng_state(torch.Generator().manual_seed(seed).get_state())  # put back behind the block
            self._redraw(model)
            optimiser = torch.optim.Adam(model.parameters(), lr=self.learning_rate)
            for _ in range(self.epochs):
                for part in torch.randperm(len(x)).to(x.device).split(self.batch_size):
                    optimiser.zero_grad()
                    logits = model(x[part])
                    if logits.ndim != 2 or logits.shape[1] <= int(rows.y.max()):
                        raise UsageError(
                            f"{self.name}: the module returns shape {tuple(logits.shape)}, expected logits "
                            "with a column a class: give a function `fit`"
                        )
                    loss = torch.nn.functional.cross_entropy(logits, y[part], reduction="none")
                    ((loss * weights[part]).sum() / weights[part].sum()).backward()
                    optimiser.step()
        return model.eval()

    def _redraw(self, model: Any) -> None:
        """Fresh weights everywhere, so that the control differs from the model by its training alone."""
        known: set[int] = set()
        for part in model.modules():
            if callable(reset := getattr(part, "reset_parameters", None)):
                reset()
                known |= {id(weight) for weight in part.parameters()}
        left = [name for name, weight in model.named_parameters() if id(weight) not in known]
        if left:
            raise UsageError(
                f"{self.name}: the weights {left[0]!r} cannot be drawn again, no layer around them has "
                "reset_parameters(): give a function `fit`"
            )


def load_row_fitter(
    module: ModuleType,
    name: str,
    *,
    epochs: int | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
) -> RowFitter:
    """What trains the model of a file.

    Args:
        module: The file that ran: it has a function ``fit``, or its ``model`` is a scikit-learn classifier or
            a torch module.
        name: Name of the file.
        epochs: Passes over the data, for torch modules, like all that follows (25).
        learning_rate: Of Adam (0.001).
        batch_size: Rows a step (64).

    Raises:
        UsageError: Such a model cannot be trained here.
    """
    if callable(getattr(module, "fit", None)):
        return RowFunctionFitter(name, module.fit)
    model: Any = getattr(module, "model", None)
    scikit = sys.modules.get("sklearn.base")
    if scikit is not None and isinstance(model, scikit.BaseEstimator):
        return RowEstimatorFitter(name, model)
    if callable(getattr(model, "named_parameters", None)) and any(True for _ in model.parameters()):
        given = {"epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size}
        known: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        return ModuleFitter(name, model, **known)
    raise UsageError(
        f"{name} has no function `fit(x, y)`, and its `model` is neither a scikit-learn classifier nor a "
        "torch module: expected one of them, so that the model can be trained again"
    )
