from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.pairs import Span
from rif_plugins.core.tokens import remove_span, replace_spans, word_spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She said: 'hello-world'!", ["She", "said", "hello-world"]),
        ("do n't -- stop", ["do", "n't", "stop"]),
        ("it's John's.", ["it's", "John's"]),
        ("", []),
        ("... !!", []),
        ("a_b@c *x*", ["a_b@c", "x"]),
        ("naïve café 42%", ["naïve", "café", "42"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(max_size=60))
def test_spans_are_ordered_disjoint_and_not_empty(text: str) -> None:
    spans = word_spans(text)
    assert all(span.start < span.end <= len(text) for span in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


@given(st.text("ab ,'", max_size=30), st.text("xy", min_size=1, max_size=4))
def test_replacing_changes_the_span_and_nothing_else(text: str, new: str) -> None:
    for span in word_spans(text):
        changed = replace_spans(text, {span: new})
        assert changed == text[: span.start] + new + text[span.end :]
    everything = {span: text[span.start : span.end] for span in word_spans(text)}
    assert replace_spans(text, everything) == text


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("a good meal", Span(2, 6), "a meal"),
        ("good meal", Span(0, 4), "meal"),
        ("a meal.", Span(2, 6), "a."),
        ("meal", Span(0, 4), ""),
    ],
)
def test_removing_takes_one_space_along(text: str, span: Span, expected: str) -> None:
    assert remove_span(text, span) == expected
