"""Direction tables, orders and choices of counterparts, from hand-written gradients."""

from __future__ import annotations

import numpy as np
import pytest
from fakes.row_world import V_SIMILAR, V, m2_classifier, unit_schema

from rif_plugins.tabular.counterparts import SimilarRows, farthest_by_output, largest_norm
from rif_plugins.tabular.directions import (
    agreeing_signs,
    ascending_features,
    confusion_direction,
    single_feature,
)
from rif_plugins.tabular.gradients import TorchGradients

FF, TB, FB = "unrobust_fair", "robust_biased", "unrobust_biased"
EDITABLE = np.array([True, True, True, False])


def m2_directions(label: int, *, additive: bool = False) -> dict[str, list[float]]:
    source = TorchGradients(m2_classifier(additive=additive))
    _, g = source.gradient(V, np.array([label]))
    _, g2 = source.gradient(V_SIMILAR, np.array([label]))
    return {kind: confusion_direction(kind, g, g2, EDITABLE)[0].tolist() for kind in (FF, TB, FB)}


def test_m2_with_label_1() -> None:
    assert m2_directions(1) == {FF: [0, 1, 0, 0], TB: [1, 0, 1, 0], FB: [-1, 0, -1, 0]}


def test_m2_with_label_0() -> None:
    assert m2_directions(0) == {FF: [0, -1, 0, 0], TB: [-1, 0, -1, 0], FB: [1, 0, 1, 0]}


def test_an_additive_model_has_no_biased_direction() -> None:
    assert m2_directions(1, additive=True) == {FF: [-1, 1, -1, 0], TB: [0] * 4, FB: [0] * 4}


def test_all_nine_pairs_of_signs() -> None:
    s = np.array([[1, 1, 1, 0, 0, 0, -1, -1, -1]], dtype=float)
    s2 = np.array([[1, 0, -1, 1, 0, -1, 1, 0, -1]], dtype=float)
    everything = np.ones(9, dtype=bool)
    found = {kind: confusion_direction(kind, s * 0.3, s2 * 0.7, everything)[0] for kind in (FF, TB, FB)}
    assert found[FF].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, -1]
    assert found[TB].tolist() == [0, -1, -1, 1, 0, -1, 1, 1, 0]
    assert found[FB].tolist() == (-found[TB]).tolist()
    assert agreeing_signs(s, s2, everything)[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, -1]


def test_frozen_features_have_no_direction() -> None:
    g = np.ones((3, 4))
    for kind in (FF, TB, FB):
        assert (confusion_direction(kind, g, -g, EDITABLE)[:, 3] == 0).all()
    assert (agreeing_signs(g, g, EDITABLE)[:, 3] == 0).all()


def test_local_order_is_ascending_and_skips_what_does_not_move() -> None:
    g = np.array([[0.4, -0.1, 0.3, 0.05, -0.1]])
    g2 = np.array([[-0.2, 0.2, -0.5, -0.3, 0.1]])
    editable = np.array([True, True, True, False, True])
    direction = confusion_direction(TB, g, g2, editable)
    assert direction[0].tolist() == [-1, 1, -1, 0, 1]
    assert not confusion_direction(FF, g, g2, editable).any()
    order, n_moves = ascending_features(g, direction)
    assert order[0, : n_moves[0]].tolist() == [1, 4, 2, 0]
    assert single_feature(direction, order[:, 1]).tolist() == [[0, 0, 0, 0, 1]]


def test_features_without_direction_take_no_part_in_the_budget() -> None:
    # The published sorter orders by the direction itself and tries 1, 3 first: copies of the row.
    order, n_moves = ascending_features(np.full((1, 5), 0.1), np.array([[1.0, 0, -1, 0, 0]]))
    assert order[0, : n_moves[0]].tolist() == [0, 2]


def test_the_largest_gradient_wins_not_the_last() -> None:
    gradients = np.zeros((1, 4, 2))
    gradients[0, :, 0] = [0.5, -2.0, 1.0, 9.0]
    allowed = np.array([[True, True, True, False]])
    assert largest_norm(gradients, allowed).tolist() == [1]
    assert largest_norm(np.ones((1, 3, 2)), np.array([[False, True, True]])).tolist() == [1]


def test_the_farthest_output_wins_by_l1() -> None:
    own = np.array([[0.5, 0.5]])
    others = np.array([[[0.4, 0.6], [0.1, 0.9], [0.25, 0.75]]])
    place, distance = farthest_by_output(own, others, np.ones((1, 3), dtype=bool))
    assert place.tolist() == [1]
    assert distance == pytest.approx([0.8])


def test_an_assessment_prefers_a_counterpart_with_another_label() -> None:
    class Source:
        n_labels = 2

        def probabilities(self, x: np.ndarray) -> np.ndarray:
            p = np.select([x[:, 3] == 0, x[:, 3] == 1], [0.55, 0.99], 0.45)
            return np.column_stack([1 - p, p])

    from rif_plugins.tables import ColumnSpec, TableSchema

    numbers = tuple(ColumnSpec(f"x{i}", "numeric") for i in range(3))
    a = ColumnSpec("a", "categorical", values=(0.0, 1.0, 2.0), sensitive=True)
    similar = SimilarRows(TableSchema((*numbers, a)), Source())  # type: ignore[arg-type]
    known = similar.assess(np.array([[0.0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 2]]))
    assert known.prediction.tolist() == [1, 1, 0]
    assert known.is_fair.tolist() == [False, False, False]
    assert known.farthest.tolist() == [2, 2, 1]
    assert known.similar_prediction.tolist() == [0, 0, 1]
    assert known.distance == pytest.approx([0.2, 1.08, 1.08])


def test_the_counterpart_of_m2_is_the_other_one() -> None:
    similar = SimilarRows(unit_schema(), TorchGradients(m2_classifier()))
    place, gradient = similar.largest_gradient(V, np.array([1]))
    assert place.tolist() == [1]
    assert gradient[0] == pytest.approx([0.295432, 0.590864, 0, 0.118173], abs=1e-5)
    assert similar.with_tuple(V, place).tolist() == V_SIMILAR.tolist()
