from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rif_plugins.cache import SQLiteStore
from rif_plugins.proposers import Candidate, GuardedProposer, Proposer, TokenContext
from rif_plugins.proposers.stored import StoredProposer


class DictStore:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        self.values.update(values)


class Echo:
    """Proposes the token with its place; remembers what it was asked."""

    name = "echo"

    def __init__(self, version: str | None = "1", settings: str | None = None) -> None:
        self.asked: list[TokenContext] = []
        if version is not None:
            self.version = version
        if settings is not None:
            self.settings = settings

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        self.asked += contexts
        return [
            tuple(Candidate(f"{c.token}{mark}", "echo é\ud800") for mark in ("-a", "-b"))[: c.start]
            for c in contexts
        ]


TEXT = "a good film and a good plot"
FIRST, GOOD, OTHER_GOOD = TokenContext(TEXT, 0, 1), TokenContext(TEXT, 2, 6), TokenContext(TEXT, 18, 22)


def test_a_token_is_proposed_for_once() -> None:
    store = DictStore()
    bare = Echo()
    first = StoredProposer(bare, store)
    expected = Echo().propose([GOOD, FIRST, GOOD, OTHER_GOOD])
    assert first.propose([GOOD, FIRST, GOOD, OTHER_GOOD]) == expected
    assert (first.n_calls, first.stored_hits, bare.asked) == (3, 0, [GOOD, FIRST, OTHER_GOOD])
    other = Echo()
    second = StoredProposer(other, store)
    assert second.propose([GOOD, FIRST, GOOD, OTHER_GOOD]) == expected
    assert (second.n_calls, second.stored_hits, other.asked) == (0, 3, [])
    assert second.propose([]) == []
    assert isinstance(second, Proposer) and second.name == "echo"


@pytest.mark.parametrize(
    "other",
    [
        StoredProposer(Echo("2"), None),
        StoredProposer(Echo(settings="five words"), None),
        StoredProposer(Echo(), None, version="2"),
        StoredProposer(Echo(), None, settings="five words"),
    ],
)
def test_another_version_or_setting_asks_again(other: StoredProposer) -> None:
    store = DictStore()
    StoredProposer(Echo(), store).propose([GOOD])
    other._store = store
    other.propose([GOOD])
    assert (other.n_calls, other.stored_hits) == (1, 0)


@pytest.mark.parametrize("version", [None, "", "unknown"])
def test_without_a_version_nothing_is_kept(version: str | None) -> None:
    store = DictStore()
    proposer = StoredProposer(Echo(version), store)
    proposer.propose([GOOD])
    proposer.propose([GOOD])
    assert (proposer.n_calls, store.values, proposer.is_storing) == (2, {}, False)
    assert StoredProposer(Echo(version), store, version="7").is_storing


@pytest.mark.parametrize("value", [b"", b"\xff", b"{}", b"[1]", b'[["a"]]', b'[["a", 1]]', b"[" * 99_999])
def test_a_broken_value_is_a_miss(value: bytes) -> None:
    store = DictStore()
    expected = StoredProposer(Echo(), store).propose([GOOD])
    store.values = dict.fromkeys(store.values, value)
    again = StoredProposer(Echo(), store)
    assert again.propose([GOOD]) == expected
    assert again.n_calls == 1


def test_rules_stand_around_it_and_pickle_drops_the_store(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path) as store:
        guarded = GuardedProposer(StoredProposer(Echo(), store), max_candidates=1)
        assert [[c.text for c in found] for found in guarded.propose([GOOD])] == [["good-a"]]
        looser = GuardedProposer(StoredProposer(Echo(), store), max_candidates=2)
        assert [[c.text for c in found] for found in looser.propose([GOOD])] == [["good-a", "good-b"]]
        assert isinstance(looser.proposer, StoredProposer) and looser.proposer.n_calls == 0
    copy = pickle.loads(pickle.dumps(looser.proposer))
    copy.propose([GOOD])
    assert copy.n_calls == 1
    assert repr(copy).startswith("StoredProposer(<")


class Failing(Echo):
    """Has no answer for some tokens, and says so."""

    last_failures: Mapping[TokenContext, str] = {}
    silent: tuple[TokenContext, ...] = ()

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        self.last_failures = {c: "no answer" for c in contexts if c in self.silent}
        return [
            () if c in self.silent else row
            for c, row in zip(contexts, super().propose(contexts), strict=True)
        ]

    def take_notes(self) -> list[str]:
        return ["told"]

    def take_calls(self) -> int:
        return 3


def test_what_failed_is_not_kept() -> None:
    store = DictStore()
    bare = Failing()
    bare.silent = (GOOD,)
    proposer = StoredProposer(bare, store)
    expected = Echo().propose([OTHER_GOOD])
    assert proposer.propose([GOOD, OTHER_GOOD]) == [(), *expected]
    assert proposer.last_failures == {GOOD: "no answer"}
    assert len(store.values) == 1
    # No candidates is an answer: the first token has none and is not asked again.
    bare.silent, bare.asked = (), []
    nothing = TokenContext(TEXT, 0, 1)
    assert proposer.propose([nothing, GOOD]) == [(), *Echo().propose([GOOD])]
    assert proposer.last_failures == {} and bare.asked == [nothing, GOOD]
    bare.asked = []
    proposer.propose([nothing, GOOD, OTHER_GOOD])
    assert bare.asked == []


def test_notes_and_calls_are_passed_on() -> None:
    proposer = StoredProposer(Failing(), None)
    assert (proposer.take_notes(), proposer.take_calls()) == (["told"], 3)
    assert (StoredProposer(Echo(), None).take_notes(), StoredProposer(Echo(), None).take_calls()) == ([], 0)
