"""One step of every kind of column."""

from __future__ import annotations

import numpy as np
import pytest
from fakes.row_world import mixed_rows, mixed_schema, unit_schema
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.tables import ColumnSpec, Relation
from rif_plugins.tabular.moves import Moves, own_step

SCHEMA = mixed_schema()
ROW = np.array([[30.0, 0.5, 2.0, 0.25, 1, 0, 0, 0.5, 1, 2, 0]])
ALL = np.ones((1, 11), dtype=bool)
FREE = np.broadcast_to(SCHEMA.editable_features, (1, 11))


def step(feature: int, sign: float, row: np.ndarray = ROW, **settings: float) -> list[float]:
    direction = np.zeros((1, 11))
    direction[0, feature] = sign
    return Moves(SCHEMA, **settings).apply(row, direction, FREE)[0].tolist()  # type: ignore[arg-type]


def changed(feature: int, value: float) -> list[float]:
    row = ROW[0].copy()
    row[feature] = value
    return row.tolist()


def test_each_column_moves_by_its_own_step() -> None:
    assert step(0, 1) == changed(0, 31)
    assert step(1, -1) == pytest.approx(changed(1, 0.49))
    assert step(2, 1) == changed(2, 5)  # the next code, however far
    assert step(2, -1) == changed(2, 1)
    assert step(3, 1) == changed(3, 0.5)
    assert step(7, 1) == changed(7, 0.625)


def test_a_category_is_switched_on_or_off() -> None:
    assert step(6, 1)[4:7] == [0, 0, 1]
    assert step(4, -1)[4:7] == [0, 1, 0]
    assert step(4, 1) == step(5, -1) == ROW[0].tolist()


def test_ends_and_frozen_columns_hold() -> None:
    top = ROW.copy()
    top[0, [0, 1, 2, 3, 7]] = [90, 1, 5, 1, 1]
    for feature in (0, 1, 2, 3, 7):
        assert step(feature, 1, top) == top[0].tolist()
    for feature in (8, 9, 10):
        assert step(feature, 1) == step(feature, -1) == ROW[0].tolist()


def test_one_step_size_for_numbers() -> None:
    assert step(1, 1, step_size=0.2) == pytest.approx(changed(1, 0.7))
    assert step(0, 1, step_size=0.2) == changed(0, 31)
    assert step(0, 1, step_size=3.0) == changed(0, 33)
    assert step(2, 1, step_size=0.2) == changed(2, 5)


def test_without_a_domain_a_move_is_a_sum() -> None:
    moves = Moves(SCHEMA, step_size=0.01, domain=False)
    assert moves.apply(ROW, np.ones((1, 11)), ALL) == pytest.approx(ROW + 0.01)
    clipped = Moves(SCHEMA, step_size=0.01, domain=False, clip_values=(0.0, 1.0))
    assert clipped.apply(ROW, np.ones((1, 11)), ALL).max() == 1


def test_a_row_stays_where_a_repair_would_carry_a_held_feature_along() -> None:
    def repair(x: np.ndarray) -> np.ndarray:
        x[:, 1] = 0.0
        return x

    schema = mixed_schema(relations=(Relation("gain", lambda x: (x[:, 0] > 29) | (x[:, 1] == 0), repair),))
    row = ROW.copy()
    row[0, :2] = 30, 0.5
    down = -np.eye(11)[[0]]
    assert Moves(schema).apply(row, down, FREE)[0, :2].tolist() == [29, 0]
    held = FREE.copy()
    held[0, 1] = False
    assert Moves(schema).apply(row, down, held).tolist() == row.tolist()


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_any_direction_leads_to_valid_rows(seed: int) -> None:
    g = np.random.default_rng(seed)
    rows = mixed_rows(20, seed)
    free = np.broadcast_to(SCHEMA.editable_features, rows.shape) & (g.random(rows.shape) < 0.8)
    moved = Moves(SCHEMA).apply(rows, g.integers(-1, 2, rows.shape).astype(float), free)
    assert not SCHEMA.violations(moved, rows).any()
    assert (moved[~free & (np.arange(11) < 4)] == rows[~free & (np.arange(11) < 4)]).all()


def test_own_steps() -> None:
    assert own_step(ColumnSpec("a", "numeric", low=0, high=5)) == 0.05
    assert own_step(ColumnSpec("a", "numeric", low=0, high=5, step=0.7)) == 0.7
    assert own_step(ColumnSpec("a", "numeric", low=2, high=2)) == 0.01
    assert own_step(ColumnSpec("a", "integer", step=0.1)) == 1
    assert own_step(ColumnSpec("a", "integer", low=0, high=1, grid=0.25)) == 0.25
    assert own_step(unit_schema().columns[3]) == 1
