"""The rules every proposer keeps, shown on one that proposes what it is told to."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import UsageError
from rif_plugins.proposers import BaseProposer, Candidate, GuardedProposer, Proposer, TokenContext


class Scripted(BaseProposer):
    name = "scripted"

    def __init__(self, *texts: str, max_candidates: int | None = 12) -> None:
        super().__init__(max_candidates=max_candidates, protected=is_sensitive)
        self.texts = texts
        self.asked: list[str] = []

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        self.asked += [context.token for context in contexts]
        return [[Candidate(text, self.name) for text in self.texts] for _ in contexts]


class Foreign:
    name = "foreign"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [tuple(Candidate(text, "foreign") for text in ("not", "owl", "cat", "woman"))] * len(contexts)


def is_sensitive(word: str) -> bool:
    return word.lower() == "woman"


def at(text: str, token: str) -> TokenContext:
    start = text.index(token)
    return TokenContext(text, start, start + len(token))


def texts(found: tuple[Candidate, ...]) -> list[str]:
    return [candidate.text for candidate in found]


def test_token_itself_duplicates_and_blanks_are_dropped_before_the_cap() -> None:
    proposer = Scripted("DOG", "hound", " ", "Hound", "pup", "mutt", max_candidates=2)
    assert texts(proposer.propose([at("the dog", "dog")])[0]) == ["hound", "pup"]


def test_guarded_tokens_are_not_even_asked_and_order_is_kept() -> None:
    proposer = Scripted("x1", "thing")
    text = "two women saw no woman here"
    contexts = [at(text, token) for token in ("two", "saw", "no", "woman", "here", "saw")]
    assert [texts(found) for found in proposer.propose(contexts)] == [
        [],
        ["thing"],
        [],
        [],
        ["thing"],
        ["thing"],
    ]
    assert proposer.asked == ["saw", "here"]


@pytest.mark.parametrize(
    ("text", "token"),
    [("I don't go", "don"), ("I won’t go", "won"), ("it ca n't be", "ca"), ("it ca n’t be", "ca")],
)
def test_torn_off_fronts_of_contractions_are_left_alone(text: str, token: str) -> None:
    assert Scripted("thing").propose([at(text, token)]) == [()]


def test_articles_decide_by_sound() -> None:
    proposer = Scripted("owl", "cat", "hour", "unit")
    assert texts(proposer.propose([at("saw a dog", "dog")])[0]) == ["cat", "unit"]
    assert texts(proposer.propose([at('saw an "ape"', "ape")])[0]) == ["owl", "hour"]
    assert texts(proposer.propose([at("is that a? dog", "dog")])[0]) == ["owl", "cat", "hour", "unit"]


def test_shouted_words_are_not_read_letter_by_letter() -> None:
    assert texts(Scripted("MAD").propose([at("A BAD DAY", "BAD")])[0]) == ["MAD"]


def test_a_foreign_proposer_gets_the_same_rules() -> None:
    guarded = GuardedProposer(Foreign(), max_candidates=5, protected=is_sensitive)
    assert guarded.name == "foreign"
    assert texts(guarded.propose([at("a dog", "dog")])[0]) == ["cat"]
    assert isinstance(guarded, Proposer)
    assert pickle.loads(pickle.dumps(guarded)).propose([at("a dog", "dog")]) == guarded.propose(
        [at("a dog", "dog")]
    )


def test_wrong_spans_and_caps() -> None:
    for start, end in [(-1, 2), (2, 2), (3, 1), (0, 9)]:
        with pytest.raises(UsageError, match=r"0 <= start < end <= 3"):
            TokenContext("dog", start, end)
    with pytest.raises(UsageError, match="max_candidates must be at least 1 or None, got 0"):
        Scripted(max_candidates=0)


@given(st.text(min_size=1, max_size=60), st.data())
def test_contexts_of_any_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    context = TokenContext(text, start, data.draw(st.integers(start + 1, len(text))))
    assert context.previous_word in text[:start]
    assert context.next_word in text[context.end :]
    assert len(context.hash) == 16
    assert Scripted().propose([context]) == [()]


def test_neighbours() -> None:
    text = 'So, a well-known (actor) said: "dogs bark."\nCats sleep.'
    assert (at(text, "actor").previous_word, at(text, "actor").next_word) == ("well-known", "")
    assert (at(text, "dogs").previous_word, at(text, "dogs").next_word) == ("", "bark")
    assert (at(text, "Cats").previous_word, at(text, "bark").next_word) == ("", "")


def test_the_hash_names_place_and_text() -> None:
    first, second = TokenContext("dog dog", 0, 3), TokenContext("dog dog", 4, 7)
    assert first.hash == TokenContext("dog dog", 0, 3).hash != second.hash
    assert TokenContext("\ud800 dog", 2, 5).hash != first.hash
