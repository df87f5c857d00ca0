from __future__ import annotations

import pytest

from rif_plugins.similar import Lexicon, mask

LEX = Lexicon.load()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("No one is here.", "No one is here."),
        ("He left.", "[SENSITIVE] left."),
        ("An actor met a tall waitress.", "[SENSITIVE] met a tall [SENSITIVE]."),
        ("an old man", "[SENSITIVE] [SENSITIVE]"),
        ("the men's and the ladies' rooms", "the [SENSITIVE]'s and the [SENSITIVE]'s rooms"),
        ("she 's", "[SENSITIVE] 's"),
        ("A Latina's car", "[SENSITIVE]'s car"),
        ("people with a disability", "people [SENSITIVE]"),
    ],
)
def test_terms_and_what_agrees_with_them_become_one_placeholder(text: str, expected: str) -> None:
    assert mask(text, LEX) == expected


def test_attributes_and_placeholder_can_be_chosen() -> None:
    assert mask("a gay man", LEX, ["gender"]) == "a gay [SENSITIVE]"
    assert mask("a gay man", LEX, ["orientation"], placeholder="[MASK]") == "[MASK] man"
    assert mask("a gay man", LEX, []) == "a gay man"


def test_texts_that_differ_elsewhere_have_different_masks() -> None:
    assert mask("He left.", LEX) != mask("She stayed.", LEX)
    assert mask("He left.", LEX) == mask("She left.", LEX)
