"""All held-out figures of one scorer, and the Markdown table made from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.entailment import LexiconVeto
from rif_plugins.entailment.veto import OPPOSITES, RELATIONS

from .measures import Score, accuracy, by_category, curve, filter_scores, precision_recall, wrongly_accepted
from .nli_sets import Row, split_breaking_nli, test_sets

LIMIT = 0.8
TARGETS = {"breaking_nli": 0.85, "snli_test": 0.79, "precision": 0.95, "recall": 0.5}
VETOES = {"opposites": OPPOSITES, "all relations": RELATIONS}
NAMES = {None: "filter alone", **{name: f"filter with veto ({name})" for name in VETOES}}


def held_out(score: Score, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Every figure on the sets that were not trained on; prints one line for each."""
    figures: dict[str, Any] = {}
    for name, rows in test_sets(folder).items():
        figures[name] = accuracy(score, rows, two_way=name == "monli_test")
        say(f"{name:18} {_percent(figures[name])}")
    development, held, dropped = split_breaking_nli(folder)
    figures["breaking_nli_dropped_premises"] = dropped
    for name, rows in (("development", development), ("held_out", held)):
        figures[f"breaking_nli_{name}"] = breaking_nli(score, rows, name, say)
    return figures


def breaking_nli(score: Score, rows: Sequence[Row], name: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Accuracy by category, and the filter's precision and recall without and with a veto, on one half."""
    three_way = by_category(score, rows)
    say(f"{name:12} three-way {_percent(three_way['all'])}")
    vetoes = {veto: LexiconVeto(relations) for veto, relations in VETOES.items()}
    scores = filter_scores(score, rows, vetoes)
    filters: dict[str, Any] = {}
    for veto, title in NAMES.items():
        at = precision_recall(scores, LIMIT, veto)
        filters[title] = {"at_0.8": at, "curve": curve(scores, veto)}
        if name == "development":
            filters[title]["wrongly_accepted"] = wrongly_accepted(scores, LIMIT, veto)
        say(f"{name:12} {title}: precision {_percent(at['precision'])}, recall {_percent(at['recall'])}")
    return {"three_way": three_way, "filters": filters}


def _percent(figure: dict[str, Any]) -> str:
    if figure["value"] is None:
        return "none accepted"
    low, high = figure["interval"]
    return f"{figure['value']:.3f} ({low:.3f} to {high:.3f}; {figure['successes']} of {figure['total']})"


def markdown(figures: dict[str, Any]) -> str:
    """The tables of the model card."""
    held = figures["breaking_nli_held_out"]
    lines = ["| set | figure | 95 % interval | target |", "|---|---|---|---|"]

    def line(name: str, figure: dict[str, Any], target: float | None = None) -> None:
        low, high = figure["interval"]
        value = "none accepted" if figure["value"] is None else f"{figure['value']:.3f}"
        lines.append(
            f"| {name} | {value} | {low:.3f} to {high:.3f} | {'' if target is None else f'≥ {target}'} |"
        )

    line("Breaking NLI, held-out half, three-way", held["three_way"]["all"], TARGETS["breaking_nli"])
    line("SNLI test, three-way", figures["snli_test"], TARGETS["snli_test"])
    line("CAD test, three-way", figures["cad_test"])
    line("MoNLI test, two-way", figures["monli_test"])
    for title, found in held["filters"].items():
        for part in ("precision", "recall"):
            line(f"{title}, {part} at S_eq ≥ 0.8", found["at_0.8"][part], TARGETS[part])
    lines += ["", "| category of Breaking NLI, held-out half | accuracy | pairs |", "|---|---|---|"]
    for name, figure in held["three_way"].items():
        if name != "all":
            lines.append(f"| {name} | {figure['value']:.3f} | {figure['total']} |")
    lines += [
        "",
        "| `min_equivalence` | "
        + " | ".join(f"{title}: precision, recall" for title in held["filters"])
        + " |",
    ]
    lines.append("|---" * (1 + len(held["filters"])) + "|")
    curves = [found["curve"] for found in held["filters"].values()]
    for steps in zip(*curves, strict=True):
        cells = [f"{_value(step['precision'])}, {_value(step['recall'])}" for step in steps]
        lines.append(f"| {steps[0]['min_equivalence']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _value(figure: dict[str, Any]) -> str:
    return "none accepted" if figure["value"] is None else f"{figure['value']:.3f}"
