"""ACS Employment: label 1 for employed, from a person file of the American Community Survey.

The task is that of the package ``folktables`` (Ding et al. 2021), whose download leaves ``psam_pNN.csv``
files in ``data/YEAR/1-Year``. Those files are read here; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rif_plugins.errors import DataError
from rif_plugins.tables.datasets.table_data import TableData, checked_file, read_table
from rif_plugins.tables.inference import is_number
from rif_plugins.tables.schema import TableSchema

COLUMNS: dict[str, str] = {
    "AGEP": "age",
    "SCHL": "educational attainment",
    "MAR": "marital status",
    "RELP": "relationship",
    "DIS": "disability recode",
    "ESP": "employment status of parents",
    "CIT": "citizenship status",
    "MIG": "mobility status",
    "MIL": "military service",
    "ANC": "ancestry recode",
    "NATIVITY": "nativity",
    "DEAR": "hearing difficulty",
    "DEYE": "vision difficulty",
    "DREM": "cognitive difficulty",
    "SEX": "sex",
    "RAC1P": "race recode",
}
"""The sixteen features of the task and what they mean."""

_LABEL = "ESR"
_EMPLOYED = 1
NOT_APPLICABLE = 0
"""The code of a question that was not asked, such as military service of children; no survey code is 0 in the
columns in which values are missing."""


def load_employment(path: str | Path, *, sensitive: Sequence[str] = ("SEX", "RAC1P")) -> TableData:
    """The employment task on one person file of the survey (survey years up to 2018).

    Codes stay as in the survey; an empty cell becomes 0, as in the released task. Age is a number, attainment
    ordinal, the rest categories.

    Args:
        path: ``psam_pNN.csv``, or another CSV file with the same columns.
        sensitive: Sensitive columns.

    Raises:
        DataError: The file is absent, lacks a column, or holds something that is no code.
    """
    file = checked_file(path, (), verify=False)
    header = list(read_table(file, nrows=0).columns)
    absent = [name for name in (*COLUMNS, _LABEL) if name not in header]
    if absent:
        newer = (
            "; survey years from 2019 on call it RELSHIPP and code it otherwise" if "RELP" in absent else ""
        )
        raise DataError(f"{file} has no column {absent[0]}{newer}: give a person file of 2018 or before")
    frame = read_table(file, usecols=[*COLUMNS, _LABEL])[[*COLUMNS, _LABEL]]
    for name in frame.columns:
        if not is_number(frame[name]):
            raise DataError(f"{file}: column {name} holds something that is no number: is it a person file?")
    frame = frame.fillna(NOT_APPLICABLE).astype("int64")
    label = (frame.pop(_LABEL) == _EMPLOYED).to_numpy().astype(np.int64)
    kinds = dict.fromkeys(COLUMNS, "categorical") | {"AGEP": "integer", "SCHL": "ordinal"}
    schema = TableSchema.infer(frame, sensitive=sensitive, kinds=kinds)  # type: ignore[arg-type]
    return TableData("employment", frame, label, ("not employed", "employed"), schema)
