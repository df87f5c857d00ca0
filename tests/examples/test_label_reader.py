from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import DataError
from rif_plugins.examples.labels import LabelReader, read_label_map

NAMES = ("negative", "neutral", "positive")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0, "0", " 0.0 ", 0.0, False, "false", "negative", "NEGATIVE"), 0),
        ((1, "1", "1.", 1.0, True, "True", "neutral", " Neutral\n"), 1),
        ((2, "2", "2.00", 2.0, "positive"), 2),
    ],
)
def test_names_and_numbers(values: tuple[Any, ...], expected: int) -> None:
    assert {LabelReader(NAMES).read(value, "row 1") for value in values} == {expected}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "pos",
            r"d\.csv row 3: the label 'pos' is no class of the victim: expected 'negative', 'neutral', 'pos",
        ),
        (3, r"the label 3 is no class of the victim: .* or 0 to 2; correct it, or add --label-map FILE"),
        (-1, r"the label -1 is no class"),
        (1.5, r"the label 1\.5 is no class"),
        ("1e0", r"the label '1e0' is no class"),
        ([1], r"the label \[1\] is no class"),
        (None, r"the label is empty: fill it in, or take the victim's answers with --labels predicted"),
        ("  ", r"the label is empty"),
        (float("nan"), r"the label is empty"),
        ("a\nb" * 99, r"the label 'a\\nba\\nb.*\.\.\. is no class"),
        (float("inf"), r"the label inf is no class"),
        ("9" * 500, r"is no class"),
    ],
)
def test_other_labels_are_refused(value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        LabelReader(NAMES).read(value, "d.csv row 3")
    assert "\n" not in str(caught.value)


def test_without_names_numbers_stand_as_they_are() -> None:
    reader = LabelReader(None)
    assert (reader.names, reader.read("7", ""), reader.read(0, "")) == (None, 7, 0)
    with pytest.raises(DataError, match=r"the label 'good' is no number from 0, and the victim names no cla"):
        reader.read("good", "row 1")


def test_names_that_are_numbers_are_never_places() -> None:
    stars = LabelReader(("1", "2", "3", "4", "5"))
    assert [stars.read(value, "") for value in (1, "5", 3.0)] == [0, 4, 2]
    with pytest.raises(
        DataError, match=r"the label 0 is no class of the victim: expected '1', .*'5'; correct"
    ):
        stars.read(0, "row 1")
    swapped = LabelReader(("1", "0"))
    assert (swapped.read(0, ""), swapped.read("1", "")) == (1, 0)


def test_names_of_the_data_decide_when_they_are_the_victims_in_another_order() -> None:
    reader = LabelReader(("NEGATIVE", "POSITIVE"), own_names=("positive", "negative"))
    assert (reader.names, reader.read(0, ""), reader.read(1, "")) == (("NEGATIVE", "POSITIVE"), 1, 0)
    other_words = LabelReader(("LABEL_0", "LABEL_1"), own_names=("positive", "negative"))
    assert (other_words.read(0, ""), other_words.read(1, "")) == (0, 1)
    alone = LabelReader(None, own_names=("neg", "pos"))
    assert (alone.names, alone.read(1, ""), alone.read("pos", "")) == (("neg", "pos"), 1, 1)
    with pytest.raises(DataError, match=r"the label -1 is no class"):
        alone.read(-1, "row 1")


def test_a_label_map_is_complete_and_wins() -> None:
    reader = LabelReader(NAMES, label_map={"neg": "Negative", "5": 2, "negative": 1, "4.0": 2, "true": 0})
    assert [reader.read(value, "") for value in ("NEG", 5, "5.0", "negative", 4, True)] == [0, 2, 2, 1, 2, 0]
    with pytest.raises(
        DataError, match=r"row 9: the label 'positive' is not in the label map, which has 'neg'"
    ):
        reader.read("positive", "row 9")


@pytest.mark.parametrize("to", [3, -1, "good", ""])
def test_a_label_map_to_nowhere_is_refused(to: int | str) -> None:
    with pytest.raises(DataError, match=r"label map: the class .* of 'x' is no class of the victim"):
        LabelReader(NAMES, label_map={"x": to})


@given(
    st.none() | st.text() | st.integers() | st.floats() | st.booleans() | st.lists(st.integers(), max_size=2)
)
def test_any_label_gives_a_class_or_one_line(value: Any) -> None:
    for reader in (LabelReader(NAMES), LabelReader(None), LabelReader(("1", "2"), own_names=("2", "1"))):
        try:
            label = reader.read(value, "row 1")
        except DataError as error:
            assert "\n" not in str(error) and len(str(error)) < 500
        else:
            assert label >= 0 and (reader.names is None or label < len(reader.names))


def test_label_map_files(tmp_path: Path) -> None:
    (tmp_path / "map.json").write_text('\ufeff{"neg": 0, "pos": "positive"}', encoding="utf-8")
    (tmp_path / "map.toml").write_text('neg = 0\npos = "positive"\n"5" = 1\n', encoding="utf-8")
    assert read_label_map(tmp_path / "map.json") == {"neg": 0, "pos": "positive"}
    assert read_label_map(str(tmp_path / "map.toml")) == {"neg": 0, "pos": "positive", "5": 1}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("map.yaml", "", r"label map 'map\.yaml': expected a name that ends in \.json or \.toml"),
        ("map.json", "{", r"label map 'map\.json': broken JSON"),
        ("map.toml", "a = [", r"label map 'map\.toml': broken TOML"),
        ("map.json", "[1]", r"holds \[1\], expected entries such as"),
        ("map.json", "{}", r"holds \{\}, expected entries"),
        ("map.json", '{"a": true}', r"'a' maps to True, expected entries"),
        ("map.json", '{"a": null}', r"'a' maps to None, expected entries"),
        ("map.toml", "a = 0.5", r"'a' maps to 0\.5, expected"),
        ("map.json", '{"a": 0, "A ": 1}', r"two labels differ in letter case or spaces only"),
        ("map.json", "[" * 100_000, r"broken JSON"),
    ],
)
def test_broken_label_maps(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_label_map(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_missing_label_map(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read the label map 'none\.json' \(No such file"):
        read_label_map(tmp_path / "none.json")
