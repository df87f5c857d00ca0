from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat_models import ScriptedChatModel

from rif_plugins.errors import UsageError
from rif_plugins.proposers import (
    CompositeProposer,
    EmbeddingProposer,
    GuardedProposer,
    MaskedLMProposer,
    RankedProposer,
    TableProposer,
    TokenContext,
    WordNetProposer,
    load_proposer,
)

FILM = TokenContext("the film ends", 4, 8)


def table(folder: Path, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text("token,candidate\nfilm,picture\nfilm,movie\nfilm,zebra\n", encoding="utf-8")
    return path


def test_single_names(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("film 1 0\nmovie 1 0.1\n", encoding="utf-8")
    for spec, kind in (
        ("wordnet", WordNetProposer),
        (f"table:{table(tmp_path)}", TableProposer),
        (f"embedding:{tmp_path / 'v.txt'}", EmbeddingProposer),
        ("masked-lm:some/name", MaskedLMProposer),
    ):
        proposer = load_proposer(spec, max_candidates=3)
        assert type(proposer) is kind
        assert proposer.max_candidates == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("separator", [",", "+", " , ", " + "])
def test_several_take_turns_under_one_cap(tmp_path: Path, separator: str) -> None:
    spec = separator.join(("wordnet", f"table:{table(tmp_path)}"))
    proposer = load_proposer(spec, max_candidates=3, protected=lambda word: word == "zebra")
    assert isinstance(proposer, CompositeProposer)
    assert proposer.name == "wordnet+table"
    first = WordNetProposer().propose([FILM])[0][0]
    found = proposer.propose([FILM])[0]
    assert [(c.text, c.source) for c in found[:2]] == [(first.text, "wordnet"), ("picture", "table")]
    assert len(found) == 3
    everything = load_proposer(spec, max_candidates=None).propose([FILM])[0]
    assert "zebra" in [c.text for c in everything]


def test_separators_in_the_name_of_a_file_separate_nothing(tmp_path: Path) -> None:
    path = table(tmp_path, "a,b+c&d.csv")
    assert isinstance(load_proposer(f"table:{path}"), TableProposer)
    both = load_proposer(f"table:{path},wordnet")
    assert isinstance(both, CompositeProposer) and len(both.members) == 2


def test_ranked_by_a_masked_model_alone_or_in_company() -> None:
    ranked = load_proposer("wordnet&masked-lm:some/name", max_candidates=2)
    assert isinstance(ranked, RankedProposer)
    assert (ranked.name, ranked.max_candidates) == ("wordnet&masked-lm:some/name", 2)
    assert isinstance(ranked.proposer, WordNetProposer) and ranked.proposer.max_candidates is None
    both = load_proposer("masked-lm:other, wordnet & masked-lm:some/name")
    assert isinstance(both, CompositeProposer)
    assert both.name == "masked-lm:other+wordnet&masked-lm:some/name"


def test_language_models_come_from_whoever_hands_them_out() -> None:
    asked = []

    def hand_out(spec: str) -> ScriptedChatModel:
        asked.append(spec)
        return ScriptedChatModel(lambda request: "")

    proposer = load_proposer("llm:one", chat_models=hand_out)
    assert isinstance(proposer, GuardedProposer)
    load_proposer("wordnet,llm:two,phrases:llm:two", chat_models=hand_out)
    assert asked == ["llm:one", "llm:two", "llm:two"]


@pytest.mark.parametrize(
    "spec",
    ["", "word-net", "wordnet:x", "table", "embedding:", "masked-lm:", "llm:", "phrases:wordnet",
     "wordnet,", "wordnet,other", "other&masked-lm:x", "wordnet&wordnet"],
)  # fmt: skip
def test_unknown_names(spec: str) -> None:
    with pytest.raises(UsageError, match=r"unknown proposer .*: expected 'wordnet', 'table:FILE'"):
        load_proposer(spec)


def test_one_name_twice() -> None:
    with pytest.raises(UsageError, match="names one twice: name each once"):
        load_proposer("wordnet,masked-lm:a,wordnet")
