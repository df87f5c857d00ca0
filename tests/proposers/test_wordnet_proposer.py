from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rif_plugins.core.tokens import word_spans
from rif_plugins.core.wordnet import WordNet
from rif_plugins.errors import UsageError
from rif_plugins.proposers import TokenContext, WordNetProposer, load_proposer
from rif_plugins.proposers.article import article_fits
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.guard import Guard
from rif_plugins.proposers.letter_case import case_pattern

PROPOSER = WordNetProposer(max_candidates=None)


def is_sensitive(word: str) -> bool:
    return word.lower() in {"chairwoman", "chairman", "mother", "female"}


def propose(text: str, token: str, proposer: WordNetProposer = PROPOSER) -> list[str]:
    start = re.search(rf"(?<!\w){re.escape(token)}(?!\w)", text).start()  # type: ignore[union-attr]
    (found,) = proposer.propose([TokenContext(text, start, start + len(token))])
    assert all(candidate.source == "wordnet" for candidate in found)
    return [candidate.text for candidate in found]


def test_synonyms_of_the_dominant_sense_come_first() -> None:
    funny = propose("her funny uncle", "funny")
    assert funny.index("amusing") < funny.index("odd")
    assert propose("The doctor left.", "doctor")[0] == "physician"
    assert propose("She bought it.", "bought") == ["purchased"]
    assert "metropolis" in propose("He likes the city.", "city")


@pytest.mark.parametrize(
    ("text", "token", "expected"),
    [
        ("The doctors left.", "doctors", "physicians"),
        ("He investigated the claim.", "investigated", "looked into"),
        ("He is investigating it.", "investigating", "looking into"),
        ("It seems easy to purchase it.", "purchase", "buy"),
        ("This was funnier before.", "funnier", "more amusing"),
        ("Doctors say so.", "Doctors", "Physicians"),
        ("THE DOCTORS SAY SO", "DOCTORS", "PHYSICIANS"),
        ("My doctor's car.", "doctor's", "physician's"),
        ("My doctor’s car.", "doctor’s", "physician’s"),
    ],
)
def test_inflection_and_letter_case_are_kept(text: str, token: str, expected: str) -> None:
    assert expected in propose(text, token)


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("The man is here.", "The"),
        ("She was there.", "was"),
        ("It is not good.", "not"),
        ("He never came.", "never"),
        ("Seven dogs ran.", "Seven"),
        ("The second dog ran.", "second"),
        ("In 1999 it rained.", "1999"),
        ("x marks it", "x"),
        ("We met Grace there.", "Grace"),
        ("We met Mr. Bush there.", "Bush"),
        ("Rose Smith came.", "Rose"),
        ("He lives in the US now.", "US"),
        ("a hot dog", "hot"),
        ("a hot dog", "dog"),
        ("They looked into it.", "looked"),
        ("An iPhone rang.", "iPhone"),
        ("her funny story", "funny"),
        ("a blorptastic day", "blorptastic"),
        ("I won't go.", "won"),
    ],
)
def test_words_that_get_no_candidates(text: str, token: str) -> None:
    assert propose(text, token) == []


def test_a_word_at_the_start_of_a_sentence_is_no_name() -> None:
    assert "Physicians" in propose('He left. "Doctors stayed."', "Doctors")


def test_candidates_that_hold_the_word_itself_or_slurs_or_names_are_left_out() -> None:
    assert propose("my dogs bark", "dogs") == []  # WordNet has only "domestic dog" and "Canis familiaris"
    doctor = propose("the doctor left", "doctor")
    assert "MD" not in doctor and "Dr." not in doctor
    dirt = propose(
        "some dirt here", "dirt", WordNetProposer(max_senses=9, min_share=0.0, max_candidates=None)
    )
    assert "soil" in dirt and "shit" not in dirt


def test_the_article_before_the_word_still_fits() -> None:
    after_a = propose("it was a terrible day", "terrible")
    assert "dreadful" in after_a and "awful" not in after_a
    assert not any(word[0] in "aeio" for word in after_a)
    assert propose("she is an automobile lover", "automobile") == ["auto"]


def test_predicate_adjectives_do_not_stand_before_a_noun() -> None:
    proposer = WordNetProposer(max_senses=9, min_share=0.0, max_candidates=None)
    before, after = (
        propose("the frightened child", "frightened", proposer),
        propose("he was frightened", "frightened", proposer),
    )
    assert set(before) <= set(after)


def test_an_open_verb_form_takes_only_unambiguous_candidates() -> None:
    open_form = propose("the story they told", "told", WordNetProposer(max_candidates=None))
    assert open_form
    put = propose("what he put there", "put")  # "put" or "has put" or "to put": "placed" would be a guess
    assert "set" in put and "placed" not in put and "place" not in put
    assert "placed" in propose("what he has put there", "put")


def test_sensitive_words_are_guarded_in_tokens_and_candidates() -> None:
    guarded = WordNetProposer(max_candidates=None, protected=is_sensitive)
    assert "chairwoman" in propose("the president spoke", "president")
    kept = propose("the president spoke", "president", guarded)
    assert "chair" in kept and "chairwoman" not in kept and "chairman" not in kept
    assert propose("my mother spoke", "mother", guarded) == []


def test_caps_and_options() -> None:
    assert len(propose("her funny uncle", "funny", WordNetProposer(max_candidates=3))) == 3
    one = propose("her funny uncle", "funny", WordNetProposer(max_senses=1))
    assert "amusing" in one and "odd" not in one
    with pytest.raises(UsageError, match="max_senses must be at least 1, got 0"):
        WordNetProposer(max_senses=0)
    with pytest.raises(UsageError, match=r"min_share must be between 0 and 1, got 1\.5"):
        WordNetProposer(min_share=1.5)
    assert repr(WordNetProposer()) == "WordNetProposer(max_senses=3, min_share=0.2, max_candidates=12)"


def test_load_proposer_names_what_exists() -> None:
    assert isinstance(load_proposer("wordnet"), WordNetProposer)
    for spec in ("", "word-net", "wordnet:x", "table", "table:", "llm:gpt"):
        with pytest.raises(UsageError, match=r"expected 'wordnet' or 'table:FILE'"):
            load_proposer(spec)


def test_it_pickles_without_the_lexicon() -> None:
    proposer = load_proposer("wordnet", max_candidates=4, protected=is_sensitive)
    dumped = pickle.dumps(proposer)
    assert len(dumped) < 1000
    context = TokenContext("the doctor", 4, 10)
    assert pickle.loads(dumped).propose([context]) == proposer.propose([context])


def test_order_does_not_depend_on_the_hash_seed_and_nothing_warns() -> None:
    program = (
        "from rif_plugins.proposers import TokenContext, load_proposer\n"
        "text = 'The funny doctor quickly bought terrible movies and helped the boss.'\n"
        "import re\n"
        "contexts = [TokenContext(text, *m.span()) for m in re.finditer(r'\\w+', text)]\n"
        "print(load_proposer('wordnet').propose(contexts))\n"
    )
    outputs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        outputs.add(done.stdout)
    assert len(outputs) == 1 and "physician" in outputs.pop()


_LEMMAS = sorted(
    {lemma for sense in WordNet.load().all_senses("v") for lemma in sense.lemmas}
    | {lemma for sense in WordNet.load().all_senses("r") for lemma in sense.lemmas}
    | {"dogs", "doctors", "funniest", "better", "cars", "cities", "geese", "quickly", "good", "great", "old"}
    | {"women", "tired", "men"}
)
_WORDS = st.sampled_from([word.replace("_", " ") for word in _LEMMAS if "_" not in word])
_CASED = st.tuples(_WORDS, st.sampled_from([str.lower, str.upper, str.capitalize])).map(lambda p: p[1](p[0]))
_TEXTS = st.lists(
    st.one_of(_CASED, st.sampled_from(["a", "an", "the", "not", ".", "He", "7", "is"])), min_size=1
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_TEXTS)
def test_invariants(words: list[str]) -> None:
    text = " ".join(words)
    contexts = [TokenContext(text, span.start, span.end) for span in word_spans(text)]
    proposer = WordNetProposer(protected=is_sensitive)
    guard = Guard(is_sensitive)
    for context, found in zip(contexts, proposer.propose(contexts), strict=True):
        folded = [candidate.text.casefold() for candidate in found]
        assert len(found) <= 12
        assert len(set(folded)) == len(folded)
        assert context.token.casefold() not in folded
        if context.token.lower() in FUNCTION_WORDS:
            assert not found
        for candidate in found:
            assert guard.allows(context.token, candidate.text)
            assert case_pattern(candidate.text) == case_pattern(context.token)
            assert article_fits(context.previous_word, candidate.text.lower())
            assert candidate.text == candidate.text.strip() and "_" not in candidate.text


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40), st.data())
def test_any_text_and_span_is_accepted(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    context = TokenContext(text, start, data.draw(st.integers(start + 1, len(text))))
    (found,) = PROPOSER.propose([context])
    assert context.token.casefold() not in {candidate.text.casefold() for candidate in found}
