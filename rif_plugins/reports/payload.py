"""The findings of a run as one compact JSON value for the report page.

Column by column, so that a key is written once and not ten thousand times; every text is stored once however
many targets share it; a perturbed text is its unedited text and the edits; probabilities are whole numbers in
ten-thousandths. ``data/report.js`` is the only reader.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.reports.spans import SIDES, Side, edits_of, sensitive_of, utf16_offsets

SCALE = 10_000
_N_TOGETHER = 500  # items of a list
_N_SALIENT = 8  # words of a side, largest score first; the page shows no more
TEXT_NAMES = ("original", "similar", "perturbed_original", "perturbed_similar")


class Pool:
    """Distinct values in order of first use, and the index of each."""

    def __init__(self) -> None:
        self._index: dict[Hashable, int] = {}

    def add(self, value: Hashable) -> int:
        """The index of a value, new or known."""
        return self._index.setdefault(value, len(self._index))

    @property
    def values(self) -> list[Any]:
        """All values."""
        return list(self._index)


def findings_payload(findings: Iterable[Record], label_names: Sequence[str]) -> dict[str, Any]:
    """All findings, column by column.

    Args:
        findings: Records that end in their target, read once and not kept.
        label_names: Readable names of the labels, may be empty.
    """
    texts, words = Pool(), Pool()
    pools = {name: Pool() for name in ("target", "status", "attribute", "clean_outcome", "outcome", "scorer")}
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    n_labels = 0
    for record in findings:
        n_labels = max(n_labels, *map(len, record.probabilities.values()), 0)
        for name, pool in pools.items():
            columns[name].append(pool.add(getattr(record, name)))
        for side in SIDES:
            _add_side(columns, record, side, texts, words)
        columns["id"].append(record.id)
        columns["example"].append(record.example)
        columns["label"].append(record.label)
        columns["values"].append([words.add(record.value_from), words.add(record.value_to)])
        columns["p"].append([_p_of(record, name, record.label) for name in TEXT_NAMES])
        columns["predicted"].append([_prediction(record, name) for name in TEXT_NAMES])
        columns["confidence"].append([_p_of(record, name, _prediction(record, name)) for name in TEXT_NAMES])
        columns["equivalence"].append(_lowest_equivalence(record))
        columns["stop"].append(words.add(record.stop_reason))
        columns["cost"].append([record.queries.get("victim_rows", 0), round(record.seconds, 2)])
    return {
        "schema": "rif-report/1",
        "n": len(columns["id"]),
        "label_names": [str(name) for name in label_names],
        "n_labels": n_labels,
        "texts": texts.values,
        "words": words.values,
        "pools": {name: pool.values for name, pool in pools.items()},
        "columns": columns,
    }


_COLUMNS = (
    *("id", "example", "target", "status", "attribute", "values", "label", "clean_outcome", "outcome"),
    *("scorer", "p", "predicted", "confidence", "equivalence", "stop", "cost"),
    *(
        f"{name}_{side}"
        for name in ("text", "sensitive", "edits", "trace", "saliency", "scores")
        for side in SIDES
    ),
)


def _add_side(columns: dict[str, list[Any]], record: Record, side: Side, texts: Pool, words: Pool) -> None:
    text: str = getattr(record, side)
    edits = edits_of(record, side)
    flat = utf16_offsets(text, [offset for edit in edits for offset in (edit.start, edit.end)])
    columns[f"text_{side}"].append(texts.add(text))
    columns[f"edits_{side}"].append(
        [
            value
            for edit, start, end in zip(edits, flat[::2], flat[1::2], strict=True)
            for value in (start, end, words.add(edit.target))
        ]
    )
    spans = sensitive_of(record, side)
    columns[f"sensitive_{side}"].append(utf16_offsets(text, [offset for span in spans for offset in span]))
    columns[f"trace_{side}"].append([_scaled(step.get(f"p_{side}")) for step in record.trajectory])
    scores = record.equivalence.get(side, {})
    columns[f"scores_{side}"].append([_scaled(scores.get(key)) for key in ("forward", "backward", "score")])
    columns[f"saliency_{side}"].append(_saliency(record, side, text))


def _saliency(record: Record, side: Side, text: str) -> list[int]:
    items = [item for item in record.saliency if item.get("side") == side]
    items = heapq.nlargest(_N_SALIENT, items, key=lambda item: abs(float(item["score"])))
    flat = utf16_offsets(text, [int(item[key]) for item in items for key in ("start", "end")])
    return [
        value
        for item, start, end in zip(items, flat[::2], flat[1::2], strict=True)
        for value in (start, end, _scaled(item["score"]) or 0)
    ]


def _scaled(value: Any) -> int | None:
    return None if value is None or not math.isfinite(value) else round(SCALE * float(value))


def _prediction(record: Record, name: str) -> int | None:
    row = record.probabilities.get(name)
    return max(range(len(row)), key=row.__getitem__) if row else None


def _p_of(record: Record, name: str, label: int | None) -> int | None:
    row = record.probabilities.get(name)
    return None if not row or label is None or not 0 <= label < len(row) else _scaled(row[label])


def _lowest_equivalence(record: Record) -> int | None:
    edited = {edit.get("side") for edit in record.edits}
    scores = [
        value["score"] for side, value in record.equivalence.items() if side in edited and "score" in value
    ]
    return _scaled(min(scores)) if scores else None


def island(value: Mapping[str, Any]) -> Iterator[str]:
    """JSON that can stand inside a ``script`` element, whatever texts it holds, in pieces.

    Pure ASCII; ``<``, ``>`` and ``&`` are escaped, so neither ``</script>`` nor ``<!--`` can occur, and
    U+2028, NUL and lone surrogates are plain escapes.
    """
    return (
        piece.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        for piece in _json_pieces(value)
    )


def _json_pieces(value: Any) -> Iterator[str]:
    """Objects member by member, long lists part by part."""
    if isinstance(value, Mapping):
        start = "{"
        for name, item in value.items():
            yield f"{start}{_json(str(name))}:"
            yield from _json_pieces(item)
            start = ","
        yield "}" if value else "{}"
    elif isinstance(value, list) and len(value) > _N_TOGETHER:
        start = "["
        for place in range(0, len(value), _N_TOGETHER):
            yield start + _json(value[place : place + _N_TOGETHER])[1:-1]
            start = ","
        yield "]"
    else:
        yield _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
