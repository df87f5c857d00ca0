"""Random numbers of a row: the same wherever the row stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.tabular.row_random import RowRandom, first_of_each, row_keys, weighted_choice

ROWS = np.random.default_rng(0).normal(size=(500, 4))


@given(st.randoms(use_true_random=False), st.integers(0, 2**40), st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_a_row_draws_the_same_in_any_order_and_batch(shuffler, seed: int, step: int) -> None:
    order = list(range(len(ROWS)))
    shuffler.shuffle(order)
    whole = RowRandom(seed, ROWS).uniform(step, 3)
    assert (RowRandom(seed, ROWS[order]).uniform(step, 3) == whole[order]).all()
    assert RowRandom(seed, ROWS[7:8]).uniform(step, 3)[0] == whole[7]
    assert (RowRandom(seed, ROWS).take(np.array([9, 2])).uniform(step, 3) == whole[[9, 2]]).all()


def test_seed_step_draw_and_values_all_matter() -> None:
    base = RowRandom(1, ROWS).uniform(1, 0)
    for other in (
        RowRandom(2, ROWS).uniform(1, 0),
        RowRandom(1, ROWS).uniform(2, 0),
        RowRandom(1, ROWS).uniform(1, 1),
        RowRandom(1, ROWS + 1e-12).uniform(1, 0),
    ):
        assert (base != other).all()
        assert abs(np.corrcoef(base, other)[0, 1]) < 0.15


def test_numbers_are_uniform() -> None:
    draws = np.concatenate([RowRandom(0, ROWS).uniform(step) for step in range(200)])
    counts = np.histogram(draws, bins=20, range=(0, 1))[0]
    expected = len(draws) / 20
    assert ((counts - expected) ** 2 / expected).sum() < 45  # chi-square, 19 degrees, p < 0.001
    assert draws.min() >= 0 and draws.max() < 1


def test_a_block_of_steps_is_the_same_as_step_by_step() -> None:
    one = RowRandom(5, ROWS[:1])
    assert one.uniform(np.arange(1, 50), 1).tolist() == [one.uniform(s, 1)[0] for s in range(1, 50)]


def test_integers_and_signs() -> None:
    random = RowRandom(0, ROWS)
    assert set(random.integers(0, 3).tolist()) == {0, 1, 2}
    assert set(random.signs(0).tolist()) == {-1.0, 1.0}
    assert (random.integers(1, np.arange(1, 501)) < np.arange(1, 501)).all()


def test_keys_tell_rows_apart_and_join_equal_ones() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0], [0.0, 1.0]])
    keys = row_keys(rows)
    assert keys[0] == keys[2] == keys[3] != keys[1]
    assert first_of_each(keys).tolist() == [0, 1]
    assert len(np.unique(row_keys(np.arange(200_000.0).reshape(-1, 2)))) == 100_000


def test_a_weighted_choice_follows_its_weights() -> None:
    weights = np.tile([0.0, 1.0, 3.0, 0.0], (4000, 1))
    place = weighted_choice(weights, np.linspace(0, 1, 4000, endpoint=False))
    assert set(place.tolist()) == {1, 2}
    assert (place == 2).mean() == pytest.approx(0.75, abs=0.001)


def test_a_weighted_choice_at_the_ends() -> None:
    weights = np.array([[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.7, 0.0]])
    assert weighted_choice(weights, np.zeros(3)).tolist() == [1, 0, 0]
    assert weighted_choice(weights, np.full(3, np.nextafter(1, 0))).tolist() == [2, 0, 2]
