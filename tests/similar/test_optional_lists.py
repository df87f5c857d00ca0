"""Embedded lists that are loaded only when asked for by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import LexiconError, UsageError
from rif_plugins.similar import EMBEDDED, OPTIONAL, Lexicon, PairSource, similar_texts
from rif_plugins.similar.pair_source import embedded_and

MARITAL = Lexicon.load("marital_status")


def test_they_are_off_unless_asked_for() -> None:
    text = "Mark and Susan Walsh are married."
    assert not set(OPTIONAL) & set(EMBEDDED)
    assert Lexicon.load().attributes == EMBEDDED
    assert PairSource().pairs_of(text) == []
    assert PairSource().sensitive_spans(text) == []


@pytest.mark.parametrize("name", OPTIONAL)
def test_they_tell_source_licence_and_limits(name: str) -> None:
    (meta,) = Lexicon.load(name).describe()
    assert meta["licence"] == "CC0-1.0"
    assert meta["source"] and "Not loaded unless asked for" in meta["notes"].replace("\n", " ")


@pytest.mark.parametrize("name", OPTIONAL)
def test_every_term_finds_a_counterpart_of_another_value(name: str) -> None:
    lexicon = Lexicon.load(name)
    (attribute,) = lexicon.attributes
    for term in lexicon:
        for value, target in term.readings[0].targets.items():
            found = lexicon.find_term(attribute, target)
            assert found is not None and found.value == value


def test_a_pair_source_adds_those_that_its_attributes_name() -> None:
    source = PairSource(attributes=["gender_names", "marital_status"])
    assert source.attributes == ("gender", "marital_status")
    assert source.lexicon.attributes == (*EMBEDDED, "marital_status")
    assert [p.similar for p in source.pairs_of("Mary and her son are married.")] == [
        "Michael and his daughter are married.",
        "Mary and her son are single.",
        "Mary and her son are divorced.",
        "Mary and her son are widowed.",
    ]
    assert PairSource(attributes=["gender_names", "gender"]).attributes == ("gender",)


def test_they_can_be_given_as_the_lexicon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert embedded_and(Path("names")).attributes == (*EMBEDDED, "names")
    assert embedded_and(None, ["names"]) == embedded_and("names")
    assert Lexicon.load("gender, marital_status").attributes == ("gender", "marital_status")
    monkeypatch.chdir(tmp_path)
    Path("names").write_text("from\tto\nred\tblue\n", encoding="utf-8")
    assert Lexicon.load(Path("names")).values("names") == ("from", "to")


def test_an_unknown_attribute_lists_them() -> None:
    with pytest.raises(UsageError, match=r"not in the lexicon: .*marital_status, gender_names, names"):
        PairSource(attributes=["name"])
    with pytest.raises(LexiconError, match=r"is called 'name': use one of gender, .*names"):
        Lexicon.load("name")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a single mother", ["a married mother", "a divorced mother", "a widowed mother"]),
        ("She is unmarried.", ["She is married.", "She is divorced.", "She is widowed."]),
        (
            "a married, old boss",
            ["a single, old boss", "a divorced, old boss", "a widowed, old boss"],
        ),
        ("the married woman", ["the divorced woman", "the widowed woman"]),
        ("every single man, not a single person", []),
        ("a single man", []),
        ("single malt and a single bed", []),
        ("a married couple", []),
        ("They were married in May.", []),
        ("She is married to him.", []),
        ("She got married.", []),
        ("her widow", []),
    ],
)
def test_marital_status_is_that_of_a_person(text: str, expected: list[str]) -> None:
    assert [pair.similar for pair in similar_texts(text, MARITAL)] == expected
