from __future__ import annotations

import pytest

from rif_plugins.similar import Lexicon, find_spans, similar_texts

GENDER = Lexicon.load("gender,gender_names")
NAMES = Lexicon.load("names")


def found(text: str, lexicon: Lexicon = GENDER) -> list[str]:
    return [text[s.start : s.end] for s in find_spans(text, lexicon) if s.slot.startswith(("given", "sur"))]


def swap(text: str) -> str:
    (pair,) = similar_texts(text, GENDER)
    return pair.similar


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("John Smith lost his keys.", "Jennifer Smith lost her keys."),
        ("Mr. John Smith and Ms. Mary Jones", "Ms. Jennifer Smith and Mr. Michael Jones"),
        ("Mary told John that he is late.", "Michael told Jennifer that she is late."),
        ("Peter's wife Anna", "Carolyn's husband Justin"),
        ("JOHN LEFT", "JENNIFER LEFT"),
        ("Suddenly Mary left.", "Suddenly Michael left."),
        ("Mark said he is here.", "Ann said she is here."),
        ("Will will go.", "Sally will go."),
        ("I met Will and Mark.", "I met Sally and Ann."),
        ("Jamal saw Latoya's car.", "Tanisha saw Reginald's car."),
    ],
)
def test_first_names_follow_the_gender_both_ways(one: str, other: str) -> None:
    assert swap(one) == other
    assert swap(other) == one


def test_a_name_in_s_loses_its_bare_apostrophe() -> None:
    assert swap("James' book is red.") == "Elizabeth's book is red."


@pytest.mark.parametrize(
    "text",
    [
        "Mark the date.",
        "Will you go?",
        "The Bill passed.",
        "in Mark 3",
        "the will of a frank man, and a mark",
        "May I go in May?",
        "Christian Bale stars.",
        "San Jose and Santa Anna",
        "St. Mary and King James I",
        "Henry VIII, Charles II",
        "John F. Kennedy Airport",
        "George Washington University",
        "Mary Lee Hospital",
        "Dylan Thomas wrote",
        "Mr. Thomas said so.",
        "a Donald Duck bag",
        "Jean-Paul and Mary-like",
        "john and mary left",
        "John@mail.org",
        "Sue him!",
    ],
)
def test_what_is_not_a_persons_first_name_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Susan Walsh and Jamal Washington", ["Susan", "Walsh", "Jamal", "Washington"]),
        ("Dr. Nguyen met Mr. Garcia.", ["Nguyen", "Garcia"]),
        ("Susan J. Walsh came. Walsh said hi.", ["Susan", "Walsh", "Walsh"]),
        ("Kofi Walsh came.", ["Walsh"]),
        ("We met Kofi Washington.", ["Washington"]),
        ("Visit Washington now. She lives in Washington.", []),
        ("Walsh is a town.", []),
        ("Susan Walsh University", []),
        ("washington, susan walsh", []),
    ],
)
def test_last_names_need_a_name_or_a_title_before_them(text: str, expected: list[str]) -> None:
    assert found(text, NAMES) == expected


def test_a_name_changes_its_group_and_keeps_its_gender() -> None:
    pairs = similar_texts("Susan Walsh met Tyrone.", NAMES)
    assert {(p.value_from, p.value_to): p.similar for p in pairs} == {
        ("white", "black"): "Latoya Yusuf met Jeff.",
        ("white", "hispanic"): "Gabriela Diaz met Tyrone.",
        ("white", "asian"): "Mei Huynh met Tyrone.",
        ("black", "hispanic"): "Susan Walsh met Jorge.",
        ("black", "asian"): "Susan Walsh met Amit.",
    }


def test_two_people_of_one_group_never_get_one_name() -> None:
    for lexicon in (GENDER, NAMES):
        for value in lexicon.values(lexicon.attributes[0]):
            names = [t for t in lexicon if t.value == value and t.is_name]
            for other in names[0].readings[0].targets:
                targets = [t.readings[0].targets[other] for t in names]
                assert len(set(targets)) == len(targets)


def test_names_of_groups_have_a_gender_partner() -> None:
    missing = [
        t.text
        for t in NAMES
        if t.readings[0].slot != "surname" and GENDER.find_term("gender", t.text) is None
    ]
    assert missing == []


def test_names_are_sensitive_with_a_capital_only() -> None:
    assert GENDER.is_sensitive("Mark") and GENDER.is_sensitive("MARK'S")
    assert not GENDER.is_sensitive("mark")
    assert not Lexicon.load().is_sensitive("Mark")
