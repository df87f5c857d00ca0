"""The classes of a run beside those of a model that is asked about its findings later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError


@dataclass(frozen=True)
class LabelMatch:
    """From the classes of the run to those of the model that is asked now.

    Attributes:
        columns: Class of the run to column of the model; None where they are taken by position.
        is_predicted: The run's labels are its model's own answers: then the new model's own answers count.
        notes: What was done about names that differ.
    """

    columns: tuple[int, ...] | None
    is_predicted: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, configuration: Mapping[str, Any], label_names: Sequence[str] | None) -> LabelMatch:
        """Match the classes of a run with those of a model.

        Args:
            configuration: What ``run.json`` holds.
            label_names: The model's own names; None where it has none.
        """
        before = tuple(str(name) for name in configuration.get("label_names") or ())
        now = tuple(label_names or ())
        is_predicted = configuration.get("labels") == "predicted"
        notes = []
        if is_predicted:
            notes.append("the labels are the model's own answers on the unedited texts, of now")
        old, new = ([name.strip().casefold() for name in names] for names in (before, now))
        columns = None
        if old and new and old != new:
            if sorted(old) == sorted(new):
                columns = tuple(new.index(name) for name in old)
                notes.append(
                    f"the model has its classes in another order ({', '.join(now)}): matched by name"
                )
            elif not _is_numbered(before):
                notes.append(
                    f"the model calls its classes {', '.join(now)}, the run {', '.join(before)}: "
                    "matched by position"
                )
        return cls(columns, is_predicted, tuple(notes))

    def label(self, record: Record, rows: NDArray[np.float64]) -> int:
        """The right label of a finding, as a column of ``rows``.

        Raises:
            UsageError: The model has another number of classes.
        """
        n_before = len(record.probabilities.get("original") or ()) or rows.shape[1]
        if n_before != rows.shape[1]:
            raise UsageError(
                f"the model has {rows.shape[1]} classes, the run's had {n_before}: "
                "expected a model for the same classes"
            )
        if self.is_predicted or record.label is None:
            return int(rows[0].argmax())
        label = record.label if self.columns is None else self.columns[record.label]
        if not 0 <= label < rows.shape[1]:
            raise UsageError(
                f"finding {record.id} has label {record.label}, expected 0 to {rows.shape[1] - 1}, "
                "the classes of the model"
            )
        return label


def _is_numbered(names: Sequence[str]) -> bool:
    return list(names) == [str(i) for i in range(len(names))]
