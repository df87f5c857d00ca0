"""All held-out figures of one scorer, and the Markdown table made from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rif_plugins.entailment import LexiconVeto

from .measures import Score, accuracy, by_category, curve, filter_scores, precision_recall, wrongly_accepted
from .nli_sets import split_breaking_nli, test_sets

LIMIT = 0.8
TARGETS = {"breaking_nli": 0.85, "snli_test": 0.79, "precision": 0.95, "recall": 0.5}


def held_out(score: Score, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Every figure on the sets that were not trained on; prints one line for each."""
    figures: dict[str, Any] = {}
    for name, rows in test_sets(folder).items():
        figures[name] = accuracy(score, rows, two_way=name == "monli_test")
        say(f"{name:18} {_percent(figures[name])}")
    development, held, dropped = split_breaking_nli(folder)
    figures["breaking_nli_dropped_premises"] = dropped
    for name, rows in (("development", development), ("held_out", held)):
        part: dict[str, Any] = {"three_way": by_category(score, rows)}
        scores = filter_scores(score, rows, LexiconVeto())
        for veto in (False, True):
            key = "filter_with_veto" if veto else "filter"
            part[key] = {
                "at_0.8": precision_recall(scores, LIMIT, with_veto=veto),
                "curve": curve(scores, with_veto=veto),
            }
            if name == "development":
                part[key]["wrongly_accepted"] = wrongly_accepted(scores, LIMIT, with_veto=veto)
            at = part[key]["at_0.8"]
            say(f"{name:12} {key:17} precision {_percent(at['precision'])}, recall {_percent(at['recall'])}")
        say(f"{name:12} three-way {_percent(part['three_way']['all'])}")
        figures[f"breaking_nli_{name}"] = part
    return figures


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
    for key, name in (("filter", "filter alone"), ("filter_with_veto", "filter with lexicon veto")):
        for part in ("precision", "recall"):
            line(f"{name}, {part} at S_eq ≥ 0.8", held[key]["at_0.8"][part], TARGETS[part])
    lines += ["", "| category of Breaking NLI, held-out half | accuracy | pairs |", "|---|---|---|"]
    for name, figure in held["three_way"].items():
        if name != "all":
            lines.append(f"| {name} | {figure['value']:.3f} | {figure['total']} |")
    lines += [
        "",
        "| `min_equivalence` | precision | recall | precision with veto | recall with veto |",
        "|---|---|---|---|---|",
    ]
    for plain, vetoed in zip(held["filter"]["curve"], held["filter_with_veto"]["curve"], strict=True):
        cells = [
            _value(curve_part[name]) for curve_part in (plain, vetoed) for name in ("precision", "recall")
        ]
        lines.append(f"| {plain['min_equivalence']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _value(figure: dict[str, Any]) -> str:
    return "none accepted" if figure["value"] is None else f"{figure['value']:.3f}"
