from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.members import member_spans
from rif_plugins.core.pairs import Pair, Span, Swap
from rif_plugins.similar import PairSource


def words(text: str, spans: dict[int, Span]) -> dict[int, str]:
    return {position: text[span.start : span.end] for position, span in spans.items()}


def no_spans(_: str) -> Sequence[Span]:
    return ()


def test_positions_are_offsets_in_the_original_whatever_the_length_of_the_swap() -> None:
    text, similar = "he said yes", "the lady said yes"
    pair = Pair(text, similar, (Swap(0, 2, "he", "the lady", 0),), "gender")
    original, other = member_spans(text, [pair], no_spans)
    assert words(text, original) == {3: "said", 8: "yes"}
    assert words(similar, other) == {3: "said", 8: "yes"}
    assert other[3] == Span(9, 13)


def test_a_token_that_any_pair_swaps_is_closed_in_all_texts() -> None:
    text = "he met a man"
    first = Pair(text, "she met a man", (Swap(0, 2, "he", "she", 0),), "gender")
    second = Pair(text, "he met a woman", (Swap(9, 12, "man", "woman", 9),), "gender")
    for member, spans in zip(
        (text, first.similar, second.similar), member_spans(text, [first, second], no_spans), strict=True
    ):
        assert set(words(member, spans).values()) == {"met", "a"}


def test_sensitive_tokens_are_closed_although_no_pair_swaps_them() -> None:
    text, similar = "he met Ali today", "she met Ali today"
    pair = Pair(text, similar, (Swap(0, 2, "he", "she", 0),), "gender")

    def spans(of: str) -> Sequence[Span]:
        return [Span(of.index("Ali"), of.index("Ali") + 3)]

    original, other = member_spans(text, [pair], spans)
    assert list(words(text, original).values()) == ["met", "today"]
    assert list(words(similar, other).values()) == ["met", "today"]


def test_a_word_that_became_sensitive_in_the_similar_text_is_closed_there() -> None:
    text, similar = "a man sang", "a woman sang"
    pair = Pair(text, similar, (Swap(2, 5, "man", "woman", 2),), "gender")
    spans = member_spans(text, [pair], lambda of: [Span(8, 12)] if of == similar else [])
    assert list(words(text, spans[0]).values()) == ["a", "sang"]
    assert list(words(similar, spans[1]).values()) == ["a"]


SOURCE = PairSource(None, None, 4)
PARTS = ["He", "she", "his", "a", "waiter", "an", "old", "man", "Mary", "sang", "well.", "the", "Muslim", "é"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8))
def test_editable_tokens_of_real_pairs_are_the_same_words_and_touch_nothing_sensitive(
    parts: list[str],
) -> None:
    text = " ".join(parts)
    pairs = SOURCE.pairs_of(text)
    members = member_spans(text, pairs, SOURCE.sensitive_spans)
    assert len(members) == 1 + len(pairs)
    for number, (spans, member) in enumerate(
        zip(members, [text, *(pair.similar for pair in pairs)], strict=True)
    ):
        closed = list(SOURCE.sensitive_spans(member))
        closed += pairs[number - 1].protected("similar") if number else []
        closed += [span for pair in pairs for span in pair.protected("original")] if not number else []
        assert list(spans) == sorted(spans)
        assert set(spans) <= set(members[0])
        for position, span in spans.items():
            assert (
                member[span.start : span.end] == text[members[0][position].start : members[0][position].end]
            )
            assert not any(span.overlaps(other) for other in closed)
