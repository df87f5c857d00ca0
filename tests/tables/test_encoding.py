from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables import ColumnSpec, FieldLayout, Relation, TableEncoder, TableSchema

TRAIN = pd.DataFrame(
    {
        "age": [17, 90, 40, 55],
        "rate": [0.0, 2.0, 0.5, 1.0],
        "job": ["cook", "nurse", "cook", "pilot"],
        "sex": ["Male", "Female", "Male", "Female"],
        "code": [4, 2, 4, 9],
        "member": [True, False, True, True],
        "flat": [3, 3, 3, 3],
    }
)
RAW = TableSchema.infer(TRAIN, sensitive=["sex"], kinds={"code": "categorical"})


def test_identity_codes_by_hand() -> None:
    x = TableEncoder(RAW).encode(TRAIN)
    assert x[0].tolist() == [17, 0.0, 0, 1, 4, 1, 3]
    assert x[3].tolist() == [55, 1.0, 2, 0, 9, 1, 3]


def test_min_max_by_the_bounds_of_training() -> None:
    encoder = TableEncoder(RAW, scaling="min_max")
    x = encoder.encode(pd.DataFrame({**TRAIN.iloc[:1], "age": [40], "rate": [0.5]}))
    assert x[0].tolist() == pytest.approx([23 / 73, 0.25, 0, 1, 4, 1, 0])
    # The oracle of the specification for an age of 40 between 17 and 90.
    assert x[0, 0] == pytest.approx(0.315068, abs=1e-6)
    age = encoder.schema.column("age")
    assert (age.low, age.high, age.step, age.grid) == (0, 1, pytest.approx(1 / 73), pytest.approx(1 / 73))
    moved = encoder.schema.project(x + 0.4 / 73, x)
    assert moved[0, 0] == pytest.approx(23 / 73, abs=1e-12)
    assert encoder.decode(moved)["age"].tolist() == [40]
    assert encoder.schema.column("flat").high == 0


@pytest.mark.parametrize("scaling", ["identity", "min_max"])
@pytest.mark.parametrize("one_hot", [False, True, ("job",)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_and_back(scaling: Any, one_hot: Any, dtype: type) -> None:
    encoder = TableEncoder(RAW, scaling=scaling, one_hot=one_hot)
    x = encoder.encode(TRAIN, dtype=dtype)
    assert x.dtype == dtype
    assert not encoder.schema.violations(x).any()
    back = encoder.decode(x)
    pd.testing.assert_frame_equal(back, TRAIN, check_dtype=False)
    assert back["age"].dtype == np.int64
    assert back["member"].dtype == np.bool_
    assert encoder.encode(back, dtype=dtype) == pytest.approx(x)


def test_counterparts_are_scaled_as_the_rows_are() -> None:
    # (a - low) / (high - low); a published slip, a / (high - low), gives .547945 for an age of 40.
    raw = TableSchema.infer(TRAIN[["age", "rate"]], sensitive=["age"])
    encoder = TableEncoder(raw, scaling="min_max")
    ages = encoder.schema.sensitive_tuples()[:, 0]
    assert (len(ages), ages[0], ages[-1]) == (74, 0, pytest.approx(1))
    assert ages[40 - 17] == pytest.approx(0.315068, abs=1e-6)
    rows, mask = encoder.schema.counterparts(encoder.encode(TRAIN))
    assert (~mask).sum(axis=1).tolist() == [1, 1, 1, 1]
    assert not encoder.schema.violations(rows.reshape(-1, 2)).any()


def test_one_hot_groups_keep_their_marks() -> None:
    schema = TableEncoder(RAW, one_hot=["sex", "job"]).schema
    assert schema.n_features == 10
    sex = schema.column("sex")
    assert (sex.kind, sex.width, sex.sensitive, sex.labels) == ("one_hot", 2, True, ("Female", "Male"))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30))
def test_scaled_integers_survive(numbers: list[int]) -> None:
    frame = pd.DataFrame({"n": numbers})
    encoder = TableEncoder(TableSchema.infer(frame), scaling="min_max")
    x = encoder.encode(frame)
    assert not encoder.schema.violations(x).any()
    assert np.allclose(encoder.schema.project(x, x), x, atol=1e-12)
    assert encoder.decode(x)["n"].tolist() == numbers
    assert encoder.decode(x.astype(np.float32))["n"].tolist() == numbers


def replaced(**values: Any) -> pd.DataFrame:
    return pd.DataFrame({**{name: [TRAIN[name][0]] for name in TRAIN}, **{k: [v] for k, v in values.items()}})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (TRAIN.to_numpy(), "the table is ndarray, expected a pandas DataFrame"),
        (TRAIN.drop(columns="sex"), "the table has no column 'sex', which the schema names: it has age"),
        (replaced(job="judge"), r"column 'job' holds the category 'judge' \(row 0\), expected one of cook"),
        (replaced(code=5), r"column 'code' holds the category '5' \(row 0\), expected one of 2, 4, 9"),
        (replaced(age=91), "column 'age' holds 91 in row 0, expected 17 to 90 in whole numbers"),
        (replaced(age=18.5), "column 'age' holds 18.5 in row 0"),
        (replaced(rate=np.nan), r"column 'rate' misses the value of row 0 \(1 in all\)"),
        (replaced(rate=np.inf), "column 'rate' holds infinity"),
        (replaced(rate="high"), "column 'rate' holds 'high', expected numbers"),
        (replaced(job=None), "column 'job' misses the value of row 0"),
    ],
)
def test_rows_that_cannot_be_encoded(frame: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TableEncoder(RAW, scaling="min_max").encode(frame)


def test_numbers_beyond_the_bounds_can_be_clipped_or_kept() -> None:
    encoder = TableEncoder(RAW, scaling="min_max")
    frame = replaced(age=163)
    assert encoder.encode(frame, out_of_range="clip")[0, 0] == 1
    kept = encoder.encode(frame, out_of_range="keep")
    assert kept[0, 0] == 2
    assert encoder.schema.violations(kept).tolist() == [True]


def test_arrays_that_cannot_be_decoded() -> None:
    encoder = TableEncoder(RAW)
    x = encoder.encode(TRAIN)
    for value, message in [
        (0.4, r"column 'job' holds 0.4 in row 1, which is no code"),
        (np.nan, "the rows hold NaN or infinity, which cannot be decoded"),
    ]:
        x[1, 2] = value
        with pytest.raises(DataError, match=message):
            encoder.decode(x)


def test_decoding_does_not_hide_a_fraction() -> None:
    encoder = TableEncoder(TableSchema.infer(TRAIN[["age"]]))
    assert encoder.decode([[40.5]])["age"].tolist() == [40.5]


def test_options_that_do_not_exist() -> None:
    with pytest.raises(UsageError, match="scaling 'standard' does not exist"):
        TableEncoder(RAW, scaling="standard")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="column 'age' is integer: only categories become one-hot groups"):
        TableEncoder(RAW, one_hot=["age"])
    with pytest.raises(UsageError, match="no column 'x'"):
        TableEncoder(RAW, one_hot=["x"])
    with pytest.raises(UsageError, match="out_of_range 'drop' does not exist"):
        TableEncoder(RAW).encode(TRAIN, out_of_range="drop")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="column 'a' has no low and high to scale by"):
        TableEncoder(TableSchema((ColumnSpec("a", "numeric"),)), scaling="min_max")


@pytest.mark.parametrize("scaling", ["identity", "min_max"])
@pytest.mark.parametrize("one_hot", [False, True])
def test_relations_see_raw_arrays(scaling: Any, one_hot: bool) -> None:
    def grounded(x: np.ndarray) -> np.ndarray:
        x[:, 2] = 0
        return x

    # Column 2 is the job: 0 cook, 1 nurse, 2 pilot. No pilot is older than 65.
    rule = Relation("pilots retire", lambda x: (x[:, 2] != 2) | (x[:, 0] <= 65), grounded)
    encoder = TableEncoder(TableSchema(RAW.columns, (rule,)), scaling=scaling, one_hot=one_hot)
    x = encoder.encode(TRAIN)
    wanted = encoder.encode(pd.DataFrame({**TRAIN, "job": ["pilot"] * 4}))
    out = encoder.schema.project(wanted, x)
    assert encoder.decode(out)["job"].tolist() == ["pilot", "cook", "pilot", "pilot"]
    assert encoder.schema.violations(wanted).tolist() == [False, True, False, False]
    assert encoder.to_raw(encoder.from_raw(encoder.to_raw(x))) == pytest.approx(encoder.to_raw(x))


def test_fields_have_their_own_slots() -> None:
    schema = TableEncoder(RAW, one_hot=["sex"]).schema
    layout = FieldLayout(schema)
    assert layout.offsets.tolist() == [1, 2, 3, 6, 8, 11, 13]
    assert layout.vocabulary_size == 14
    assert layout.slots(2).tolist() == [3, 4, 5]
    x = TableEncoder(RAW, one_hot=["sex"]).encode(TRAIN)
    index, value = layout.split(x)
    assert index[0].tolist() == [1, 2, 3, 7, 9, 12, 13]
    assert value[0].tolist() == [17, 0.0, 1, 1, 1, 1, 3]
    assert layout.join(index, value).tolist() == x.tolist()
    assert layout.unpack(layout.pack(x)).tolist() == x.tolist()
    assert layout.sensitive.tolist() == [False, False, False, True, False, False, False]


def test_the_published_codes_collide_and_ours_do_not() -> None:
    # The Employment row of the specification: age, then fifteen categories, coded from 0 or 1 on.
    row = [43, 21, 1, 1, 2, 0, 1, 1, 4, 1, 1, 2, 2, 2, 1, 1]
    ends = [1, 26, 31, 49, 51, 60, 65, 69, 74, 79, 81, 83, 85, 88, 90, 99]
    published = [1, *(end + code for end, code in zip(ends, row[1:], strict=False))]
    assert published == [1, 22, 27, 32, 51, 51, 61, 66, 73, 75, 80, 83, 85, 87, 89, 91]
    sizes = np.diff(ends)
    columns = [ColumnSpec("age", "integer", 0, 99)]
    for number, (code, size) in enumerate(zip(row[1:], sizes, strict=True)):
        first = 0 if code == 0 else 1
        codes = tuple(float(first + i) for i in range(size))
        columns.append(ColumnSpec(f"c{number}", "categorical", values=codes))
    layout = FieldLayout(TableSchema(tuple(columns)))
    index, value = layout.split(np.array([row], dtype=float))
    assert len(set(index[0].tolist())) == 16
    assert value[0].tolist() == [43, *[1] * 15]
    assert layout.vocabulary_size == 100
    assert (index[0] - layout.offsets < layout.sizes).all()


def test_fields_refuse_foreign_codes() -> None:
    layout = FieldLayout(RAW)
    x = TableEncoder(RAW).encode(TRAIN)
    index, value = layout.split(x)
    index[2, 3] = 5
    with pytest.raises(DataError, match=r"index 5 in row 2 is no slot of 'sex': expected 6 to 7"):
        layout.join(index, value)
    x[1, 2] = 0.5
    with pytest.raises(DataError, match=r"column 'job' holds \[0.5\] in row 1, which is no code"):
        layout.split(x)
    with pytest.raises(UsageError, match=r"expected both \(n, 7\)"):
        layout.join(index[:, :2], value)
    with pytest.raises(UsageError, match=r"expected \(n, 14\)"):
        layout.unpack(x)
    with pytest.raises(UsageError, match="there is no field 9"):
        layout.slots(9)
