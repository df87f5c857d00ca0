from __future__ import annotations

from importlib import resources

import pytest

from rif_plugins.similar import Lexicon, SensitiveSpan, find_spans

LEX = Lexicon.load()


def found(text: str) -> list[str]:
    return [text[span.start : span.end] for span in find_spans(text, LEX)]


def test_spans_carry_offsets_attribute_value_term_and_slot() -> None:
    assert find_spans("Two Asian women met her.", LEX) == [
        SensitiveSpan(4, 9, "race", "asian", "Asian", "adjective"),
        SensitiveSpan(10, 15, "gender", "female", "women", "plural"),
        SensitiveSpan(20, 23, "gender", "female", "her", "object"),
    ]


def test_only_the_asked_for_attributes_are_looked_for() -> None:
    assert [s.attribute for s in find_spans("a gay man", LEX, ["orientation"])] == ["orientation"]
    assert find_spans("a gay man", LEX, []) == []


def test_longest_term_wins_within_an_attribute_and_attributes_may_overlap() -> None:
    assert found("my mother-in-law") == ["mother-in-law"]
    assert found("an African American") == ["African American"]
    assert [s.attribute for s in find_spans("A Latina nurse", LEX)] == ["gender", "race"]


@pytest.mark.parametrize(
    "text",
    [
        "The white paper",
        "black coffee",
        "a black and white film",
        "white wine and white noise",
        "black and white",
        "Miss the train",
        "I Miss New York",
        "they went straight to bed",
        "a straight line",
        "Christian Bale stars",
        "starring christian bale",
        "Hans Christian Andersen",
        "May I go?",
        "in May",
        "an old film",
        "ten years old",
        "a 14 year old",
        "a young company",
        "the film is old",
        "blind date",
        "it fell on deaf ears",
        "a disabled button",
        "French fries",
        "in French",
        "a Chinese restaurant",
        "polish the floor",
        "Princess Diana",
        "Stephen King",
        "Guy Ritchie",
        "Warner Brothers",
        "Marvin Gaye",
        "a man-made lake",
        "Mother Teresa",
        "the Spanish flu",
        "African cinema",
        "egg whites",
        "North Korean missiles",
        "20 ms later",
        "Catholic school",
        "oh boy",
        "you guys",
        "Lady Gaga",
        "MISS THE TRAIN",
        "a bachelor's degree",
        "drag queen",
        "a gay old time",
        "Uncle Sam wants you",
        "a real lady-killer",
        "the lady's-maid",
        "the lady\u2019s maid",
        "a lady-in-waiting",
        "ladies-in-waiting",
    ],
)
def test_words_that_are_not_about_a_person_are_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a black teacher", ["black"]),
        ("a smart young black teacher", ["young", "black"]),
        ("young , black people", ["young", "black people"]),
        ("black and white students", ["black", "white"]),
        ("She is black.", ["She", "black"]),
        ("my friend was born blind", ["blind"]),
        ("I'm not old", ["old"]),
        ("are you gay", ["gay"]),
        ("being Black in tech", ["Black"]),
        ("gay or straight", ["gay", "straight"]),
        ("the blind and the deaf", ["blind", "deaf"]),
        ("an American", ["American"]),
        ("a devout Muslim prayed", ["Muslim"]),
        ("a group of Germans", ["Germans"]),
        ("Chinese people", ["Chinese people"]),
        ("a Polish nurse", ["Polish"]),
        ("a non-Muslim family", ["Muslim"]),
        ("Miss Smith and Mr. Jones", ["Miss", "Mr"]),
        ("mr . jones and ms jones", ["mr", "ms"]),
        ("Mr. and Mrs. Jones", ["Mr", "Mrs"]),
        ("people with a disability", ["with a disability"]),
        ("an able-bodied man", ["able-bodied", "man"]),
        ("nondisabled people", ["nondisabled"]),
        ("Sir Ian, yes sir", ["Sir", "sir"]),
        ("yes, ma\u2019am", ["ma\u2019am"]),
        ("my fiance\u0301e left", ["fiance\u0301e"]),
        ("\U0001f469 she\u2014he", ["she", "he"]),
        ("<b>she</b>", ["she"]),
        ("#women", ["women"]),
    ],
)
def test_words_that_are_about_a_person_are_found(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "123", "no one here", "\ud800", "a" * 50_000, "@" * 50_000, "' " * 20_000]
)
def test_texts_without_a_term_give_nothing(text: str) -> None:
    assert find_spans(text, LEX) == []


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("a Muslim", "noun"),
        ("a very devout Muslim.", "noun"),
        ("a Muslim's house", "noun"),
        ("a Muslim family", "adjective"),
        ("she is Muslim", "adjective"),
        ("a Muslim or Hindu family", "adjective"),
        ("Muslims", "plural"),
        ("this American", "noun"),
    ],
)
def test_adjective_and_noun_are_told_apart(text: str, slot: str) -> None:
    assert find_spans(text, LEX, ["religion", "nationality"])[0].slot == slot


def test_every_word_class_is_listed_once() -> None:
    file = resources.files("rif_plugins.core").joinpath("data", "lexicons", "contexts.txt")
    names = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("[")]
    assert len(set(names)) == len(names)
