from __future__ import annotations

import itertools
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.overlaps import count_choices, largest_sums, overlapping
from rif_plugins.core.pairs import Span

span = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))
spans = st.lists(span, max_size=6)


def disjoint(chosen: tuple[int, ...], found: list[Span]) -> bool:
    return not any(found[a].overlaps(found[b]) for a, b in itertools.combinations(chosen, 2))


def choices(found: list[Span], most: int | None) -> list[tuple[int, ...]]:
    """All sets of spans that share no character, the empty one included."""
    limit = len(found) if most is None else min(most, len(found))
    sets = (s for n in range(limit + 1) for s in itertools.combinations(range(len(found)), n))
    return [chosen for chosen in sets if disjoint(chosen, found)]


def test_tokens_do_not_overlap_and_a_phrase_overlaps_its_tokens() -> None:
    tokens = {0: Span(0, 4), 5: Span(5, 9), 10: Span(10, 12)}
    assert overlapping(tokens) == {}
    found = overlapping({**tokens, 12: Span(0, 9), 13: Span(5, 12)})
    assert found == {
        0: frozenset({12}),
        5: frozenset({12, 13}),
        10: frozenset({13}),
        12: frozenset({0, 5, 13}),
        13: frozenset({5, 10, 12}),
    }


def test_spans_that_touch_do_not_overlap() -> None:
    assert overlapping({0: Span(0, 4), 1: Span(4, 8)}) == {}


@given(spans)
def test_overlaps_are_those_of_all_couples(found: list[Span]) -> None:
    expected = {
        i: frozenset(j for j in range(len(found)) if j != i and found[i].overlaps(found[j]))
        for i in range(len(found))
    }
    assert overlapping(dict(enumerate(found))) == {i: others for i, others in expected.items() if others}


def test_the_largest_sum_by_hand() -> None:
    # The phrase 5 against its tokens 3 + 1, and a free token 2; the second column prefers the tokens.
    found = [Span(0, 4), Span(5, 9), Span(10, 12), Span(0, 9)]
    gains = np.array([[3.0, 3.0], [1.0, 4.0], [2.0, 0.0], [5.0, 5.0]])
    assert largest_sums(found, gains, None).tolist() == [7.0, 7.0]
    assert largest_sums(found, gains, 1).tolist() == [5.0, 5.0]
    assert largest_sums(found, gains, 2).tolist() == [7.0, 7.0]
    assert largest_sums(found, gains, 0).tolist() == [0.0, 0.0]


@settings(max_examples=150, deadline=None)
@given(spans, st.one_of(st.none(), st.integers(0, 4)), st.data())
def test_the_largest_sum_is_that_of_all_choices(
    found: list[Span], most: int | None, data: st.DataObject
) -> None:
    numbers = st.lists(st.integers(0, 9), min_size=2, max_size=2)
    gains = np.array([data.draw(numbers) for _ in found], dtype=float).reshape(len(found), 2)
    expected = [max(gains[list(c), k].sum() for c in choices(found, most)) for k in range(2)]
    assert largest_sums(found, gains, most).tolist() == expected


@settings(max_examples=150, deadline=None)
@given(spans, st.integers(1, 4), st.data())
def test_choices_are_counted_as_by_brute_force(found: list[Span], most: int, data: st.DataObject) -> None:
    sizes = [data.draw(st.integers(0, 3)) for _ in found]
    expected = sum(prod(sizes[i] for i in chosen) for chosen in choices(found, most) if chosen)
    assert count_choices(found, sizes, most) == expected
