from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables import ColumnSpec, Relation, TableSchema

AGE = ColumnSpec("age", "integer", 18, 90, step=1, sensitive=True, values=(20, 40, 60))
SEX = ColumnSpec("sex", "one_hot", width=2, labels=("female", "male"), sensitive=True)
HOURS = ColumnSpec("hours", "integer", 1, 99, step=1)
SCALED = ColumnSpec("gain", "integer", 0, 1, step=0.1, grid=0.025)
RATE = ColumnSpec("rate", "numeric", -0.5, 2.5, step=0.03)
JOB = ColumnSpec("job", "categorical", values=(0, 1, 2, 7))
GRADE = ColumnSpec("grade", "ordinal", values=(1, 2, 3), labels=("low", "mid", "high"))
HOME = ColumnSpec("home", "one_hot", width=3)
BORN = ColumnSpec("born", "categorical", values=(0, 1), immutable=True)
COLUMNS = (HOURS, AGE, RATE, JOB, SEX, GRADE, HOME, BORN, SCALED)


def mended(x: np.ndarray) -> np.ndarray:
    x[:, 0] = np.minimum(x[:, 0], 40)
    return x


# Whoever has job 7 works at most 40 hours; whoever was born abroad (1) has no grade 3.
SHORT = Relation("job 7 is short", lambda x: (x[:, 3] != 7) | (x[:, 0] <= 40), mended)
BOUND = Relation("abroad, no 3", lambda x: (x[:, 10] != 1) | (x[:, 6] != 3))
SCHEMA = TableSchema(COLUMNS, (SHORT, BOUND))


def valid_rows(n: int, rng: np.random.Generator) -> np.ndarray:
    parts = []
    for column in COLUMNS:
        domain = column.domain() if column.is_discrete else rng.uniform(-0.5, 2.5, (n, 1))
        parts.append(domain[rng.integers(len(domain), size=n)])
    rows = np.concatenate(parts, axis=1)
    rows[~SHORT.check(rows), 0] = 40
    rows[~BOUND.check(rows), 6] = 2
    return rows


def test_layout() -> None:
    assert SCHEMA.n_features == 12
    assert SCHEMA.slice_of("home") == slice(7, 10)
    assert np.flatnonzero(SCHEMA.sensitive_features).tolist() == [1, 4, 5]
    assert np.flatnonzero(SCHEMA.frozen_features).tolist() == [1, 4, 5, 10]
    assert (SCHEMA.editable_features == ~SCHEMA.frozen_features).all()
    with pytest.raises(UsageError, match=r"no column 'wage': it has hours, age"):
        SCHEMA.slice_of("wage")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_hundred_thousand_random_rows_are_projected_without_a_violation(dtype: type) -> None:
    rng = np.random.default_rng(5)
    original = valid_rows(100_000, rng).astype(dtype)
    noise = rng.normal(0, 1, original.shape) * rng.choice([0, 0.1, 3, 500], original.shape)
    noisy = (original + noise).astype(dtype)
    out = SCHEMA.project(noisy, original)
    assert out.dtype == dtype
    assert SCHEMA.violations(noisy, original).mean() > 0.9  # the noise was no mere formality
    assert not SCHEMA.violations(out, original).any()
    frozen = SCHEMA.frozen_features
    assert np.array_equal(out[:, frozen], original[:, frozen])
    assert not np.array_equal(out[:, ~frozen], original[:, ~frozen])
    assert np.array_equal(SCHEMA.project(out, original), out)
    assert np.array_equal(SCHEMA.project(original, original), original)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0, 1e6))
def test_projection_properties(seed: int, n: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    original = valid_rows(n, rng)
    out = SCHEMA.project(original + size * rng.standard_normal(original.shape), original)
    assert not SCHEMA.violations(out, original).any()
    assert np.array_equal(SCHEMA.project(out, original), out)


def test_projection_by_hand() -> None:
    schema = TableSchema((HOURS, RATE, JOB, HOME, SCALED))
    x = np.array([[200.2, 9.0, 4.4, 0.2, 0.9, 0.1, 0.26], [-3.0, 0.7, 4.6, 0.0, 0.0, 0.0, 0.9999]])
    out = schema.project(x, x)
    expected = [[99, 2.5, 2, 0, 1, 0, 0.25], [1, 0.7, 7, 1, 0, 0, 1.0]]
    assert out == pytest.approx(np.array(expected))
    # A tie goes to the lower code: 4.5 lies between 2 and 7.
    tie = schema.project(np.array([[1, 0, 4.5, 1, 0, 0, 0]]), x[:1])
    assert tie[0, 2] == 2


def test_a_repair_that_moves_a_frozen_column_is_undone_and_the_row_goes_back() -> None:
    frozen = replace(HOURS, immutable=True)
    wrong = Relation("age", lambda x: x[:, 1] <= 1, lambda x: x * 0)
    schema = TableSchema((frozen, RATE), (wrong,))
    original = np.array([[50.0, 0.5], [60.0, 0.25]])
    out = schema.project(np.array([[70.0, 2.0], [50.0, 0.75]]), original)
    assert out.tolist() == [[50.0, 0.0], [60.0, 0.75]]
    stubborn = Relation("never above one", lambda x: x[:, 1] <= 1)
    out = TableSchema((frozen, RATE), (stubborn,)).project(np.array([[1.0, 2.0]]), original[:1])
    assert out.tolist() == original[:1].tolist()


def test_a_row_that_was_outside_before_stays_as_it_was_and_is_counted() -> None:
    stubborn = Relation("never above one", lambda x: x[:, 0] <= 1)
    schema = TableSchema((RATE,), (stubborn,))
    original = np.array([[2.0]])
    out = schema.project(np.array([[2.2]]), original)
    assert out.tolist() == [[2.0]]
    assert schema.violations(out).tolist() == [True]


def test_counterparts_differ_only_in_sensitive_features() -> None:
    rng = np.random.default_rng(1)
    x = valid_rows(200, rng)
    rows, mask = SCHEMA.counterparts(x)
    assert rows.shape == (200, 6, 12)
    assert mask.shape == (200, 6)
    assert (mask.sum(axis=1) == 5).all()
    rest = ~SCHEMA.sensitive_features
    assert np.array_equal(rows[:, :, rest], np.repeat(x[:, None, rest], 6, axis=1))
    own = np.broadcast_to(x[:, None], rows.shape)
    assert np.array_equal(~mask, (rows == own).all(axis=2))


def test_sensitive_tuples_by_hand() -> None:
    tuples = TableSchema((AGE, SEX)).sensitive_tuples()
    expected = [[20, 1, 0], [20, 0, 1], [40, 1, 0], [40, 0, 1], [60, 1, 0], [60, 0, 1]]
    assert tuples.tolist() == expected


def test_counterparts_of_float32_rows_find_the_own_row() -> None:
    column = ColumnSpec("a", "categorical", values=(0.1, 0.3), sensitive=True)
    rows, mask = TableSchema((column, RATE)).counterparts(np.array([[0.3, 0.5]], dtype=np.float32))
    assert rows.dtype == np.float32
    assert mask.tolist() == [[True, False]]


def test_a_row_with_a_sensitive_value_outside_of_the_domain_has_all_counterparts() -> None:
    x = np.array([[33.0, 1, 0]])
    assert TableSchema((AGE, SEX)).counterparts(x)[1].all()


def test_integer_domains() -> None:
    assert ColumnSpec("a", "integer", 2, 5).domain()[:, 0].tolist() == [2, 3, 4, 5]
    assert ColumnSpec("a", "integer", 0, 1, grid=0.25).domain()[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_nan_is_named_when_projected_and_counted_when_looked_at() -> None:
    schema = TableSchema((HOURS, RATE))
    bad = np.array([[1.0, 0.0], [2.0, np.nan], [np.inf, 0.0]])
    with pytest.raises(UsageError, match=r"row 1 holds nan in column 'rate', expected finite numbers"):
        schema.project(bad, np.ones((3, 2)))
    assert schema.violations(bad).tolist() == [False, True, True]
    with pytest.raises(DataError, match=r"2 of 3 rows .* row 1, whose column 'rate' holds NaN"):
        schema.check(bad)


def test_rows_outside_of_the_schema_are_named() -> None:
    schema = TableSchema((HOURS, JOB), (Relation("short", lambda x: x[:, 0] < 50),))
    with pytest.raises(DataError, match=r"column 'hours' holds 120 \(expected 1 to 99\)"):
        schema.check([[5, 0], [120, 1]])
    with pytest.raises(DataError, match=r"column 'job' holds 3 \(expected 0, 1, 2, 7\)"):
        schema.check([[5, 3]])
    with pytest.raises(DataError, match=r"breaks the relation 'short'"):
        schema.check([[60, 1]])
    assert schema.check([[5, 7]]).tolist() == [[5, 7]]


def test_moved_frozen_columns_are_violations() -> None:
    schema = TableSchema((BORN, RATE))
    assert schema.violations([[1, 0.0]], [[0, 0.0]]).tolist() == [True]
    assert schema.violations([[1, 0.0]], [[1, 2.0]]).tolist() == [False]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 4)), r"shape \(3, 4\), expected \(n, 2\)"),
        (np.zeros(2), r"shape \(2,\), expected \(n, 2\)"),
        ([["a", 1]], "something that is no number: encode the table first"),
    ],
)
def test_rows_of_another_shape(x: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TableSchema((HOURS, RATE)).violations(x)


def test_original_of_another_shape() -> None:
    with pytest.raises(UsageError, match=r"original has shape \(1, 1\), expected \(2, 1\)"):
        TableSchema((RATE,)).project(np.zeros((2, 1)), np.zeros((1, 1)))


def test_no_row_at_all() -> None:
    empty = np.zeros((0, 12))
    assert SCHEMA.project(empty, empty).shape == (0, 12)
    assert SCHEMA.violations(empty).shape == (0,)
    assert SCHEMA.counterparts(empty)[0].shape == (0, 6, 12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TableSchema(()), "no column"),
        (lambda: TableSchema((HOURS, HOURS)), "two columns called 'hours'"),
        (
            lambda: TableSchema((ColumnSpec("sex", "categorical", values=(1,), sensitive=True),)),
            "sensitive column 'sex' allows one value, so nobody has a counterpart",
        ),
        (lambda: TableSchema((RATE,)).sensitive_tuples(), "no sensitive column: mark one"),
        (
            lambda: TableSchema((replace(RATE, sensitive=True),)),
            "column 'rate': it has no finite list of values",
        ),
        (
            lambda: TableSchema(
                tuple(replace(HOURS, name=n, sensitive=True) for n in "abc")
            ).sensitive_tuples(),
            r"970299 combinations \(a 99, b 99, c 99\)",
        ),
        (lambda: ColumnSpec("", "numeric"), "a column needs a name"),
        (lambda: ColumnSpec("a", "text"), "kind 'text' does not exist: expected one of numeric"),  # type: ignore[arg-type]
        (lambda: ColumnSpec("a", "numeric", 2, 1), "low 2 lies above high 1"),
        (lambda: ColumnSpec("a", "numeric", float("nan")), "low is nan, expected a finite number"),
        (lambda: ColumnSpec("a", "numeric", step=0), "step is 0, expected a positive number"),
        (lambda: ColumnSpec("a", "categorical"), "kind categorical needs values"),
        (lambda: ColumnSpec("a", "categorical", values=(1, 1)), "a code twice"),
        (lambda: ColumnSpec("a", "ordinal", 0, 1, values=(2,)), "the value 2 lies outside low and high"),
        (lambda: ColumnSpec("a", "ordinal", values=(2,), labels=("x", "y")), "2 labels for 1 values"),
        (lambda: ColumnSpec("a", "ordinal", values=(2, 3), labels=("x", "x")), "a name twice"),
        (lambda: ColumnSpec("a", "numeric", width=2), "width 2 needs the kind one_hot"),
        (lambda: ColumnSpec("a", "one_hot", values=(1,)), "takes width and labels, not values"),
        (lambda: ColumnSpec("a", "numeric", grid=1.0), "grid needs the kind integer"),
        (lambda: ColumnSpec("a", "integer", 0.2, 0.8), "no whole number lies between 0.2 and 0.8"),
        (lambda: ColumnSpec("a", "integer", 0, 1e9).domain(), "allows 1000000001 values"),
    ],
)
def test_schemas_that_contradict_themselves(build: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build()


def test_relations_that_answer_nonsense() -> None:
    x = np.zeros((2, 1))
    wrong = Relation("w", lambda x: x[:, 0])  # type: ignore[arg-type,return-value]
    with pytest.raises(UsageError, match=r"relation 'w': its predicate returned float64 of shape \(2,\)"):
        TableSchema((RATE,), (wrong,)).violations(x)
    short = Relation("s", lambda x: x[:, 0] > 5, lambda x: x[:1])
    with pytest.raises(UsageError, match=r"its repair returned shape \(1, 1\), expected .* shape \(2, 1\)"):
        TableSchema((RATE,), (short,)).project(x, x)


def test_a_column_can_be_marked_later() -> None:
    schema = TableSchema((HOURS, JOB)).with_columns({"job": {"sensitive": True}})
    assert schema.column("job").sensitive
    assert not schema.column("hours").sensitive
    with pytest.raises(UsageError, match="no column 'x'"):
        schema.with_columns({"x": {}})
