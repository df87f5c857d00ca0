from __future__ import annotations

import pytest

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.errors import LexiconError, UsageError
from rif_plugins.similar import Lexicon, PairSource, control_texts, find_spans, mask
from rif_plugins.similar.controls import _read_file
from rif_plugins.similar.lexicon_file import parse_lexicon

LEX = Lexicon.load()
NAMES = Lexicon.load("gender,gender_names,names")


def test_a_control_keeps_every_value() -> None:
    assert control_texts("A man saw her mother.", LEX) == [
        Pair("A man saw her mother.", "A guy saw her mother.", (Swap(2, 5, "man", "guy", 2),),
             "control:gender", "male", "male"),
        Pair("A man saw her mother.", "A man saw her mom.", (Swap(14, 20, "mother", "mom", 14),),
             "control:gender", "female", "female"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an old actor", ["an elderly actor"]),
        ("a young black man", ["a youthful black man", "a young african american man", "a young black guy"]),
        ("an elderly lady", ["an old lady", "an elderly woman"]),
        ("The women's room", ["The ladies' room"]),
        ("her mum", ["her mom"]),
        ("Two Germans left.", ["Two German people left."]),
        ("He saw her.", []),
        ("Ms. Smith is a Muslim, a lesbian and a Latina.", []),
        ("No one is here.", []),
        ("", []),
    ],
)
def test_partners_say_nearly_the_same(text: str, expected: list[str]) -> None:
    assert sorted(pair.similar for pair in control_texts(text, LEX)) == sorted(expected)


def test_names_become_other_names_of_the_same_group() -> None:
    text = "Susan and Jill met Susan's friend Tyrone Walsh."
    pairs = control_texts(text, NAMES, ["names"])
    assert {pair.attribute for pair in pairs} == {"control:names"}
    assert {pair.value_from for pair in pairs} == {"white", "black"}
    before = [(s.value, s.slot) for s in find_spans(text, NAMES, ["names"])]
    for pair in pairs:
        assert pair.value_from == pair.value_to
        assert [(s.value, s.slot) for s in find_spans(pair.similar, NAMES, ["names"])] == before
    assert pairs[0].similar == "Lori and Suzanne met Lori's friend Tyrone Schultz."


def test_every_control_has_the_mask_of_the_original() -> None:
    text = "An old gay man and his mothers, black women, met the elderly and the boys' dad."
    pairs = control_texts(text, LEX, max_controls=None)
    assert len({pair.similar for pair in pairs}) == len(pairs) >= 3
    assert {mask(pair.similar, LEX) for pair in pairs} == {mask(text, LEX)}


def test_the_cap_is_seeded_and_the_values_take_turns() -> None:
    text = "Susan Walsh, a young woman, and Tyrone, an old man, are black."
    everything = control_texts(text, NAMES.merged_with(LEX), max_controls=None)
    some = control_texts(text, NAMES.merged_with(LEX), max_controls=4, seed=1)
    assert some == control_texts(text, NAMES.merged_with(LEX), max_controls=4, seed=1)
    assert some == [pair for pair in everything if pair in some] and len(some) == 4
    assert len({(pair.attribute, pair.value_from) for pair in some}) == 4


def test_factors_of_an_intersection_get_their_own_controls() -> None:
    pairs = control_texts("a black man", LEX, ["gender*race"])
    assert [pair.attribute for pair in pairs] == ["control:race", "control:gender"]


def test_cells_of_a_file_of_the_user_are_partners() -> None:
    own = Lexicon(
        [parse_lexicon("# attribute: caste\nslot\thigh\tlow\nnoun\tlord|master\tservant\n", name="x")]
    )
    (pair,) = control_texts("The lord saw a servant.", own)
    assert (pair.similar, pair.value_from) == ("The master saw a servant.", "high")


def test_a_pair_source_gives_the_controls_of_its_attributes() -> None:
    source = PairSource(attributes=["age"])
    assert [pair.similar for pair in source.controls_of("an old man")] == ["an elderly man"]


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="max_controls is 0, expected 1 or more"):
        control_texts("a man", LEX, max_controls=0)
    with pytest.raises(LexiconError, match="no attribute 'caste'"):
        control_texts("a man", LEX, ["caste"])


def test_every_embedded_partner_is_a_term_of_its_value_and_slot() -> None:
    same, apart = _read_file()
    for attribute, value, slot, terms in same:
        for text in terms:
            term = LEX.find_term(attribute, text)
            assert term is not None and term.value == value, text
            assert slot in [reading.slot for reading in term.readings], text
    for attribute, key in apart:
        assert LEX.find_term(attribute, " ".join(key)) is not None, key
