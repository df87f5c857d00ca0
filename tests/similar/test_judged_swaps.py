"""The judged sample: its counts are those of the documentation, and its swaps are still those judged."""

from __future__ import annotations

import csv
import hashlib
import os
from pathlib import Path

import pytest

from rif_plugins.metrics import Rate
from rif_plugins.similar import Lexicon, similar_texts

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RIF_DATA_DIR", "/nowhere"))


def judged() -> list[dict[str, str]]:
    lines = (Path(__file__).parent / "judged_swaps.tsv").read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


@pytest.mark.parametrize("source", ["sst2", "snli"])
def test_the_documentation_states_what_was_judged(source: str) -> None:
    rows = [row for row in judged() if row["id"].startswith(source)]
    accepted = Rate(sum(row["verdict"] == "yes" for row in rows), len(rows))
    page = (ROOT / "docs" / "similar.md").read_text(encoding="utf-8")
    assert len(rows) == 100
    interval = str(accepted).split("[")[1].split("]")[0].replace("%", " %")
    assert f"{accepted.successes} of 100 [{interval}]" in page


def test_every_refusal_has_a_reason() -> None:
    for row in judged():
        assert (row["verdict"] == "no") == (row["reason"] != "-") == (row["note"] != "-"), row
        assert row["reason"] in ("-", "name", "title", "idiom", "thing", "contradiction")


def text_of(place: str) -> str:
    source, split, line = place.split("/")
    if source == "sst2":
        return (DATA / f"sst2/{split}.tsv").read_text("utf-8").splitlines()[int(line) - 1].rsplit("\t", 1)[0]
    row = (DATA / f"nli/snli_{split}.tsv").read_text("utf-8").splitlines()[int(line[:-1]) - 1]
    return row.split("\t")["ph".index(line[-1])]


@pytest.mark.skipif(not DATA.is_dir(), reason="not run: data absent (set RIF_DATA_DIR)")
def test_the_swaps_are_those_that_were_judged() -> None:
    lexicon = Lexicon.load()
    for row in judged():
        (pair,) = similar_texts(text_of(row["id"]), lexicon, max_counterparts=1, seed=0)
        assert hashlib.sha256(pair.similar.encode()).hexdigest()[:12] == row["check"], row
