from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.errors import UsageError
from rif_plugins.metrics.empirical import empirical_rif, label_deviations
from rif_plugins.metrics.impact import (
    cumulative_impact,
    impact_to_flip,
    impact_tolerance,
    is_flipped,
    perturbation_impact,
    perturbation_size,
    trajectory_impact,
)


def test_the_pair_of_the_paper() -> None:
    before = [[0.8784, 0.1216], [0.8947, 0.1053]]
    after = [[0.5812, 0.4188], [0.4755, 0.5245]]
    impact = perturbation_impact(before, after, 2)
    assert np.linalg.norm(np.subtract(after, before), axis=1)[0] == pytest.approx(0.420304, abs=1e-5)
    assert impact.index == pytest.approx([0.210152, 0.296419], abs=1e-5)
    assert impact.direction[0] == pytest.approx([-0.707107, 0.707107], abs=1e-5)
    scalar = perturbation_impact([0.1216, 0.1053], [0.4188, 0.5245], 2)
    assert scalar.index == pytest.approx([0.1486, 0.2096], abs=1e-5)
    assert scalar.direction.tolist() == [1, 1]


def test_sizes_of_the_specification() -> None:
    changes = [[3, 0], [0, 4]]
    assert perturbation_size(changes) == 7
    assert perturbation_size(changes, "fro") == 5
    assert perturbation_size(np.stack([changes, changes])).tolist() == [7, 7]


def test_no_change_has_no_impact() -> None:
    still = perturbation_impact([[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.4, 0.6]], [1, 0])
    assert still.index.tolist() == [0, 0]
    assert still.direction.tolist() == [[0, 0], [0, 0]]
    assert perturbation_impact([0.5], [0.5], [1]).direction.tolist() == [0]


def test_the_run_of_the_specification() -> None:
    impact = trajectory_impact([0.1216, 0.30, 0.27, 0.4188], [1, 0.5, 2])
    assert impact.index == pytest.approx([0.1784, 0.06, 0.0744], abs=1e-5)
    assert impact.direction.tolist() == [1, -1, 1]
    total = cumulative_impact(impact)
    assert 0.1216 + total[-1] == pytest.approx(0.4188, abs=1e-5)
    assert impact_to_flip(0.1216, 0.5) == pytest.approx(0.3784, abs=1e-5)
    assert not is_flipped(0.1216, total, 0.5).any()


PROBABILITY = st.floats(0, 1)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(PROBABILITY, st.floats(1e-3, 10)), min_size=2, max_size=12), st.floats(0.01, 0.99))
def test_steps_add_up_and_theorems_agree_with_the_decision(
    steps: list[tuple[float, float]], threshold: float
) -> None:
    f = np.array([p for p, _ in steps])
    sizes = np.array([s for _, s in steps[1:]])
    total = cumulative_impact(trajectory_impact(f, sizes))
    assert f[0] + total == pytest.approx(f[1:], abs=1e-9)
    vectors = np.stack([1 - f, f], axis=1)
    assert vectors[0] + cumulative_impact(trajectory_impact(vectors, sizes)) == pytest.approx(
        vectors[1:], abs=1e-9
    )
    clear = np.abs(f[1:] - threshold) > 1e-6
    if abs(f[0] - threshold) > 1e-6:
        changed = (f[1:] >= threshold) != (f[0] >= threshold)
        assert (is_flipped(f[0], total, threshold) == changed)[clear].all()
        safe = np.abs(total) < impact_tolerance(f[0], threshold) - 1e-9
        assert not changed[safe].any()


def test_theorems_at_the_threshold_itself() -> None:
    # f >= tau is the positive decision: reaching tau flips a negative one, falling to tau keeps a positive.
    assert is_flipped([0.25, 0.25, 0.75, 0.75, 0.5], [0.25, 0.2, -0.25, -0.26, 0.0], 0.5).tolist() == [
        True,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: perturbation_size([1, 2]), "expected .* fields, components"),
        (lambda: perturbation_size([[1]], "l1"), "norm 'l1' does not exist"),  # type: ignore[arg-type]
        (lambda: perturbation_impact([0.1], [[0.1]], 1), "must be of one shape"),
        (lambda: perturbation_impact([0.1], [np.nan], 1), "predictions must be finite"),
        (lambda: perturbation_impact([0.1], [0.2], -1), "sizes finite numbers of 0 or more"),
        (lambda: perturbation_impact([0.1], [0.2], [1, 2]), r"size has shape \(2,\), expected \(1,\)"),
        (lambda: trajectory_impact([], []), r"outputs has shape \(0,\)"),
    ],
)
def test_impact_input_that_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def test_empirical_rif_by_hand() -> None:
    d_out = [[0.1, 0.2], [0.3, 0.0], [0.05, 0.9]]
    d_in = [[0.5, 0.5], [1.0, 0.0], [0.5, 1.0]]
    # Finite ratios .2 .4 .3 .1 .9 (0/0 is none); sorted, the 95th percentile has rank 3.8: .4 + .8 * .5.
    result = empirical_rif(d_out, d_in, max_deviation=0.5)
    assert (result.n_ratios, result.constant) == (5, pytest.approx(0.8))
    assert result.is_fair.tolist() == [True, True, False]
    assert result.rate == pytest.approx(2 / 3)
    assert empirical_rif(d_out, d_in, max_deviation=0.15).is_fair.tolist() == [False, False, False]
    without = empirical_rif(d_out, d_in, [[True, True], [True, True], [True, False]], max_deviation=0.5)
    assert without.constant == pytest.approx(0.385)
    assert without.is_fair.tolist() == [False, True, True]


def test_a_deviation_without_distance_is_never_fair() -> None:
    result = empirical_rif([[0.1], [0.1]], [[0.0], [1.0]], max_deviation=1)
    assert result.n_ratios == 1
    assert result.is_fair.tolist() == [False, True]


def test_the_row_itself_needs_no_deviation() -> None:
    own = label_deviations([1, 1], [[0.2, 0.8], [0.7, 0.3]], hard=True)
    assert own.tolist() == [0, 1]
    result = empirical_rif([[0.1], [0.1]], [[1.0], [1.0]], max_deviation=1, own_deviations=own)
    assert result.is_fair.tolist() == [True, False]


def test_label_deviations() -> None:
    p = [[[0.2, 0.8], [0.9, 0.1]]]
    assert label_deviations([1], p) == pytest.approx(np.array([[0.2, 0.9]]))
    assert label_deviations([1], p, hard=True).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: empirical_rif([[1.0]], [[0.0]], max_deviation=1), "K_emp is undefined"),
        (lambda: empirical_rif([[1.0]], [[1.0, 2]], max_deviation=1), "differ in shape"),
        (lambda: empirical_rif([[np.nan]], [[1.0]], max_deviation=1), "deviations .* finite numbers"),
        (lambda: empirical_rif([[1.0]], [[1.0]], max_deviation=0), "max_deviation is 0"),
        (lambda: empirical_rif([[1.0]], [[1.0]], max_deviation=1, percentile=101), "percentile is 101"),
        (lambda: empirical_rif([[1.0]], [[1.0]], max_deviation=1, own_deviations=[0, 1]), "own_deviations"),
        (lambda: label_deviations([2], [[0.1, 0.9]]), "label holds 2 to 2, expected 0 to 1"),
        (lambda: label_deviations([1], [0.1, 0.9]), r"outputs has shape \(2,\)"),
    ],
)
def test_empirical_input_that_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
