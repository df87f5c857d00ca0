"""Violations of rows as training rows: both sides, the label of the data, nobody who tests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import UsageError
from rif_plugins.training.rows import HeldOutRows, RowSelection, augment_rows, is_held_out_row, row_key


def finding(
    name: str, row: int = 1, outcome: str = "robust_biased", *, age: int = 40, moved: int = 41, **more: Any
) -> dict[str, Any]:
    """A man and a woman, whose age was moved."""
    return {
        "id": name,
        "attack": "robustfair",
        "row": row,
        "label": "yes",
        "outcome": outcome,
        "original": {"age": age, "sex": "m"},
        "similar": {"age": age, "sex": "f"},
        "perturbed_original": {"age": moved, "sex": "m"},
        "perturbed_similar": {"age": moved, "sex": "f"},
        "is_valid": True,
        "similarity": 0.9,
        **more,
    }


def of_data(record: Any) -> int:
    return {1: 1, 2: 0}[record["row"]]


def test_both_sides_get_the_label_of_the_row_in_the_data() -> None:
    result = augment_rows([finding("a", 2)], of_data, RowSelection(weight=2.0))
    assert [(row.values, row.label, row.side) for row in result.rows] == [
        ({"age": 41, "sex": "m"}, 0, "original"),
        ({"age": 41, "sex": "f"}, 0, "similar"),
    ]
    assert {(row.record, row.row, row.target, row.attack, row.weight) for row in result.rows} == {
        ("a", 2, "robust_biased", "robustfair", 2.0)
    }
    assert result.to_dict()["by_side"] == {"original": 1, "similar": 1}
    one = augment_rows([finding("a", 2)], of_data, RowSelection(sides=["similar"]))
    assert [row.values["sex"] for row in one.rows] == ["f"]


def test_what_is_left_out_and_why() -> None:
    records = [
        finding("a"),
        finding("again"),
        finding("far", moved=42, similarity=0.85),
        finding("unknown", moved=43, similarity=None),
        finding("broken", moved=44, is_valid=False),
        finding("other", 1, "unrobust_fair", moved=45),
    ]
    selection = RowSelection(["robust_biased"], min_similarity=0.85)
    result = augment_rows(records, of_data, selection)
    assert len(result) == 2
    assert result.n_findings == 5
    assert result.left_out == {"repeated": 2, "too far": 4, "not valid": 2}


def test_a_row_with_two_labels_teaches_nothing() -> None:
    records = [finding("a", 1), finding("b", 2), finding("c", 1), finding("d", 1, moved=50)]
    result = augment_rows(records, of_data)
    assert {row.record for row in result.rows} == {"d"}
    # Two sides of three findings: each side was kept once, met once with the other label, and once again.
    assert result.left_out == {"contradicted": 6}


def test_a_row_that_contradicts_the_training_data_teaches_nothing() -> None:
    record = finding("a", 1)
    original, similar = (row_key(record[name]) for name in ("perturbed_original", "perturbed_similar"))
    result = augment_rows([record], of_data, known={original: 1 - of_data(record), similar: of_data(record)})
    assert [row.side for row in result.rows] == ["similar"]
    assert result.left_out == {"contradicted": 1}


@pytest.mark.parametrize(("most", "n_kept"), [(1, 1), (2, 2), (3, 2), (5, 4)])
def test_a_cap_cuts_no_pair_in_two(most: int, n_kept: int) -> None:
    records = [finding(f"b{i}", moved=50 + i) for i in range(3)]
    assert len(augment_rows(records, of_data, RowSelection(max_rows=most))) == n_kept


def test_a_cap_takes_the_targets_in_turn() -> None:
    records = [finding(f"b{i}", moved=50 + i) for i in range(20)]
    records += [finding(f"f{i}", 1, "unrobust_fair", moved=80 + i) for i in range(3)]
    result = augment_rows(records, of_data, RowSelection(max_rows=8))
    assert [row.target for row in result.rows].count("unrobust_fair") == 4
    assert result.left_out == {"over the cap": 2 * 23 - 8}
    assert result.rows == augment_rows(records, of_data, RowSelection(max_rows=8)).rows
    assert result.rows != augment_rows(records, of_data, RowSelection(max_rows=8, seed=1)).rows


def test_what_was_found_near_a_test_row_is_not_taught() -> None:
    closed = HeldOutRows([{"age": 40, "sex": "f"}], ["sex"])
    result = augment_rows([finding("a"), finding("b", age=50, moved=51)], of_data, held_out=closed)
    assert {row.record for row in result.rows} == {"b"}
    assert result.left_out == {"held out": 2}


def test_nobody_who_tests_is_taught() -> None:
    closed = HeldOutRows([{"age": 30, "sex": "m"}], ["sex"], [finding("t", age=60, moved=61)])
    assert len(closed) == 3
    for values in ({"sex": "f", "age": 30.0}, {"age": 60, "sex": "f"}, {"age": 61, "sex": "x"}):
        assert values in closed
    assert {"age": 31, "sex": "m"} not in closed
    assert "age" not in closed
    result = augment_rows([finding("a", moved=30), finding("b")], of_data, held_out=closed)
    assert {row.record for row in result.rows} == {"b"}
    assert result.left_out == {"held out": 2}


def test_a_record_without_a_label_is_passed_over() -> None:
    assert augment_rows([finding("a")], lambda record: None).n_findings == 0


@given(
    st.integers(-5, 5),
    st.floats(-1e6, 1e6),
    st.sampled_from("fm"),
    st.integers(0, 3),
)
def test_similar_rows_fall_on_one_side(age: int, pay: float, sex: str, seed: int) -> None:
    row = {"age": age, "pay": pay, "sex": sex}
    other = {"sex": "other", "pay": pay * (1 + 1e-14), "age": float(age)}
    assert row_key({"pay": pay}) != row_key({"pay": pay + 1})
    if row_key(row, ["sex"]) == row_key(other, ["sex"]):
        assert is_held_out_row(row, 0.5, ["sex"], seed) == is_held_out_row(other, 0.5, ["sex"], seed)
    assert is_held_out_row(row, 1.0, ["sex"], seed)
    assert not is_held_out_row(row, 0.0, ["sex"], seed)


def test_keys_by_hand() -> None:
    assert row_key({"b": True, "a": 2.0}) == '[["a", "2"], ["b", "True"]]'
    assert row_key({"a": 0.1 + 0.2}) == row_key({"a": 0.3})
    assert row_key({"a": "2"}) != row_key({"a": "2.0"})
    split = [is_held_out_row({"a": i}, 0.5, []) for i in range(400)]
    assert 150 < sum(split) < 250


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ["fairness_only"]}, "augmentation by target: expected some of robust_biased"),
        ({"sides": ["left"]}, "sides that teach: expected some of original, similar, got 'left'"),
        ({"weight": 0}, "the weight of augmented rows must be a number above 0, got 0"),
        ({"weight": float("inf")}, "the weight of augmented rows must be a number above 0, got inf"),
        ({"max_rows": 0}, "the most augmented rows must be a whole number from 1, got 0"),
        ({"min_similarity": 1.0}, "from 0 to below 1, got 1.0"),
    ],
)
def test_selections_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RowSelection(**options)
