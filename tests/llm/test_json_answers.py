"""The tolerant reader of answers: nothing raises, and nothing that is whole is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.llm.json_answers import MOST_CHARACTERS, MOST_DEPTH, first_json, strings_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["big", "great"]', ["big", "great"]),
        ('```json\n["big", "great"]\n```\nHope this helps!', ["big", "great"]),
        ("Sure, here you are:\n['big', 'great']", ["big", "great"]),
        ("['it's', 'the dogs' tails', \"rock 'n' roll\"]", ["it's", "the dogs' tails", "rock 'n' roll"]),
        ("[“big”, „great“]", ["big", "great"]),
        ('["big", "great",]', ["big", "great"]),
        ('{"a": 1, "b": [true, null, -2.5e1,],}', {"a": 1, "b": [True, None, -25.0]}),
        ("{'a': None, 'b': True}", {"a": None, "b": True}),
        ('{word: "big", id: 3}', {"word": "big", "id": 3}),
        ('["big", "great", "hu', ["big", "great"]),
        ('["big", "great",', ["big", "great"]),
        ('[{"id": 1, "words": ["big", "gr', [{"id": 1, "words": ["big"]}]),
        (
            '{"answers": [{"id": 1, "words": ["big"]}, {"id": 2, "wo',
            {"answers": [{"id": 1, "words": ["big"]}, {"id": 2}]},
        ),
        ('{"answers": [], "x', {"answers": []}),
        ("[1, 2, 3", [1, 2]),
        ('[not json] but ["big"]', ["big"]),
        ('As in [1] and [2]: ["big"]', ["big"]),
        ("[4]", [4]),
        ("[]", []),
        (r'["a\"b", "c\\", "\u00e9\n"]', ['a"b', "c\\", "é\n"]),
        (r'["\ud83d\ude00", "\ud800"]', ["😀", "\ufffd"]),
        (r'["don\'t"]', ["don't"]),
        ('["line\nbreak"]', ["line\nbreak"]),
        ("[\"__import__('os').system('x')\"]", ["__import__('os').system('x')"]),
    ],
)
def test_what_models_write_is_read(text: str, value: Any) -> None:
    assert first_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no list here",
        '"big"',
        "[",
        "{",
        '["',
        '{"a',
        '{"a":',
        "[big, great]",
        "[os.system('x')]",
        "{1: 2}",
    ],
)
def test_what_is_no_json_gives_nothing(text: str) -> None:
    assert first_json(text) is None


def test_depth_and_length_are_bounded() -> None:
    assert first_json("[" * MOST_DEPTH + "1" + "]" * MOST_DEPTH) is not None
    assert first_json("[" * (MOST_DEPTH + 40) + "1") is None
    assert first_json("x" * MOST_CHARACTERS + '["big"]') is None
    assert first_json("[" + "9" * 400 + "]") is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a":' * 50_000,
        "\n" * 200_000,
        "- " * 100_000,
        "['" + "'x " * 60_000,
        '["' + "\\" * 200_001,
        '["a",' * 50_000,
        "[" + "'a', " * 50_000,
    ],
)
@pytest.mark.timeout(20)
def test_hostile_answers_are_read_in_bounded_time(text: str) -> None:
    first_json(text)
    assert len(strings_of(text, 5)) <= 5


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        ('["big", 3, "great", null]', ["big", "great"]),
        ('{"note": "x", "words": ["big", "great"]}', ["big", "great"]),
        ('[{"word": "big"}, {"word": "great"}]', ["big", "great"]),
        ('{"answers": [{"id": 1, "word": "big"}]}', ["big"]),
        ('[1]\n["big"]', ["big"]),
        (
            "1. big\n2) **great**\n- \"huge\"\n* 'vast'\n\n• wide \nand so on",
            ["big", "great", "huge", "vast", "wide"],
        ),
        ("nothing", []),
        ("[]", []),
    ],
)
def test_strings_of_lists_and_bullets(text: str, strings: list[str]) -> None:
    assert strings_of(text, 10) == strings
    assert strings_of(text, 1) == strings[:1]


@given(st.text(max_size=300) | st.text("[]{}\"'\\,:1e.-tru \nab“”", max_size=80))
@settings(max_examples=500)
def test_no_text_ever_raises(text: str) -> None:
    value = first_json(text)
    assert value is None or isinstance(value, (list, dict))
    strings = strings_of(text, 3)
    assert len(strings) <= 3
    for string in strings:
        string.encode("utf-8")


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_SCALARS = _TEXT | st.booleans() | st.none() | st.integers(-(10**12), 10**12)
_VALUES = st.recursive(
    _SCALARS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=15,
)
_PROSE = st.text(st.characters(exclude_characters="[{", exclude_categories=["Cs"]), max_size=30)


@given(st.lists(_VALUES, max_size=5), _PROSE, _PROSE, st.sampled_from([None, 1, 4]), st.booleans())
def test_every_json_list_survives_wrapping(
    value: list[Any], before: str, after: str, indent: int | None, is_ascii: bool
) -> None:
    text = f"{before}```json\n{json.dumps(value, indent=indent, ensure_ascii=is_ascii)}\n```{after}"
    assert first_json(text) == value


@given(st.lists(_TEXT, min_size=1, max_size=6), st.data())
def test_a_cut_list_gives_its_complete_items(strings: list[str], data: st.DataObject) -> None:
    text = json.dumps(strings)
    cut = data.draw(st.integers(1, len(text) - 1))
    complete = [s for i, s in enumerate(strings) if len(json.dumps(strings[: i + 1])) - 1 <= cut]
    assert first_json(text[:cut]) == (complete or None)


@given(st.lists(_TEXT, min_size=1, max_size=6))
def test_a_loose_comma_is_mended(strings: list[str]) -> None:
    assert first_json(json.dumps(strings)[:-1] + " , ]") == strings
    assert strings_of(f"My answer: {json.dumps(strings)}", 99) == strings
