"""The proposer of a run: limit, seed, temperature and number asked for are those of its settings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.chat_models import ScriptedChatModel

from rif_plugins.errors import UsageError
from rif_plugins.llm import ChatModels
from rif_plugins.proposers import TokenContext, load_proposer, settings_proposer
from rif_plugins.proposers.asking import DEFAULT_TEMPERATURE, ProposerWarning
from rif_plugins.proposers.from_settings import asks_models
from rif_plugins.proposers.paraphrases import PhraseProposer
from rif_plugins.settings import Settings

TEXTS = ("The film ended.", "A plot thickens.", "His voice trembled.")
CONTEXTS = [TokenContext(text, text.index(" ") + 1, text.rindex(" ")) for text in TEXTS]


def lists(request: Any) -> str:
    if "paraphrases" in request.messages[0].content:
        return '{"answers": []}'
    return json.dumps({"answers": [{"id": 1, "substitutes": ["movie", "story", "tone"]}]})


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedChatModel]:
    """The models that are loaded while a test runs."""
    found: list[ScriptedChatModel] = []

    def load(spec: str, *, budget: Any) -> ScriptedChatModel:
        found.append(ScriptedChatModel(lists, name=spec, budget=budget))
        return found[-1]

    monkeypatch.setattr("rif_plugins.llm.load_chat_model", load)
    return found


def test_the_limit_of_calls_holds_for_all_models_together(loaded: list[ScriptedChatModel]) -> None:
    proposer = settings_proposer(Settings(proposer="llm:a,llm:b", max_llm_calls=2))
    with pytest.warns(ProposerWarning, match="calls used up"):
        proposer.propose(CONTEXTS)
    assert sum(len(model.requests) for model in loaded) == 2


def test_seed_and_temperature_are_handed_on(loaded: list[ScriptedChatModel]) -> None:
    for settings in (Settings(), Settings(seed=5), Settings(llm_temperature=1.5)):
        chosen = settings.updated(proposer="llm:a,phrases:llm:a")
        models = ChatModels(chosen)
        proposer = settings_proposer(chosen, chat_models=models)
        proposer.propose(CONTEXTS)
        phrases = proposer.members[1]  # type: ignore[attr-defined]
        assert isinstance(phrases, PhraseProposer)
        assert phrases.sampling.temperature == chosen.llm_temperature
        assert phrases.sampling.seed == chosen.seed
        assert models.is_used
    usual, seeded, warm = (model.requests for model in loaded)
    assert {request.temperature for request in usual} == {DEFAULT_TEMPERATURE}
    assert {request.temperature for request in warm} == {1.5}
    assert [r.seed for r in usual] == [r.seed for r in warm] != [r.seed for r in seeded]


def test_the_default_temperature_is_that_of_the_proposers() -> None:
    assert Settings().llm_temperature == DEFAULT_TEMPERATURE


@pytest.mark.parametrize("temperature", [-0.5, 2.5])
def test_a_temperature_out_of_range(temperature: float) -> None:
    with pytest.raises(UsageError, match=f"temperature must be between 0 and 2, got {temperature}"):
        load_proposer("llm:a", chat_models=lambda _: ScriptedChatModel(lists), temperature=temperature)


@pytest.mark.parametrize(
    ("spec", "most", "asked"),
    [
        ("llm:a", 5, 15),
        ("llm:a", 12, 15),
        ("llm:a", 17, 17),
        ("llm:a", 20, 20),
        ("llm:a", 40, 20),
        ("llm:a", None, 20),
        ("wordnet,llm:a", 12, 15),
        ("wordnet,llm:a", 18, 18),
    ],
)
def test_as_many_are_asked_for_as_are_kept_within_15_to_20(spec: str, most: int | None, asked: int) -> None:
    letters = [f"{a}{b}ick" for a in "abcd" for b in "abcdefgh"]
    model = ScriptedChatModel(lambda _: json.dumps({"answers": [{"id": 1, "substitutes": letters}]}))
    proposer = load_proposer(spec, max_candidates=most, chat_models=lambda _: model)
    (found,) = proposer.propose([CONTEXTS[0]])
    assert f"List up to {asked} strict substitutes" in model.requests[0].messages[-1].content
    if spec == "llm:a":
        assert len(found) == min(asked, most or asked)


def test_which_proposers_ask_models() -> None:
    assert [
        asks_models(spec) for spec in ("wordnet", "table:a.csv", "wordnet+llm:a", "wordnet&masked-lm:b")
    ] == [False, False, True, True]
