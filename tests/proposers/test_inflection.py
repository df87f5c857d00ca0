from __future__ import annotations

import pytest

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.proposers.inflection import inflect, lemmas, tags
from rif_plugins.proposers.readings import readings


@pytest.mark.parametrize(
    ("lemma", "tag", "form"),
    [
        ("physician", "NNS", "physicians"),
        ("child", "NNS", "children"),
        ("ice_cream", "NNS", "ice creams"),
        ("head_of_state", "NNS", "heads of state"),
        ("mother-in-law", "NNS", "mothers-in-law"),
        ("geese", "NNS", "geese"),
        ("geese", "NN", None),
        ("look_into", "VBD", "looked into"),
        ("go_after", "VBG", "going after"),
        ("double-check", "VBZ", "double-checks"),
        ("go", "VBN", "gone"),
        ("go", "VB", "go"),
        ("be_active", "VBD", None),
        ("be_active", "VBZ", "is active"),
        ("happy", "JJR", "happier"),
        ("amusing", "JJR", "more amusing"),
        ("amusing", "JJS", "most amusing"),
        ("world-class", "JJR", "more world-class"),
        ("quickly", "RBR", "more quickly"),
        ("amusing", "JJ", "amusing"),
        ("at_times", "RB", "at times"),
    ],
)
def test_inflect(lemma: str, tag: str, form: str | None) -> None:
    assert inflect(lemma, tag) == form


@pytest.mark.parametrize(
    ("word", "lemma", "pos", "expected"),
    [
        ("dogs", "dog", "n", ("NNS",)),
        ("dog", "dog", "n", ("NN",)),
        ("went", "go", "v", ("VBD",)),
        ("walked", "walk", "v", ("VBD", "VBN")),
        ("put", "put", "v", ("VB", "VBP", "VBD", "VBN")),
        ("funnier", "funny", "a", ("JJR",)),
        ("best", "good", "a", ("JJS",)),
        ("cats", "dog", "n", ()),
    ],
)
def test_tags(word: str, lemma: str, pos: str, expected: tuple[str, ...]) -> None:
    assert tags(word, lemma, pos) == expected
    assert not expected or lemma in lemmas(word, pos)


@pytest.mark.parametrize(
    ("previous", "word", "following", "expected"),
    [
        ("the", "claims", "", {"n"}),
        ("she", "claims", "", {"v"}),
        ("strange", "claims", "", {"n"}),
        ("", "drives", "it", {"v"}),
        ("very", "kind", "", {"a"}),
        ("an", "interesting", "approach", {"a"}),
        ("interesting", "approach", "", {"n"}),
        ("will", "help", "", {"v"}),
        ("a", "hot", "dog", set()),
        ("they", "looked", "into", set()),
        ("", "blorptastic", "", set()),
        ("was", "running", "home", {"v"}),
        ("is", "running", "home", {"v"}),
        ("it's", "raining", "", {"v"}),
        ("was", "crying", "", {"v"}),
        ("were", "working", "late", {"v"}),
        ("was", "boring", "", {"a"}),
        ("was", "interesting", "", {"a"}),
        ("was", "gripping", "", {"a"}),
        ("is", "loving", "", {"a"}),
        ("was", "surprising", "", {"a"}),
        ("was", "engaging", "", {"a"}),
        ("let's", "help", "", {"v"}),
        ("let’s", "help", "", {"v"}),
        ("doctor's", "help", "", {"n"}),
        ("the", "key", "", {"n"}),
        ("a", "novel", "", {"n"}),
        ("the", "wrong", "", {"a"}),
        ("the", "novel", "idea", {"n", "a"}),
        ("an", "awful", "film", {"a"}),
        ("a", "pretty", "house", {"a"}),
    ],
)
def test_the_neighbours_decide_the_part_of_speech(
    previous: str, word: str, following: str, expected: set[str]
) -> None:
    assert {reading.pos for reading in readings(word, previous, following, 0.2)} == expected


def test_the_neighbours_decide_the_verb_form() -> None:
    (after_have,) = readings("walked", "has", "", 0.2)
    assert after_have.tags == ("VBN",)
    (plain,) = readings("walked", "dog", "", 0.2)
    assert plain.tags == ("VBD", "VBN")


@pytest.mark.parametrize(
    ("word", "pattern", "fitted"),
    [
        ("dog", "lower", "hot dog"),
        ("Dog", "capital", "Hot dog"),
        ("DOG", "upper", "HOT DOG"),
        ("iPhone", "mixed", "hot dog"),
        ("X", "capital", "Hot dog"),
        ("42", "lower", "hot dog"),
        ("Été", "capital", "Hot dog"),
    ],
)
def test_letter_case(word: str, pattern: str, fitted: str) -> None:
    assert case_pattern(word) == pattern
    assert fit_case(case_pattern(word), "hot dog") == fitted


def test_capitals_of_the_replacement_stay() -> None:
    assert [fit_case(case_pattern(word), "TV set") for word in ("box", "Box", "BOX")] == [
        "TV set",
        "TV set",
        "TV SET",
    ]
