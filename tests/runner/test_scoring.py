"""Counterparts of a log are drawn alike before and after the attack; the log's rates are counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.audit_world import write_rows, write_world
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.pairs import Pair
from rif_plugins.errors import DataError, UsageError
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.scoring import matched_sample, score_log
from rif_plugins.settings import Settings

COLUMNS = ("original_text", "perturbed_text", "ground_truth_output", "result_type")


def pairs_of(text: str, changes: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(text, f"{text} {a} {v}", (), a, "x", v) for a, v in changes]


CHANGES = st.lists(
    st.tuples(st.sampled_from(["gender", "race", "age"]), st.sampled_from("abcdefgh")), unique=True
)


@given(CHANGES, st.integers(1, 10), st.integers(0, 9))
def test_the_sample_depends_on_the_changes_and_not_on_the_text(
    changes: list[tuple[str, str]], limit: int, seed: int
) -> None:
    before = matched_sample(pairs_of("one", changes), limit, seed)
    after = matched_sample(pairs_of("another text", changes), limit, seed)
    assert [(p.attribute, p.value_to) for p in before] == [(p.attribute, p.value_to) for p in after]
    kept = [(p.attribute, p.value_to) for p in before]
    assert len(kept) == min(limit, len(changes))
    assert kept == [change for change in changes if change in kept]  # in their order
    counts = {a: sum(kept_a == a for kept_a, _ in kept) for a, _ in changes}
    totals = {a: sum(other == a for other, _ in changes) for a, _ in changes}
    for a in counts:  # attributes take turns: none is behind another by more than one while it has pairs
        assert counts[a] == totals[a] or counts[a] >= max(counts.values()) - 1


def test_seeds_draw_differently_and_no_limit_keeps_all() -> None:
    pairs = pairs_of("text", [("age", value) for value in "abcdefgh"])
    assert matched_sample(pairs, None, 0) == pairs
    drawn = {tuple(p.value_to for p in matched_sample(pairs, 3, seed)) for seed in range(20)}
    assert len(drawn) > 10


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_world(tmp_path))
    return tmp_path


def options(model: str = "victim.py", **settings: object) -> AuditOptions:
    return AuditOptions(model, "", Settings().updated(sensitive="gender", cache="off", **settings))


def log(folder: Path, *rows: tuple[str, str, object]) -> Path:
    return write_rows(folder / "log.csv", COLUMNS, [(*row, "Successful") for row in rows])


def test_quadrants_are_those_counted_by_hand(world: Path) -> None:
    rows = [
        ("he is [[good]]", "he is [[decent]]", 1.0),  # -0.5 and, for "she", -1.5: both wrong
        ("he is [[good]]", "he is [[fine]]", 1.0),  # 0.8 and -0.2: biased
        ("the film is [[good]]", "the film is [[fine]]", 1.0),
    ]
    score = score_log(log(world, *rows), options())
    found = score.table.to_dict()
    assert (found["n_texts"], found["n_without_counterpart"]) == (3, 1)
    assert found["clean"]["outcomes"] == {
        "robust_fair": 2,
        "robust_biased": 0,
        "unrobust_fair": 0,
        "unrobust_biased": 0,
    }
    assert found["original_only"]["outcomes"]["unrobust_biased"] == 1  # "he is decent" beside "she is good"
    assert found["original_only"]["outcomes"]["robust_fair"] == 1
    assert found["both"]["outcomes"] == {
        "robust_fair": 0,
        "robust_biased": 1,
        "unrobust_fair": 1,
        "unrobust_biased": 0,
    }
    assert (found["both"]["induced_rate"]["successes"], found["both"]["induced_rate"]["total"]) == (2, 2)
    assert (score.model, score.label_names) == ("victim.py", ("negative", "positive"))


def test_settings_of_a_search_do_no_harm(world: Path) -> None:
    path = log(world, ("he is [[good]]", "he is [[fine]]", 1))
    usual = score_log(path, options()).table
    assert score_log(path, options(saliency="gradient", entailment="hf:nowhere")).table == usual


def test_a_broken_log_is_found_before_the_model_is_loaded(world: Path) -> None:
    (world / "log.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"log\.csv has no column 'original_text'"):
        score_log(world / "log.csv", options(model="gone.py"))


def test_labels_of_another_model(world: Path) -> None:
    with pytest.raises(DataError, match=r"has label 4, expected 0 to 1"):
        score_log(log(world, ("he is good", "he is fine", 4)), options())


def test_an_attribute_that_the_lexicon_lacks(world: Path) -> None:
    path = log(world, ("he is good", "he is fine", 1))
    with pytest.raises(UsageError, match="sensitive attribute 'shoe' is not in the lexicon"):
        score_log(path, AuditOptions("victim.py", "", Settings().updated(sensitive="shoe", cache="off")))
