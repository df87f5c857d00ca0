from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import Confusion
from rif_plugins.metrics.manipulation import STRATEGIES, manipulated_outcomes
from rif_plugins.metrics.multi_run import multi_run_rates, reached_outcomes

TF, TB, FF, FB = range(4)


def oracle() -> np.ndarray:
    reached = np.zeros((8, 4), dtype=bool)
    for code, rows in ((FB, [1, 3, 7]), (TB, [2, 3, 7]), (FF, [4, 5, 6, 7])):
        reached[rows, code] = True
    return reached


def test_rates_of_the_specification() -> None:
    rates = multi_run_rates(oracle())
    table = rates.to_table()
    assert (table["TBR"], table["FBR"], table["FFR"], table["TFR"]) == (0.375, 0.375, 0.5, 0.125)
    assert (table["AR"], table["IF"], table["RIF"]) == (0.75, 0.5, 0.875)
    assert table["n_attack"] == [0.125, 0.625, 0.125, 0.125]


def test_the_published_swap_would_exchange_ar_and_if() -> None:
    swapped = oracle()[:, [TF, FF, TB, FB]]
    rates = multi_run_rates(swapped)
    assert (rates.robustness_violation_rate, rates.fairness_violation_rate) == (0.5, 0.75)


def test_steps_are_pooled_over_runs_without_the_clean_step() -> None:
    first = [[FB, TF, TB], [TF, TF, -1]]
    second = [[FB, TF, TF, FF], [TB, TF, -1, -1]]
    assert reached_outcomes([first, second]).tolist() == [
        [True, True, True, False],
        [True, False, False, False],
    ]
    assert reached_outcomes([first, second], first_step=0)[:, FB].tolist() == [True, False]


def test_only_clean_rows() -> None:
    clean = [TF, FF, TF, TF, TF, FF, FF, FF]
    rates = multi_run_rates(oracle(), clean, require_clean=True)
    assert rates.n_rows == 4
    assert rates.robust_fair_rate == 0.25
    assert rates.robustness_violation_rate == 0.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=30))
def test_rates_hold_together(rows: list[tuple[bool, ...]]) -> None:
    r = multi_run_rates(np.array(rows, dtype=bool))
    assert sum(r.n_attack) == pytest.approx(1)
    assert r.rif_violation_rate == pytest.approx(1 - r.robust_fair_rate)
    marginals = r.robust_biased_rate + r.unrobust_fair_rate + r.unrobust_biased_rate
    assert marginals == pytest.approx(sum(k * share for k, share in enumerate(r.n_attack)))
    worst = max(r.robustness_violation_rate, r.fairness_violation_rate)
    together = r.robustness_violation_rate + r.fairness_violation_rate
    assert worst - 1e-9 <= r.rif_violation_rate <= together + 1e-9


# Clean outcomes TF, TB, FF, FB, each with nothing reached, TB, FF, both, or FB alone.
REACHED = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]] * 4, dtype=bool)
CLEAN = np.repeat([TF, TB, FF, FB], 5)
EXPECTED = {
    "accuracy_up": [*[TF] * 5, *[TB] * 5, TF, TB, FF, TB, FF, TF, TB, FB, TB, FB],
    "fairness_up": [*[TF] * 5, TF, TB, FF, FF, TB, *[FF] * 5, TF, FB, FF, FF, FB],
    "accuracy_up_fairness_up": [*[TF] * 5, TF, *[TB] * 4, TF, *[FF] * 4, TF, *[FB] * 4],
    "accuracy_up_fairness_down": [TF, TB, TF, TB, TF, *[TB] * 5, FF, TB, FF, TB, FF, FB, TB, FB, TB, FB],
    "accuracy_down_fairness_up": [TF, TF, FF, FF, TF, TB, TB, FF, FF, TB, *[FF] * 5, FB, FB, FF, FF, FB],
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies_by_hand(strategy: str) -> None:
    clean, reached = CLEAN.copy(), REACHED.copy()
    assert manipulated_outcomes(clean, reached, strategy).tolist() == EXPECTED[strategy]
    assert np.array_equal(clean, CLEAN)
    assert np.array_equal(reached, REACHED)


def test_strategies_do_what_their_names_say() -> None:
    before = Confusion.from_outcomes(CLEAN)
    after = {name: Confusion.from_outcomes(manipulated_outcomes(CLEAN, REACHED, name)) for name in STRATEGIES}
    assert after["accuracy_up"].accuracy > before.accuracy
    assert after["fairness_up"].individual_fairness_rate > before.individual_fairness_rate
    assert after["accuracy_up_fairness_down"].individual_fairness_rate < before.individual_fairness_rate
    assert after["accuracy_down_fairness_up"].accuracy < before.accuracy


def test_the_reached_robust_fair_column_is_not_believed() -> None:
    # A run that passes through robust_fair before a violation leaves no robust_fair replacement.
    reached = np.array([[True, False, False, True]])
    assert manipulated_outcomes([FB], reached, "accuracy_up_fairness_up").tolist() == [FB]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reached_outcomes([]), "there is no run to pool"),
        (lambda: reached_outcomes([np.zeros((2, 3)), np.zeros((3, 3))]), r"run 1 has shape \(3, 3\)"),
        (lambda: reached_outcomes([np.full((2, 3), 7)]), "run 0 holds 7, expected the codes"),
        (lambda: multi_run_rates(np.zeros((3, 4))), "reached is float64"),
        (lambda: multi_run_rates(np.zeros((0, 4), dtype=bool)), "no row is left to count"),
        (lambda: multi_run_rates(oracle(), require_clean=True), "require_clean needs clean"),
        (lambda: multi_run_rates(oracle(), [0], require_clean=True), "clean has 1 rows, expected 8"),
        (lambda: multi_run_rates(oracle(), [3] * 8, require_clean=True), "no row is left"),
        (lambda: manipulated_outcomes([0] * 8, oracle(), "up"), "strategy 'up' does not exist"),
        (lambda: manipulated_outcomes([0], oracle(), "fairness_up"), "reached has 8 rows, expected 1"),
    ],
)
def test_input_that_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
