"""Labels of a table: which column holds them, what its values are called, which class each one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.inference import label_of
from rif_plugins.victims.base import checked_label_names

IntArray = NDArray[np.int64]
USUAL_NAMES = ("label", "target", "class", "y")


def label_column(labels: str, asked: str | None, frame: Any, described: Sequence[str] | None) -> str | None:
    """The name of the label column; None where the model's own answers are the labels.

    Args:
        labels: ``"given"`` or ``"predicted"``.
        asked: What the user named.
        frame: The rows.
        described: The columns of the schema; None where it is still to be inferred.

    Raises:
        DataError: It cannot be told.
    """
    if labels == "predicted":
        return None
    present = [str(name) for name in frame.columns]
    if asked is not None:
        if asked not in present:
            raise DataError(
                f"--label-column {asked}: the table has no such column: it has {', '.join(present)}"
            )
        if described is not None and asked in described:
            raise DataError(
                f"--label-column {asked}: the schema describes this column as a feature: "
                "take it out of the schema, or name another column"
            )
        return asked
    others = [name for name in present if name not in (described or ())]
    named = [name for name in others if name.lower() in USUAL_NAMES]
    if len(named) == 1:
        return named[0]
    if described is not None and len(others) == 1:
        return others[0]
    raise DataError(
        f"which column holds the label? Say --label-column NAME (one of {', '.join(others) or 'none'}), "
        "or --labels predicted to take the model's own answers"
    )


def likely_label(asked: str | None, frame: Any) -> str | None:
    """A label column that is left out of an inferred schema although its values are not used."""
    present = [str(name) for name in frame.columns]
    if asked in present:
        return asked
    return next((name for name in present if name.lower() in USUAL_NAMES), None)


def class_names(asked: tuple[str, ...] | None, module: Any, found: Any) -> tuple[str, ...] | None:
    """Names of the classes: the user's, those of the model's file, the model's own, or none.

    Args:
        asked: Names from the command line.
        module: The model's file; it may have a variable ``label_names``.
        found: The loaded model, with ``n_labels`` and ``class_names``.

    Raises:
        UsageError: Another number of names than the model has classes.
    """
    names: tuple[str, ...] | None = found.class_names
    origin = "classes_ of the model"
    for given, where in ((getattr(module, "label_names", None), "label_names"), (asked, "--label-names")):
        if given is not None:
            origin = where
            names = checked_label_names(list(given), where)
    if names is not None and len(names) != found.n_labels:
        raise UsageError(f"{origin}: {len(names)} names for {found.n_labels} classes: name each class once")
    return names


def class_numbers(values: Any, names: tuple[str, ...] | None, n_labels: int, numbers: IntArray) -> IntArray:
    """Class numbers ``(n,)`` of raw labels.

    Args:
        values: The label column.
        names: Names of the classes in the model's order; None: the labels are class numbers.
        n_labels: Number of classes.
        numbers: Row numbers, for messages.

    Raises:
        DataError: A label is missing or is none of the classes.
    """
    if values.isna().any():
        row = numbers[int(np.flatnonzero(values.isna())[0])]
        raise DataError(f"the label of row {row} is missing: fill it, or say --missing drop")
    texts = [label_of(value) for value in values.tolist()]
    plain = {str(number): number for number in range(n_labels)}
    place = plain if names is None else {name: number for number, name in enumerate(names)}
    if names is not None and not set(texts) <= place.keys() and set(texts) <= plain.keys():
        place = plain
    for row, text in zip(numbers, texts, strict=True):
        if text not in place:
            advice = "say --label-names A,B in the order of the model's classes"
            raise DataError(
                f"the label of row {row} is {text!r}, expected one of {', '.join(place)}: "
                f"{advice if names is None else 'mend the row, or the names of the classes'}"
            )
    return np.asarray([place[text] for text in texts], dtype=np.int64)
