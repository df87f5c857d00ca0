"""RobustFair: the chains of model M2 by hand, local order, options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fakes.row_world import (
    V_SIMILAR,
    V,
    m2_classifier,
    mixed_classifier,
    mixed_rows,
    mixed_schema,
    unit_schema,
)

from rif_plugins.errors import UsageError
from rif_plugins.tabular.gradients import TorchGradients
from rif_plugins.tabular.losses import loss_values
from rif_plugins.tabular.pair_batch import PairBatch
from rif_plugins.tabular.robust_fair import RobustFairAttack

FF, TB, FB = "unrobust_fair", "robust_biased", "unrobust_biased"
ONE = np.array([1])


def attack(**settings: Any) -> RobustFairAttack:
    settings = {"step_size": 0.1, "domain": False, "n_local": 0, **settings}
    return RobustFairAttack(m2_classifier(), unit_schema(), **settings)


def chain(pairs: PairBatch, direction: str, phase: str = "global") -> PairBatch:
    part = pairs.take((pairs.direction == direction) & (pairs.phase == phase))
    return part.take(np.argsort(part.step, kind="stable"))


def losses(rows: np.ndarray) -> np.ndarray:
    p = TorchGradients(m2_classifier()).probabilities(rows)
    return loss_values("mse", p, np.ones(len(rows), dtype=int))


@pytest.mark.parametrize(
    ("direction", "rows", "loss", "similar_loss"),
    [
        (FF, [[0.2, 0.5, 0.6], [0.2, 0.6, 0.6], [0.2, 0.7, 0.6]], [0.358427, 0.416872, 0.476065], 0.590630),
        (TB, [[0.3, 0.4, 0.7], [0.4, 0.4, 0.8], [0.5, 0.4, 0.9]], [0.262654, 0.225645, 0.191689], 0.505449),
        (FB, [[0.1, 0.4, 0.5], [0, 0.4, 0.4], [-0.1, 0.4, 0.3]], [0.344120, 0.387456, 0.431663], 0.329984),
    ],
)
def test_three_global_steps_of_m2(
    direction: str, rows: list[list[float]], loss: list[float], similar_loss: float
) -> None:
    pairs = chain(attack(n_global=3).generate_pairs(V, ONE), direction)
    assert pairs.perturbed_original[:, :3] == pytest.approx(np.array(rows))
    assert pairs.step.tolist() == [1, 2, 3]
    assert pairs.label.tolist() == [1, 1, 1]
    assert losses(pairs.perturbed_original) == pytest.approx(loss, abs=1e-5)
    assert losses(pairs.perturbed_similar)[-1] == pytest.approx(similar_loss, abs=1e-5)
    assert pairs.perturbed_similar[:, 3].tolist() == [1, 1, 1]
    assert pairs.similar[0].tolist() == V_SIMILAR[0].tolist()
    assert pairs.original[2].tolist() == V[0].tolist()


def test_an_additive_model_gives_only_false_fair_rows() -> None:
    found = RobustFairAttack(
        m2_classifier(additive=True), unit_schema(), step_size=0.1, domain=False, n_global=3, n_local=3
    ).generate_pairs(V, ONE)
    assert set(found.direction.tolist()) == {FF}
    assert len(chain(found, FF)) == 3


def test_outcomes_follow_the_predictions() -> None:
    pairs = attack(n_global=3).generate_pairs(V, ONE)
    p = TorchGradients(m2_classifier()).probabilities(pairs.perturbed_original)
    q = TorchGradients(m2_classifier()).probabilities(pairs.perturbed_similar)
    assert pairs.prediction.tolist() == np.argmax(p, 1).tolist()
    assert pairs.similar_prediction.tolist() == np.argmax(q, 1).tolist()
    biased = pairs.prediction != pairs.similar_prediction
    assert (np.char.endswith(pairs.outcome, "_biased") == biased).all()
    assert (np.char.startswith(pairs.outcome, "unrobust") == (pairs.prediction != pairs.label)).all()
    assert sum(pairs.confusion.counts) == len(pairs) == 9


def test_local_rows_change_one_feature_of_the_same_base() -> None:
    pairs = attack(n_global=0, n_local=10).generate_pairs(V, ONE)
    moved = [
        (d, s, (row - V[0]).round(6).tolist())
        for d, s, row in zip(pairs.direction, pairs.step, pairs.perturbed_original, strict=True)
    ]
    # |g| is 0.136 for x2 and 0.272 for x0: the flatter one first; x1 alone moves both losses one way.
    assert sorted(moved) == sorted(
        [
            (FB, 1, [0, 0, -0.1, 0]),
            (FB, 2, [-0.1, 0, 0, 0]),
            (TB, 1, [0, 0, 0.1, 0]),
            (TB, 2, [0.1, 0, 0, 0]),
            (FF, 1, [0, 0.1, 0, 0]),
        ]
    )
    assert set(pairs.phase.tolist()) == {"local"}


def test_the_local_budget_counts_moving_features_only() -> None:
    pairs = attack(n_global=0, n_local=1).generate_pairs(V, ONE)
    assert sorted(pairs.direction.tolist()) == sorted([FB, TB, FF])


def test_local_search_continues_the_chain_of_its_base() -> None:
    pairs = attack(n_global=1, n_local=1).generate_pairs(V, ONE)
    local = pairs.take(pairs.phase == "local")
    base = {FB: [0.1, 0.4, 0.5, 0], TB: [0.3, 0.4, 0.7, 0], FF: [0.2, 0.5, 0.6, 0]}
    for direction, row in zip(local.direction, local.perturbed_original, strict=True):
        assert (np.abs(row - base[direction]) > 1e-9).sum() == 1


def test_branching_sends_every_child_along_all_directions() -> None:
    pairs = attack(n_global=2, branching=True).generate_pairs(V, ONE)
    first, second = pairs.take(pairs.step == 1), pairs.take(pairs.step == 2)
    assert len(first) == 3
    chains = attack(n_global=2).generate_pairs(V, ONE)
    assert len(second) > len(chains.take(chains.step == 2))
    ends = {tuple(row.round(6)) for row in second.perturbed_original}
    assert (0.3, 0.5, 0.7, 0.0) in ends  # TB then FF, which no single chain reaches


def test_skipping_rows_that_are_accurate_and_fair() -> None:
    x, y = mixed_rows(40), np.zeros(40, dtype=int)
    y = TorchGradients(mixed_classifier()).probabilities(x).argmax(1)
    whole = RobustFairAttack(mixed_classifier(), mixed_schema(), n_global=0, n_local=2)
    some = RobustFairAttack(mixed_classifier(), mixed_schema(), n_global=0, n_local=2, skip_true_fair=True)
    clean = {i for i in range(40) if whole._check_input(x, y, None).similar.assess(x[i : i + 1]).is_fair[0]}
    assert 0 < len(clean) < 40
    assert set(some.generate_pairs(x, y).source.tolist()) == set(range(40)) - clean
    assert set(whole.generate_pairs(x, y).source.tolist()) & clean


def test_a_chain_stops_at_the_bounds() -> None:
    schema = unit_schema(low=0, high=0.61)
    rows = RobustFairAttack(m2_classifier(), schema, step_size=0.1, n_global=10, n_local=0).generate_pairs(
        V, ONE
    )
    ff = chain(rows, FF)
    assert ff.perturbed_original[:, 1] == pytest.approx([0.5, 0.6, 0.61])
    assert not schema.violations(rows.perturbed_original).any()


def test_clip_values_bound_a_search_without_domain() -> None:
    rows = attack(n_global=10, clip_values=(0.0, 0.61)).generate_pairs(V, ONE).perturbed_original
    assert rows.min() == 0 and rows.max() == 0.61


def test_codes_and_categories_move_within_their_domain() -> None:
    x = mixed_rows(60)
    y = TorchGradients(mixed_classifier()).probabilities(x).argmax(1)
    pairs = RobustFairAttack(mixed_classifier(), mixed_schema(), n_global=4, n_local=0).generate_pairs(x, y)
    moved = (pairs.perturbed_original != pairs.original).any(axis=0)
    assert moved[:8].all() and not moved[8:].any()
    assert not mixed_schema().violations(pairs.perturbed_original, pairs.original).any()


def test_repeated_rows_are_dropped_and_counted() -> None:
    pairs = attack(n_global=2, n_local=3).generate_pairs(V.repeat(3, axis=0), ONE.repeat(3))
    assert pairs.n_generated > len(pairs)
    both = np.column_stack([pairs.perturbed_original, pairs.label])
    assert len(np.unique(both, axis=0)) == len(pairs)


def test_the_cost_counts_every_row_of_the_model() -> None:
    pairs = attack(n_global=1).generate_pairs(V, ONE)
    # first look 1 + 2; gradients of v 1 and of both tuples 2; three moved rows; their pairs 3 x 2
    assert pairs.cost == {"victim_rows": 15, "gradient_rows": 3, "is_black_box": False}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_global": -1}, "n_global must be a whole number of 0 or more, got -1"),
        ({"n_local": 1.5}, "n_local must be a whole number of 0 or more, got 1.5"),
        ({"n_global": 0, "n_local": 0}, "both 0, expected one of them to be 1 or more"),
        ({"step_size": 0}, "step_size must be a positive number, got 0"),
        ({"gradients": "guess"}, "gradients 'guess' does not exist: expected one of auto"),
        ({"output": "score"}, "output 'score' does not exist: expected auto"),
        ({"batch_size": 0}, "batch_size must be a whole number of 1 or more, got 0"),
        ({"seed": -1}, "seed must be a whole number of 0 or more, got -1"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attack(**settings)
