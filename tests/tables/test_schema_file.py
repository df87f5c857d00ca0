from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.errors import DataError
from rif_plugins.tables import ColumnSpec, Relation, TableSchema

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)


@st.composite
def columns(draw: st.DrawFn, name: str) -> ColumnSpec:
    kind = draw(st.sampled_from(["numeric", "integer", "categorical", "ordinal", "one_hot"]))
    marks = {"immutable": draw(st.booleans())}
    if kind == "one_hot":
        width = draw(st.integers(1, 4))
        return ColumnSpec(name, "one_hot", width=width, **marks)
    if kind in ("categorical", "ordinal"):
        codes = tuple(draw(st.lists(FINITE, min_size=1, max_size=4, unique=True)))
        names = draw(st.lists(NAMES, min_size=len(codes), max_size=len(codes), unique=True))
        return ColumnSpec(name, kind, values=codes, labels=tuple(names), **marks)  # type: ignore[arg-type]
    low, high = sorted(draw(st.lists(FINITE, min_size=2, max_size=2)))
    if kind == "integer":
        return ColumnSpec(name, "integer", low, high, grid=0.5, **marks)
    return ColumnSpec(name, "numeric", low, high, step=draw(st.floats(1e-300, 1e300)), **marks)


@settings(max_examples=80, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=5, unique=True).flatmap(lambda n: st.tuples(*map(columns, n))))
def test_a_schema_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, parts: tuple[ColumnSpec]
) -> None:
    schema = TableSchema(parts)
    path = tmp_path_factory.mktemp("schema") / "s.toml"
    path.write_text(schema.to_toml(), encoding="utf-8", newline="")
    assert TableSchema.from_toml(path) == schema


def test_the_file_by_hand(tmp_path: Path) -> None:
    text = """schema = "rif-table/1"

[[column]]
name = "age"
kind = "integer"
low = 17
high = 90
step = 1

[[column]]
name = "sex"
kind = "categorical"
values = [0, 1]
labels = ["Female", "Male"]
sensitive = true
"""
    path = tmp_path / "adult.toml"
    path.write_text(text)
    rule = Relation("adult", lambda x: x[:, 0] >= 17)
    schema = TableSchema.from_toml(path, relations=[rule])
    assert schema.relations == (rule,)
    assert schema.columns[0] == ColumnSpec("age", "integer", 17, 90, step=1)
    assert schema.column("sex").labels == ("Female", "Male")
    assert TableSchema(schema.columns).to_toml() == text
    assert '# relation "adult": a Python function' in schema.to_toml()


GOOD = 'schema = "rif-table/1"\n[[column]]\nname = "a"\nkind = "numeric"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'the .*`schema` is None, expected "rif-table/1"'),
        ("x = [", "is no TOML"),
        ('schema = "rif-table/1"', "no column: add one"),
        ('schema = "rif-table/1"\ncolumn = [1]', "column 1 is no table"),
        (GOOD + "hihg = 3", r"column 1 \(a\): unknown key `hihg`; allowed are name, kind, low"),
        (GOOD.replace("[[column]]", "extra = 1\n[[column]]"), "unknown key `extra`"),
        (GOOD + 'low = "3"', "`low` is '3', expected a number"),
        (GOOD + "sensitive = 1", "`sensitive` is 1, expected true or false"),
        (GOOD + "width = 1.5", "`width` is 1.5, expected a whole number"),
        (GOOD + "values = [true]", "`values` is .*, expected a list of numbers"),
        (GOOD + "labels = [1]", "`labels` is .*, expected a list of strings"),
        (GOOD.replace('"a"', "1"), "`name` is 1, expected a string"),
        ('schema = "rif-table/1"\n[[column]]\nname = "a"\n', "the key `kind` is missing"),
        (GOOD + "low = 3\nhigh = 2", "column 1: column 'a': low 3 lies above high 2"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message.removeprefix("the .*")):
        TableSchema.from_toml(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no schema file .*none\.toml: check the path"):
        TableSchema.from_toml(tmp_path / "none.toml")
    with pytest.raises(DataError, match="cannot read the schema"):
        TableSchema.from_toml(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'schema = "\xe9"')
    with pytest.raises(DataError, match="is not UTF-8"):
        TableSchema.from_toml(tmp_path / "latin.toml")
