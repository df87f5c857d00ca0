"""The summary of `rif tabular` as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Table = Mapping[str, Any]
_FOUND: tuple[tuple[str, Callable[[Table], str]], ...] = (
    ("rows", lambda t: f"{t['n_rows']}"),
    ("false", lambda t: f"{t['n_false']:.0f}"),
    ("biased", lambda t: f"{t['n_biased']:.0f}"),
    ("either", lambda t: f"{t['n_false_or_biased']:.0f}"),
    ("false %", lambda t: _percent(t["false_rate"])),
    ("biased %", lambda t: _percent(t["biased_rate"])),
    ("either %", lambda t: _percent(t["false_or_biased_rate"])),
    ("clean seeds broken", lambda t: _rate(t["broken_seed_rate"])),
)
_OUTCOMES: tuple[tuple[str, Callable[[Table], str]], ...] = (
    ("robust fair", lambda t: f"{t['outcomes']['robust_fair']:.0f}"),
    ("robust biased", lambda t: f"{t['outcomes']['robust_biased']:.0f}"),
    ("unrobust fair", lambda t: f"{t['outcomes']['unrobust_fair']:.0f}"),
    ("unrobust biased", lambda t: f"{t['outcomes']['unrobust_biased']:.0f}"),
    ("similarity", lambda t: "-" if t["mean_similarity"] is None else f"{t['mean_similarity']:.3f}"),
    ("valid", lambda t: f"{t['n_valid']}"),
    ("model rows", lambda t: f"{t['victim_rows']}"),
    ("gradients", lambda t: "differences" if t["is_black_box"] else f"{t['gradient_rows']}"),
    ("seconds", lambda t: f"{t['seconds']:.1f}"),
)
_NOTE = """\
false: the prediction is not the right label. biased: a similar row gets another label. Rows of one seed
resemble each other: compare attacks by the share of clean seeds (robust and fair as they are) that they
break."""


def render(summary: Mapping[str, Any]) -> str:
    """The whole text, for a terminal.

    Args:
        summary: What ``summary.json`` holds.
    """
    lines = [
        f"rows {summary['n_rows']} ({summary['n_rows_measured']} measured), "
        f"seeds {summary['n_seeds']} ({summary['n_clean_seeds']} robust and fair as they are), "
        f"similar rows of each {summary['n_counterparts']}",
        f"accuracy               {_rate(summary['accuracy'])}",
        f"individual fairness    {_rate(summary['individual_fairness_rate'])}",
        f"seeds that stay right  {_rate(summary['robustness_rate'])}",
        f"seeds that stay fair   {_rate(summary['fairness_rate'])}",
        f"seeds that stay both   {_rate(summary['rif_rate'])}",
    ]
    tables = summary["attacks"]
    for columns in (_FOUND, _OUTCOMES):
        if tables:
            lines += ["", *_aligned(tables, columns)]
    lines += ["", _NOTE]
    black = [table["attack"] for table in tables if table["is_black_box"]]
    if black:
        lines.append(
            f"Black box, gradients by differences of outputs (counted in model rows): {', '.join(black)}."
        )
    frozen = [table["attack"] for table in tables if table["n_frozen_moved"]]
    if frozen:
        lines.append(f"Moved sensitive or immutable columns: {', '.join(frozen)}.")
    lines += [f"{name}: error: {message}" for name, message in summary["errors"].items()]
    lines += [f"note: {note}" for note in summary["notes"]]
    return "\n".join(lines)


def _aligned(tables: Sequence[Table], columns: Sequence[tuple[str, Callable[[Table], str]]]) -> list[str]:
    rows = [["attack", *(name for name, _ in columns)]]
    rows += [[str(table["attack"]), *(read(table) for _, read in columns)] for table in tables]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _rate(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return "-"
    share = f"{rate['value']:.1%} [{rate['low']:.1%}, {rate['high']:.1%}]"
    return f"{share} ({rate['successes']} of {rate['total']})"
