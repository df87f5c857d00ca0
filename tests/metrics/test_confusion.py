from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.outcomes import classify
from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import (
    OUTCOMES,
    Confusion,
    confusion_rates,
    fair_f1_score,
    mean_square_distances,
    row_outcomes,
)

TF, TB, FF, FB = range(4)


@pytest.mark.parametrize(
    ("label", "prediction", "similar", "code"),
    [
        (1, 1, [1, 1], TF),
        (1, 1, [1, 0], TB),
        (1, 0, [0, 0], FF),
        (1, 0, [1], FB),
        (2, 0, [1], FB),
        (2, 0, [0], FF),
    ],
)
def test_outcomes_of_the_specification(label: int, prediction: int, similar: list[int], code: int) -> None:
    assert row_outcomes([label], [prediction], [similar]).tolist() == [code]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 4), st.integers(2, 4))
def test_rows_agree_with_the_single_pair(seed: int, n: int, m: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    y, p, others = rng.integers(k, size=n), rng.integers(k, size=n), rng.integers(k, size=(n, m))
    mask = rng.random((n, m)) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    codes = row_outcomes(y, p, others, mask)
    for i in range(n):
        assert OUTCOMES[codes[i]] is classify(int(y[i]), int(p[i]), [int(o) for o in others[i][mask[i]]])


def test_rates_of_the_specification() -> None:
    c = Confusion(60, 20, 10, 10)
    assert (c.accuracy, c.individual_fairness_rate) == pytest.approx((0.8, 0.7))
    assert (c.fair_recall, c.fair_precision) == pytest.approx((0.857143, 0.75), abs=1e-6)
    assert c.fair_f1_score == pytest.approx(0.8)
    assert (c.n_false, c.n_biased, c.n_false_or_biased) == (20, 30, 40)
    assert c.rate("robust_fair") == 0.6


def test_fair_f1_does_not_see_rows_that_are_both() -> None:
    assert Confusion(0, 5, 3, 2).fair_f1_score == 0
    blind = Confusion(7, 0, 0, 3)
    assert blind.fair_f1_score == 1
    assert (blind.accuracy, blind.individual_fairness_rate) == pytest.approx((0.7, 0.7))


def test_clean_rates_of_table_7() -> None:
    c = Confusion(0.8156, 0.0281, 0.1373, 0.0190)
    assert c.accuracy == pytest.approx(0.8437, abs=1e-5)
    assert c.individual_fairness_rate == pytest.approx(0.9529, abs=1e-5)
    assert c.fair_f1_score == pytest.approx(0.907937, abs=1e-5)


def test_nothing_to_count() -> None:
    c = Confusion.from_outcomes([])
    assert (c.total, c.accuracy, c.fair_recall, c.fair_precision, c.fair_f1_score) == (0, 0, 0, 0, 0)


def test_one_class_only() -> None:
    c = confusion_rates([0, 0], [0, 0], [[0], [0]])
    assert c.counts == (2, 0, 0, 0)


def test_the_lipschitz_constant_of_the_specification() -> None:
    x = np.array([[0.2, 0.4, 0.6, 0.0]])
    d = mean_square_distances(x, np.array([[[0.2, 0.4, 0.6, 1.0]]]))
    assert d.tolist() == [[0.25]]
    for lipschitz, code in [(0.0, TB), (3.99, TB), (4.0, TF), (5.0, TF)]:
        assert row_outcomes([1], [1], [[0]], lipschitz=lipschitz, distances=d).tolist() == [code]


def test_one_call_and_the_table_of_the_papers() -> None:
    y, p, others = [1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 1]
    c = confusion_rates(y, p, others)
    assert c.counts == (1, 1, 1, 1)
    assert fair_f1_score(y, p, others) == 0.5
    table = c.to_table()
    assert (table["TF"], table["FBR"], table["N_f|b"], table["F-F1"]) == (1, 0.25, 3, 0.5)


def test_labels_may_be_floats_that_are_whole() -> None:
    for dtype in (np.float32, np.float64, np.int8):
        assert row_outcomes(np.ones(2, dtype), np.ones(2, dtype), np.zeros((2, 1), dtype)).tolist() == [
            TB,
            TB,
        ]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, np.nan], [1, 1], [1, 1]), {}, "label holds NaN or fractions"),
        (([1, 1], [0.3, 1], [1, 1]), {}, "prediction holds NaN or fractions, .*argmax"),
        (([1, 1], [1], [1, 1]), {}, r"prediction has shape \(1,\), expected \(2,\)"),
        (([1, 1], [1, 1], [[[1]]]), {}, r"similar_predictions has shape \(1, 1, 1\), expected \(2, m\)"),
        ((["a"], [1], [1]), {}, "label holds something that is no number"),
        (([1], [1], [[1, 0]]), {"mask": [[True]]}, r"mask is bool of shape \(1, 1\), expected bool"),
        (([1], [1], [[1, 0]]), {"mask": [[1, 0]]}, "mask is int64"),
        (([1, 1], [1, 1], [[1], [0]]), {"mask": [[True], [False]]}, "row 1 has no counterpart"),
        (([1], [1], [0]), {"lipschitz": 1}, "lipschitz needs distances"),
        (([1], [1], [0]), {"lipschitz": -1}, "lipschitz is -1"),
        (([1], [1], [0]), {"lipschitz": 1, "distances": [[-1.0]]}, "numbers of 0 or more"),
    ],
)
def test_arrays_that_do_not_fit(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        row_outcomes(*arguments, **options)


def test_confusions_that_are_none() -> None:
    with pytest.raises(UsageError, match="expected four numbers"):
        Confusion(1, 2, float("nan"), 0)
    with pytest.raises(UsageError, match="outcomes holds 4, expected the codes 0 to 3"):
        Confusion.from_outcomes([0, 4])
    with pytest.raises(UsageError, match=r"similar has shape \(1, 4\)"):
        mean_square_distances(np.zeros((1, 4)), np.zeros((1, 4)))
