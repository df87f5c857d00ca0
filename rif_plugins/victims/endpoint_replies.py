"""From the JSON of an endpoint to rows of numbers; what is accepted stands at :func:`read_reply`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import VictimError
from rif_plugins.victims.base import one_line

_EXPECTED = (
    'expected {"probabilities": [[...], ...]}, {"logits": [[...], ...]}, a list of rows, or for each text '
    'a list of {"label", "score"}'
)
_ROW_KEYS: dict[str, OutputKind] = {"probabilities": "probabilities", "logits": "logits"}
_LABEL_KEYS = ("label_names", "labels")


@dataclass(frozen=True)
class Reply:
    """One answer of an endpoint.

    Attributes:
        rows: One row a text.
        output: What the rows are, as far as the answer says it.
        label_names: Names of the columns, if the answer carries them.
    """

    rows: list[list[float]]
    output: OutputKind
    label_names: tuple[str, ...] | None = None


def read_reply(data: Any, n_texts: int, order: Sequence[str] | None = None) -> Reply:
    """Check the decoded JSON of an answer to ``n_texts`` texts.

    Accepted: ``{"probabilities": rows}`` or ``{"logits": rows}``, with an optional ``label_names``; a plain
    list of rows; a plain list of numbers (one sigmoid a text); and what Hugging Face servers answer, a list
    of ``{"label": name, "score": number}`` for each text, with *all* labels in any order.

    Args:
        data: The JSON.
        n_texts: How many texts were sent.
        order: Label names in the order of the columns, for the Hugging Face form; by default in
            alphabetical order, numbers inside names by their size.

    Raises:
        VictimError: Anything else.
    """
    if isinstance(data, dict):
        return _from_object(data, n_texts)
    if not isinstance(data, list):
        raise VictimError(f"answered {_shown(data)}, {_EXPECTED}")
    if any(_is_score(item) for item in data):
        data = _single_text(data, n_texts)
    if data and all(isinstance(item, list) and item and all(map(_is_score, item)) for item in data):
        return _from_scores(data, n_texts, order)
    return Reply(_rows(data, n_texts), "auto")


def _from_object(data: Mapping[str, Any], n_texts: int) -> Reply:
    key = next((key for key in _ROW_KEYS if key in data), None)
    if key is None:
        told = f"the error {_shown(data['error'])}" if "error" in data else _shown(sorted(data))
        raise VictimError(f"answered {told}, {_EXPECTED}")
    rows = _rows(data[key], n_texts)
    names = next((data[key] for key in _LABEL_KEYS if data.get(key) is not None), None)
    if names is None:
        return Reply(rows, _ROW_KEYS[key])
    n_columns = max(2, len(rows[0])) if rows else None
    is_fine = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_fine or (n_columns is not None and len(names) != n_columns):
        raise VictimError(f"answered the label names {_shown(names)}, expected one name for each column")
    return Reply(rows, _ROW_KEYS[key], tuple(names))


def _rows(data: Any, n_texts: int) -> list[list[float]]:
    if not isinstance(data, list):
        raise VictimError(f"answered {_shown(data)} for the rows, {_EXPECTED}")
    if len(data) != n_texts:
        raise VictimError(f"answered {len(data)} rows for {n_texts} texts, expected one row a text")
    rows = [row if isinstance(row, list) else [row] for row in data]
    widths = {len(row) for row in rows}
    if len(widths) > 1 or 0 in widths:
        raise VictimError(f"answered rows of {sorted(widths)} numbers, expected as many as there are labels")
    for row in rows:
        for number in row:
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise VictimError(f"answered {_shown(number)} in a row, expected a number for each label")
    try:
        return [[float(number) for number in row] for row in rows]
    except OverflowError:
        raise VictimError("answered a number that is too large, expected probabilities or logits") from None


def _single_text(data: list[Any], n_texts: int) -> list[Any]:
    """Some servers leave out the outer list for one text."""
    names = [str(item.get("label")) for item in data if _is_score(item)]
    if n_texts == 1 and len(set(names)) == len(data) > 1:
        return [data]
    raise VictimError(
        "answered one label for each text, expected the scores of all labels: let the server return all "
        "(top_k=None in a transformers pipeline)"
    )


def _from_scores(data: list[list[Any]], n_texts: int, order: Sequence[str] | None) -> Reply:
    if len(data) != n_texts:
        raise VictimError(f"answered {len(data)} lists of scores for {n_texts} texts, expected one a text")
    tables = [{str(item["label"]): item["score"] for item in row} for row in data]
    found = sorted(tables[0], key=_natural)
    columns = found
    if order is not None and len(found) > 1:
        by_fold = {name.casefold(): name for name in found}
        columns = [by_fold.get(name.casefold(), name) for name in order]
    for table, row in zip(tables, data, strict=True):
        if len(table) != len(row) or set(table) != set(columns):
            raise VictimError(
                f"answered the labels {_shown(sorted(table))}, expected {_shown(columns)} for every text: "
                "let the server return all labels (top_k=None in a transformers pipeline)"
            )
    rows = _rows([[table[name] for name in columns] for table in tables], n_texts)
    names = (f"not {columns[0]}", columns[0]) if len(columns) == 1 else tuple(columns)
    return Reply(rows, "probabilities", names)


def _is_score(item: Any) -> bool:
    return isinstance(item, dict) and "label" in item and "score" in item


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key: runs of digits as numbers, so that LABEL_2 stands before LABEL_10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", name)
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def _shown(value: Any) -> str:
    return one_line(repr(value), 80)
