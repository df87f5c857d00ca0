from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.metrics import compact_columns
from rif_plugins.metrics.compact_columns import CompactColumns, smallest

NUMBERS = st.one_of(
    st.integers(-130, 130).map(float), st.just(math.nan), st.floats(allow_nan=True), st.just(-0.0)
)


@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=40), block=st.integers(1, 9))
def test_what_goes_in_comes_out_bit_by_bit(rows: list[tuple[float, float, float]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compact_columns, "_BLOCK", block)
        columns = CompactColumns(3)
        for row in rows:
            columns.append(row)
        assert len(columns) == len(rows)
        for index in range(3):
            expected = np.array([row[index] for row in rows], dtype=np.float64)
            assert columns.column(index).tobytes() == expected.tobytes()


@given(st.lists(NUMBERS, max_size=30))
def test_the_smallest_type_holds_every_number(values: list[float]) -> None:
    numbers = np.array(values, dtype=np.float64)
    assert np.array_equal(smallest(numbers).astype(np.float64), numbers, equal_nan=True)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.0, 127.0], np.int8),
        ([-1.0, 128.0], np.int16),
        ([40000.0], np.int32),
        ([2.0**31], np.float32),
        ([0.5, math.nan], np.float32),
        ([0.1], np.float64),
        ([1e300], np.float64),
        ([math.inf, 1.0], np.float32),
    ],
)
def test_types_by_hand(values: list[float], kind: type) -> None:
    assert smallest(np.array(values)).dtype == kind


def test_a_row_of_another_width_or_kind_is_refused_and_leaves_no_trace() -> None:
    columns = CompactColumns(2)
    columns.append((1.0, 2.0))
    with pytest.raises(TypeError, match="expected 2 numbers, got 3"):
        columns.append((1.0, 2.0, 3.0))
    with pytest.raises(TypeError):
        columns.append((1.0, "x"))  # type: ignore[arg-type]
    assert columns.column(1).tolist() == [2.0]
    assert len(columns) == 1
