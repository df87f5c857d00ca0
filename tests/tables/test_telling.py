"""Rows told and read back: exact for odd numbers, missing values, categories that look like the template."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables import ColumnSpec, TableSchema
from rif_plugins.tables.datasets import load_bank, load_compas
from rif_plugins.tables.telling import Teller
from rif_plugins.tables.template_library import built_in
from rif_plugins.tables.templates import Gender, Template

DATA = Path(os.environ.get("RIF_DATA_DIR", "/nowhere")) / "tabular"
# Texts out of which both categories and templates are made, so that each looks like the other.
PIECES = (
    "a",
    "an",
    " ",
    ", ",
    ".",
    "is",
    "She",
    "He",
    "not given",
    "“",
    "”",
    "\\",
    "7",
    "-1",
    "é",
    "\n",
    "x y",
)
WORDS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
GAPS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join)
ODD = (0.1, 1e-7, 1e22, 1e300, -0.0, 2.5, -3.75, 123456789.123, 5e-324)


@st.composite
def columns(draw: st.DrawFn, name: str) -> ColumnSpec:
    is_sensitive = draw(st.booleans())
    kind = draw(st.sampled_from(["numeric", "integer", "categorical", "codes"]))
    if kind == "numeric":
        return ColumnSpec(name, "numeric")
    if kind == "integer":
        return ColumnSpec(name, "integer", -5, 12, sensitive=is_sensitive)
    if kind == "codes":
        return ColumnSpec(name, "categorical", values=(1, 2, 7), sensitive=is_sensitive)
    labels = draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
    codes = tuple(float(code) for code in range(len(labels)))
    return ColumnSpec(name, "categorical", values=codes, labels=tuple(labels), sensitive=is_sensitive)


@st.composite
def values(draw: st.DrawFn, column: ColumnSpec) -> Any:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, math.nan, pd.NA]))
    if column.kind == "numeric":
        numbers = st.floats(allow_nan=False, allow_infinity=False)
        return draw(st.one_of(st.sampled_from(ODD), numbers, st.integers(-(10**20), 10**20)))
    if column.kind == "integer":
        return draw(
            st.one_of(st.integers(-5, 12), st.sampled_from([2.5, 10**18, np.int64(3), np.float64(4)]))
        )
    return draw(st.sampled_from(column.labels or (1, 2.0, np.int64(7))))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Teller, dict[str, Any], dict[str, Any]]:
    schema_columns = [draw(columns(f"c{i}")) for i in range(draw(st.integers(1, 4)))]
    gender = None
    if draw(st.booleans()):
        schema_columns.append(
            ColumnSpec("sex", "categorical", values=(0, 1, 2), labels=("F", "M", "X"), sensitive=True)
        )
        gender = Gender("sex", ("F",), ("M",))
    parts = []
    for column in draw(st.permutations(schema_columns)):
        gap = draw(GAPS).replace("{", "")
        if draw(st.booleans()):
            gap += "[They|I|You|She|He]" + draw(st.sampled_from(["", " is", " "]))
        parts.append(gap + draw(st.sampled_from(["", "a/an "])) + "{" + column.name + "}")
    text = "".join(parts) + draw(st.one_of(st.just(""), GAPS))
    perspective = draw(st.sampled_from(["third", "i", "you", "she_he" if gender else "she"]))
    schema = TableSchema(tuple(schema_columns))
    teller = Teller(Template.parse(text, gender=gender), schema, perspective)
    rows = [{c.name: draw(values(c)) for c in schema.columns} for _ in range(2)]
    return teller, rows[0], rows[1]


def same(row: dict[str, Any], raw: dict[str, Any]) -> bool:
    def equal(a: Any, b: Any) -> bool:
        is_missing = b is None or b is pd.NA or (isinstance(b, float) and math.isnan(b))
        return a is None if is_missing else bool(a == b)

    return row.keys() == raw.keys() and all(equal(row[name], raw[name]) for name in row)


def told_or_assume(teller: Teller, row: dict[str, Any]) -> Any:
    """A told row; a template whose persons cannot be told apart says so, which is no wrong text."""
    try:
        return teller.tell(row)
    except DataError as error:
        assume("cannot be told apart" not in str(error))
        raise


@settings(max_examples=60, deadline=None)
@given(cases())
def test_every_row_is_read_back_exactly(case: tuple[Teller, dict[str, Any], dict[str, Any]]) -> None:
    teller, row, _ = case
    told = told_or_assume(teller, row)
    assert same(teller.read(told.text), row)
    assert teller.read(told.text) == told.row
    assert "".join(told.pieces) == told.text
    located = teller.locate(told.text)
    assert located == told
    for column in teller.schema.names:
        (span,) = [s for s in told.spans if s.column == column and s.role == "value"]
        words = told.text[span.start : span.end]
        assert same({column: teller.codecs[column].value(words)}, {column: row[column]})


@settings(max_examples=40, deadline=None)
@given(cases())
def test_different_rows_have_different_texts(case: tuple[Teller, dict[str, Any], dict[str, Any]]) -> None:
    teller, row, other = case
    first, second = told_or_assume(teller, row), told_or_assume(teller, other)
    assert (first.text == second.text) == (first.row == second.row)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_similar_rows_differ_in_sensitive_spans_only(
    case: tuple[Teller, dict[str, Any], dict[str, Any]],
) -> None:
    teller, row, _ = case
    assume(teller.sensitive)
    told = told_or_assume(teller, row)
    closed = teller.sensitive_spans(told)
    others = list(teller.similar_rows(row))
    own = tuple(told.row[name] for name in teller.sensitive)
    assert len(others) == len(teller.sensitive_values) - (own in teller.sensitive_values)
    for other in others[:5]:
        told_or_assume(teller, other)
        pair = teller.pair(row, other)
        assert teller.read(pair.similar) == other
        rebuilt, place = "", 0
        for swap in pair.swaps:
            assert pair.original[swap.start : swap.end] == swap.source
            assert pair.similar[swap.similar_start : swap.similar_end] == swap.target
            rebuilt += pair.original[place : swap.start] + swap.target
            place = swap.end
            is_person_of_nobody = told.row.get("sex") in (None, "X")
            inside = any(s.start <= swap.start and swap.end <= s.end for s in closed)
            assert inside or swap.start == swap.end or is_person_of_nobody
        assert rebuilt + pair.original[place:] == pair.similar


LOANS = TableSchema(
    (
        ColumnSpec("age", "integer", 18, 90, sensitive=True),
        ColumnSpec("job", "categorical", values=(0, 1, 2), labels=("cook", "army officer", "officer")),
        ColumnSpec("sex", "categorical", values=(0, 1), labels=("Female", "Male"), sensitive=True),
    )
)
SEX = Gender("sex", ("Female",), ("Male",))
HOLD = Template.parse(
    "[They|I|You|She|He] [are|am|are|is|is] a/an {age}-year-old {job}, {sex}. "
    "[They|I|You|She|He] [work|works].",
    gender=SEX,
)
ROW = {"age": 21, "job": "army officer", "sex": "Male"}


def test_swaps_by_hand() -> None:
    teller = Teller(HOLD, LOANS, "she_he")
    pair = teller.pair(ROW, {**ROW, "sex": "Female", "age": 18})
    assert pair.original == "He is a 21-year-old army officer, Male. He works."
    assert pair.similar == "She is an 18-year-old army officer, Female. She works."
    assert [(s.source, s.target) for s in pair.swaps] == [
        ("He", "She"), ("a", "an"), ("21", "18"), ("Male", "Female"), ("He", "She"),
    ]  # fmt: skip
    assert (pair.attribute, pair.value_from, pair.value_to) == ("age*sex", "21, Male", "18, Female")
    told = teller.tell(ROW)
    marked = [told.text[s.start : s.end] for s in teller.sensitive_spans(told)]
    assert marked == ["He", "a", "21", "Male", "He"]
    assert [s.role for s in told.spans] == [
        "agreement", "article", "value", "value", "value", "agreement",
    ]  # fmt: skip


def test_categories_of_several_words_stand_as_they_are() -> None:
    teller = Teller(Template.parse("{job} {sex} {age}"), LOANS)
    text = teller.tell(ROW).text
    assert text == "army officer Male 21"
    assert teller.read("officer Male 21")["job"] == "officer"


def test_quotation_marks_only_where_an_end_cannot_be_seen() -> None:
    labels = ("x", "x and y", "not given", "“", "", "y")
    schema = TableSchema(
        tuple(ColumnSpec(n, "categorical", values=tuple(range(6)), labels=labels) for n in ("a", "b"))
    )
    teller = Teller(Template.parse("{a} and {b}"), schema)
    texts = {a + "|" + b: teller.tell({"a": a, "b": b}).text for a in labels for b in labels}
    assert texts["x|y"] == "x and y"
    assert texts["x and y|x"] == "“x and y” and x"
    assert texts["x|x and y"] == "x and x and y"
    assert texts["not given|“"] == "“not given” and ““”"
    assert texts["|y"] == "“” and y"
    assert teller.tell({"a": None, "b": "x"}).text == "not given and x"
    assert len(set(texts.values())) == 36


def test_either_article_is_read_and_located() -> None:
    teller = Teller(HOLD, LOANS, "she_he")
    text = "She is a 18-year-old cook, Female. She works."
    assert teller.read(text) == {"age": 18, "job": "cook", "sex": "Female"}
    located = teller.locate(text)
    assert located.text == text
    assert [text[s.start : s.end] for s in located.spans] == ["She", "a", "18", "cook", "Female", "She"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("She is a 20-year-old cook, Female. She sings.", r"expected '\. She works\.' at character"),
        ("It is a 20-year-old cook, Female.", "expected 'She is ' at character 1, got 'It is a"),
        (
            "She is a twenty-year-old cook, Female. She works.",
            "column 'age' holds 'twenty', expected a number",
        ),
        ("She is a 20-year-old king, Female. She works.", "'king', expected one of cook, army officer"),
        ("He is a 20-year-old cook, Male. He works. ", "at character"),
        ("", "at character 1"),
        ("He is a “20-year-old cook, Male. He works.", "expected a value and '-year-old ' at character 9"),
    ],
)
def test_texts_that_were_not_told_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Teller(HOLD, LOANS, "she_he").read(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": "old"}, "column 'age' holds 'old', expected a number"),
        ({"age": True}, "column 'age' holds True, expected a number"),
        ({"job": "king"}, "column 'job' holds the category 'king'"),
    ],
)
def test_values_of_no_column_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Teller(HOLD, LOANS).tell({**ROW, **change})


def test_rows_and_schemas_that_lack_something() -> None:
    teller = Teller(HOLD, LOANS)
    with pytest.raises(DataError, match="the row has no column 'sex'"):
        teller.tell({"age": 20, "job": "cook"})
    one_hot = TableSchema((ColumnSpec("a", "one_hot", width=2),))
    with pytest.raises(UsageError, match="is a one-hot group, which is no raw value"):
        Teller(Template.parse("{a}"), one_hot)
    plain = TableSchema((ColumnSpec("a", "integer", 0, 3),))
    with pytest.raises(UsageError, match="no sensitive column"):
        list(Teller(Template.parse("{a}"), plain).similar_rows({"a": 1}))


def test_persons_that_cannot_be_told_apart_are_refused() -> None:
    labels = ("s him", "x")
    schema = TableSchema(
        (
            ColumnSpec("w", "categorical", values=(0, 1), labels=labels),
            ColumnSpec("sex", "categorical", values=(0, 1), labels=("F", "M")),
        )
    )
    template = Template.parse("{w}[ they| I| you| she| he]{sex}", gender=Gender("sex", ("F",), ("M",)))
    teller = Teller(template, schema, "she_he")
    for word in labels:
        for sex in ("F", "M", None):
            row = {"w": word, "sex": sex}
            assert teller.read(teller.tell(row).text) == row


@pytest.mark.skipif(not DATA.is_dir(), reason="not run: data absent (set RIF_DATA_DIR)")
@pytest.mark.parametrize("name", ["bank", "compas"])
@pytest.mark.parametrize("perspective", ["third", "i", "you", "she_he"])
def test_rows_of_public_tables(name: str, perspective: str) -> None:
    if name == "bank":
        data = load_bank(DATA / "bank.csv", include=["duration"])
        perspective = perspective.replace("she_he", "she")
    else:
        data = load_compas(DATA / "compas_two_years.csv", include=["c_charge_desc", "is_recid", "age_cat"])
    teller = Teller(built_in(name, data.schema), data.schema, perspective)
    for row in data.frame.iloc[:150].to_dict("records"):
        told = teller.tell(row)
        assert same(teller.read(told.text), row)
        assert "“" not in told.text
