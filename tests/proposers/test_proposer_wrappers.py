"""What stands around a proposer says all that the proposer says, however many stand around each other."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_models import ScriptedChatModel

from rif_plugins import proposers
from rif_plugins.core.wordnet import WordNet
from rif_plugins.errors import DataError
from rif_plugins.llm import CallBudget
from rif_plugins.proposers import (
    Candidate,
    CompositeProposer,
    GuardedProposer,
    Proposer,
    RankedProposer,
    TableProposer,
    TokenContext,
    load_proposer,
)
from rif_plugins.proposers.base import is_version, version_of
from rif_plugins.proposers.stored import StoredProposer

TEXT = "the dog barks in the yard"
DOG, BARKS, YARD = TokenContext(TEXT, 4, 7), TokenContext(TEXT, 8, 13), TokenContext(TEXT, 21, 25)


class Ranks:
    name, version = "ranks", "r1"

    def fits(self, asked: Sequence[tuple[TokenContext, Sequence[str]]]) -> list[list[float | None]]:
        return [[1.0] * len(texts) for _, texts in asked]


class Silent:
    """Says nothing but its name."""

    name = "silent"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [(Candidate("hound", self.name),) for _ in contexts]


class Telling(Silent):
    """Says all that a proposer can say."""

    name, version = "telling", "t1"
    last_failures: Mapping[TokenContext, str] = {}

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        self.last_failures = {BARKS: "no answer"} if BARKS in contexts else {}
        return super().propose(contexts)

    def phrases(self, text: str) -> list[tuple[int, int]]:
        return [(8, len(text))]

    def take_notes(self) -> list[str]:
        return ["told"]

    def take_calls(self) -> int:
        return 3


# Its class, how it is put around a proposer, and what it makes of the name and the version.
Wrap = tuple[type, Callable[[Any], Any], Callable[[str], str], Callable[[str], str]]
WRAPPERS: tuple[Wrap, ...] = (
    (GuardedProposer, GuardedProposer, str, str),
    (StoredProposer, lambda inner: StoredProposer(inner, None), str, str),
    (CompositeProposer, lambda inner: CompositeProposer([inner]), str, str),
    (
        RankedProposer,
        lambda inner: RankedProposer(inner, Ranks()),
        lambda name: f"{name}&ranks",
        lambda version: f"{version} & r1",
    ),
)


def test_no_wrapper_is_forgotten() -> None:
    found = set()
    for module in pkgutil.iter_modules(proposers.__path__, "rif_plugins.proposers."):
        for _, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            own = each.__module__.startswith("rif_plugins.proposers.")
            names = inspect.signature(each).parameters if own and hasattr(each, "propose") else {}
            if {"proposer", "members"} & set(names):
                found.add(each)
    assert found == {each for each, *_ in WRAPPERS}


@pytest.mark.parametrize("wraps", [*product(WRAPPERS), *product(WRAPPERS, WRAPPERS)])
def test_a_wrapper_passes_on_all_that_is_told(wraps: tuple[Wrap, ...]) -> None:
    proposer: Any = Telling()
    name, version = Telling.name, Telling.version
    for _, wrap, named, versioned in wraps:
        proposer, name, version = wrap(proposer), named(name), versioned(version)
    assert isinstance(proposer, Proposer)
    assert (proposer.name, proposer.version) == (name, version)
    assert proposer.phrases(TEXT) == [(8, len(TEXT))]
    assert proposer.last_failures == {}
    assert [len(found) for found in proposer.propose([DOG, BARKS, YARD])] == [1, 1, 1]
    assert proposer.last_failures == {BARKS: "no answer"}
    proposer.propose([DOG])
    assert proposer.last_failures == {}  # those of the last call only
    assert (proposer.take_notes(), proposer.take_calls()) == (["told"], 3)
    assert pickle.loads(pickle.dumps(proposer)).version == version


@pytest.mark.parametrize("wraps", [*product(WRAPPERS), *product(WRAPPERS, WRAPPERS)])
def test_a_wrapper_tells_nothing_of_its_own(wraps: tuple[Wrap, ...]) -> None:
    proposer: Any = Silent()
    for _, wrap, *_ in wraps:
        proposer = wrap(proposer)
    proposer.propose([DOG])
    assert (proposer.last_failures, proposer.take_notes(), proposer.take_calls()) == ({}, [], 0)
    assert not is_version(proposer.version)  # the ranker's alone does not name the candidates
    is_composite = any(each is CompositeProposer for each, *_ in wraps)
    # Who has the method is asked about phrases.
    assert hasattr(proposer, "phrases") is is_composite
    assert getattr(proposer, "phrases", lambda text: [])(TEXT) == []


def test_the_version_of_several_names_each() -> None:
    ranked = RankedProposer(Telling(), Ranks())
    assert CompositeProposer([Silent(), Silent()]).version == ""
    assert CompositeProposer([ranked, Silent()]).version == "t1 & r1 + unknown"
    assert CompositeProposer([ranked, Telling()]).version == "t1 & r1 + t1"
    assert not StoredProposer(CompositeProposer([ranked, Silent()]), {}).is_storing  # type: ignore[arg-type]
    assert StoredProposer(CompositeProposer([ranked]), {}).is_storing  # type: ignore[arg-type]


def test_a_composite_hears_of_the_failures_and_phrases_behind_a_ranked_member() -> None:
    both = CompositeProposer([Silent(), RankedProposer(Telling(), Ranks())])
    phrase = TokenContext(TEXT, 8, len(TEXT))
    assert both.phrases(TEXT) == [(8, len(TEXT))]
    found = both.propose([DOG, BARKS, phrase])
    assert both.last_failures == {BARKS: "no answer"}
    assert [candidate.source for candidate in found[2]] == ["telling"]  # the other knows no phrases


# -- versions ------------------------------------------------------------------------------------------


def loaded(spec: str, folder: Path, model_version: str = "m1") -> str:
    def hand_out(name: str) -> ScriptedChatModel:
        return ScriptedChatModel(lambda request: "", name=name, version=model_version, budget=CallBudget(0))

    spec = spec.replace("@", f"{folder}/")
    return version_of(load_proposer(spec, chat_models=hand_out))


def written(folder: Path, word: str) -> None:
    (folder / "t.csv").write_text(f"token,candidate\nfilm,{word}\n", encoding="utf-8")
    (folder / "t.jsonl").write_text(f'{{"token": "film", "candidate": "{word}"}}\n', encoding="utf-8")
    (folder / "v.txt").write_text(f"film 1 0\n{word} 1 0.1\n", encoding="utf-8")


@pytest.mark.parametrize(
    "spec",
    [
        *("table:@t.csv", "table:@t.jsonl", "embedding:@v.txt", "wordnet,table:@t.csv"),
        *("table:@t.jsonl,embedding:@v.txt", "llm:a,table:@t.csv"),
    ],
)
def test_another_file_is_another_version(tmp_path: Path, spec: str) -> None:
    written(tmp_path, "movie")
    first = loaded(spec, tmp_path)
    assert is_version(first) and loaded(spec, tmp_path) == first
    written(tmp_path, "flick")
    assert loaded(spec, tmp_path) != first
    written(tmp_path, "movie")
    assert loaded(spec, tmp_path) == first  # what stands in it counts, not when it was written
    assert str(tmp_path) not in first


@pytest.mark.parametrize("spec", ["llm:a", "phrases:llm:a", "wordnet,llm:a", "context,llm:a"])
def test_another_model_is_another_version(tmp_path: Path, spec: str) -> None:
    first = loaded(spec, tmp_path)
    assert is_version(first) and loaded(spec, tmp_path) == first != loaded(spec, tmp_path, "m2")


def test_wordnet_names_its_release(tmp_path: Path) -> None:
    assert loaded("wordnet", tmp_path) == WordNet.load().version == "WordNet 3.0"


def test_a_table_that_changes_while_it_is_used_has_no_version(tmp_path: Path) -> None:
    written(tmp_path, "movie")
    table = TableProposer(tmp_path / "t.csv")
    written(tmp_path, "pictures")
    for _ in range(2):
        with pytest.raises(DataError, match="has changed since it was read: start again"):
            assert table.version
    (tmp_path / "t.csv").unlink()
    with pytest.raises(DataError, match="cannot read the candidate table"):
        assert table.version
