from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.similar import Lexicon, pair_from_texts, similar_texts


@pytest.mark.parametrize(
    ("original", "similar", "changes"),
    [
        ("He is here.", "She is here.", [("He", "She")]),
        (
            "An African American man ran.",
            "A white woman ran.",
            [("An African American man", "A white woman")],
        ),
        ("he saw him", "she saw her", [("he", "she"), ("him", "her")]),
        ("He is tall.", "He is very tall.", [("", " very")]),
        ("He is very tall.", "He is tall.", [(" very", "")]),
        ("a  b", "a b", [("  b", " b")]),
        ("", "new", [("", "new")]),
        ("same", "same", []),
        ("", "", []),
        ("he\u2019s \U0001f469.", "she\u2019s \U0001f468!", [("he", "she"), ("\U0001f469.", "\U0001f468!")]),
    ],
)
def test_differences_become_swaps(original: str, similar: str, changes: list[tuple[str, str]]) -> None:
    pair = pair_from_texts(original, similar)
    assert pair.attribute == "given"
    assert [(swap.source.lstrip(), swap.target.lstrip()) for swap in pair.swaps] == [
        (a.lstrip(), b.lstrip()) for a, b in changes
    ]


def test_offsets_are_those_of_the_texts() -> None:
    assert pair_from_texts("I saw him go", "I saw her go", "gender") == Pair(
        "I saw him go", "I saw her go", (Swap(6, 9, "him", "her", 6),), "gender"
    )


def test_a_swapped_text_is_aligned_like_the_swap() -> None:
    (made,) = similar_texts("An actor and his old dog left.", Lexicon.load("gender"))
    assert pair_from_texts(made.original, made.similar, "gender").swaps == made.swaps


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_are_aligned_exactly(original: str, similar: str) -> None:
    pair = pair_from_texts(original, similar)
    rebuilt, position = [], 0
    for swap in pair.swaps:
        assert original[swap.start : swap.end] == swap.source
        assert similar[swap.similar_start : swap.similar_end] == swap.target
        assert swap.source != swap.target
        rebuilt += [original[position : swap.start], swap.target]
        position = swap.end
    assert "".join([*rebuilt, original[position:]]) == similar
    assert (pair.swaps == ()) == (original == similar)


def test_long_texts_are_aligned() -> None:
    words = [f"w{i % 500}" for i in range(6_000)]
    other = [*words]
    other[10], other[5_990] = "he", "she"
    pair = pair_from_texts(" ".join(words), " ".join(other))
    assert [swap.target for swap in pair.swaps] == ["he", "she"]
