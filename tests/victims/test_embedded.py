from __future__ import annotations

import pickle
from importlib import metadata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.examples import load_examples
from rif_plugins.victims import EmbeddedVictim
from rif_plugins.victims.embedded import DATA_FILE

# What alt-profanity-check 1.9.1 answers, P(offensive), written down once.
ORACLE = {
    "": 0.036375752016469504,
    "I am a gay man.": 0.9530304837956696,
    "I am a straight man.": 0.09951978249485469,
    "I am a man.": 0.12538175304089766,
    "I am a woman.": 0.15153423073466138,
    "You are a stupid idiot.": 0.9999999926672976,
    "The doctor was kind to the Muslim woman.": 0.06697927632083733,
    "The doctor was kind to the Christian woman.": 0.017034756123539302,
    "go to hell, you scum": 0.9993749337455575,
    "Shut up!": 0.9817052118650846,
    "What a lovely day, what a lovely, lovely garden.": 0.02792678621741033,
}
ODD_TEXTS = [
    "",
    " \n\t",
    "a I ?",
    "stupid stupid STUPID",
    "İstanbul naïve ÇA 日本語",
    "snake_case x2 100 1,000",
    "don't can't y'all",
    "good\u00a0day\u2028line",
    "\U0001f600 hello \U0001f600",
    "word " * 10_000,
]


@pytest.mark.parametrize("text", ORACLE)
def test_stored_probabilities(text: str) -> None:
    assert EmbeddedVictim()([text])[0, 1] == pytest.approx(ORACLE[text], abs=1e-12)


def test_differs_between_similar_individuals() -> None:
    gay, straight = EmbeddedVictim()(["I am a gay man.", "I am a straight man."])[:, 1]
    assert (round(gay, 2), round(straight, 2)) == (0.95, 0.10)


def test_pronouns_are_stop_words_to_it() -> None:
    he, she = EmbeddedVictim()(["He sold his car.", "She sold her car."])
    assert (he == she).all()


@pytest.fixture(scope="module")
def published():
    module = pytest.importorskip("profanity_check.profanity_check", reason="needs alt-profanity-check")
    if metadata.version("alt-profanity-check") != "1.9.1":
        pytest.skip("another version of alt-profanity-check is installed")
    return module


def test_equals_the_published_package(published) -> None:
    texts = [example.text for example in load_examples()] + ODD_TEXTS
    expected = published.model.predict_proba(published.vectorizer.transform(texts))
    assert np.abs(EmbeddedVictim()(texts) - expected).max() < 1e-12


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=60))
def test_equals_the_published_package_on_any_text(published, text: str) -> None:
    expected = published.model.predict_proba(published.vectorizer.transform([text]))
    assert np.abs(EmbeddedVictim()([text]) - expected).max() < 1e-12


def test_pickles_small_and_answers_the_same() -> None:
    data = pickle.dumps(EmbeddedVictim())
    assert len(data) < 1000
    assert (pickle.loads(data)(["Shut up!"]) == EmbeddedVictim()(["Shut up!"])).all()


def test_says_what_it_is() -> None:
    assert repr(EmbeddedVictim()) == "EmbeddedVictim(alt-profanity-check 1.9.1)"
    assert EmbeddedVictim.label_names == ("not offensive", "offensive")


def test_licence_of_the_published_model_stands_beside_the_data() -> None:
    licence = DATA_FILE.with_name("profanity_LICENSE.txt").read_text(encoding="utf-8")
    assert licence.startswith("MIT License")
    assert "Victor Zhou" in licence
