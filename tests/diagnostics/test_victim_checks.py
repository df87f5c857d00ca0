from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.victim import VictimEngine
from rif_plugins.diagnostics.answer_checks import (
    check_batch_independent,
    check_constant,
    check_deterministic,
    check_output_form,
)
from rif_plugins.diagnostics.data_checks import (
    check_balance,
    check_coverage,
    check_label_order,
    check_truncation,
)
from rif_plugins.diagnostics.victim_check import VictimCheck
from rif_plugins.diagnostics.victim_checks import check_victim
from rif_plugins.errors import VictimError

TEXTS = [f"text {'x' * number}" for number in range(40)]
LABELS = [number % 2 for number in range(40)]


def right(texts: list[str]) -> np.ndarray:
    """Knows the labels of TEXTS, and is a little less sure on longer texts."""
    sure = np.array([0.9 - 0.001 * len(text) for text in texts])
    odd = np.array([len(text) % 2 for text in texts])  # "text " has five characters
    return np.where(odd[:, None] == 1, np.stack([sure, 1 - sure], 1), np.stack([1 - sure, sure], 1))


def found(checks: list[VictimCheck]) -> dict[str, str]:
    return {check.name: check.status for check in checks}


def test_a_good_victim_passes_all() -> None:
    engine = VictimEngine(right, cache_size=0, batch_size=8)
    checks = check_victim(
        engine.probabilities, TEXTS, LABELS, raw=right, seen=lambda text: None, covered=(30, 40)
    )
    assert found(checks) == dict.fromkeys(
        [
            "output_form",
            "deterministic",
            "batch_independent",
            "constant_output",
            "class_balance",
            "label_order",
            "truncation",
            "coverage",
        ],
        "pass",
    )
    assert engine.rows <= 32 + 8 + 8 + 6
    assert checks[5].message == "32 of 32 predictions agree with the labels, chance is 1 of 2"
    assert checks[-1].to_dict() == {
        "name": "coverage",
        "status": "pass",
        "message": "30 of 40 examples have a sensitive token",
    }


def test_rows_are_spread_over_the_data_and_texts_are_asked_once() -> None:
    asked: list[list[str]] = []

    def note(texts: list[str]) -> np.ndarray:
        asked.append(texts)
        return right(texts)

    check_victim(note, TEXTS * 3, LABELS * 3, max_rows=4)
    assert [len(texts) for texts in asked] == [4, 4, 4, 1, 1, 1, 1]
    assert asked[2] == [TEXTS[0], TEXTS[13], TEXTS[26], TEXTS[39]]
    assert {text for (text,) in asked[3:]} == set(asked[2])


def test_without_labels_and_texts() -> None:
    assert "label_order" not in found(check_victim(right, TEXTS, [None] * 40))
    assert check_victim(right, [], []) == []
    assert found(check_victim(right, [], [], covered=(0, 5))) == {"coverage": "fail"}
    assert found(check_victim(right, TEXTS[:1], LABELS[:1]))["constant_output"] == "warn"


def worse(kind: str) -> Callable[[list[str]], np.ndarray]:
    rng = np.random.default_rng(0)

    def predict(texts: list[str]) -> np.ndarray:
        rows = right(texts)
        if kind == "noisy":
            noise = 0.05 * rng.random(len(texts))
            return rows + np.stack([noise, -noise], 1)
        if kind == "batched":
            return rows if len(texts) > 1 else rows[:, ::-1]
        if kind == "swapped":
            return rows[:, ::-1]
        return np.tile([0.75, 0.25], (len(texts), 1))

    return predict


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "noisy",
            "deterministic",
            r"same 8 texts twice: probabilities move by up to 0\.\d+, 0 predictions change",
        ),
        (
            "batched",
            "batch_independent",
            r"6 texts alone and in a batch: .* 6 predictions change; pass the att",
        ),
        (
            "swapped",
            "label_order",
            r"^0 of 32 predictions agree with the labels, chance is 1 of 2: labels may",
        ),
        (
            "constant",
            "constant_output",
            r"all 32 texts get the same probabilities: check that the texts reach",
        ),
    ],
)
def test_a_bad_victim_fails_its_check(kind: str, name: str, message: str) -> None:
    checks = check_victim(worse(kind), TEXTS, LABELS)
    assert found(checks)[name] == "fail"
    assert [re.search(message, check.message) is not None for check in checks if check.name == name] == [True]


def test_a_victim_that_fails_keeps_the_checks_before() -> None:
    calls = []

    def fails(texts: list[str]) -> np.ndarray:
        calls.append(texts)
        if len(calls) > 2:
            raise VictimError("no answer\nany more")
        return right(texts)

    checks = check_victim(fails, TEXTS, LABELS, covered=(40, 40))
    assert found(checks) == {"deterministic": "pass", "answers": "fail", "coverage": "pass"}
    assert checks[1].message == "no answer any more"
    (check, *_) = check_victim(lambda texts: 1 / 0, TEXTS, LABELS)
    assert (check.name, check.message) == ("answers", "ZeroDivisionError: division by zero")


@pytest.mark.parametrize(
    ("raw", "output", "status", "message"),
    [
        ([[0.25, 0.75], [1.0, 0.0]], "auto", "pass", "probabilities: every row"),
        ([[0.25, 0.75]], "probabilities", "pass", "probabilities: every row"),
        ([[0.25, 0.75]], "logits", "warn", "declared as logits, but every row is a distribution"),
        ([[-2.0, 3.0]], "auto", "pass", "logits, turned into probabilities by softmax"),
        ([[-2.0, 3.0]], "probabilities", "fail", "do not sum to 1: declare logits"),
        ([[0.9, 0.8]], "auto", "warn", "scores of independent labels"),
        ([0.5, 0.25], "auto", "warn", "taken as a probability; declare logits if it is one"),
        ([[0.5], [0.25]], "probabilities", "pass", "read as a probability"),
        ([0.5, 3.0], "auto", "pass", "read as a logit"),
        ([0.5], "logits", "pass", "read as a logit"),
        ([0.5, 3.0], "probabilities", "fail", "values lie outside 0 to 1"),
        (torch.tensor([[0.25, 0.75]], requires_grad=True), "auto", "pass", "probabilities"),
        ([torch.tensor([2.0, -1.0], requires_grad=True)], "auto", "pass", "logits"),
    ],
)
def test_output_forms(raw: Any, output: Any, status: str, message: str) -> None:
    check = check_output_form(raw, output)
    assert check.status == status
    assert message in check.message


def test_sizes_of_differences() -> None:
    rows = np.array([[0.6, 0.4], [0.2, 0.8]])

    def moved(size: float) -> np.ndarray:
        return rows + np.array([[-size, size], [0, 0]])

    for check in (check_deterministic, check_batch_independent):
        assert check(rows, moved(5e-5)).status == "pass"
        assert check(rows, moved(5e-3)).status == "warn"
        assert check(rows, moved(5e-2)).status == "fail"
        flipped = check(np.array([[0.501, 0.499]]), np.array([[0.499, 0.501]]))
        assert flipped.status == "fail" and "1 predictions change" in flipped.message
        tie = np.array([[0.5, 0.5]])
        assert check(tie, tie + np.array([[-1e-6, 1e-6]])).status == "pass"


def one_hot(predictions: list[int], k: int) -> np.ndarray:
    return np.eye(k)[predictions]


def test_constant_output() -> None:
    assert check_constant(np.tile([0.25, 0.75], (3, 1))).status == "fail"
    assert check_constant(np.array([[0.25, 0.75], [0.2501, 0.7499]])).status == "pass"


@pytest.mark.parametrize(
    ("predictions", "labels", "status"),
    [
        ([0] * 20, [0, 1] * 10, "warn"),
        ([0] * 20, [None] * 20, "warn"),
        ([0] * 20, [0] * 18 + [1] * 2, "pass"),  # the data are as one-sided
        ([0] * 18 + [1] * 2, [0, 1] * 10, "pass"),
        ([0] * 9, [0, 1] * 4 + [0], "pass"),  # too few to tell
    ],
)
def test_balance(predictions: list[int], labels: list[int | None], status: str) -> None:
    check = check_balance(one_hot(predictions, 2), labels, ("bad", "good"))
    assert check.status == status
    assert f"{predictions.count(0)} of {len(predictions)} texts are predicted as 'bad'" in check.message


def test_label_order_by_hand() -> None:
    # Ten throws of a coin: P(X <= 0) is 1 / 1024, P(X <= 1) 11 / 1024 = 0.011, P(X <= 2) 56 / 1024 = 0.055.
    labels = [0, 1] * 5

    def status(n_right: int) -> str:
        predictions = [label if row < n_right else 1 - label for row, label in enumerate(labels)]
        return check_label_order(one_hot(predictions, 2), labels).status

    assert (status(0), status(1), status(10), status(8)) == ("fail", "warn", "pass", "pass")
    assert status(2) == "warn"  # another order is right 8 times


def test_two_of_three_labels_swapped() -> None:
    labels = [0, 1, 2] * 10
    check = check_label_order(one_hot([{0: 0, 1: 2, 2: 1}[y] for y in labels], 3), labels, ("a", "b", "c"))
    assert check.status == "warn"
    assert check.message.startswith(
        "10 of 30 predictions agree with the labels, chance is 1 of 3, but 30 would with the columns read as "
        "'a', 'c', 'b'"
    )
    turned = check_label_order(one_hot([(y + 1) % 3 for y in labels], 3), labels, ("a", "b", "c"))
    assert turned.status == "fail"
    assert check_label_order(one_hot([0] * 30, 3), labels).status == "pass"  # nothing to swap


def test_labels_that_are_no_class() -> None:
    check = check_label_order(one_hot([0, 1], 2), [0, 2])
    assert (check.status, check.message) == ("fail", "label 2 is no class: the victim has 0 to 1; map labels")


def test_truncation() -> None:
    assert check_truncation([False] * 3).status == "pass"
    assert check_truncation([False] * 3, (0, 9)).status == "pass"
    cut = check_truncation([True, False, False], (3, 12))
    assert cut.status == "warn"
    assert cut.message.startswith(
        "1 of 3 texts are longer than the victim reads; 3 of 12 edits stand where it cannot see them"
    )
    checks = check_victim(right, TEXTS, LABELS, seen=lambda text: 20 if len(text) > 20 else None)
    assert [check.message[:8] for check in checks if check.name == "truncation"] == ["24 of 40"]


@pytest.mark.parametrize(
    ("covered", "status"), [((0, 9), "fail"), ((9, 20), "warn"), ((90, 1000), "warn"), ((20, 20), "pass")]
)
def test_coverage(covered: tuple[int, int], status: str) -> None:
    assert check_coverage(*covered).status == status


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(
            st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)), min_size=1, max_size=40
        ).map(lambda pairs: (k, pairs))
    )
)
def test_right_labels_never_fail_and_messages_are_one_line(case: tuple[int, list[tuple[int, int]]]) -> None:
    k, pairs = case
    rows = one_hot([prediction for prediction, _ in pairs], k)
    own = [prediction for prediction, _ in pairs]
    assert check_label_order(rows, own).status == "pass"
    for check in (
        check_label_order(rows, [label for _, label in pairs], ["a\nb"] * k),
        check_balance(rows, [label for _, label in pairs], ["a\nb"] * k),
        check_constant(rows),
    ):
        assert "\n" not in check.message
