"""Findings as training rows: both sides, the original's label, no text twice, a fair cap."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.training import HeldOutTexts, UntaughtTexts, augment, held_out_originals, is_held_out
from rif_plugins.training.holdout import normalised


def finding(name: str, target: str = "robust_biased", *, label: int = 1, status: str = "induced") -> Record:
    return Record(
        id=f"{name}/{target}",
        example=name,
        target=target,
        status=status,  # type: ignore[arg-type]
        stop_reason="found",
        label=label,
        original=f"he ran {name}",
        similar=f"she ran {name}",
        perturbed_original=f"he ran {name}",
        perturbed_similar=f"she sprinted {name}",
        edits=[{"side": "similar", "start": 4, "end": 7, "from": "ran", "to": "sprinted"}],
    )


@pytest.mark.parametrize("tested", ["he ran a", "SHE  ran a"])
def test_a_finding_on_a_tested_text_teaches_nothing(tested: str) -> None:
    result = augment([finding("a"), finding("b")], held_out=HeldOutTexts([tested]))
    assert {row.example for row in result.rows} == {"b"}
    assert result.left_out == {"held out": 2}


def test_a_blank_test_text_closes_nothing() -> None:
    blank = replace(finding("a", status="skipped"), similar="")
    closed = UntaughtTexts(["", "t"], mask=str, audited=[blank])
    assert blank.original not in closed and "t" in closed


def test_both_sides_get_the_label_of_the_original() -> None:
    rows = augment([finding("a", label=0)]).rows
    assert [(row.text, row.label, row.side, row.is_edited) for row in rows] == [
        ("he ran a", 0, "original", False),
        ("she sprinted a", 0, "similar", True),
    ]
    assert {(row.example, row.record, row.target, row.status) for row in rows} == {
        ("a", "a/robust_biased", "robust_biased", "induced")
    }


def test_what_found_nothing_teaches_nothing() -> None:
    assert augment([finding("a", status="failed"), finding("b", status="skipped")]).rows == ()
    assert augment([replace(finding("a"), label=None)]).rows == ()


def test_other_targets_are_left_out() -> None:
    records = [finding("a"), finding("b", "unrobust_fair")]
    assert {row.example for row in augment(records, targets=["unrobust_fair"]).rows} == {"b"}


def test_an_equal_text_is_taken_once() -> None:
    records = [finding("a"), finding("a", "unrobust_biased")]
    result = augment(records)
    assert len(result.rows) == 2
    assert result.left_out == {"repeated": 2}


def test_a_text_with_two_labels_is_taken_never() -> None:
    twice = [finding("a", label=0), replace(finding("a", label=1), id="b", example="b")]
    result = augment(twice)
    assert result.rows == ()
    assert result.left_out == {"contradicted": 4}


def test_a_third_row_of_a_contradicted_text_stays_out() -> None:
    records = [replace(finding("a", label=label), id=str(i)) for i, label in enumerate((0, 1, 0))]
    result = augment(records)
    assert result.rows == ()
    assert result.left_out == {"contradicted": 6}


def test_held_out_texts_are_left_out_whatever_their_case_and_spaces() -> None:
    result = augment([finding("a")], held_out=HeldOutTexts(["She  SPRINTED a"]))
    assert [row.text for row in result.rows] == ["he ran a"]
    assert result.left_out == {"held out": 1}


def test_the_cap_takes_the_targets_in_turn() -> None:
    records = [finding(f"a{i}") for i in range(8)] + [finding(f"b{i}", "unrobust_fair") for i in range(8)]
    result = augment(records, max_rows=8)
    assert len(result.rows) == 8
    assert result.to_dict()["by_target"] == {"robust_biased": 4, "unrobust_fair": 4}
    assert result.left_out == {"over the cap": 24}


def test_the_choice_does_not_depend_on_the_order_of_records() -> None:
    records = [finding(f"a{i}") for i in range(10)]
    first = augment(records, max_rows=6, seed=3)
    second = augment(records[::-1], max_rows=6, seed=3)
    assert set(first.rows) == set(second.rows)
    assert set(first.rows) != set(augment(records, max_rows=6, seed=4).rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ["robustness_only"]}, "expected some of robust_biased, .* got 'robustness_only'"),
        ({"weight": 0.0}, "weight of augmented rows must be a number above 0, got 0.0"),
        ({"max_rows": 0}, "must be a whole number from 1, got 0"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        augment([finding("a")], **options)  # type: ignore[arg-type]


def test_similar_and_edited_texts_of_held_out_examples_are_held_out() -> None:
    closed = HeldOutTexts(["he ran a"], [finding("a")])
    assert "he ran a" in closed
    assert "she ran a" in closed
    assert "She sprinted a" in closed
    assert "" not in closed
    assert len(closed) == 3


@given(st.text())
def test_normal_form_is_stable(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(st.text(min_size=1), st.integers(0, 5))
def test_equal_texts_fall_on_the_same_side(text: str, seed: int) -> None:
    assert is_held_out(text, 0.5, seed) == is_held_out(f"  {text}\n", 0.5, seed)
    assert is_held_out(text, 1.0, seed)
    assert not is_held_out(text, 0.0, seed)


def test_the_share_is_about_what_was_asked_for() -> None:
    share = sum(is_held_out(f"text {i}", 0.3) for i in range(2000)) / 2000
    assert 0.26 < share < 0.34


def test_examples_that_are_similar_fall_on_the_same_side() -> None:
    records = []
    for i in range(200):
        he, she, they = (f"{who} ran {i}" for who in ("he", "she", "they"))
        records += [
            replace(finding(f"{i}a"), original=he, similar=she),
            replace(finding(f"{i}b"), original=she.upper(), similar=he),
            replace(finding(f"{i}c"), original=they, similar=she),
        ]
    held_out = held_out_originals(records, 0.5)
    for i in range(200):
        assert len({f"{who} ran {i}" in held_out for who in ("he", "she", "they")}) == 1
    assert 200 < len(held_out) < 400
    assert held_out_originals(records[::-1], 0.5) == held_out


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=12))
def test_no_taught_example_is_similar_to_one_that_tests(pairs: list[tuple[str, str]]) -> None:
    records = [replace(finding(a), original=a, similar=b) for a, b in pairs]
    held_out = held_out_originals(records, 0.5)
    for record in records:
        others = {r.original for r in records if {r.original, r.similar} & {record.original, record.similar}}
        assert len({text in held_out for text in others}) <= 1


def test_one_example_by_itself_is_split_by_its_text() -> None:
    records = [finding(str(i)) for i in range(50)]
    assert held_out_originals(records, 0.5) == {r.original for r in records if is_held_out(r.original, 0.5)}


def test_a_text_with_another_label_in_the_training_data_is_left_out() -> None:
    result = augment([finding("a", label=1)], known={"he ran a": 0, "she sprinted a": 1})
    assert [row.text for row in result.rows] == ["she sprinted a"]
    assert result.left_out == {"contradicted": 1}


def test_the_cap_cuts_no_pair_in_two() -> None:
    records = [finding(name) for name in "abc"]
    assert [len(augment(records, max_rows=n)) for n in (1, 2, 3, 4, 5, 6)] == [1, 2, 2, 4, 4, 6]
    assert augment(records, max_rows=3).left_out == {"over the cap": 4}


def masked(text: str) -> str:
    return " ".join("X" if word in ("he", "she") else word for word in text.split())


def test_what_is_similar_to_a_test_text_is_not_taught() -> None:
    closed = UntaughtTexts(["She  sprinted A", ""], mask=lambda text: masked(text.casefold()))
    assert "he sprinted a" in closed and "she sprinted a" in closed
    assert "she sprinted b" not in closed and "" not in closed and 3 not in closed
    assert "he sprinted a" not in HeldOutTexts(["she sprinted a"])
    result = augment([finding("a"), finding("b")], held_out=closed)
    assert {row.text for row in result.rows} == {"he ran a", "he ran b", "she sprinted b"}
    assert result.left_out == {"held out": 1}


def test_a_ready_similar_text_of_a_test_text_is_not_taught() -> None:
    ready = [replace(finding(name), original=f"one {name}", similar=f"other {name}") for name in "ab"]
    for tested in ("one a", "OTHER a"):
        closed = UntaughtTexts([tested], mask=str, audited=ready)
        assert "other a" in closed and "one a" in closed
        assert "one b" not in closed and "other b" not in closed
