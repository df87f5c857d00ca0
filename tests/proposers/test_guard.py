from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.proposers.guard import Guard, has_negative_prefix_only, is_negation, is_number


def is_sensitive(word: str) -> bool:
    return word.lower() in {"woman", "chairwoman", "african american"}


@pytest.mark.parametrize(
    "word",
    [
        "not",
        "NO",
        "Never",
        "n't",
        "don't",
        "don’t",
        "cannot",
        "nobody's",
        "neither",
        "hardly",
        "dont",
        "without",
    ],
)
def test_negations(word: str) -> None:
    assert is_negation(word)


@pytest.mark.parametrize("word", ["ever", "can", "note", "nothings", "anybody", "do", "know", ""])
def test_un_negated_words(word: str) -> None:
    assert not is_negation(word)


@pytest.mark.parametrize(
    "word", ["7", "3rd", "½", "٣", "Seven", "tenth", "dozens", "million", "half", "1990s", "one's"]
)
def test_numbers(word: str) -> None:
    assert is_number(word)


@pytest.mark.parametrize("word", ["often", "someone", "often", "toned", "weight", ""])
def test_other_words_are_no_numbers(word: str) -> None:
    assert not is_number(word)


@pytest.mark.parametrize(
    ("token", "candidate", "allowed"),
    [
        ("doctor", "physician", True),
        ("doctor", "medical man", True),
        ("president", "chairwoman", False),
        ("woman", "person", False),
        ("woman's", "person's", False),
        ("citizen", "african american", False),
        ("leader", "chairwoman-elect", False),
        ("see", "not see", False),
        ("can", "can't", False),
        ("can't", "can", False),
        ("never", "rarely", False),
        ("few", "two or three", False),
        ("twenty-one", "many", False),
        ("happy", "unhappy", False),
        ("Honest", "DISHONEST", False),
        ("violent", "non-violent", False),
        ("ash", "flash", True),
        ("wake", "awake", True),
    ],
)
def test_allows(token: str, candidate: str, allowed: bool) -> None:
    assert Guard(is_sensitive).allows(token, candidate) is allowed


def test_without_a_predicate_only_negations_and_numbers_are_guarded() -> None:
    assert Guard().allows("president", "chairwoman")
    assert not Guard().allows("president", "no president")


@given(st.text(max_size=20), st.text(max_size=20))
def test_it_is_symmetric_and_never_crashes(a: str, b: str) -> None:
    guard = Guard(is_sensitive)
    assert guard.allows(a, b) == guard.allows(b, a)
    assert has_negative_prefix_only(a, b) == has_negative_prefix_only(b, a)


@given(
    st.text(max_size=20),
    st.sampled_from(["not", "n't", "seven", "5", "woman", "hardly"]),
    st.text(max_size=20),
)
def test_a_guarded_word_anywhere_is_found(before: str, word: str, after: str) -> None:
    assert Guard(is_sensitive).is_guarded(f"{before} {word} {after}")


def test_it_pickles() -> None:
    assert pickle.loads(pickle.dumps(Guard(is_sensitive))) == Guard(is_sensitive)
