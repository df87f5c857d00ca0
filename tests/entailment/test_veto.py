from __future__ import annotations

import pickle

import pytest

from rif_plugins.entailment import LexiconVeto
from rif_plugins.entailment.veto import RELATIONS
from rif_plugins.errors import UsageError


@pytest.fixture(scope="module")
def veto() -> LexiconVeto:
    return LexiconVeto(RELATIONS)


@pytest.mark.parametrize(
    ("source", "target", "relation"),
    [
        ("good", "bad", "antonym"),
        ("hot", "cold", "antonym"),
        ("opened", "closed", "antonym"),
        ("dogs", "animals", "hypernym"),
        ("instrument", "saxophone", "hyponym"),
        ("violin", "cello", "sibling"),
        ("violins", "cellos", "sibling"),
        ("China", "Japan", "sibling"),
        ("beer", "gin", "cousin"),
        ("beers", "gins", "cousin"),
        ("father", "dad", "hyponym"),
        ("doctor", "physician", None),
        ("doctors", "physicians", None),
        ("couch", "sofa", None),
        ("big", "large", None),
        ("purchased", "bought", None),
        ("Good", "GOOD", None),
        ("film", "sadness", None),
        ("qwrtz", "good", None),
        ("", "good", None),
    ],
)
def test_relations(veto, source, target, relation):
    assert veto.relation(source, target) == relation


def test_a_common_sense_clears_words_that_are_siblings_too(veto):
    # "small" and "little" oppose "large" and "big" and share a synset.
    assert veto.relation("small", "little") is None


def test_the_reason_names_the_words(veto):
    assert veto.reason("It was a good film.", "It was a bad film.") == "antonym (good, bad)"
    assert veto.reason("It was a good film.", "It was a good movie.") is None


def test_an_article_belongs_to_its_word(veto):
    assert veto.reason("an old man", "a young man") == "antonym (old, young)"


def test_every_change_is_looked_at(veto):
    assert veto.reason("a big red car", "a large green car") is not None


def test_relations_can_be_chosen():
    lenient = LexiconVeto(("antonym",))
    assert lenient.relation("violin", "cello") is None
    assert lenient.relation("good", "bad") == "antonym"


def test_one_way_pairs_pass_by_default():
    default = LexiconVeto()
    assert default.relation("dog", "animal") is None
    assert default.relation("father", "dad") is None
    assert default.relation("violin", "cello") == "sibling"


def test_an_unknown_relation_is_refused():
    with pytest.raises(
        UsageError, match=r"unknown relation 'uncle': expected some of antonym, sibling, cousin"
    ):
        LexiconVeto(("antonym", "uncle"))


def test_a_veto_pickles(veto):
    assert pickle.loads(pickle.dumps(veto)).relation("good", "bad") == "antonym"


@pytest.mark.parametrize(
    ("edited", "refused"),
    [
        ("a bad motion picture .", "antonym (good, bad)"),
        ("a bad movie .", "antonym (good, bad)"),
        ("a good motion picture .", None),
    ],
)
def test_neighbouring_edits_of_another_length_do_not_hide_an_antonym(edited, refused):
    assert LexiconVeto().reason("a good movie .", edited) == refused
