"""A comparison of models as plain text and as Markdown; both show the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

AXIS_TITLES = {
    "robustness": "robustness-only",
    "fairness": "fairness-only",
    "rif": "RIF",
    "accuracy": "clean accuracy",
    "individual_fairness": "clean individual fairness",
}
_NOT_RUN = "not run"


def text_of(data: Mapping[str, Any]) -> str:
    """Plain text of ``Comparison.to_dict()``."""
    names = {name: _one_line(name) for name in data["names"]}
    tables = [_table(data, names), _test_table(data, names)]
    parts = [_headline(data)]
    parts += [_aligned(rows) for rows in tables if len(rows) > 1]
    parts.append("\n".join(_sentences(data, names)))
    return "\n\n".join(parts) + "\n"


def markdown_of(data: Mapping[str, Any]) -> str:
    """Markdown of ``Comparison.to_dict()``; names are shown as text, whatever they hold."""
    names = {name: _escaped(_one_line(name)) for name in data["names"]}
    tables = [_table(data, names), _test_table(data, names)]
    parts = [_headline(data)]
    for rows in tables:
        if len(rows) > 1:
            lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
            parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines))
    parts.append("\n".join(f"- {sentence}" for sentence in _sentences(data, names)))
    return "\n\n".join(parts) + "\n"


def _headline(data: Mapping[str, Any]) -> str:
    own = sorted(set(data["n_pairs"].values()))
    return (
        f"{len(data['names'])} models on {data['n_shared']} shared pairs of {data['n_shared_examples']} "
        f"examples (pairs a run: {' to '.join(map(str, own[:: max(1, len(own) - 1)]))}). "
        "Share of pairs that stand, 95 % interval, rank (1 is best)."
    )


def _table(data: Mapping[str, Any], names: Mapping[str, str]) -> list[list[str]]:
    """A row a model, a column an axis."""
    axes, clean = data["axes"], data["clean"]
    rows = [["model", *(AXIS_TITLES[axis] for axis in (*axes, *clean))]]
    for name in data["names"]:
        cells = [names[name]]
        for standings in (*axes.values(), *clean.values()):
            row = next((row for row in standings if row["name"] == name), None)
            cells.append(_NOT_RUN if row is None else _cell(row))
        rows.append(cells)
    return rows


def _cell(row: Mapping[str, Any]) -> str:
    rate = row["rate"]
    shown = f"{rate['value']:.1%} [{rate['low']:.1%}, {rate['high']:.1%}]"
    return f"{shown} #{row['rank']}" if "rank" in row else shown


def _test_table(data: Mapping[str, Any], names: Mapping[str, str]) -> list[list[str]]:
    rows = [["axis", "models", "difference", "only first / only second", "p (McNemar, Holm)"]]
    for test in data["tests"]:
        interval = "" if test["low"] is None else f" [{test['low']:+.1%}, {test['high']:+.1%}]"
        rows.append(
            [
                AXIS_TITLES[test["axis"]],
                f"{names[test['first']]} - {names[test['second']]}",
                f"{test['difference']:+.1%}{interval}",
                f"{test['only_first']} / {test['only_second']}",
                f"{test['p_adjusted']:.3g}",
            ]
        )
    return rows


def _sentences(data: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    changes = data["order_changes"]
    ranked = [axis for axis, rows in data["axes"].items() if rows]
    if len(ranked) < 2:
        yield "Only one axis was run for all models: no order between axes to compare."
    elif not changes:
        titles = ", ".join(AXIS_TITLES[axis] for axis in ranked)
        yield f"No order change between axes: no two models change places between {titles}."
    for change in changes:
        support = (
            "the paired tests tell them apart on both axes"
            if change["is_supported"]
            else "the paired tests do not tell them apart on both axes"
        )
        yield (
            f"Order change: {names[change['better']]} is before {names[change['worse']]} on "
            f"{AXIS_TITLES[change['axis']]} and after it on {AXIS_TITLES[change['other_axis']]} ({support})."
        )
    for tie in data["ties"]:
        first, second = (names[name] for name in tie["models"])
        yield f"Tie on {AXIS_TITLES[tie['axis']]}: the intervals of {first} and {second} overlap."
    if data["n_label_conflicts"]:
        yield (
            f"{data['n_label_conflicts']} shared pairs have other labels in other runs: robustness there is "
            "against each run's own labels."
        )
    if data["axes"].get("rif"):
        yield f"RIF stands for the targets {', '.join(data['rif_targets'])}."


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def _one_line(text: str) -> str:
    """Without line breaks and control characters, so that a name cannot break the table or a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def _escaped(text: str) -> str:
    for char in "\\`*_[]<>|#":
        text = text.replace(char, {"<": "&lt;", ">": "&gt;"}.get(char, "\\" + char))
    return text
