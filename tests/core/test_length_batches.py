"""Batches of like length."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.length_batches import length_batches


def as_lists(lengths: list[int], most: int) -> list[list[int]]:
    return [batch.tolist() for batch in length_batches(lengths, most)]


def test_cut_by_hand() -> None:
    # 100 takes 85 and more; 84 opens a batch that takes 72 and more; 10 takes what lacks 4 tokens.
    assert as_lists([10, 100, 85, 84, 6, 72, 5], 64) == [[1, 2], [3, 5], [0, 4], [6]]


def test_most_and_ties_keep_their_order() -> None:
    assert as_lists([7, 7, 7, 7, 7], 2) == [[0, 1], [2, 3], [4]]
    assert as_lists([], 3) == []


def test_most_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="most is 0, expected 1 or more"):
        length_batches([1], 0)


@given(st.lists(st.integers(0, 512), max_size=80), st.integers(1, 40))
def test_every_text_once_and_little_padding(lengths: list[int], most: int) -> None:
    batches = as_lists(lengths, most)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        sizes = [lengths[i] for i in batch]
        assert 1 <= len(batch) <= most
        assert max(sizes) == sizes[0]
        assert min(sizes) >= min(0.85 * sizes[0], sizes[0] - 4)


@given(st.lists(st.integers(1, 512), min_size=1, max_size=300))
def test_few_calls_however_many_texts(lengths: list[int]) -> None:
    widest = math.log(512) / math.log(1 / 0.85)
    assert len(length_batches(lengths, len(lengths))) <= widest + 1
