"""Objective values against numbers computed by hand (L(c, p) = -ln(p_c + 1e-8))."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.objective import Objective, label_gap, loss, runner_up, total_variation
from rif_plugins.errors import UsageError

# p = (0.2, 0.8), p' = (0.5, 0.5), y = 1: L = 0.22314354, L' = 0.69314716, D = 0.3
HAND = {
    "robust_biased": 0.22314354 - 0.69314716 - 0.3,
    "unrobust_fair": -0.22314354 - 0.69314716 + 0.3,
    "unrobust_biased": -0.22314354 + 0.69314716 - 0.3,
}


@pytest.mark.parametrize("target", sorted(HAND))
def test_hand_computed_values(target: str) -> None:
    value = Objective.for_target(target)([0.2, 0.8], [0.5, 0.5], 1)
    assert value == pytest.approx(HAND[target], abs=1e-6)


def test_signs_of_the_paper() -> None:
    signs = {
        target: (o.alpha_original, o.alpha_similar, o.beta)
        for target in HAND
        for o in [Objective.for_target(target)]
    }
    assert signs == {
        "robust_biased": (1, -1, -1),
        "unrobust_fair": (-1, -1, 1),
        "unrobust_biased": (-1, 1, -1),
    }


def test_zero_probability_is_finite() -> None:
    assert float(loss(np.array([1.0, 0.0]), 1)) == pytest.approx(18.420680744, abs=1e-6)


def test_total_variation_differs_from_the_gap_only_beyond_two_classes() -> None:
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.5, 0.1, 0.4])
    assert float(label_gap(p, q, 0)) == pytest.approx(0.1)
    assert float(total_variation(p, q)) == pytest.approx(0.3)
    p, q = np.array([0.2, 0.8]), np.array([0.5, 0.5])
    assert float(total_variation(p, q)) == pytest.approx(float(label_gap(p, q, 1)))


def test_several_classes_aim_at_one_wrong_label() -> None:
    objective = Objective.for_target("unrobust_fair")
    p, q = [0.5, 0.3, 0.2], [0.4, 0.5, 0.1]
    # + L(1, p) + L(1, q) + |0.5 - 0.4|
    assert objective(p, q, 0, wrong_label=1) == pytest.approx(1.2039728 + 0.6931472 + 0.1, abs=1e-6)
    # Two classes ignore the wrong label.
    assert objective([0.2, 0.8], [0.5, 0.5], 1, wrong_label=0) == pytest.approx(
        HAND["unrobust_fair"], abs=1e-6
    )
    assert Objective.for_target("robust_biased")(p, q, 0, wrong_label=1) == pytest.approx(
        Objective.for_target("robust_biased")(p, q, 0)
    )


def test_runner_up_takes_both_sides_and_the_lower_label_on_ties() -> None:
    assert runner_up([0.5, 0.3, 0.2], [0.5, 0.1, 0.4], 0) == 2
    assert runner_up([0.5, 0.25, 0.25], [0.5, 0.25, 0.25], 0) == 1


def test_broadcasting_gives_one_value_a_combination() -> None:
    objective = Objective.for_target("robust_biased")
    p = np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]])
    q = np.array([[0.5, 0.5], [0.7, 0.3]])
    values = objective(p[:, None], q[None], 1)
    assert values.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            assert values[i, j] == pytest.approx(objective(p[i], q[j], 1))


probability = st.floats(0.001, 0.999)


@given(st.lists(probability, min_size=1, max_size=6), st.lists(probability, min_size=1, max_size=6))
def test_four_corners_hold_the_minimum(firsts: list[float], seconds: list[float]) -> None:
    """With D = |p_y - p'_y| the objective is monotone in each side for all three sign patterns."""
    for target in HAND:
        objective = Objective.for_target(target)
        grid = {(a, b): objective([1 - a, a], [1 - b, b], 1) for a in firsts for b in seconds}
        corners = [grid[a, b] for a in (min(firsts), max(firsts)) for b in (min(seconds), max(seconds))]
        assert min(corners) == pytest.approx(min(grid.values()), abs=1e-9)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(
        UsageError, match="target 'robust_fair' does not exist: expected one of robust_biased"
    ):
        Objective.for_target("robust_fair")
    with pytest.raises(UsageError, match="distance 'cosine' does not exist"):
        Objective.for_target("robust_biased", distance="cosine")  # type: ignore[arg-type]
