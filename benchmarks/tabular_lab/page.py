"""The Markdown page of the benchmark, from its JSON report alone."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from .paper001 import READABLE

EXPLANATION = """\
Every technique starts from the same {seeds} rows of the test set, drawn from {clusters} K-Means clusters,
with a budget of {n_global} x {n_local} steps a seed ({n_global} global and {n_local} local ones, or {steps};
FGSM has one). ART's attacks reach {eps:g} of each column's range. {domain}

`N_f`, `N_b`, `N_f|b`: generated rows that are false, biased, or either; `sum`: all generated rows; `R`:
their shares. A row is biased where any of its counterparts gets another label. Labels of generated rows:
those of the seeds (FGSM, PGD, APGD, ACG), the vote of {voters} other networks (ADF, EIDIG, DICE), the
estimate by the total derivative (RobustFair). `own axis` counts what a technique looks for, as the
paper's table 3 does: false rows for the first four, biased ones for ADF, EIDIG and DICE, either for
RobustFair. `clean seeds broken`: of the seeds that were robust and fair, the share from which a false or
biased row was generated. `similarity`: mean generative similarity. Means of {runs} runs with Student's 95
% intervals; a run draws its own seeds, the model stays."""
VALID = """Numbers in [0, 1] move by 0.01, codes and whole numbers by one where that is more, and after each
step rows are put back onto the valid rows of the schema."""
FREE = "As in the paper, rows are not kept valid: steps of 0.01 in [0, 1], clipped."
FOUND = (
    ("N_f", "N_b", "N_f|b", "own axis", "sum", "R_f", "R_b", "R_f|b", "clean seeds broken"),
    ("n_f", "n_b", "n_fb", "own", "sum", "r_f", "r_b", "r_fb", "broken_seeds"),
)
COST = (
    ("TF", "TB", "FF", "FB", "similarity", "outside", "model rows", "gradient rows", "seconds"),
    ("tf", "tb", "ff", "fb", "similarity", "outside", "victim_rows", "gradient_rows", "seconds"),
)


def page(report: dict[str, Any]) -> str:
    """The whole page."""
    origin = report["provenance"]
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    lines = [
        "# Rows: measured tables",
        "",
        f"{origin['time'][:10]}, {origin['cpu']}, {origin['cores']} cores (one thread), Python "
        f"{origin['python']}, {versions}, commit {origin['commit']}.",
        "",
        "```",
        origin["command"],
        "```",
    ]
    if report["paper_002"]:
        lines += ["", "## RobustFair's tables 3, 4 and 6 in shape", "", _explained(report["settings"])]
        for block in report["paper_002"]:
            lines += ["", *_data_set(block)]
    if report["paper_001"]:
        lines += ["", "## RIFair's tables 1 and 6 in shape", "", *_models(report)]
    if report["not_run"]:
        lines += ["", f"Not run, data absent: {', '.join(report['not_run'])}."]
    return "\n".join(lines) + "\n"


def _explained(settings: dict[str, Any]) -> str:
    text = EXPLANATION.format(**settings, domain=FREE if settings["paper_domain"] else VALID, clusters=4)
    return "\n\n".join(_wrapped(paragraph) for paragraph in text.split("\n\n"))


def _data_set(block: dict[str, Any]) -> list[str]:
    about, runs = block["data"], block["table_3_4"]
    many = ", ".join(about["sensitive"])
    lines = [
        f"### {block['name']}",
        "",
        f"{about['train_rows']} training and {about['test_rows']} test rows, {about['features']} features, "
        f"sensitive: {many} (counterparts of a row: {about['counterparts']}); network of RobustFair, "
        f"{block['epochs']} epochs, weights of seed {block['weights_seed']}, "
        f"accuracy {block['accuracy']:.3f} "
        f"(the larger class: {block['majority']:.3f})"
        + (", **the same label for every row**." if block["is_constant"] else "."),
        "",
    ]
    for head, keys in (FOUND, COST):
        cells = [[name, *(_cell(found[key]) for key in keys)] for name, found in runs.items()]
        if keys is COST[1]:
            head = (*head, "found per 1,000 model rows")
            for row, found in zip(cells, runs.values(), strict=True):
                row.append(_number(1000 * found["n_fb"]["mean"] / max(found["victim_rows"]["mean"], 1)))
        lines += [*_table(("technique", *head), cells), ""]
    lines += [_verdict(block["robustfair_not_ahead"])]
    if block["table_6"]:
        head = ("technique", "global N_b", "global sum", "global R_b", "local N_b", "local sum", "local R_b")
        rows = [
            [name, *(_cell(block["table_6"][phase][name][key])
                     for phase in ("global", "local") for key in ("n_b", "sum", "r_b"))]
            for name in block["table_6"]["global"]
        ]  # fmt: skip
        lines += ["", "Global steps only, and local steps only:", "", *_table(head, rows)]
    return lines


def _verdict(behind: dict[str, list[str]]) -> str:
    names = {
        "own": "rows on each technique's own axis",
        "n_fb": "false-or-biased rows, both axes measured for all",
        "r_fb": "their share of the generated rows",
        "per_row": "their number by rows asked of the model",
        "broken_seeds": "clean seeds broken",
    }
    parts = []
    for key, text in names.items():
        others = behind.get(key, [])
        parts.append(f"{text}: " + (f"**not ahead of {', '.join(others)}**" if others else "ahead of all"))
    return _wrapped("RobustFair against the techniques of one axis, by means. " + "; ".join(parts) + ".")


def _models(report: dict[str, Any]) -> list[str]:
    settings = report["settings"]
    text = (
        f"Small: {settings['models_data']} only, {settings['models_train'] or 'all'} training rows, "
        f"{settings['models_rows']} attacked test rows, {settings['models_epochs']} epochs, "
        f"{settings['models_steps']} steps, one run. Rates are shares of all attacked rows, errors of the "
        "clean row included, as in the paper; "
        f"FGSM (reach {settings['models_eps']:g}) gives AR, ADF gives IF. "
        "Embedding models are attacked by FGSM and ADF through differences of outputs (marked *), by RIFair "
        "through their embeddings. ADF moves every feature on which both rows agree in each step, and all "
        "counterparts are looked at; RIFair changes one field a step and looks at one counterpart: do not "
        "compare IF across the two tables. Ranks: 1 is the model that stands best."
    )
    lines = [_wrapped(text), ""]
    rows = report["paper_001"]
    ar, fair = _ranks([r["AR_attack"] for r in rows]), _ranks([r["IF_attack"] for r in rows])
    head = ("model", "accuracy", "ACC", "FTA", "AR (FGSM)", "rank", "IF (ADF)", "rank")
    cells = [
        [READABLE[r["model"]] + ("*" if r["single_axis_black_box"] else ""), f"{r['accuracy']:.3f}",
         f"{r['clean']['ACC']:.3f}", f"{r['clean']['FTA']:.3f}", f"{r['AR_attack']:.4f}", str(a),
         f"{r['IF_attack']:.4f}", str(b)]
        for r, a, b in zip(rows, ar, fair, strict=True)
    ]  # fmt: skip
    lines += ["Table 1 in shape:", "", *_table(head, cells)]
    for key, text in (
        ("RIFair", "Table 6 in shape, all rows:"),
        ("RIFair_from_clean", "The same, of the rows that were robust and fair before:"),
    ):
        lines += ["", text, "", *_joint(rows, key)]
    return lines


def _joint(rows: Sequence[dict[str, Any]], key: str) -> list[str]:
    tables = [row[key] for row in rows]
    ranks = [_ranks([table[name] for table in tables]) for name in ("RIF", "AR", "IF")]
    head = (
        "model",
        "N",
        "RIF",
        "rank",
        "AR",
        "rank",
        "IF",
        "rank",
        "TBR",
        "FBR",
        "FFR",
        "TFR: 0 attacks",
        "1",
        "2",
        "3",
    )
    cells = []
    for place, (row, table) in enumerate(zip(rows, tables, strict=True)):
        rates = [
            cell
            for name, rank in zip(("RIF", "AR", "IF"), ranks, strict=True)
            for cell in (f"{table[name]:.4f}", str(rank[place]))
        ]
        rest = [f"{table[name]:.4f}" for name in ("TBR", "FBR", "FFR")]
        cells.append(
            [READABLE[row["model"]], str(table["N"]), *rates, *rest, *(f"{v:.4f}" for v in table["n_attack"])]
        )
    return _table(head, cells)


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 110, break_long_words=False, break_on_hyphens=False)


def _ranks(values: Sequence[float]) -> list[int]:
    """1 for the lowest; equal values share a rank."""
    return [1 + sum(other < value for other in values) for value in values]


def _cell(figure: dict[str, Any]) -> str:
    if figure["mean"] is None:
        return "-"
    number = _number(figure["mean"])
    return number if figure["low"] is None else f"{number} ± {_number(figure['high'] - figure['mean'])}"


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.3f}" if abs(value) < 1 else f"{value:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    return [line(head), "|" + "---|" * len(head), *(line(row) for row in rows)]
