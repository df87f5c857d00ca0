"""The templates of the package: Adult, Bank, COMPAS and Employment, and a plain one for any table.

The wording follows the tables of templates in "RIFair: white-box generation for robust individual fairness",
January 2026. A table need not have all of its columns: a sentence is told by the first of its variants whose
columns are there, and what no sentence tells is told at the end, as in the paper's template for Employment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rif_plugins.errors import UsageError
from rif_plugins.tables.employment_words import EMPLOYMENT_NAMES, EMPLOYMENT_WORDS
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tables.templates import Agreement, Gender, Part, Slot, Template, parse_parts

_PERSONS = {
    "<Who>": "[The individual is|I am|You are|She is|He is]",
    "<They>": "[They|I|You|She|He]",
    "<they>": "[they|I|you|she|he]",
    "<Their>": "[Their|My|Your|Her|His]",
}
_THE = ("The", "My", "Your", "Her", "His")
_DID = {"0": "did not", "1": "did"}


@dataclass(frozen=True)
class BuiltIn:
    """A template that fits itself to the columns of a table.

    Attributes:
        sentences: The variants of each sentence, the most complete first, with the marks of ``_PERSONS``.
        opening: What stands before them.
        sensitive: Columns that are sensitive where nothing else is said.
        gender, words: See ``Template``.
        names: Names of columns for sentences of the kind *The age is: 39.*
    """

    sentences: tuple[tuple[str, ...], ...] = ()
    opening: str = ""
    sensitive: tuple[str, ...] = ()
    gender: Gender | None = None
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


BUILT_IN: dict[str, BuiltIn] = {
    "adult": BuiltIn(
        sentences=(
            (
                "<Who> a/an {age}-year-old {race} {sex}, {marital_status} and residing in {native_country} "
                "as the {relationship} of household.",
            ),
            (
                "<They> [hold|holds] a/an {education} degree ({education_num} years of formal education) and "
                "currently [work|works] as a/an {occupation} in the {workclass} sector, typically logging "
                "{hours_per_week} hours per week.",
                "<They> [hold|holds] a/an {education} degree and currently [work|works] as a/an {occupation} "
                "in the {workclass} sector, typically logging {hours_per_week} hours per week.",
            ),
            (
                "<Their> financial profile includes a capital gain of {capital_gain} and a loss of "
                "{capital_loss}.",
            ),
        ),
        sensitive=("race", "sex"),
        gender=Gender("sex", ("Female",), ("Male",)),
    ),
    "bank": BuiltIn(
        sentences=(
            (
                "<Who> a/an {age}-year-old {marital} individual, employed as a/an {job} with a/an "
                "{education} degree.",
            ),
            (
                "<Their> credit default record is {default}, annual financial balance is €{balance}, housing "
                "loans {housing}, and personal loans {loan}.",
            ),
            (
                "During the current campaign, <they> contacted the bank {campaign} times, most recently via "
                "{contact} on {month} {day} (duration: {duration} seconds).",
                "During the current campaign, <they> contacted the bank {campaign} times, most recently via "
                "{contact} on {month} {day}.",
            ),
            (
                "In previous campaigns, <they> contacted the bank {previous} times {pdays} days ago, "
                "obtaining a/an {poutcome} outcome.",
            ),
        ),
        sensitive=("age",),
    ),
    "compas": BuiltIn(
        sentences=(
            (
                "<Who> a/an {age}-year-old {race} {sex} (age group: {age_cat}).",
                "<Who> a/an {age}-year-old {race} {sex}.",
                "<Who> a/an {race} {sex} of the age group {age_cat}.",
            ),
            (
                "<They> [have|has] {priors_count} prior offense(s) and [are|am|are|is|is] charged with a/an "
                "{c_charge_degree} degree ({c_charge_desc}).",
                "<They> [have|has] {priors_count} prior offense(s) and [are|am|are|is|is] charged with a/an "
                "{c_charge_degree} degree.",
            ),
            ("<Their> COMPAS general recidivism risk score is {decile_score} ({score_text} risk).",),
            (
                "Recidivism records: <they> {is_recid} recidivate, with a/an {r_charge_degree} charge degree "
                "for {r_charge_desc}.",
            ),
            (
                "Violence records: <they> {is_violent_recid} commit violent recidivism, with a/an "
                "{vr_charge_degree} charge for {vr_charge_desc}.",
            ),
            ("<Their> violent recidivism risk score is {v_decile_score} ({v_score_text} risk).",),
        ),
        sensitive=("race", "sex"),
        gender=Gender("sex", ("Female",), ("Male",)),
        words={"is_recid": _DID, "is_violent_recid": _DID},
        names={
            "juv_fel_count": "number of juvenile felonies",
            "juv_misd_count": "number of juvenile misdemeanors",
            "juv_other_count": "number of other juvenile offenses",
            "days_b_screening_arrest": "number of days between screening and arrest",
        },
    ),
    "employment": BuiltIn(
        opening=(
            "The following individual context corresponds to a survey respondent. The survey was conducted "
            "among US residents in 2018. Please answer the question: what was "
            "[the person's|my|your|her|his] employment in the past year based on the information provided? "
            "Individual context:"
        ),
        sensitive=("SEX", "RAC1P"),
        gender=Gender("SEX", ("2",), ("1",)),
        words=EMPLOYMENT_WORDS,
        names=EMPLOYMENT_NAMES,
    ),
    "plain": BuiltIn(),
}


def built_in(name: str, schema: TableSchema) -> Template:
    """A template of the package, fitted to the columns of a table.

    Column names are compared without regard to case, hyphens, dots and spaces.

    Raises:
        UsageError: There is no such template, or it knows none of the columns.
    """
    if name not in BUILT_IN:
        raise UsageError(f"template {name!r} does not exist: expected {', '.join(BUILT_IN)}, or a file")
    own = BUILT_IN[name]
    here = {folded(column): column for column in schema.names}
    parts: list[Part] = list(parse_parts(own.opening, name))
    left = set(schema.names)
    for variants in own.sentences:
        chosen = next((found for v in variants if (found := _fitted(v, name, here)) is not None), ())
        told = {part.column for part in chosen if isinstance(part, Slot)}
        if told and told <= left:
            parts += [" ", *chosen] if parts else chosen
            left -= told
    named = {here[folded(key)]: text for key, text in own.names.items() if folded(key) in here}
    if name != "plain" and len(left) == len(schema.names) and not named:
        raise UsageError(
            f"the template {name} knows none of the columns {', '.join(schema.names)}: "
            "say --template plain, or a file"
        )
    order = [*named, *(column for column in schema.names if column not in named)]
    for column in (column for column in order if column in left):
        text = named.get(column) or " ".join(column.replace("_", " ").split()) or column
        parts += [" "] if parts else []
        parts += [Agreement(_THE), f" {text} is: ", Slot(column), "."]
    return Template(name, _merged(parts), _gender(own, here), _words(own, here, schema))


def default_sensitive(name: str, schema: TableSchema) -> tuple[str, ...]:
    """The columns that a template of the package takes as sensitive, where the table has them."""
    here = {folded(column): column for column in schema.names}
    own = BUILT_IN[name].sensitive if name in BUILT_IN else ()
    return tuple(here[folded(column)] for column in own if folded(column) in here)


def folded(name: str) -> str:
    """A column name as it is compared."""
    return name.lower().translate(str.maketrans("-. ", "___"))


def _fitted(text: str, name: str, here: Mapping[str, str]) -> tuple[Part, ...] | None:
    """The parts of a sentence with the table's own names; None where it lacks a column."""
    for mark, forms in _PERSONS.items():
        text = text.replace(mark, forms)
    parts = parse_parts(text, name)
    slots = [part.column for part in parts if isinstance(part, Slot)]
    if any(folded(column) not in here for column in slots):
        return None
    return tuple(
        Slot(here[folded(part.column)], part.has_article) if isinstance(part, Slot) else part
        for part in parts
    )


def _merged(parts: list[Part]) -> tuple[Part, ...]:
    merged: list[Part] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    return tuple(merged)


def _gender(own: BuiltIn, here: Mapping[str, str]) -> Gender | None:
    if own.gender is None or folded(own.gender.column) not in here:
        return None
    return Gender(here[folded(own.gender.column)], own.gender.female, own.gender.male)


def _words(own: BuiltIn, here: Mapping[str, str], schema: TableSchema) -> dict[str, dict[str, str]]:
    """The words of the values that the table has."""
    found = {}
    for key, words in own.words.items():
        if folded(key) in here:
            column = schema.column(here[folded(key)])
            known = column.labels or tuple(f"{value:g}" for value in column.values or ())
            found[column.name] = {v: w for v, w in words.items() if v in known or not known}
    return found
