"""The Markdown page of the benchmark."""

from __future__ import annotations

from typing import Any

FILTERS = ("no filter", "entailment with veto", "entailment alone", "cosine", "cosine, same number")

INTRODUCTION = """\
How good are the edits that a filter lets pass? The embedded entailment filter (`S_eq`, threshold 0.8) is set
beside the cosine of a sentence encoder: once at the same threshold, once at the threshold where the cosine
lets as many edits pass as the entailment filter (`same number`). Intervals are 95 %: Wilson for shares,
bootstrap for means. The `second model` is another entailment model that filters nothing. It was trained on
{rows:,} pairs that the embedded model has never seen, but it has the same base weights and the same rules for
one-word pairs, so both may err alike. It is right on {snli} of SNLI dev and {breaking} of Breaking NLI
(held-out half). It is cautious: its mean `S_eq` of the right pairs of Breaking NLI is {right}, of the wrong
ones {wrong}. `Entails` is the share of edits that it calls entailment both ways (above 0.5)."""


def page(report: dict[str, Any]) -> str:
    """The whole page from the JSON report; a report of the speed alone gives a page of the speed alone."""
    lines = ["# Edits", ""]
    if "second_model" in report:
        lines += [*_origin(report["provenance"]), *_quality(report)]
    lines += _speed(report.get("speed"))
    return "\n".join(lines).rstrip() + "\n"


def _origin(origin: dict[str, Any]) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    return [
        f"{origin['time'][:10]}, {origin['cpu']}, {origin['cores']} cores, Python {origin['python']}, "
        f"{versions}, commit {origin['commit']}.",
        "",
        "```",
        origin["command"],
        "```",
        "",
    ]


def _quality(report: dict[str, Any]) -> list[str]:
    second = report["second_model"]
    return [
        INTRODUCTION.format(
            rows=second["rows"],
            snli=percent(second["snli_dev"]),
            breaking=percent(second["breaking_nli_held_out"]),
            right=average(report["breaking_nli"]["second_model_right"]),
            wrong=average(report["breaking_nli"]["second_model_wrong"]),
        ),
        "",
        *_labelled(report["breaking_nli"]),
        *_curve(report["breaking_nli"]),
        *_proposed(report["proposed"]),
        *_leaks(report["leaks"]),
        *_examples(report["examples"]),
    ]


def _labelled(block: dict[str, Any]) -> list[str]:
    lines = [
        f"## Breaking NLI, held-out half: {block['edits']:,} one-word pairs, {block['right']:,} right",
        "",
        "| filter | threshold | accepted | precision | wrong | recall | second model: `S_eq` | entails |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in FILTERS:
        found = block["filters"][name]
        cells = [
            name,
            _threshold(found),
            f"{found['accepted']['successes']:,}",
            percent(found["precision"]),
            percent(found["wrong"]),
            percent(found["recall"]),
            average(found["second_model_mean"]),
            percent(found["second_model_entails"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _curve(block: dict[str, Any]) -> list[str]:
    names = FILTERS[1:4]
    lines = [
        "| threshold | " + " | ".join(f"{name}: precision, recall" for name in names) + " |",
        "|---" * (1 + len(names)) + "|",
    ]
    for steps in zip(*(block["curves"][name] for name in names), strict=True):
        cells = [f"{_value(step['precision'])}, {_value(step['recall'])}" for step in steps]
        lines.append(f"| {steps[0]['threshold']} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _proposed(block: dict[str, Any]) -> list[str]:
    lines = [
        f"## WordNet candidates in film reviews (SST-2 dev and test): {block['edits']:,} edits",
        "",
        "| filter | threshold | accepted | second model: mean `S_eq` | entails |",
        "|---|---|---|---|---|",
    ]
    for name in FILTERS:
        found = block["filters"][name]
        cells = [
            name,
            _threshold(found),
            percent(found["accepted"]),
            average(found["second_model_mean"]),
            percent(found["second_model_entails"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _leaks(block: dict[str, Any]) -> list[str]:
    lines = [
        "## Leaks: wrong edits that pass",
        "",
        "The reviews' antonyms and more general words come from WordNet, as the veto does: it refuses the",
        "antonyms among them by construction. A few are acceptable where they stand, so the aim is not 0.",
        "",
        "| wrong edits | number | " + " | ".join(FILTERS[1:]) + " |",
        "|---" * (1 + len(FILTERS)) + "|",
    ]
    for kind, found in block.items():
        number = f"{found[FILTERS[1]]['total']:,}"
        lines.append(f"| {kind} | {number} | " + " | ".join(percent(found[n]) for n in FILTERS[1:]) + " |")
    return [*lines, ""]


def _examples(block: dict[str, Any]) -> list[str]:
    lines = ["## Examples (film reviews, both filters letting the same number pass)", ""]
    for key, title in (
        ("only_cosine", "accepted by the cosine, refused by the entailment filter"),
        ("only_entailment", "accepted by the entailment filter, refused by the cosine"),
    ):
        lines += [
            f"{title[0].upper()}{title[1:]}:",
            "",
            "| words | `S_eq` | cosine | second model | text |",
            "|---|---|---|---|---|",
        ]
        for row in block[key]:
            words = " → ".join(row["words"])
            text = row["text"].replace("|", "\\|")
            lines.append(f"| {words} | {row['s_eq']} | {row['cosine']} | {row['second']} | {text} |")
        lines.append("")
    return lines


def _speed(block: dict[str, Any] | None) -> list[str]:
    if not block:
        return []
    lines = [
        "## Speed",
        "",
        *_origin(block["provenance"]),
        f"One-word edits a second, {block['threads']} threads, in batches, one process, best of "
        f"three, load {block['load']} at start.",
        "",
        "| filter | edits of | words | yes or no, as a search asks | both directions, as records need |",
        "|---|---|---|---|---|",
    ]
    for found in block["measured"]:
        cells = [found["filter"], found["texts"], str(found["words"])]
        cells += [f"{found['accepts']:,}", f"{found['both_directions']:,}"]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def percent(figure: dict[str, Any]) -> str:
    """A share with its interval."""
    if figure["value"] is None:
        return "none"
    low, high = figure["interval"]
    return f"{figure['value']:.1%} [{max(low, 0.0):.1%}, {high:.1%}]"


def average(figure: dict[str, Any]) -> str:
    """A mean with its interval."""
    if figure["value"] is None:
        return "none"
    low, high = figure["interval"]
    return f"{figure['value']:.3f} [{low:.3f}, {high:.3f}]"


def _threshold(found: dict[str, Any]) -> str:
    return "" if found["threshold"] is None else str(found["threshold"])


def _value(figure: dict[str, Any]) -> str:
    return "none" if figure["value"] is None else f"{figure['value']:.3f}"
