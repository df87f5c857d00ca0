from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import UsageError
from rif_plugins.proposers import Candidate, CompositeProposer, Proposer, RankedProposer, TokenContext
from rif_plugins.proposers.asking import ProposerWarning
from rif_plugins.proposers.composite import Ranker

DOG = TokenContext("the dog barks", 4, 7)
BARKS = TokenContext("the dog barks", 8, 13)


class Listed:
    def __init__(self, name: str, *texts: str) -> None:
        self.name = name
        self.texts = texts
        self.asked = 0

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        self.asked += len(contexts)
        return [tuple(Candidate(text, self.name) for text in self.texts)] * len(contexts)


class Broken(Listed):
    error: Exception = ConnectionError("no route\nto host")

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        raise self.error


def pairs(found: tuple[Candidate, ...]) -> list[tuple[str, str]]:
    return [(candidate.text, candidate.source) for candidate in found]


def test_members_take_turns_and_the_first_keeps_what_both_propose() -> None:
    both = CompositeProposer([Listed("a", "hound", "pup", "mutt"), Listed("b", "Pup", "canine")])
    assert both.name == "a+b"
    assert isinstance(both, Proposer)
    assert pairs(both.propose([DOG])[0]) == [("hound", "a"), ("Pup", "b"), ("canine", "b"), ("mutt", "a")]


def test_the_cap_and_the_rules_hold_for_the_whole() -> None:
    members = [Listed("a", "not", "two dogs", "hound", "pup"), Listed("b", "woman", "canine", "mutt")]
    both = CompositeProposer(members, max_candidates=3, protected=lambda word: word == "woman")
    assert pairs(both.propose([DOG])[0]) == [("canine", "b"), ("hound", "a"), ("mutt", "b")]
    guarded = TokenContext("no dog", 0, 2)
    before = members[0].asked
    assert both.propose([guarded]) == [()]
    assert members[0].asked == before


def test_a_failing_member_costs_one_warning_and_a_note() -> None:
    both = CompositeProposer([Broken("llm"), Listed("b", "hound")])
    with pytest.warns(
        ProposerWarning, match=r"llm failed \(ConnectionError: no route\); the run goes on"
    ) as caught:
        assert pairs(both.propose([DOG])[0]) == [("hound", "b")]
        both.propose([BARKS])
    assert len(caught) == 1
    assert both.last_failures == {BARKS: "ConnectionError: no route"}
    assert both.take_notes() == ["proposer llm failed: ConnectionError: no route"]
    assert both.take_notes() == []


def test_when_all_fail_the_error_is_raised() -> None:
    both = CompositeProposer([Broken("a"), Broken("b")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ConnectionError, match="no route"):
            both.propose([DOG])


def test_a_composite_needs_members() -> None:
    with pytest.raises(UsageError, match="expected at least one, got none"):
        CompositeProposer([])


class Sized(Ranker):
    """Shorter words fit better; words with x are unknown."""

    name = "sized"

    def fits(self, asked: Sequence[tuple[TokenContext, Sequence[str]]]) -> list[list[float | None]]:
        return [[None if "x" in text else 3 / len(text) for text in texts] for _, texts in asked]


def test_ranked_candidates_come_by_fit_then_those_that_cannot_be_judged() -> None:
    listed = Listed("a", "hound", "ox", "pup", "x-dog", "mastodon")
    ranked = RankedProposer(listed, Sized(), least=0.5)
    assert ranked.name == "a&sized"
    assert pairs(ranked.propose([DOG])[0]) == [("pup", "a"), ("hound", "a"), ("ox", "a"), ("x-dog", "a")]
    assert RankedProposer(Listed("a"), Sized()).propose([DOG]) == [()]
    with pytest.raises(UsageError, match="least must be at least 0, got -1"):
        RankedProposer(listed, Sized(), least=-1)


def test_it_pickles() -> None:
    both = CompositeProposer([Listed("a", "hound"), RankedProposer(Listed("b", "pup"), Sized())])
    assert pickle.loads(pickle.dumps(both)).propose([DOG]) == both.propose([DOG])


_WORDS = st.lists(
    st.sampled_from(["hound", "Hound", "pup", "mutt", "not", "dog", "canine", "cur"]), max_size=6
)


@given(st.lists(_WORDS, min_size=1, max_size=4), st.integers(1, 5))
def test_invariants(lists: list[list[str]], cap: int) -> None:
    members = [Listed(f"m{number}", *texts) for number, texts in enumerate(lists)]
    whole = CompositeProposer(members, max_candidates=None).propose([DOG])[0]
    capped = CompositeProposer(members, max_candidates=cap).propose([DOG])[0]
    assert capped == whole[:cap]
    folded = [candidate.text.casefold() for candidate in whole]
    assert len(set(folded)) == len(folded)
    assert set(folded) == {text.casefold() for texts in lists for text in texts} - {"not", "dog"}
    alone = CompositeProposer(members[:1], max_candidates=None).propose([DOG])[0]
    assert alone == members_alone(members[0])


def members_alone(member: Listed) -> tuple[Candidate, ...]:
    kept = {text.casefold(): text for text in reversed(member.texts)}
    order = dict.fromkeys(text.casefold() for text in member.texts if text.casefold() not in ("not", "dog"))
    return tuple(Candidate(kept[folded], member.name) for folded in order)
