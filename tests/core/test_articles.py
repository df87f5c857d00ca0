from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.articles import article_fits, has_vowel_sound, indefinite_article

AN = [
    "hour",
    "honest",
    "honour",
    "heir",
    "apple",
    "umbrella",
    "unimportant",
    "uninteresting",
    "unidentified",
    "unable",
    "utter",
    "urban",
    "urgent",
    "x-ray",
    "e-mail",
    "F-16",
    "MBA",
    "FBI",
    "LED",
    "MRI",
    "8",
    "11",
    "18",
    "11,000",
    "18,000",
    "80s",
    "800",
    "8th",
    "unironed",
    "eight",
    "other",
    "oneiric",
    "NGO",
    "MP",
    "NBA",
    "LAPD",
    "X-ray",
    "yttrium",
    "Ypres",
    "un-American",
    "unissued",
    "AIDS",
    "heirloom",
    "uncle",
    "Uzbek",
    "émigré",
    "e\u0301migre\u0301",
]
A = [
    "university",
    "unicorn",
    "unique",
    "unit",
    "use",
    "user",
    "useful",
    "usual",
    "using",
    "utensil",
    "utopia",
    "uranium",
    "urine",
    "European",
    "eulogy",
    "ewe",
    "one",
    "one-way",
    "once",
    "US",
    "U.S.",
    "UFO",
    "UNESCO",
    "NASA",
    "1",
    "10",
    "12",
    "100",
    "1,100",
    "110",
    "yellow",
    "u-turn",
    "t-shirt",
    "house",
    "dog",
    "ubiquitous",
    "unanimous",
    "unilateral",
    "young",
    "Ukrainian",
    "ukrainian",
    "Ugandan",
    "Uruguayan",
    "Utah",
    "YMCA",
    "onetime",
    "uniform",
    "unisex",
    "hispanic",
    "yoga",
]


@pytest.mark.parametrize("word", AN)
def test_an_words(word: str) -> None:
    assert article_fits("an", word)
    assert not article_fits("a", word)
    assert indefinite_article(word) == "an"


@pytest.mark.parametrize("word", A)
def test_a_words(word: str) -> None:
    assert article_fits("A", word)
    assert not article_fits("An", word)
    assert indefinite_article(word) == "a"


@pytest.mark.parametrize("word", ["herb", "historic", "homage", "...", "", "!?"])
def test_words_where_both_are_heard_or_nothing_is(word: str) -> None:
    assert has_vowel_sound(word) is None
    assert article_fits("a", word) and article_fits("an", word)
    assert indefinite_article(word) == "a"


def test_only_the_first_word_counts_and_quotes_do_not() -> None:
    assert article_fits("a", '"one of a kind"')
    assert article_fits("an", "old university")


@given(st.text(), st.text())
def test_other_words_before_never_object(previous: str, candidate: str) -> None:
    if previous.lower() not in ("a", "an"):
        assert article_fits(previous, candidate)
    assert article_fits("a", candidate) or article_fits("an", candidate)
    assert article_fits(indefinite_article(candidate), candidate)
