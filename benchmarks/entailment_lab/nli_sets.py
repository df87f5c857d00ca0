"""Read the public entailment sets and split Breaking NLI by word pair.

A row is ``(premise, hypothesis, label)`` with labels 0 entailment, 1 neutral, 2 contradiction.
MED and MoNLI know only "entailment" and "neutral" (not entailed); they are read as such.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LABELS = ("entailment", "neutral", "contradiction")
SPLIT_SEED = 20_260_701
_TOKEN = re.compile(r"\w+(?:['’]\w+)?|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled pair of texts; ``category`` is filled for Breaking NLI and generated pairs."""

    premise: str
    hypothesis: str
    label: int
    category: str = ""


def data_folder(option: str | None) -> Path | None:
    """The folder that holds ``nli/`` and ``sst2/``: the option, else ``RIF_DATA_DIR``, else nothing."""
    name = option or os.environ.get("RIF_DATA_DIR")
    if not name:
        return None
    folder = Path(name)
    if folder.name == "nli":
        folder = folder.parent
    return folder if (folder / "nli" / "snli_dev.tsv").is_file() else None


def _tab_rows(path: Path, *, header: bool) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        if header:
            next(reader)
        yield from reader


def _row(premise: str, hypothesis: str, label: str, category: str = "") -> Row | None:
    if label not in LABELS:
        return None
    return Row(" ".join(premise.split()), " ".join(hypothesis.split()), LABELS.index(label), category)


def read_triples(path: Path, *, header: bool) -> list[Row]:
    """SNLI and CAD files: premise, hypothesis, label in the first three columns."""
    rows = (_row(*fields[:3]) for fields in _tab_rows(path, header=header))
    return [row for row in rows if row is not None]


def read_med(path: Path) -> list[Row]:
    """MED: columns found by their names in the header."""
    lines = list(_tab_rows(path, header=False))
    first, second, gold = (lines[0].index(n) for n in ("sentence1", "sentence2", "gold_label"))
    rows = (_row(f[first], f[second], f[gold]) for f in lines[1:] if len(f) > gold)
    return [row for row in rows if row is not None]


def read_json_lines(path: Path) -> list[dict[str, str]]:
    """JSON lines as dictionaries."""
    with path.open(encoding="utf-8") as handle:
        return [json.loads(line) for line in handle if line.strip()]


def read_monli(path: Path, *, without: frozenset[frozenset[str]] = frozenset()) -> list[Row]:
    """MoNLI rows, minus those whose pair of words is in ``without``."""
    rows = []
    for item in read_json_lines(path):
        words = frozenset((item["sentence1_lex"], item["sentence2_lex"]))
        row = _row(item["sentence1"], item["sentence2"], item["gold_label"])
        if row is not None and words not in without:
            rows.append(row)
    return rows


def monli_words(path: Path) -> frozenset[frozenset[str]]:
    """The unordered word pairs of a MoNLI file."""
    return frozenset(frozenset((i["sentence1_lex"], i["sentence2_lex"])) for i in read_json_lines(path))


def changed_words(premise: str, hypothesis: str) -> tuple[str, str]:
    """The first pair of differing words, lower case, without an article in front.

    Equal numbers of tokens: the first run of differing tokens. Otherwise: what stands between the common
    prefix and the common suffix.
    """
    a, b = _TOKEN.findall(premise.lower()), _TOKEN.findall(hypothesis.lower())
    articles = {"a", "an", "the"}
    if len(a) == len(b):
        differs = [x != y and not {x, y} <= articles for x, y in zip(a, b, strict=True)]
        start = differs.index(True) if True in differs else 0
        stop = start
        while stop < len(a) and differs[stop]:
            stop += 1
        return " ".join(a[start:stop]), " ".join(b[start:stop])
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    first, second = a[start : len(a) - end], b[start : len(b) - end]
    if first and second and {first[0], second[0]} <= articles:
        first, second = first[1:], second[1:]
    return " ".join(first), " ".join(second)


def _is_development(premise: str, hypothesis: str) -> bool:
    key = "|".join(sorted(changed_words(premise, hypothesis)))
    digest = hashlib.sha256(f"{SPLIT_SEED}|{key}".encode()).digest()
    return digest[0] % 2 == 0


def _normal(text: str) -> str:
    return " ".join(_TOKEN.findall(text.lower()))


def split_breaking_nli(folder: Path) -> tuple[list[Row], list[Row], int]:
    """Development rows, held-out rows, and how many premises were dropped (they are in CAD train).

    All rows of one unordered word pair fall into the same half.
    """
    nli = folder / "nli"
    seen = {_normal(row.premise) for row in read_triples(nli / "cad_train.tsv", header=True)}
    halves: tuple[list[Row], list[Row]] = ([], [])
    dropped = set()
    for item in read_json_lines(nli / "breaking_nli.jsonl"):
        row = _row(item["sentence1"], item["sentence2"], item["gold_label"], item["category"])
        if row is None:
            continue
        if _normal(row.premise) in seen:
            dropped.add(row.premise)
            continue
        halves[0 if _is_development(row.premise, row.hypothesis) else 1].append(row)
    return halves[0], halves[1], len(dropped)


def training_rows(folder: Path) -> list[Row]:
    """All human-labelled rows that are trained on.

    MoNLI rows whose pair of words occurs in the MoNLI test file are left out.
    """
    nli = folder / "nli"
    tested = monli_words(nli / "monli_nmonli_test.jsonl")
    rows = read_triples(nli / "snli_dev.tsv", header=False)
    rows += read_triples(nli / "cad_train.tsv", header=True)
    rows += read_triples(nli / "cad_dev.tsv", header=True)
    rows += read_med(nli / "med.tsv")
    rows += read_monli(nli / "monli_nmonli_train.jsonl", without=tested)
    rows += read_monli(nli / "monli_pmonli.jsonl", without=tested)
    return rows


def test_sets(folder: Path) -> dict[str, list[Row]]:
    """The sets that are never trained on, besides Breaking NLI."""
    nli = folder / "nli"
    return {
        "snli_test": read_triples(nli / "snli_test.tsv", header=False),
        "cad_test": read_triples(nli / "cad_test.tsv", header=True),
        "monli_test": read_monli(nli / "monli_nmonli_test.jsonl"),
    }


def sentences(folder: Path) -> list[str]:
    """Distinct sentences to make one-word pairs from, in file order: SNLI dev, CAD train, SST-2 train."""
    nli = folder / "nli"
    texts: list[str] = []
    for row in read_triples(nli / "snli_dev.tsv", header=False):
        texts += (row.premise, row.hypothesis)
    for row in read_triples(nli / "cad_train.tsv", header=True):
        texts += (row.premise, row.hypothesis)
    with (folder / "sst2" / "train.tsv").open(encoding="utf-8") as handle:
        texts += [" ".join(line.rpartition("\t")[0].split()) for line in handle]
    return list(dict.fromkeys(text for text in texts if text))
