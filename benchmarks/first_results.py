"""Attack victims with the three RIFair recipes and write what was found as a Markdown page.

    python benchmarks/sst2_victims/tfidf.py  --data-dir DATA --out out/sst2_tfidf.npz
    python benchmarks/sst2_victims/minilm.py --data-dir DATA --out out/sst2_minilm
    python benchmarks/first_results.py --data-dir DATA --victim tfidf=out/sst2_tfidf.npz \
        --victim minilm=out/sst2_minilm --page docs/first_results.md

Run in the project's folder. Each run is a command that a user can type (`rif attack`), and the page shows
it. A victim is NAME=FILE.npz (a TfidfLinearModel), NAME=FOLDER (a Hugging Face classifier), or `embedded`.
The pairs on the page are picked by their record id, a hash, so nobody chose the good ones.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.metrics import Rate, summarise
from rif_plugins.victims import EmbeddedVictim

RECIPES = ("rifair-robust-biased", "rifair-unrobust-fair", "rifair-unrobust-biased")
SST2_LABELS = ("negative", "positive")
EXPLANATION = """\
Up to {num_examples} sentences a run; from SST-2, those of dev and test with a gender token. Intervals are
95 % Wilson intervals. `natural`: the unedited pair is already in the target outcome. `induced`: the unedited
pair was robust and fair, and edits that pass the entailment filter brought it there. Pairs are listed by a
hash of their text, the good beside the bad: judge from them how well the edits keep the meaning. ~~Old~~
**new** marks an edit; the figures are the predicted label, its probability before and after the edits, and
the score of the filter."""
PACKAGES = ("rif-plugins", "textattack", "numpy", "torch", "transformers", "onnxruntime")


@dataclass(frozen=True)
class Victim:
    """A victim, the data it is attacked on, and how TextAttack is told about both."""

    name: str
    description: str
    options: tuple[str, ...]
    environment: dict[str, str]
    label_names: Sequence[str]

    @classmethod
    def parse(cls, text: str) -> Victim:
        """Read ``embedded``, ``NAME=FILE.npz`` or ``NAME=FOLDER``."""
        if text == "embedded":
            options = ("--model-from-file", "recipes/victims/embedded.py")
            options += ("--dataset-from-file", "recipes/data/embedded.py")
            return cls(text, "the embedded victim", options, {}, EmbeddedVictim.label_names)
        name, _, place = text.partition("=")
        path = Path(place)
        if not place or not path.exists():
            raise SystemExit(f"--victim {text}: expected embedded, NAME=FILE.npz or NAME=FOLDER that exists")
        data = ("--sensitive", "gender", "--dataset-from-file", "recipes/data/sst2_gender.py")
        if path.is_dir():
            trained = json.loads((path / "training.json").read_text(encoding="utf-8"))
            options = ("--model-from-huggingface", place, *data)
            return cls(name, _describe(trained), options, {}, SST2_LABELS)
        trained = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        options = ("--model-from-file", "recipes/victims/tfidf.py", *data)
        return cls(name, _describe(trained), options, {"RIF_VICTIM": place}, SST2_LABELS)


@dataclass(frozen=True)
class Run:
    """One recipe on one victim: the command, its records, and its wall time with all imports."""

    command: str
    records: list[Record]
    seconds: float


def _describe(trained: dict[str, Any]) -> str:
    accuracy = trained["accuracy"]
    return f"{trained['model']}; accuracy dev {accuracy['dev']:.3f}, test {accuracy['test']:.3f}"


def attack(victim: Victim, recipe: str, args: argparse.Namespace) -> Run:
    """Run one command and read its records."""
    results = args.work / f"{victim.name}-{recipe}.jsonl"
    results.unlink(missing_ok=True)
    command = ["attack", "--recipe", recipe, *victim.options]
    command += ["--num-examples", str(args.num_examples), "--results", str(results), "--disable-stdout"]
    shown = " ".join(
        [*(f"{key}={shlex.quote(value)}" for key, value in victim.environment.items()), "rif"]
        + [shlex.quote(word) for word in command]
    )
    if "sst2_gender" in shown:
        shown = f"RIF_DATA_DIR=DATA {shown}"
    environment = {**os.environ, **victim.environment, "RIF_DATA_DIR": str(args.data_dir)}
    print(f"{victim.name}: {recipe}", flush=True)
    start = time.perf_counter()
    log = results.with_suffix(".log")
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, "-m", "rif_plugins.cli.main", *command],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}: {shown}\nsee {log}")
    return Run(shown, list(read_records(results)), time.perf_counter() - start)


def table(runs: Sequence[Run]) -> list[str]:
    """Rates and costs of one victim, one column a target."""
    summaries = [summarise(run.records) for run in runs]
    rows: list[tuple[str, list[str]]] = [
        (
            "examples (skipped, errors)",
            [f"{s['n_examples']} ({s['n_skipped']}, {s['n_errors']})" for s in summaries],
        ),
        ("pairs searched", [str(s["n_pairs"]) for s in summaries]),
    ]
    for label, key in (
        ("clean: right on the original", "accuracy"),
        ("clean: same label on both sides", "individual_fairness_rate"),
        ("**natural** violations of the target", "natural_rate"),
        ("**induced** violations, of clean robust_fair pairs", "induced_rate"),
        ("after: robust", "robustness_rate"),
        ("after: fair", "fairness_rate"),
        ("after: robust and fair (RIF)", "rif_rate"),
    ):
        rows.append((label, [_percent(summary[key]) for summary in summaries]))
    rows += [
        ("shifted from another violation", [str(s["n_shifted"]) for s in summaries]),
        ("mean edits of a found pair", [_mean(s["mean_edits"]) for s in summaries]),
        ("mean S_eq of the edited sides", [_mean(s["mean_equivalence"]) for s in summaries]),
        ("victim rows (cache hits)", [f"{s['victim_rows']} ({s['cache_hits']})" for s in summaries]),
        ("entailment rows", [str(s["entailment_rows"]) for s in summaries]),
        (
            "seconds of search (whole command)",
            [f"{s['seconds']:.0f} ({r.seconds:.0f})" for s, r in zip(summaries, runs, strict=True)],
        ),
    ]
    targets = [run.records[0].target for run in runs]
    head = [f"| | {' | '.join(targets)} |", f"|---|{'---|' * len(runs)}"]
    return head + [f"| {label} | {' | '.join(cells)} |" for label, cells in rows]


def _percent(rate: Rate) -> str:
    if rate.value is None:
        return "no pairs"
    interval = rate.to_dict()
    return (
        f"{rate.value:.1%} [{interval['low']:.1%}, {interval['high']:.1%}] ({rate.successes} of {rate.total})"
    )


def _mean(value: float | None) -> str:
    return "none found" if value is None else f"{value:.2f}"


def chosen(records: Sequence[Record], n_pairs: int) -> list[Record]:
    """Induced pairs in the order of their ids, filled up with shifted and natural ones."""
    order = ("induced", "shifted", "natural")
    found = [record for record in records if record.is_found]
    return sorted(found, key=lambda record: (order.index(record.status), record.id))[:n_pairs]


def pair(number: int, record: Record, label_names: Sequence[str]) -> list[str]:
    """One found pair as a list item: replaced words struck out, replacements bold."""
    head = f"{number}. {record.status}, {record.attribute}, label {label_names[record.label or 0]}"
    lines = [head]
    for side in ("original", "similar"):
        text = getattr(record, side)
        edits = sorted((e for e in record.edits if e["side"] == side), key=lambda e: e["start"])
        shown, position = "", 0
        for edit in edits:
            shown += _escaped(text[position : edit["start"]])
            shown += f"~~{_escaped(edit['from'])}~~ **{_escaped(edit['to'])}**"
            position = edit["end"]
        shown += _escaped(text[position:])
        before, after = record.probabilities[side], record.probabilities[f"perturbed_{side}"]
        predicted = after.index(max(after))
        figures = f"{label_names[predicted]} {before[predicted]:.2f} → {after[predicted]:.2f}"
        score = record.equivalence.get(side, {}).get("score")
        figures += "" if score is None or not edits else f", S_eq {score:.2f}"
        lines.append(f"   * {side}: {shown} ({figures})")
    return lines


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_~<>\[\]|])", r"\\\1", text)


def section(victim: Victim, runs: Sequence[Run], n_pairs: int) -> list[str]:
    """All that the page says about one victim."""
    lines = [
        f"## {victim.name}",
        "",
        f"{victim.description}.",
        "",
        "```",
        *(run.command for run in runs),
        "```",
        "",
    ]
    lines += table(runs)
    for run in runs:
        lines += ["", f"### {victim.name}: pairs that were found for {run.records[0].target}", ""]
        picked = chosen(run.records, n_pairs)
        for number, record in enumerate(picked, start=1):
            lines += pair(number, record, victim.label_names)
        if not picked:
            lines.append("None was found.")
    return [*lines, ""]


def page(sections: Sequence[Sequence[str]], args: argparse.Namespace) -> str:
    """The whole page."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES if _is_installed(name))
    lines = [
        "# First results",
        "",
        f"Written by `benchmarks/first_results.py` on {datetime.now(timezone.utc):%Y-%m-%d}, on "
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, {versions}.",
        "",
        EXPLANATION.format(num_examples=args.num_examples),
        "",
    ]
    return "\n".join([*lines, *(line for part in sections for line in part)]).rstrip() + "\n"


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def main() -> None:
    """Run every recipe on every victim and write the page."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--victim", action="append", required=True, help="NAME=PATH or embedded; repeatable")
    default = os.environ.get("RIF_DATA_DIR", "")
    parser.add_argument("--data-dir", default=default, help="folder that holds sst2/ (default: RIF_DATA_DIR)")
    parser.add_argument("--page", type=Path, required=True, help="the Markdown file to write")
    parser.add_argument("--work", type=Path, default=Path("out/first_results"), help="records and logs")
    parser.add_argument("--num-examples", type=int, default=200)
    parser.add_argument("--num-pairs", type=int, default=5, help="found pairs shown for each target")
    args = parser.parse_args()

    victims = [Victim.parse(text) for text in args.victim]
    if not args.data_dir and any(victim.name != "embedded" for victim in victims):
        raise SystemExit("--data-dir is needed for SST-2: the folder that holds sst2/")
    args.work.mkdir(parents=True, exist_ok=True)
    sections = []
    for victim in victims:
        runs = [attack(victim, recipe, args) for recipe in RECIPES]
        sections.append(section(victim, runs, args.num_pairs))
    args.page.parent.mkdir(parents=True, exist_ok=True)
    args.page.write_text(page(sections, args), encoding="utf-8")
    print(args.page)


if __name__ == "__main__":
    main()
