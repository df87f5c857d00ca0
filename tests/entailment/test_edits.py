from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.sentences import sentence_spans
from rif_plugins.entailment.edits import hunks, units

LONG = " ".join(f"Sentence number {i} says something about the weather of day {i}." for i in range(12))


def replaced(original: str, edited: str) -> list[tuple[str, str]]:
    return [
        (original[h.start : h.end], edited[h.edited_start : h.edited_end]) for h in hunks(original, edited)
    ]


@pytest.mark.parametrize(
    ("original", "edited", "expected"),
    [
        ("a good film .", "a bad film .", [("good", "bad")]),
        ("A good film.", "A good movie.", [("film", "movie")]),
        ("It was an apple.", "It was a pear.", [("an", "a"), ("apple", "pear")]),
        ("no end", "no", [("end", "")]),
        ("red", "green", [("red", "green")]),
        ("", "new", [("", "new")]),
        ("big dogs like big cats", "large dogs like large cats", [("big", "large"), ("big", "large")]),
        ("walking slowly", "talking slowly", [("walking", "talking")]),
        ("he isn't here", "he wasn't here", [("isn't", "wasn't")]),
        ("same", "same", []),
    ],
)
def test_hunks_are_whole_words(original, edited, expected):
    assert replaced(original, edited) == expected


WORDS = st.lists(
    st.sampled_from(["a", "an", "red", "green", "film", ".", ",", "it's", "é", "日本"]), max_size=9
)


@given(WORDS, WORDS)
def test_hunks_turn_the_original_into_the_edited_text(first, second):
    original, edited = " ".join(first), " ".join(second)
    text, end = "", 0
    for hunk in hunks(original, edited):
        text += original[end : hunk.start] + edited[hunk.edited_start : hunk.edited_end]
        end = hunk.end
    assert "".join((text + original[end:]).split()) == "".join(edited.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("Dr. Smith met Mr. Jones. They left.", ["Dr. Smith met Mr. Jones. ", "They left."]),
        ("it works . it is good .", ["it works . ", "it is good ."]),
        ("a line\nanother line", ["a line\n", "another line"]),
        ('He said "Go." She went.', ['He said "Go." ', "She went."]),
        ("version 1.5 is out", ["version 1.5 is out"]),
        ("", []),
    ],
)
def test_sentence_spans(text, expected):
    assert [text[a:b] for a, b in sentence_spans(text)] == expected


@given(st.text(alphabet="aB. !?\n\"'", max_size=40))
def test_sentences_cover_the_text(text):
    assert "".join(text[a:b] for a, b in sentence_spans(text)) == text


def test_a_short_text_is_compared_whole():
    assert units("A dog. A cat.", "A dog. A hat.", "sentence") == (("A dog. A cat.", "A dog. A hat."),)


def test_a_long_text_is_compared_by_the_sentence_of_the_edit():
    edited = LONG.replace("weather of day 5", "climate of day 5")
    assert units(LONG, edited, "sentence") == (
        (
            "Sentence number 5 says something about the weather of day 5.",
            "Sentence number 5 says something about the climate of day 5.",
        ),
    )


def test_edits_in_neighbouring_sentences_are_compared_together():
    edited = LONG.replace("number 5", "no. 5").replace("number 6", "no. 6")
    ((original_piece, edited_piece),) = units(LONG, edited, "sentence")
    assert original_piece.count("number") == 2
    assert edited_piece.count("no.") == 2


def test_edits_far_apart_are_all_seen():
    edited = LONG.replace("number 0", "item 0").replace("number 11", "item 11")
    pieces = units(LONG, edited, "sentence")
    assert [b.split(" says")[0] for _, b in pieces] == ["Sentence item 0", "Sentence item 11"]
    assert [a.split(" says")[0] for a, _ in pieces] == ["Sentence number 0", "Sentence number 11"]


def test_one_very_long_sentence_is_cut_to_windows_around_the_edits():
    words = [f"w{i}" for i in range(400)]
    original = " ".join(words)
    words[10], words[390] = "first", "last"
    pieces = units(original, " ".join(words), "sentence")
    assert len(pieces) == 2
    assert all(len(a.split()) <= 80 and len(a.split()) == len(b.split()) for a, b in pieces)
    assert "first" in pieces[0][1] and "last" in pieces[1][1]
    assert "w10" in pieces[0][0].split() and "w390" in pieces[1][0].split()


def test_word_scope_ignores_the_article_that_follows_a_word():
    assert units("It was an apple.", "It was a pear.", "word") == (("apple", "pear"),)
    assert units("an", "a", "word") == (("an", "a"),)


def test_word_scope_gives_the_bare_words():
    original, edited = "The big dog and the red car.", "The large dog and the blue car."
    assert units(original, edited, "word") == (("big", "large"), ("red", "blue"))


@pytest.mark.parametrize("scope", ["sentence", "word"])
def test_white_space_is_no_edit(scope):
    assert units("a  b c", "a b c ", scope) == ()
    assert units("x", "x", scope) == ()


@given(WORDS, WORDS, st.sampled_from(["sentence", "word"]))
def test_every_change_gives_a_unit(first, second, scope):
    original, edited = " ".join(first), " ".join(second)
    assert bool(units(original, edited, scope)) == (original.split() != edited.split())
    assert all(a != b for a, b in units(original, edited, scope))


def test_an_insertion_at_a_sentence_start_stays_in_its_sentence():
    original = LONG
    edited = LONG.replace("Sentence number 3", "Now sentence number 3")
    ((a, b),) = units(original, edited, "sentence")
    assert a.startswith("Sentence number 3")
    assert b.startswith("Now sentence number 3")


def test_a_run_of_dots_is_read_once():
    """Quadratic time here would hang a run on one hostile text; this one is read in milliseconds."""
    text = "." * 200_000 + "x"
    assert sentence_spans(text) == [(0, len(text))]
