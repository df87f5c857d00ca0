"""The label of a moved row by the total derivative."""

from __future__ import annotations

import numpy as np
import pytest
from fakes.row_world import V, m2_classifier
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.tabular.gradients import TorchGradients
from rif_plugins.tabular.ground_truth import estimated_labels, estimated_loss, estimated_targets
from rif_plugins.tabular.losses import loss_values


@pytest.mark.parametrize(
    ("y", "f", "change", "f_moved", "expected"),
    [
        (1.0, 0.7, -0.0225, 0.75, 1.009808),
        (0.0, 0.1, -0.05, 0.3, 0.1),  # the radicand is negative
        (0.0, 0.4, 0.09, 0.55, 0.05),
        (0.0, 0.2, 0.0, 0.0, 0.2),  # +0.2 and -0.2 are as near: the larger one
    ],
)
def test_scalar_targets(y: float, f: float, change: float, f_moved: float, expected: float) -> None:
    assert estimated_targets(y, f, f_moved, change) == pytest.approx(expected, abs=1e-6)


def m2_estimate(direction: list[float], step: float) -> tuple[float, np.ndarray, int]:
    source = TorchGradients(m2_classifier())
    y = np.array([1])
    p, g = source.gradient(V, y)
    moved = V + step * np.array([direction])
    expected = estimated_loss(loss_values("mse", p, y), g, moved - V)
    q = source.probabilities(moved)
    losses = np.array([loss_values("mse", q, np.array([label]))[0] for label in (0, 1)])
    return float(expected[0]), losses, int(estimated_labels(expected, q)[0])


def test_m2_false_fair_step() -> None:
    expected, losses, label = m2_estimate([0, 1, 0, 0], 0.5)
    assert expected == pytest.approx(0.574503, abs=1e-5)
    assert losses == pytest.approx([0.053581, 0.590630], abs=1e-5)
    assert label == 1


def test_m2_true_biased_step_with_a_negative_loss() -> None:
    expected, losses, label = m2_estimate([1, 0, 1, 0], 2.0)
    assert expected == pytest.approx(-0.514241, abs=1e-5)
    assert losses == pytest.approx([0.888638, 0.003286], abs=1e-5)
    assert label == 1


def test_ties_go_to_the_lower_class() -> None:
    assert estimated_labels(np.array([0.25]), np.array([[0.5, 0.5]])).tolist() == [0]


@given(st.integers(2, 5), st.data())
def test_a_row_that_does_not_move_keeps_its_label(k: int, data: st.DataObject) -> None:
    weights = np.array([data.draw(st.lists(st.floats(0.01, 1), min_size=k, max_size=k))])
    p = weights / weights.sum()
    label = data.draw(st.integers(0, k - 1))
    expected = loss_values("mse", p, np.array([label]))
    found = int(estimated_labels(expected, p)[0])
    assert p[0, found] == pytest.approx(p[0, label])
