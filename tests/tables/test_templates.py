"""Templates: what they may hold, what is refused in one line, how files are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import DataError, RIFError, UsageError
from rif_plugins.tables import ColumnSpec, TableSchema
from rif_plugins.tables.telling import Teller
from rif_plugins.tables.template_library import BUILT_IN, built_in, default_sensitive
from rif_plugins.tables.templates import Agreement, Gender, Slot, Template

SCHEMA = TableSchema(
    (
        ColumnSpec("age", "integer", 18, 90),
        ColumnSpec("job", "categorical", values=(0, 1), labels=("cook", "engineer")),
        ColumnSpec("sex", "categorical", values=(0, 1), labels=("Female", "Male"), sensitive=True),
    )
)
SEX = Gender("sex", ("Female",), ("Male",))
TEXT = "[They|I|You|She|He] [work|works] as a/an {job}; age {age}, {sex}."
ROW = {"age": 41, "job": "engineer", "sex": "Female"}


def test_the_parts_of_a_template() -> None:
    template = Template.parse("{{a}} a/an {job} [[x]][hold|holds] {age}", "t")
    assert template.parts == (
        "{a} ",
        Slot("job", has_article=True),
        " [x]",
        Agreement(("hold", "hold", "hold", "holds", "holds")),
        " ",
        Slot("age"),
    )
    assert template.columns == ("job", "age")


@pytest.mark.parametrize(
    ("perspective", "text"),
    [
        ("third", "They work as an engineer; age 41, Female."),
        ("i", "I work as an engineer; age 41, Female."),
        ("you", "You work as an engineer; age 41, Female."),
        ("she_he", "She works as an engineer; age 41, Female."),
        ("She/He", "She works as an engineer; age 41, Female."),
    ],
)
def test_words_agree_with_the_person(perspective: str, text: str) -> None:
    teller = Teller(Template.parse(TEXT, gender=SEX), SCHEMA, perspective)
    assert teller.tell(ROW).text == text
    assert teller.read(text) == ROW


def test_nobody_without_a_gender_is_told_as_she_or_he() -> None:
    teller = Teller(Template.parse(TEXT, gender=SEX), SCHEMA, "she_he")
    assert teller.tell({**ROW, "sex": None}).text == "They work as an engineer; age 41, not given."
    with pytest.raises(DataError, match="do not agree with the gender"):
        teller.read("He works as an engineer; age 41, Female.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "has no field"),
        ("{age} and {age}", "'age' is told twice"),
        ("{age}{job}", "'age' and 'job' have no text between them in the third person"),
        ("{age}[|I|You|She|He]{job}", "have no text between them in the third person"),
        ("{age}[ is|]{job}", "have no text between them in the she person"),
        ("{age", "'{' at character 1 has no partner"),
        ("{age} ]", r"'\]' at character 7 has no partner: close it, or write \]\]"),
        ("{age} {}", r"\{\} names no column"),
        ("{age} [a|b|c]", r"\[a\|b\|c\] has 3 forms, expected 5"),
    ],
)
def test_a_template_that_cannot_be_read_back_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Template.parse(text)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (Template.parse("{age} {job} {sx}"), "the table has no column 'sx', it has age, job, sex"),
        (Template.parse("{age} {job}"), "the column 'sex' is not told"),
        (Template.parse("{age} {job} {sex}", words={"job": {"pilot": "flyer"}}), "names the value 'pilot'"),
    ],
)
def test_a_template_for_another_table_is_refused(template: Template, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Teller(template, SCHEMA)


def test_words_and_gender_must_fit_the_template() -> None:
    for words, message in (
        ({"town": {"a": "b"}}, "'town', which no field tells"),
        ({"job": {"cook": "x", "engineer": "x"}}, "two values of 'job' are told as 'x'"),
        ({"job": {"cook": ""}}, "or one as nothing"),
    ):
        with pytest.raises(DataError, match=message):
            Template.parse(TEXT, words=words)
    with pytest.raises(DataError, match="gender names the column 'sex'"):
        Template.parse("{age}", gender=SEX)


def test_perspectives_that_do_not_exist_or_do_not_fit() -> None:
    with pytest.raises(UsageError, match="perspective 'we' does not exist: expected third, i, you, she_he"):
        Teller(Template.parse(TEXT), SCHEMA, "we")
    with pytest.raises(UsageError, match="no column says the gender, which she_he needs: say she or he"):
        Teller(Template.parse(TEXT), SCHEMA, "she_he")
    with pytest.raises(UsageError, match="not every row can be told as she: say she_he"):
        Teller(Template.parse(TEXT, gender=SEX), SCHEMA, "she")
    assert Teller(Template.parse(TEXT), SCHEMA, "he").tell(ROW).text.startswith("He works")


def test_template_files(tmp_path: Path) -> None:
    plain = tmp_path / "t.txt"
    plain.write_text("A {job},\n  {age} years: {sex}.\n", encoding="utf-8-sig")
    assert Teller(Template.load(plain), SCHEMA).tell(ROW).text == "A engineer, 41 years: Female."
    file = tmp_path / "t.toml"
    file.write_text(
        'template = "rif-template/1"\ntext = """\n[They|I|You|She|He] [are|am|are|is|is]\n'
        'a/an {job} ({sex}, {age})"""\n'
        'gender = { column = "sex", female = ["Female"], male = "Male" }\n'
        '[words.sex]\nFemale = "woman"\n'
    )
    teller = Teller(Template.load(file), SCHEMA, "she_he")
    assert teller.tell(ROW).text == "She is an engineer (woman, 41)"
    assert teller.read("He is a cook (Male, 20)") == {"age": 20, "job": "cook", "sex": "Male"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text = 1", '`template` is None, expected "rif-template/1"'),
        ('template = "rif-template/1"', "`text` is missing"),
        ('template = "rif-template/1"\ntext = "{a}"\nfoo = 1', "unknown key `foo`"),
        ('template = "rif-template/1"\ntext = "{a}"\nwords = 1', "`words` must be tables"),
        ('template = "rif-template/1"\ntext = "{a}"\ngender = "a"', "`gender` must be"),
        (
            'template = "rif-template/1"\ntext = "{a}"\ngender = {column="a", female="x", male="x"}',
            "with different values",
        ),
        ("text = ", "is no TOML"),
        ('template = "rif-template/1"\ntext = "{a} {a}"', "told twice"),
    ],
)
def test_mistakes_in_a_template_file_are_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "t.toml"
    file.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        Template.load(file)
    assert "\n" not in str(caught.value)
    assert "t.toml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no template file"):
        Template.load(tmp_path / "none.toml")
    broken = tmp_path / "b.txt"
    broken.write_bytes(b"\xff{a}")
    with pytest.raises(DataError, match="is not UTF-8"):
        Template.load(broken)
    with pytest.raises(DataError, match="cannot read the template"):
        Template.load(tmp_path)


ADULT = {
    "age": ("integer", 39), "workclass": ("c", "State-gov"), "education": ("c", "Bachelors"),
    "education-num": ("integer", 13), "marital.status": ("c", "Never-married"), "occupation": ("c",
    "Adm-clerical"),
    "relationship": ("c", "Not-in-family"), "race": ("c", "White"), "sex": ("c", "Male"),
    "Capital Gain": ("integer", 2174), "capital_loss": ("integer", 0), "hours_per_week": ("integer", 40),
    "native_country": ("c", "United-States"),
}  # fmt: skip
BANK = {
    "age": ("integer", 80), "job": ("c", "unemployed"), "marital": ("c", "single"), "education": ("c",
    "primary"),
    "default": ("c", "no"), "balance": ("integer", -20), "housing": ("c", "no"), "loan": ("c", "yes"),
    "contact": ("c", "cellular"), "day": ("integer", 19), "month": ("c", "oct"), "duration": ("integer", 79),
    "campaign": ("integer", 1), "pdays": ("integer", -1), "previous": ("integer", 0), "poutcome": ("c",
    "unknown"),
}  # fmt: skip
COMPAS = {
    "sex": ("c", "Female"), "age_cat": ("c", "25 - 45"), "race": ("c", "Asian"),
    "priors_count": ("integer", 2),
    "c_charge_degree": ("c", "F"), "c_charge_desc": ("c", "Burglary (Armed)"), "decile_score": ("integer", 3),
    "score_text": ("c", "Low"), "is_recid": ("integer", 1), "r_charge_degree": ("c", "(M1)"),
    "r_charge_desc": ("c", "Battery"), "is_violent_recid": ("integer", 0), "vr_charge_degree": ("c", "none"),
    "vr_charge_desc": ("c", "none"), "v_decile_score": ("integer", 1), "v_score_text": ("c", "Low"),
}  # fmt: skip
EMPLOYMENT = {
    name: ("code", value) for name, value in {
        "AGEP": 43, "SCHL": 21, "MAR": 1, "RELP": 1, "DIS": 2, "ESP": 0, "CIT": 1, "MIG": 1,
        "MIL": 4, "ANC": 1,
        "NATIVITY": 1, "DEAR": 2, "DEYE": 2, "DREM": 2, "SEX": 2, "RAC1P": 6,
    }.items()
}  # fmt: skip


def told(name: str, table: dict[str, tuple[str, object]], perspective: str) -> str:
    columns = []
    for column, (kind, value) in table.items():
        if kind == "integer" or column == "AGEP":
            columns.append(ColumnSpec(column, "integer", -100, 5000))
        elif kind == "code":
            codes = tuple(float(code) for code in range(25))
            columns.append(ColumnSpec(column, "categorical", values=codes))
        else:
            labels = (str(value), "another")
            columns.append(ColumnSpec(column, "categorical", values=(0, 1), labels=labels))
    schema = TableSchema(tuple(columns))
    teller = Teller(built_in(name, schema), schema, perspective)
    row = {column: value for column, (_, value) in table.items()}
    found = teller.tell(row)
    assert teller.read(found.text) == row
    return found.text


def test_adult_follows_the_published_wording() -> None:
    assert told("adult", ADULT, "third") == (
        "The individual is a 39-year-old White Male, Never-married and residing in United-States as the "
        "Not-in-family of household. They hold a Bachelors degree (13 years of formal education) "
        "and currently "
        "work as an Adm-clerical in the State-gov sector, typically logging 40 hours per week. "
        "Their financial "
        "profile includes a capital gain of 2174 and a loss of 0."
    )
    assert told("adult", ADULT, "she_he").startswith("He is a 39-year-old White Male, ")
    assert ". He holds a Bachelors degree (13 years" in told("adult", ADULT, "she_he")
    assert ". I hold a Bachelors degree (13 years" in told("adult", ADULT, "i")
    assert "and currently works as an Adm-clerical" in told("adult", ADULT, "she_he")
    assert "Your financial profile includes" in told("adult", ADULT, "you")


def test_bank_follows_the_published_wording() -> None:
    assert told("bank", BANK, "third") == (
        "The individual is an 80-year-old single individual, employed as an unemployed with a "
        "primary degree. "
        "Their credit default record is no, annual financial balance is €-20, housing loans no, and personal "
        "loans yes. During the current campaign, they contacted the bank 1 times, most recently "
        "via cellular on "
        "oct 19 (duration: 79 seconds). In previous campaigns, they contacted the bank 0 times -1 days ago, "
        "obtaining an unknown outcome."
    )
    assert told("bank", BANK, "she").startswith("She is an 80-year-old single individual")
    shorter = {name: value for name, value in BANK.items() if name != "duration"}
    assert "most recently via cellular on oct 19. In previous" in told("bank", shorter, "he")


def test_compas_follows_the_published_wording() -> None:
    assert told("compas", COMPAS, "she_he") == (
        "She is an Asian Female of the age group 25 - 45. She has 2 prior offense(s) and is "
        "charged with an F "
        "degree (Burglary (Armed)). Her COMPAS general recidivism risk score is 3 (Low risk). Recidivism "
        "records: she did recidivate, with a (M1) charge degree for Battery. Violence records: she did not "
        "commit violent recidivism, with a none charge for none. Her violent recidivism risk score is 1 "
        "(Low risk)."
    )
    assert "I have 2 prior offense(s) and am charged with" in told("compas", COMPAS, "i")
    assert "They have 2 prior offense(s) and are charged with" in told("compas", COMPAS, "third")


def test_employment_follows_the_published_wording() -> None:
    text = told("employment", EMPLOYMENT, "third")
    assert text.startswith(
        "The following individual context corresponds to a survey respondent. The survey was "
        "conducted among US "
        "residents in 2018. Please answer the question: what was the person's employment in the "
        "past year based "
        "on the information provided? Individual context: The age is: 43. The educational attainment is: "
        "bachelor's degree. The marital status is: married. The relationship is: husband or wife. The "
        "disability recode is: without a disability. "
    )
    assert text.endswith("The cognitive difficulty is: no. The gender is: female. The race is: Asian.")
    hers = told("employment", EMPLOYMENT, "she_he")
    assert "what was her employment in the past year" in hers
    assert "Her age is: 43. " in hers
    assert "My age is: 43. " in told("employment", EMPLOYMENT, "i")


def test_what_no_sentence_tells_is_told_at_the_end() -> None:
    more = {**ADULT, "fnlwgt": ("integer", 12), "postal_code": ("c", "x")}
    assert told("adult", more, "i").endswith("loss of 0. My fnlwgt is: 12. My postal code is: x.")
    fewer = {name: value for name, value in ADULT.items() if name != "education-num"}
    assert "They hold a Bachelors degree and currently work as" in told("adult", fewer, "third")
    assert told("plain", {"a": ("integer", 1), "b": ("c", "x")}, "she") == "Her a is: 1. Her b is: x."


def test_templates_know_their_tables() -> None:
    assert set(BUILT_IN) == {"adult", "bank", "compas", "employment", "plain"}
    with pytest.raises(RIFError, match="template 'x' does not exist: expected adult, bank"):
        built_in("x", SCHEMA)
    other = TableSchema((ColumnSpec("a", "integer", 0, 3),))
    with pytest.raises(UsageError, match="knows none of the columns a: say --template plain"):
        built_in("adult", other)
    assert default_sensitive("adult", SCHEMA) == ("sex",)
    assert default_sensitive("plain", SCHEMA) == ()
