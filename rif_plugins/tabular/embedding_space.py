"""Rows as fields: what the gradient attack needs from a model, and how an embedding model gives it.

A *field* is one column of the schema. Its vector ``e_i`` is what the model first makes of it: the output of
an embedding layer (``value_i * E[index_i]``), or the column's own array features where there is none, so
that a number is a vector of one component and a one-hot group one of ``width``. ``G_i`` is the gradient of a
loss at ``e_i``. Shapes: n rows, F fields, k components (the widest field; narrower ones are padded with 0),
C classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind, PredictionReader
from rif_plugins.errors import UsageError
from rif_plugins.optional import require
from rif_plugins.tables import FieldLayout, TableSchema
from rif_plugins.tabular.losses import LossKind, output_weights

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_PROTOCOL = ("embed", "from_embedding", "embedding_table")


@dataclass(frozen=True, eq=False)
class FieldGradient:
    """One pass over rows.

    Attributes:
        probabilities: ``(n, C)``.
        vectors: ``e``, ``(n, F, k)``.
        gradient: ``G``, ``(n, F, k)``.
        value_gradient: ``dl/dvalue_i`` of numeric fields, ``(n, F)``: ``G_i . E[index_i]`` for an embedding.
    """

    probabilities: FloatArray
    vectors: FloatArray
    gradient: FloatArray
    value_gradient: FloatArray


class FieldSpace(ABC):
    """Rows of one input form, seen as fields.

    Args:
        schema: The columns; one field each.
    """

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.layout = FieldLayout(schema)

    @abstractmethod
    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities ``(n, C)``."""

    @abstractmethod
    def gradient(self, rows: FloatArray, labels: IntArray, loss: LossKind) -> FieldGradient:
        """Gradient of each row's own loss ``l(labels[i], f(rows[i]))``, whatever the batch."""

    @abstractmethod
    def vectors(self, rows: FloatArray) -> FloatArray:
        """The vectors of all fields, ``(n, F, k)``."""

    @abstractmethod
    def domain_vectors(self, field: int) -> FloatArray:
        """The vectors of a categorical field's own values, ``(m, k)``."""

    @abstractmethod
    def to_table(self, rows: FloatArray) -> FloatArray:
        """Rows of this form to rows of the schema, ``(n, d)``."""

    @abstractmethod
    def place(self, rows: FloatArray, field: int) -> IntArray:
        """Which of its values a categorical field has, ``(n,)``."""

    @abstractmethod
    def with_place(self, rows: FloatArray, field: int, place: IntArray) -> FloatArray:
        """Rows with another value of a categorical field."""

    @abstractmethod
    def value(self, rows: FloatArray, field: int) -> FloatArray:
        """The numbers of a numeric field, ``(n,)``."""

    @abstractmethod
    def with_value(self, rows: FloatArray, field: int, value: FloatArray) -> FloatArray:
        """Rows with other numbers in a numeric field."""

    @abstractmethod
    def editable(self, features: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """From features that may move ``(n, width)`` to fields that may, ``(n, F)``."""


class EmbeddingSpace(FieldSpace):
    """Index inputs: rows are one float array ``[index | value]`` of ``2F`` columns.

    Args:
        schema: The columns of the table before it was packed (see ``FieldLayout``).
        model: A torch module with ``embed(index, value) -> (n, F, k)``, ``from_embedding(e, value) ->
            (n, C)`` and ``embedding_table`` ``(V, k)``.
        device: Where it runs.
        output: What ``from_embedding`` returns.
        batch_size: Most rows in one pass.

    Raises:
        UsageError: The embedding table has fewer rows than the fields have slots.
    """

    def __init__(
        self,
        schema: TableSchema,
        model: Any,
        *,
        device: Any = "cpu",
        output: OutputKind = "auto",
        batch_size: int = 4096,
    ) -> None:
        super().__init__(schema)
        self._reader = PredictionReader(output=output)
        self.model = model
        self.device = device
        self.batch_size = batch_size
        self._torch: Any = require("torch", purpose="gradients at an embedding")
        if len(self.table) < self.layout.vocabulary_size:
            raise UsageError(
                f"the model's embedding_table has {len(self.table)} rows, expected "
                f"{self.layout.vocabulary_size} or more, one a slot of the schema's fields and row 0: "
                "train the model on the same schema"
            )

    @staticmethod
    def is_offered(model: Any) -> bool:
        """True when a model follows the embedding protocol."""
        return all(hasattr(model, name) for name in _PROTOCOL)

    @cached_property
    def table(self) -> FloatArray:
        """The embedding table ``E``, ``(V, k)``."""
        table = self.model.embedding_table
        table = table() if callable(table) and not hasattr(table, "weight") else table
        table = getattr(table, "weight", table)
        table = table.detach().cpu().numpy() if hasattr(table, "detach") else table
        return np.asarray(table, dtype=np.float64)

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities ``(n, C)``."""
        parts = []
        for start in range(0, len(rows), self.batch_size):
            index, value = self._tensors(rows[start : start + self.batch_size])
            with _evaluation_mode(self.model), self._torch.no_grad():
                outputs = self.model.from_embedding(self.model.embed(index, value), value)
            parts.append(self._reader.read(outputs, len(index)))
        return np.concatenate(parts)

    def gradient(self, rows: FloatArray, labels: IntArray, loss: LossKind) -> FieldGradient:
        """Backward to the embedding's output and to the values.

        The value's derivative goes through the embedding, ``G_i . E[index_i]``, and through whatever else
        the model does with it.
        """
        parts = []
        for start in range(0, len(rows), self.batch_size):
            stop = start + self.batch_size
            parts.append(self._pass(rows[start:stop], labels[start:stop], loss))
        return FieldGradient(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in FieldGradient.__dataclass_fields__
            )
        )

    def _pass(self, rows: FloatArray, labels: IntArray, loss: LossKind) -> FieldGradient:
        index, value = self._tensors(rows)
        with _evaluation_mode(self.model), self._torch.enable_grad():
            value.requires_grad_(True)
            embedded = self.model.embed(index, value)
            if not embedded.requires_grad:  # an embedding that neither learns nor reads the value
                embedded.requires_grad_(True)
            outputs = self.model.from_embedding(embedded, value).reshape(len(rows), -1)
            probabilities = self._reader.read(outputs, len(rows))
            weights = output_weights(
                loss,
                probabilities,
                labels,
                is_logits=self._reader.output == "logits",
                n_outputs=outputs.shape[1],
            )
            upstream = self._torch.as_tensor(weights, dtype=outputs.dtype, device=outputs.device)
            # Rows do not meet in evaluation mode, so the sum over rows gives every row its own gradient.
            gradient, by_value = self._torch.autograd.grad(
                (outputs * upstream).sum(), (embedded, value), allow_unused=True
            )
        by_value = self._torch.zeros_like(value) if by_value is None else by_value
        return FieldGradient(probabilities, _array(embedded), _array(gradient), _array(by_value))

    def vectors(self, rows: FloatArray) -> FloatArray:
        """The embedding's output."""
        parts = []
        for start in range(0, len(rows), self.batch_size):
            index, value = self._tensors(rows[start : start + self.batch_size])
            with _evaluation_mode(self.model), self._torch.no_grad():
                parts.append(_array(self.model.embed(index, value)))
        return np.concatenate(parts)

    def domain_vectors(self, field: int) -> FloatArray:
        """Rows of ``E`` of the field's own slots."""
        return np.asarray(self.table[self.layout.slots(field)])

    def to_table(self, rows: FloatArray) -> FloatArray:
        """Unpack."""
        return self.layout.unpack(rows)

    def place(self, rows: FloatArray, field: int) -> IntArray:
        """The index within the field's slots."""
        places: IntArray = np.rint(rows[:, field]).astype(np.int64) - self.layout.offsets[field]
        return places

    def with_place(self, rows: FloatArray, field: int, place: IntArray) -> FloatArray:
        """Other indices."""
        out = rows.copy()
        out[:, field] = place + self.layout.offsets[field]
        return out

    def value(self, rows: FloatArray, field: int) -> FloatArray:
        """The value column of the field."""
        return rows[:, self.layout.n_fields + field]

    def with_value(self, rows: FloatArray, field: int, value: FloatArray) -> FloatArray:
        """Other values."""
        out = rows.copy()
        out[:, self.layout.n_fields + field] = value
        return out

    def editable(self, features: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The index column of a category, the value column of a number."""
        index, value = features[:, : self.layout.n_fields], features[:, self.layout.n_fields :]
        return np.where(self.layout.is_categorical, index, value)

    def _tensors(self, rows: FloatArray) -> tuple[Any, Any]:
        n_fields = self.layout.n_fields
        index = self._torch.as_tensor(np.rint(rows[:, :n_fields]).astype(np.int64), device=self.device)
        dtype = next((p.dtype for p in self.model.parameters() if p.is_floating_point()), None)
        value = self._torch.tensor(rows[:, n_fields:], dtype=dtype or self._torch.float32, device=self.device)
        return index, value


@contextmanager
def _evaluation_mode(model: Any) -> Iterator[None]:
    """Run a torch module without dropout, and leave it as it was."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _array(tensor: Any) -> FloatArray:
    return np.asarray(tensor.detach().double().cpu().numpy(), dtype=np.float64)
