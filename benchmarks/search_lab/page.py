"""The Markdown page of the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from search_lab.contenders import TARGET_NAMES

EXPLANATION = """\
Every contender searches the same pairs for the same three targets, with the same proposer (WordNet, at most
{max_candidates} candidates a token), the same victim, and the same filter (embedded, `S_eq` of the texts
at least {min_equivalence}) or none. Success is the share of pairs in the target outcome after the search,
natural violations included, with 95 % Wilson intervals. Every finding was put to victim and filter once
more; one that does not hold is counted as `claimed but not valid` and is no success. Rows are texts that the
victim saw, and directions that the entailment model judged. Induced findings start from a clean robust and
fair pair; the cost of one counts victim and entailment rows of all three targets together.

* `authors`: one pair at a time, four corners, two victim calls a step, one search a target, 20 positions by
  deletion on both sides, one list of candidates for both sides, each judged once, alone in the original
  text, in both directions when first needed; no prediction cache (`distinct texts` is what one would leave).
* `authors-text`: the same, but the text of each side, with all edits so far, is judged.
* `textattack`: TextAttack's greedy word swap (ranking by deletion) on each side, with the same
  transformation and constraint, through its own model wrapper; the outcome of the pair is read from both
  sides. The wrapper pads to a transformer's maximum: there it runs on the first {host_pairs} pairs only.
* `shared`: our search of the paper's kind: one search a target, lazy filter, predictions kept for a pair.
* `sweep`: one search a text for all targets and pairs, many texts in lock step.
* `coupled`: `shared` with the same candidate on both sides.

`every single edit, both directions` is what an eager filter would have judged at least: each edit that the
search proposed. Counts come from one run on all pairs. Times are medians of {repeats} paired runs on the
first {timed_pairs} pairs; the order of contenders moves on by one each time, and what is kept for the life
of a process (the lexicon) is loaded before."""

Row = tuple[str, Callable[[dict[str, Any]], str]]


def page(report: dict[str, Any]) -> str:
    """The whole page from the JSON report."""
    settings, origin = report["settings"], report["provenance"]
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    lines = [
        "# Search benchmark",
        "",
        f"{origin['time'][:10]}, {origin['cpu']}, {origin['cores']} cores ({settings['threads']} threads), "
        f"Python {origin['python']}, {versions}, commit {origin['commit']}.",
        "",
        "```",
        origin["command"],
        "```",
        "",
        EXPLANATION.format(**settings),
        "",
    ]
    for block in report["blocks"]:
        lines += [*_block(block), ""]
    return "\n".join(lines).rstrip() + "\n"


def _block(block: dict[str, Any]) -> list[str]:
    names = list(block["contenders"])
    filtered = "filter on" if block["filter"] else "no filter"
    lines = [
        f"## {block['data']}, {block['victim']}, {filtered}",
        "",
        f"{block['data_description']}; {block['victim_description']}. {_clean(block)}",
        "",
        "| | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    lines += [
        f"| {title} | " + " | ".join(cell(block["contenders"][name]) for name in names) + " |"
        for title, cell in _rows(block)
    ]
    lines += ["", *_comparisons(block)]
    return lines


def _clean(block: dict[str, Any]) -> str:
    largest = max(block["contenders"].values(), key=lambda c: c["counts"]["pairs"])
    found = ", ".join(f"{count} {name}" for name, count in largest["counts"]["clean"].items())
    return f"Clean outcomes: {found}."


def _rows(block: dict[str, Any]) -> list[Row]:
    rows: list[Row] = [("pairs", lambda c: str(c["counts"]["pairs"]))]
    for target in TARGET_NAMES:
        rows.append((f"**{target}**", lambda c, t=target: _rate(c["counts"]["targets"][t]["success"])))
        rows.append((f"{target}, induced", lambda c, t=target: _rate(c["counts"]["targets"][t]["induced"])))
    rows += [
        ("claimed but not valid", lambda c: str(_invalid(c))),
        ("victim rows a pair", lambda c: _number(c["counts"]["victim_rows_per_pair"])),
        ("distinct texts a pair", lambda c: _number(c["counts"]["distinct_texts_per_pair"])),
    ]
    if block["filter"]:
        rows += [
            ("NLI rows a pair", lambda c: _number(c["counts"]["nli_rows_per_pair"])),
            ("every single edit, both directions", lambda c: _number(c["counts"]["eager_nli_rows_per_pair"])),
        ]
    rows += [
        ("rows per induced finding", lambda c: _number(c["counts"]["rows_per_induced"])),
        ("seconds a pair", lambda c: _timing(c, lambda t: _number(t["seconds_per_pair"]))),
        ("processor seconds a pair", lambda c: _timing(c, lambda t: _number(t["cpu_seconds"] / t["pairs"]))),
        ("seconds per induced finding", lambda c: _timing(c, lambda t: _number(t["seconds_per_induced"]))),
        ("time inside the victim", lambda c: _timing(c, lambda t: f"{t['share']['victim']:.1%}")),
        ("time inside NLI", lambda c: _timing(c, lambda t: f"{t['share']['nli']:.1%}")),
        ("time inside the proposer", lambda c: _timing(c, lambda t: f"{t['share']['proposer']:.1%}")),
        ("time outside victim and NLI", lambda c: _timing(c, lambda t: f"{t['share']['outside']:.1%}")),
        ("wall time ÷ rows at raw throughput", lambda c: _timing(c, lambda t: _number(t.get("over_floor")))),
        ("the same rows in every timed run", lambda c: _timing(c, lambda t: _yes(t["same_counts"]))),
        ("peak memory, MB (above the start)", _memory),
    ]
    return rows


def _comparisons(block: dict[str, Any]) -> list[str]:
    lines = []
    for pair, value in block["comparisons"]["speed_ups"].items():
        runs = f"{value['pairs']} pairs, {value['repeats']} runs"
        lines.append(f"* {pair}: {value['times']} times the speed ({runs})")
    for pair, found in block["comparisons"]["lost"].items():
        listed = ", ".join(f"{item['pair']} ({item['target']})" for item in found[:12])
        more = f" and {len(found) - 12} more in the JSON file" if len(found) > 12 else ""
        lines.append(f"* {pair}: {len(found)}" + (f": {listed}{more}" if found else ""))
    for pair, targets in block["comparisons"]["ratios"].items():
        for target, kinds in targets.items():
            shown = "; ".join(f"{kind} {_ratio(value)}" for kind, value in kinds.items())
            lines.append(f"* {pair}, {target}: {shown}")
    return lines


def _ratio(value: dict[str, Any]) -> str:
    counts = f"{value['decoupled']} to {value['coupled']} of {value['pairs']}"
    if value["value"] is None:
        return f"no coupled success ({counts})"
    high = "∞" if value["high"] is None else value["high"]
    return f"{value['value']} [{value['low']}, {high}] ({counts})"


def _rate(rate: dict[str, Any]) -> str:
    if rate["value"] is None:
        return "no pairs"
    return f"{rate['value']:.3f} [{rate['low']:.3f}, {rate['high']:.3f}]"


def _invalid(contender: dict[str, Any]) -> int:
    return sum(t["inadmissible"] + t["unconfirmed"] for t in contender["counts"]["targets"].values())


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _yes(value: bool) -> str:
    return "yes" if value else "**no**"


def _timing(contender: dict[str, Any], cell: Callable[[dict[str, Any]], str]) -> str:
    return cell(contender["timing"]) if contender.get("timing") else "–"


def _memory(contender: dict[str, Any]) -> str:
    counts = contender["counts"]
    return "–" if counts["peak_mb"] is None else f"{counts['peak_mb']:.0f} ({counts['growth_mb']:.0f})"
