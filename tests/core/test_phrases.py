from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.members import member_spans
from rif_plugins.core.pairs import Pair, Span, Swap
from rif_plugins.core.phrases import PhraseMap, align_phrases
from rif_plugins.core.sides import align_tokens
from rif_plugins.core.tokens import word_spans
from rif_plugins.similar import PairSource

TEXT = "he saw a very good film"
PAIR = Pair(TEXT, "the lady saw a very good film", (Swap(0, 2, "he", "the lady", 0),), "gender")


def stretch(text: str, part: str) -> tuple[int, int]:
    return text.index(part), text.index(part) + len(part)


def of(*parts: str):
    """A proposer's phrases: those of ``parts`` that a text holds."""
    return lambda text: [stretch(text, part) for part in parts if part in text]


def no_spans(_: str) -> Sequence[Span]:
    return ()


def shown(text: str, spans: dict[int, Span]) -> dict[int, str]:
    return {position: text[span.start : span.end] for position, span in spans.items()}


def test_phrases_are_numbered_behind_the_tokens_in_all_texts() -> None:
    members = member_spans(TEXT, [PAIR], no_spans, of("very good film", "saw a", "very good"))
    expected = {len(TEXT): "saw a", len(TEXT) + 1: "very good", len(TEXT) + 2: "very good film"}
    for text, spans in zip((TEXT, PAIR.similar), members, strict=True):
        assert {p: part for p, part in shown(text, spans).items() if p >= len(TEXT)} == expected
    assert list(members[0]) == [3, 7, 9, 14, 19, *expected]
    assert members[1][len(TEXT)] == Span(9, 14)


def test_tokens_are_the_same_with_phrases_and_without() -> None:
    plain = member_spans(TEXT, [PAIR], no_spans)
    for phrases in (None, lambda text: (), of("he saw", "lady saw")):
        assert member_spans(TEXT, [PAIR], no_spans, phrases) == plain


def test_a_text_has_only_the_phrases_that_its_own_words_were_given_for() -> None:
    def phrases(text: str) -> list[tuple[int, int]]:
        return of("very good")(text) if text == TEXT else of("good film", "very good")(text)

    original, similar = member_spans(TEXT, [PAIR], no_spans, phrases)
    assert len(TEXT) + 1 not in original and original[len(TEXT)] == Span(*stretch(TEXT, "very good"))
    assert shown(PAIR.similar, similar)[len(TEXT)] == "very good"
    assert shown(PAIR.similar, similar)[len(TEXT) + 1] == "good film"


@pytest.mark.parametrize(
    ("phrase", "why"),
    [
        ((0, 6), "holds a swapped word"),
        ((9, 13), "one word"),
        ((9, 20), "cuts a word at its end"),
        ((10, 23), "cuts a word at its start"),
        ((9, 99), "leaves the text"),
        ((-5, 6), "starts before the text"),
        ((18, 9), "ends before it starts"),
        ((9, 9), "is empty"),
    ],
)
def test_what_is_no_phrase_is_no_position(phrase: tuple[int, int], why: str) -> None:
    spans = member_spans(TEXT, [PAIR], no_spans, lambda text: [phrase] if text == TEXT else [])
    assert spans == member_spans(TEXT, [PAIR], no_spans), why


def test_a_phrase_with_a_word_that_is_sensitive_in_any_text_is_no_position_in_any() -> None:
    similar = PAIR.similar

    def closed(text: str) -> list[Span]:
        return [Span(*stretch(similar, "film"))] if text == similar else []

    members = member_spans(TEXT, [PAIR], closed, of("very good", "good film"))
    for text, spans in zip((TEXT, similar), members, strict=True):
        assert [part for part in shown(text, spans).values() if " " in part] == ["very good"]
    # The token itself stays open where it is not sensitive.
    assert "film" in shown(TEXT, members[0]).values()


def test_a_sensitive_mark_between_the_words_closes_a_phrase() -> None:
    text = "so good ♂ film"
    pair = Pair(text, text, (), "gender")
    spans = member_spans(text, [pair], lambda _: [Span(8, 9)], of("good ♂ film", "so good"))
    assert [part for part in shown(text, spans[0]).values() if " " in part] == ["so good"]


def test_marks_at_the_edges_and_inside_belong_to_a_phrase() -> None:
    text, similar = "he left, which is sad, early", "she left, which is sad, early"
    pair = Pair(text, similar, (Swap(0, 2, "he", "she", 0),), "gender")
    members = member_spans(text, [pair], no_spans, of(", which is sad,"))
    for member, spans in zip((text, similar), members, strict=True):
        assert shown(member, spans)[len(text)] == ", which is sad,"


def test_other_marks_around_the_same_words_are_another_phrase() -> None:
    # The words align, the mark between them does not.
    there = PhraseMap(
        "so good film", "so good, film", word_spans("so good film"), word_spans("so good, film")
    )
    assert there(Span(0, 7)) == Span(0, 7)
    assert there(Span(3, 12)) is None
    text, other = "so good; film", "so good, film"
    there = PhraseMap(text, other, word_spans(text), word_spans(other))
    assert there(Span(0, 7)) == Span(0, 7)
    assert there(Span(3, 13)) is None


def test_phrases_of_a_pair_stand_behind_its_tokens_on_both_sides() -> None:
    alignment = align_tokens(PAIR)
    both = align_phrases(PAIR, alignment, of("very good", "he saw", "lady saw", "saw a"))
    assert both.original[: len(alignment.original)] == alignment.original
    assert [TEXT[s.start : s.end] for s in both.original[5:]] == ["saw a", "very good"]
    assert [PAIR.similar[s.start : s.end] for s in both.similar[5:]] == ["saw a", "very good"]
    closed = align_phrases(
        PAIR, alignment, of("very good", "saw a"), lambda text: [Span(*stretch(text, "good"))]
    )
    assert [TEXT[s.start : s.end] for s in closed.original[5:]] == ["saw a"]
    from_similar = align_phrases(PAIR, alignment, lambda text: of("saw a")(text) if text != TEXT else [])
    assert from_similar.original[5:] == (Span(3, 8),)


SOURCE = PairSource(None, None, 4)
PARTS = ["He", "she", "his", "a", "waiter", "an", "old", "man", "Mary", "sang", "well.", "the", "so,", "é"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=2, max_size=7))
def test_phrases_of_real_pairs_hold_the_same_words_and_nothing_sensitive(parts: list[str]) -> None:
    text = " ".join(parts)
    pairs = SOURCE.pairs_of(text)

    def every_run(of_text: str) -> list[tuple[int, int]]:
        words = word_spans(of_text)
        return [(a.start, b.end) for i, a in enumerate(words) for b in words[i + 1 :]]

    texts = [text, *(pair.similar for pair in pairs)]
    members = member_spans(text, pairs, SOURCE.sensitive_spans, every_run)
    tokens = member_spans(text, pairs, SOURCE.sensitive_spans)
    for member, spans, plain in zip(texts, members, tokens, strict=True):
        sensitive = SOURCE.sensitive_spans(member)
        assert list(spans) == sorted(spans)
        assert {p: s for p, s in spans.items() if p < len(text)} == plain
        for position, span in spans.items():
            if position >= len(text):
                assert member[span.start : span.end] == shown(text, members[0])[position]
                assert len(word_spans(member[span.start : span.end])) > 1
                assert not any(span.overlaps(other) for other in sensitive)
                inside = [s for s in word_spans(member) if s.overlaps(span)]
                assert set(inside) <= set(plain.values())
    # Every text has them all, because every run of words is a phrase of every text.
    assert len({frozenset(p for p in spans if p >= len(text)) for spans in members}) == 1
