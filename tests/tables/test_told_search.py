"""Told rows under attack: exact similar texts, edits of fields that are edits of rows, the same function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.tokens import word_spans
from rif_plugins.errors import DataError
from rif_plugins.proposers import Proposer, TokenContext
from rif_plugins.runner.told_search import row_victim, search_told
from rif_plugins.similar import Lexicon
from rif_plugins.tables import ColumnSpec, TableSchema
from rif_plugins.tabular.templates import FieldProposer, Gender, Teller, Template, ToldSource

SCHEMA = TableSchema(
    (
        ColumnSpec("age", "integer", 18, 90, step=2),
        ColumnSpec("job", "categorical", values=(0, 1, 2), labels=("cook", "army officer", "engineer")),
        ColumnSpec("rate", "numeric", -1, 1, step=0.5),
        ColumnSpec("town", "categorical", values=(0, 1), labels=("Bonn", "Rome"), immutable=True),
        ColumnSpec("sex", "categorical", values=(0, 1), labels=("Female", "Male"), sensitive=True),
        ColumnSpec("race", "categorical", values=(0, 1, 2), labels=("X", "Y", "Z"), sensitive=True),
    )
)
TEMPLATE = Template.parse(
    "[They|I|You|She|He] [are|am|are|is|is] a/an {age}-year-old {race} {sex} from {town}, "
    "a/an {job} at {rate}.",
    gender=Gender("sex", ("Female",), ("Male",)),
)
TELLER = Teller(TEMPLATE, SCHEMA, "she_he")
ROW = {"age": 20, "job": "cook", "rate": -0.5, "town": "Rome", "sex": "Male", "race": "Y"}
TEXT = "He is a 20-year-old Y Male from Rome, a cook at -0.5."


def test_similar_texts_are_exactly_the_other_sensitive_values() -> None:
    assert TELLER.tell(ROW).text == TEXT
    pairs = ToldSource(TELLER).pairs_of(TEXT)
    assert [pair.similar for pair in pairs] == [
        "She is a 20-year-old X Female from Rome, a cook at -0.5.",
        "She is a 20-year-old Y Female from Rome, a cook at -0.5.",
        "She is a 20-year-old Z Female from Rome, a cook at -0.5.",
        "He is a 20-year-old X Male from Rome, a cook at -0.5.",
        "He is a 20-year-old Z Male from Rome, a cook at -0.5.",
    ]
    assert [pair.attribute for pair in pairs] == ["sex*race", "sex", "sex*race", "race", "race"]
    (pair,) = ToldSource(TELLER).pairs_of(TEXT, pairs[3].similar)
    assert pair == pairs[3]
    assert ToldSource(TELLER).pairs_of(TEXT, TEXT) == []
    assert ToldSource(TELLER).controls_of(TEXT) == []


def test_a_sample_depends_on_seed_and_row_alone() -> None:
    some = [ToldSource(TELLER, 2, seed).pairs_of(TEXT) for seed in (0, 0, 1, 2, 3)]
    assert [len(pairs) for pairs in some] == [2] * 5
    assert some[0] == some[1]
    assert len({tuple(pair.similar for pair in pairs) for pairs in some}) > 1
    assert set(some[0]) <= set(ToldSource(TELLER).pairs_of(TEXT))


def test_sensitive_spans_are_those_of_the_fields() -> None:
    def marked(source: ToldSource, text: str) -> list[str]:
        return [text[s.start : s.end] for s in source.sensitive_spans(text)]

    assert marked(ToldSource(TELLER), TEXT) == ["He", "Y", "Male"]
    assert marked(ToldSource(TELLER), TEXT.replace("from", "of")) == []
    with_words = ToldSource(TELLER, lexicon=Lexicon.load())
    assert set(marked(with_words, TEXT.replace("from", "of"))) >= {"He", "Male"}
    with pytest.raises(DataError, match="not told by the template"):
        ToldSource(TELLER).pairs_of("He ran.")


def candidates(proposer: FieldProposer, text: str, words: str) -> list[str]:
    start = text.index(words)
    (found,) = proposer.propose([TokenContext(text, start, start + len(words))])
    return [candidate.text for candidate in found]


def test_fields_take_other_values_of_their_column() -> None:
    proposer = FieldProposer(TELLER, max_values=4)
    assert isinstance(proposer, Proposer)
    # An age that needs "an" is left to the phrase with the article.
    assert candidates(proposer, TEXT, "20-year-old") == [
        "22-year-old",
        "24-year-old",
        "26-year-old",
        "28-year-old",
    ]
    assert candidates(proposer, TEXT, "a 20-year-old")[:2] == ["a 22-year-old", "an 18-year-old"]
    assert candidates(proposer, TEXT, "cook") == []
    assert candidates(proposer, TEXT, "a cook") == ["an army officer", "an engineer"]
    assert candidates(proposer, TEXT, "0.5") == ["1"]
    assert candidates(proposer, TEXT, "-0.5") == ["0", "-1", "0.5", "1"]


@pytest.mark.parametrize(
    "words", ["He", "is", "Y", "Male", "from", "Rome", "year", "a", "cook at", "Male from Rome"]
)
def test_nothing_else_is_edited(words: str) -> None:
    assert candidates(FieldProposer(TELLER), TEXT, words) == []


def test_every_candidate_is_a_valid_row_that_differs_in_one_field() -> None:
    proposer = FieldProposer(TELLER)
    contexts = [TokenContext(TEXT, s.start, s.end) for s in word_spans(TEXT)]
    contexts += [TokenContext(TEXT, start, end) for start, end in proposer.phrases(TEXT)]
    assert {TEXT[c.start : c.end] for c in contexts} >= {"a 20-year-old", "a cook"}
    n = 0
    for context, found in zip(contexts, proposer.propose(contexts), strict=True):
        for candidate in found:
            row = TELLER.read(TEXT[: context.start] + candidate.text + TEXT[context.end :])
            (column,) = (name for name in row if row[name] != ROW[name])
            assert column in ("age", "job", "rate")
            n += 1
    assert n > 20
    assert proposer.phrases("no told row") == []
    assert candidates(proposer, "no told row", "told") == []


def test_a_missing_number_has_no_neighbours() -> None:
    text = TELLER.tell({**ROW, "age": None}).text
    assert text.startswith("He is a not given-year-old")
    assert candidates(FieldProposer(TELLER), text, "a not given-year-old") == []


def model(rows: list[Mapping[str, Any]]) -> np.ndarray:
    """Grants from the age of 26 on, to women two years later."""
    score = np.array([float(row["age"]) - 25 - 2 * (row["sex"] == "Female") for row in rows])
    return np.stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))], axis=1)


def test_a_row_model_behind_the_reader_is_the_same_function() -> None:
    rows = [{**ROW, "age": age, "sex": sex} for age in (20, 25, 40) for sex in ("Male", "Female")]
    texts = [TELLER.tell(row).text for row in rows]
    assert row_victim(TELLER, model)(texts) == pytest.approx(model(rows), abs=0)


def test_findings_in_texts_are_findings_in_rows() -> None:
    plan = SweepPlan(settings=ReachSettings(max_edits=1))
    rows = [({**ROW, "age": 22}, 0), ({**ROW, "age": 60}, 1)]
    near, far = search_told(
        row_victim(TELLER, model),
        TELLER,
        rows,
        proposer=FieldProposer(TELLER, 4),
        plan=plan,
        counterparts=None,
    )
    assert len(near) == 5 * 3
    # Up to 4 steps of 2 years: 22 becomes 26 to 30, at which both a man and a woman are granted.
    assert {record.target for record in near if record.is_found} == set(plan.targets)
    assert not any(record.is_found for record in far)
    for record in (record for record in near if record.is_found):
        first, second = (TELLER.read(t) for t in (record.perturbed_original, record.perturbed_similar))
        assert [int(p.argmax()) for p in model([first, second])] == [
            int(np.argmax(record.probabilities[side])) for side in ("perturbed_original", "perturbed_similar")
        ]
        assert (first["sex"], first["race"]) == ("Male", "Y")
        assert TELLER.read(record.similar)["sex"] == second["sex"]
