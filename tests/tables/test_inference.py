from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables import ColumnSpec, TableSchema

FRAME = pd.DataFrame(
    {
        "age": [25, 40, 31, 60],
        "rate": [0.5, 1.5, 0.25, 2.5],
        "race": [3, 1, 3, 9],
        "sex": ["Male", "Female", "Male", "Female"],
        "member": [True, False, True, True],
        "grade": pd.Categorical(["low", "high", "low", "mid"], ["low", "mid", "high"], ordered=True),
        "town": pd.Categorical(["b", "a", "b", "a"], ["b", "a", "c"]),
        "whole": [1.0, -1.0, 30.0, 2.0],
        "same": [7, 7, 7, 7],
        "y": [0, 1, 1, 0],
    }
)


def test_kinds_bounds_and_codes_by_hand() -> None:
    schema = TableSchema.infer(
        FRAME, sensitive=["race", "sex"], immutable=["member"], label="y", kinds={"race": "categorical"}
    )
    assert schema.columns == (
        ColumnSpec("age", "integer", 25, 60, step=1),
        ColumnSpec("rate", "numeric", 0.25, 2.5, step=0.0225),
        ColumnSpec("race", "categorical", values=(1, 3, 9), labels=("1", "3", "9"), sensitive=True),
        ColumnSpec("sex", "categorical", values=(0, 1), labels=("Female", "Male"), sensitive=True),
        ColumnSpec("member", "categorical", values=(0, 1), labels=("False", "True"), immutable=True),
        ColumnSpec("grade", "ordinal", values=(0, 1, 2), labels=("low", "mid", "high")),
        ColumnSpec("town", "categorical", values=(0, 1, 2), labels=("a", "b", "c")),
        ColumnSpec("whole", "integer", -1, 30, step=1),
        ColumnSpec("same", "integer", 7, 7, step=1),
    )


def test_the_printed_summary() -> None:
    schema = TableSchema.infer(FRAME, sensitive=["sex"], immutable=["member"], label="y")
    lines = schema.describe().splitlines()
    assert lines[0].split() == ["column", "kind", "allows", "step", "marks", "remark"]
    assert lines[2].split() == ["age", "integer", "25", "to", "60", "1"]
    assert "few values: if they are codes, say kind categorical" in lines[4]
    assert lines[5].split() == ["sex", "categorical", "Female,", "Male", "sensitive"]
    assert lines[6].split() == ["member", "categorical", "False,", "True", "immutable"]
    assert lines[10].split() == ["same", "integer", "7", "to", "7", "1", "constant"]
    many = pd.DataFrame({"name": [f"n{i}" for i in range(150)]})
    assert "150 values: an identifier? leave it out" in TableSchema.infer(many).describe()


def test_a_step_of_wide_whole_numbers_is_a_hundredth_of_their_range() -> None:
    schema = TableSchema.infer(pd.DataFrame({"income": [0, 60_049], "age": [0, 149]}))
    assert [column.step for column in schema.columns] == [600, 1]


def test_a_constant_fraction_has_no_step() -> None:
    schema = TableSchema.infer(pd.DataFrame({"a": [0.5, 0.5]}))
    assert schema.columns == (ColumnSpec("a", "numeric", 0.5, 0.5),)
    assert schema.project([[3.0]], [[0.5]]).tolist() == [[0.5]]


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "Int64"])
def test_number_types(dtype: str) -> None:
    schema = TableSchema.infer(pd.DataFrame({"a": pd.Series([1, 5], dtype=dtype)}))
    assert schema.columns == (ColumnSpec("a", "integer", 1, 5, step=1),)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            FRAME,
            {"sensitive": ["gender"]},
            "sensitive names the column 'gender', which the table does not have",
        ),
        (FRAME, {"immutable": ["gender"]}, "immutable names the column 'gender'"),
        (FRAME, {"label": "income"}, "label names the column 'income'"),
        (FRAME, {"kinds": {"z": "numeric"}}, "kinds names the column 'z'"),
        (FRAME, {"label": "y", "sensitive": ["y"]}, "label column 'y' cannot be sensitive"),
        (FRAME, {"kinds": {"sex": "numeric"}}, "column 'sex' holds no numbers, so it cannot be numeric"),
        (FRAME, {"kinds": {"rate": "integer"}}, "column 'rate' holds fractions, so it cannot be integer"),
        (FRAME, {"kinds": {"sex": "one_hot"}}, "kind 'one_hot' cannot be inferred"),
        (FRAME, {"sensitive": ["rate"]}, "sensitive column 'rate' holds fractions.*cut it into groups"),
        (FRAME[:0], {}, "no row"),
        (FRAME[["y"]], {"label": "y"}, "no column beside the label"),
        (pd.DataFrame({"a": [1, np.nan]}), {}, r"column 'a' misses 1 of 2 values, the first in row 1"),
        (pd.DataFrame({"a": ["x", None]}), {}, "column 'a' misses 1 of 2 values"),
        (pd.DataFrame({"a": [1, np.inf]}), {}, "column 'a' holds infinity"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), {}, "holds times"),
        (pd.DataFrame({"a": pd.Series([1, "1"], dtype=object)}), {}, "holds '1' as text and as a number"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "two columns called 'a'"),
        (pd.DataFrame({3: [1]}), {}, "column name 3 is no string"),
    ],
)
def test_tables_that_give_no_schema(frame: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TableSchema.infer(frame, **options)


@pytest.mark.parametrize("value", [1, "Male"])
def test_a_sensitive_column_with_one_value(value: Any) -> None:
    with pytest.raises(UsageError, match=r"sensitive column 'sex' allows one value.*give its other values"):
        TableSchema.infer(pd.DataFrame({"sex": [value, value], "a": [1, 2]}), sensitive=["sex"])
