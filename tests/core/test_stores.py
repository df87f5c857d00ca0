from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rif_plugins.core.row_memory import RowMemory
from rif_plugins.core.stores import KEY_BYTES, namespace, packed_rows, pair_keys, text_keys, unpacked_rows

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_every_part_of_a_key_counts() -> None:
    spaces = [b"", namespace("a"), namespace("b"), namespace("a", ""), namespace("", "a")]
    texts = ["", "x", "xy", "\ud800"]
    pairs = [("x", "y"), ("y", "x"), ("xy", ""), ("", "xy")]
    found = [key for space in spaces for key in (*text_keys(texts, space), *pair_keys(pairs, space))]
    assert len(set(found)) == len(found) == 5 * 8
    assert {len(key) for key in found} == {KEY_BYTES}
    assert text_keys(texts, spaces[1]) == text_keys(texts, namespace("a"))
    assert namespace("ab", "c") != namespace("a", "bc")


def test_the_key_of_a_text_is_the_same_everywhere() -> None:
    assert text_keys(["a text"], namespace("victim", "x"))[0].hex() == "9be7132d4161e2a3bf88ac614c656411"


@given(
    arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 4)), elements=FINITE),
    st.sampled_from(["", "p"]),
)
def test_rows_come_back_exactly(rows: np.ndarray, kind: str) -> None:
    places, again = unpacked_rows(packed_rows(rows, kind), kind)
    assert places == list(range(len(rows)))
    assert again.tobytes() == rows.tobytes()


def test_what_is_no_row_is_left_out() -> None:
    good, nan, infinite = packed_rows(np.array([[0.25, 0.75], [np.nan, 1.0], [np.inf, 0.0]]), "p")
    other = packed_rows(np.array([[0.5, 0.5]]), "l")[0]
    wide = packed_rows(np.array([[0.5, 0.25, 0.25]]), "p")[0]
    values = [None, b"", good[:-1], good + b"x", nan, good, infinite, other, wide, b"p"]
    for width in (2, None):
        places, rows = unpacked_rows(values, "p", width)
        assert (places, rows.tolist()) == ([5], [[0.25, 0.75]])
    assert unpacked_rows(values, "p", 4)[0] == []
    assert unpacked_rows([None], "p")[0] == []
    assert unpacked_rows([], "p", 2)[1].shape == (0, 2)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), max_size=8), max_size=8),
    st.integers(0, 6),
)
def test_the_memory_is_a_dictionary_that_forgets_the_oldest(
    additions: list[list[tuple[int, int]]], size: int
) -> None:
    memory, expected = RowMemory(size), {}
    for addition in additions:
        # One call adds distinct keys, as its callers do.
        wanted = dict(addition)
        memory.add(
            [bytes([key]) for key in wanted],
            np.array([[v, -v] for v in wanted.values()], dtype=float).reshape(-1, 2),
        )
        for key, value in list(wanted.items())[-size:] if size else ():
            expected[key] = value
            while len(expected) > size:
                del expected[next(iter(expected))]
        slots = memory.slots([bytes([key]) for key in range(10)])
        known = [key for key in range(10) if slots[key] >= 0]
        assert len(memory) == len(known) == len(expected)
        assert set(known) == set(expected)
        if known:
            assert memory.rows([slots[key] for key in known]).tolist() == [
                [expected[k], -expected[k]] for k in known
            ]
    memory.clear()
    assert memory.slots([b"\0"]) == [-1]


def test_the_memory_grows() -> None:
    memory = RowMemory(3000)
    names = [i.to_bytes(2, "little") for i in range(5000)]
    for start in range(0, 5000, 700):
        part = names[start : start + 700]
        memory.add(part, np.arange(start, start + len(part), dtype=float)[:, None])
    slots = memory.slots(names)
    assert slots[:2000] == [-1] * 2000
    assert memory.rows(slots[2000:])[:, 0].tolist() == pytest.approx(list(range(2000, 5000)))
