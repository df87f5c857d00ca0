"""Small torch models on packed rows ``[index | value]`` whose numbers can be computed by hand."""

from __future__ import annotations

import torch
from art.estimators.classification import PyTorchClassifier

from rif_plugins.tables import ColumnSpec, TableSchema

TABLE = [[0, 0], [1, 0], [0, 1], [-1, 0.5], [1, -2], [0.5, 0.5], [-3, 0]]
HEADS = {"5": [[0.8, -0.3], [0.5, 0.4], [0.2, 0.6]], "6": [[-0.4, 0.6], [0.1, -0.3], [0.2, 0.6]]}


def field_schema(**number) -> TableSchema:
    """Field 0 has the slots 1 to 3, field 1 the numeric slot 4, field 2 the sensitive slots 5 and 6."""
    return TableSchema(
        (
            ColumnSpec("colour", "categorical", values=(0.0, 1.0, 2.0)),
            ColumnSpec("size", "integer", **{"low": 0.0, "high": 10.0, "step": 1.0, **number}),
            ColumnSpec("group", "categorical", values=(0.0, 1.0), sensitive=True),
        )
    )


class FieldModel(torch.nn.Module):
    """``z = sum_i value_i H_i . E[index_i] - 0.2``; the heads H depend on the sensitive slot.

    ``output``: ``"two"`` logits (0, z), ``"one"`` logit z, ``"probabilities"`` of both classes, ``"three"``:
    logits (0, z, z / 2 - 0.4).
    """

    def __init__(self, heads=None, output: str = "two") -> None:
        super().__init__()
        heads = HEADS if heads is None else heads
        self.embedding_table = torch.nn.Parameter(torch.tensor(TABLE, dtype=torch.float32))
        self.register_buffer("heads", torch.tensor([heads["5"], heads["6"]], dtype=torch.float32))
        self.output = output
        self.dropout = torch.nn.Dropout(0.5)

    def embed(self, index, value):
        return self.embedding_table[index] * value[..., None]

    def from_embedding(self, embedded, value):
        is_second = (embedded[:, 2, 0] < 0).long()
        z = (self.heads[is_second] * self.dropout(embedded)).sum(dim=(1, 2)) - 0.2
        zero = torch.zeros_like(z)
        if self.output == "one":
            return z[:, None]
        if self.output == "three":
            return torch.stack([zero, z, z / 2 - 0.4], dim=1)
        logits = torch.stack([zero, z], dim=1)
        return logits.softmax(dim=1) if self.output == "probabilities" else logits

    def forward(self, packed):
        n_fields = packed.shape[1] // 2
        index, value = packed[:, :n_fields].round().long(), packed[:, n_fields:]
        return self.from_embedding(self.embed(index, value), value)


def classifier(model: torch.nn.Module, width: int = 6, n_labels: int = 2) -> PyTorchClassifier:
    """The ART classifier of a model, on the CPU."""
    return PyTorchClassifier(
        model, torch.nn.CrossEntropyLoss(), input_shape=(width,), nb_classes=n_labels, device_type="cpu"
    )
