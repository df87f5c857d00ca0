from __future__ import annotations

import pytest

from rif_plugins.core.articles import indefinite_article
from rif_plugins.similar.agreement import find_article, fit_article, fit_term_case


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("actor", "an"),
        ("waitress", "a"),
        ("heir", "an"),
        ("heiress", "an"),
        ("hour", "an"),
        ("house", "a"),
        ("honest man", "an"),
        ("European", "a"),
        ("Ukrainian", "a"),
        ("uncle", "an"),
        ("unemployed", "an"),
        ("uniform", "a"),
        ("unicorn", "a"),
        ("unimportant", "an"),
        ("uninsured", "an"),
        ("user", "a"),
        ("useful", "a"),
        ("one-legged", "a"),
        ("onerous", "an"),
        ("old", "an"),
        ("Irish", "an"),
        ("LGBT", "an"),
        ("UFO", "a"),
        ("MP", "an"),
        ("8-year-old", "an"),
        ("11-year-old", "an"),
        ("18-year-old", "an"),
        ("80-year-old", "an"),
        ("1-year-old", "a"),
        ("\u00e9migr\u00e9", "an"),
        ("", "a"),
        ("!", "a"),
        ("hispanic", "a"),
        ("Arab", "an"),
        ("ewe", "a"),
        ("urban", "an"),
    ],
)
def test_article_goes_by_sound(word: str, article: str) -> None:
    assert indefinite_article(word) == article


def test_find_article_needs_it_right_before_the_word() -> None:
    assert find_article("an actor", 3) == (0, 2)
    assert find_article("It is A  man", 9) == (6, 7)
    assert find_article('a "man"', 3) == (0, 1)
    assert find_article("a tall man", 7) is None
    assert find_article("vitamin-a man", 10) is None
    assert find_article("pizza man", 6) is None
    assert find_article("man", 0) is None


@pytest.mark.parametrize(
    ("article", "target", "is_upper", "expected"),
    [
        ("a", "actor", False, "an"),
        ("A", "actor", False, "An"),
        ("A", "actor", True, "AN"),
        ("An", "man", False, "A"),
        ("AN", "man", True, "A"),
        ("an", "heiress", False, "an"),
    ],
)
def test_article_keeps_its_case(article: str, target: str, is_upper: bool, expected: str) -> None:
    assert fit_article(article, target, is_upper) == expected


@pytest.mark.parametrize(
    ("source", "spelling", "target", "lower", "first", "expected"),
    [
        ("man", "man", "woman", False, False, "woman"),
        ("Man", "man", "woman", False, False, "Woman"),
        ("MAN", "man", "woman", False, False, "WOMAN"),
        ("mAN", "man", "woman", False, False, "woman"),
        ("black", "black", "Asian", False, False, "Asian"),
        ("black", "black", "Asian", True, False, "asian"),
        ("Black", "black", "white", False, False, "White"),
        ("Asian", "Asian", "white", False, False, "white"),
        ("Asian", "Asian", "white", False, True, "White"),
        ("asian", "Asian", "Hispanic", False, False, "hispanic"),
        ("ASIAN", "Asian", "white", False, False, "WHITE"),
        ("Senior Citizen", "senior citizen", "young one", False, False, "Young One"),
    ],
)
def test_letter_case_is_kept(
    source: str, spelling: str, target: str, lower: bool, first: bool, expected: str
) -> None:
    assert fit_term_case(source, spelling, target, text_is_lower=lower, is_sentence_start=first) == expected
