"""Where an attack's gradients come from: a white box through ART or torch, or differences of outputs.

``loss_gradient`` of ART is divided by the batch size, takes one-hot labels for some losses and integers for
others, and differentiates whatever loss the estimator was built with. ``class_gradient`` has none of these
traps, so every loss here is a chain of ``class_gradient`` and a derivative by the outputs; the numbers of a
row do not depend on the batch around it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, get_args

import numpy as np
from art.estimators.classification import PyTorchClassifier
from art.estimators.classification.classifier import ClassGradientsMixin
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind, PredictionReader
from rif_plugins.errors import UsageError
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.losses import FloatArray, IntArray, LossKind, output_weights

GradientMode = Literal["auto", "white_box", "finite", "zero_order"]
GRADIENT_MODES: tuple[str, ...] = get_args(GradientMode)


class GradientSource(ABC):
    """Probabilities and gradients of an estimator, with the rows that they cost.

    Args:
        estimator: An ART classifier.
        batch_size: Rows a call of the model.
        output: What the model returns; ``"auto"`` looks at the first answer.

    Attributes:
        is_black_box: True where the gradients are differences of outputs.
        victim_rows: Rows that the model has answered.
        gradient_rows: Rows whose gradient was computed.
    """

    is_black_box = False

    def __init__(self, estimator: Any, *, batch_size: int = 4096, output: OutputKind = "auto") -> None:
        self.estimator = estimator
        self.batch_size = batch_size
        self.victim_rows = 0
        self.gradient_rows = 0
        self._reader = PredictionReader(output=output)
        self._dtype = model_dtype(estimator)

    @property
    def n_labels(self) -> int:
        """Number of classes; known after the first prediction."""
        return self._reader.n_labels or 0

    @property
    def is_logits(self) -> bool:
        """Whether the model returns logits; known after the first prediction."""
        return self._reader.output == "logits"

    def probabilities(self, x: FloatArray) -> FloatArray:
        """Class probabilities ``(n, k)`` of rows ``(n, d)``; a model is never asked for no row."""
        if not len(x):
            return np.zeros((0, self.n_labels))
        parts = [self._read(self._outputs(part), len(part)) for part in _batches(x, self.batch_size)]
        self.victim_rows += len(x)
        return np.concatenate(parts)

    def gradient(
        self, x: FloatArray, label: IntArray, kind: LossKind = "mse"
    ) -> tuple[FloatArray, FloatArray]:
        """Probabilities ``(n, k)`` and the gradient ``(n, d)`` of each row's own scalar.

        Args:
            x: Rows ``(n, d)``.
            label: ``(n,)`` the right label, or for ``"class"`` the class whose probability is differentiated.
            kind: Which scalar; see :mod:`rif_plugins.tabular.losses`.
        """
        if not len(x):
            return np.zeros((0, self.n_labels)), np.zeros(x.shape)
        parts = []
        start = 0
        for part in _batches(x, self._gradient_batch):
            parts.append(self._gradient(part, label[start : start + len(part)], kind))
            start += len(part)
        self.gradient_rows += len(x)
        outputs, gradients = zip(*parts, strict=True)
        return np.concatenate(outputs), np.concatenate(gradients)

    @property
    def _gradient_batch(self) -> int:
        """Rows a batch of gradients."""
        return self.batch_size

    @abstractmethod
    def _gradient(self, x: FloatArray, label: IntArray, kind: LossKind) -> tuple[FloatArray, FloatArray]:
        """Probabilities and gradients of one batch."""

    def _outputs(self, x: FloatArray) -> NDArray[Any]:
        """Raw outputs of one batch."""
        return np.asarray(self.estimator.predict(x.astype(self._dtype), batch_size=self.batch_size))

    def _read(self, raw: NDArray[Any], n_rows: int) -> FloatArray:
        return self._reader.read(raw, n_rows)


class ArtGradients(GradientSource):
    """Gradients of any ART classifier that has class gradients."""

    def _gradient(self, x: FloatArray, label: IntArray, kind: LossKind) -> tuple[FloatArray, FloatArray]:
        raw = self._outputs(x)
        raw = raw.reshape(len(x), -1)
        probabilities = self._read(raw, len(x))
        self.victim_rows += len(x)
        weights = output_weights(kind, probabilities, label, is_logits=self.is_logits, n_outputs=raw.shape[1])
        rows = x.astype(self._dtype)
        if raw.shape[1] == 2 and not self.is_logits:
            # Two probabilities sum to one: one backward pass is enough.
            single = np.asarray(self.estimator.class_gradient(rows, label=1), dtype=np.float64)
            return probabilities, (weights[:, 1:] - weights[:, :1]) * single.reshape(x.shape)
        by_class = np.asarray(self.estimator.class_gradient(rows), dtype=np.float64)
        return probabilities, np.einsum("nk,nkd->nd", weights, by_class.reshape(len(x), raw.shape[1], -1))


class TorchGradients(GradientSource):
    """The same numbers for a plain ``PyTorchClassifier``, with one backward pass for any number of classes.

    ART's ``predict`` collates rows one by one, which costs more than a small model itself; the model is
    called directly here, in evaluation mode. Only for estimators without preprocessing and postprocessing.
    """

    def _outputs(self, x: FloatArray) -> NDArray[Any]:
        import torch

        self._evaluate()
        with torch.no_grad():
            return np.asarray(self._forward(self._tensor(x)).cpu().numpy())

    def _gradient(self, x: FloatArray, label: IntArray, kind: LossKind) -> tuple[FloatArray, FloatArray]:
        import torch

        self._evaluate()
        rows = self._tensor(x).requires_grad_(True)
        with torch.enable_grad():
            outputs = self._forward(rows)
        raw = outputs.detach().cpu().numpy()
        probabilities = self._read(raw, len(x))
        self.victim_rows += len(x)
        weights = output_weights(kind, probabilities, label, is_logits=self.is_logits, n_outputs=raw.shape[1])
        (gradient,) = torch.autograd.grad(
            outputs, rows, torch.from_numpy(weights).to(outputs.device, outputs.dtype)
        )
        return probabilities, gradient.cpu().numpy().astype(np.float64)

    def _evaluate(self) -> None:
        # Walking all modules costs as much as a small batch.
        if self.estimator.model.training:
            self.estimator.model.eval()

    def _tensor(self, x: FloatArray) -> Any:
        import torch

        return torch.from_numpy(x.astype(self._dtype)).to(self.estimator.device)

    def _forward(self, rows: Any) -> Any:
        outputs = self.estimator.model(rows)
        if isinstance(outputs, (list, tuple)):
            outputs = outputs[-1]
        return outputs.reshape(len(rows), -1) if outputs.ndim == 1 else outputs

    @staticmethod
    def fits(estimator: Any) -> bool:
        """Whether calling the model directly gives the estimator's own numbers."""
        return (
            isinstance(estimator, PyTorchClassifier)
            and not estimator.preprocessing_defences
            and not estimator.postprocessing_defences
            and all(_is_identity(operation) for operation in estimator.preprocessing_operations)
            and not estimator.is_rnn
        )


def _batches(x: FloatArray, size: int) -> list[FloatArray]:
    return [x[start : start + size] for start in range(0, len(x), size)]


def model_dtype(estimator: Any) -> np.dtype[Any]:
    """The floating type that a model takes: a torch model's own, float64 for plain numpy models."""
    model: Any = getattr(estimator, "model", None)
    if isinstance(estimator, PyTorchClassifier):
        kind = next((str(p.dtype) for p in model.parameters() if p.is_floating_point()), "torch.float32")
        return np.dtype(np.float64 if kind == "torch.float64" else np.float32)
    is_plain = type(estimator).__name__.startswith("Scikitlearn") or model is None
    return np.dtype(np.float64 if is_plain else np.float32)


def _is_identity(operation: Any) -> bool:
    mean, deviation = getattr(operation, "mean", None), getattr(operation, "std", None)
    if mean is None or deviation is None:
        return False
    return bool(np.all(np.asarray(mean) == 0.0) and np.all(np.asarray(deviation) == 1.0))


def gradient_source(
    estimator: Any,
    schema: TableSchema,
    *,
    mode: GradientMode = "auto",
    batch_size: int = 4096,
    output: OutputKind = "auto",
    seed: int = 0,
) -> GradientSource:
    """The gradients of an estimator.

    Args:
        estimator: An ART classifier.
        schema: Steps of differences, where the model has no gradients.
        mode: ``"auto"`` takes a white box where the estimator is one, else finite differences;
            ``"finite"`` and ``"zero_order"`` force a black box.
        batch_size: Rows a call of the model.
        output: What the model returns.
        seed: For the random directions of ``"zero_order"``.

    Raises:
        UsageError: ``mode`` is ``"white_box"`` and the estimator has no class gradients.
    """
    from rif_plugins.tabular.differences import FiniteDifferences, ZeroOrderDifferences

    if mode in ("auto", "white_box"):
        if TorchGradients.fits(estimator):
            return TorchGradients(estimator, batch_size=batch_size, output=output)
        if isinstance(estimator, ClassGradientsMixin):
            return ArtGradients(estimator, batch_size=batch_size, output=output)
        if mode == "white_box":
            raise UsageError(
                f"{type(estimator).__name__} has no class gradients, expected a white-box estimator: "
                "say gradients='finite' or 'zero_order' for differences of outputs"
            )
    if mode == "zero_order":
        return ZeroOrderDifferences(estimator, schema, batch_size=batch_size, output=output, seed=seed)
    return FiniteDifferences(estimator, schema, batch_size=batch_size, output=output)


def prediction_source(
    estimator: Any, *, batch_size: int = 4096, output: OutputKind = "auto"
) -> GradientSource:
    """An estimator's probabilities, for callers that need no gradients."""
    if TorchGradients.fits(estimator):
        return TorchGradients(estimator, batch_size=batch_size, output=output)
    return ArtGradients(estimator, batch_size=batch_size, output=output)
