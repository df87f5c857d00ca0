"""The language models of a run: each loaded once, one budget, one store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from fakes.chat_models import ScriptedChatModel

from rif_plugins.llm import ChatModels, ChatReply, ChatRequest, Message
from rif_plugins.settings import Settings


class DictStore:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.n_closed = 0

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        self.values.update(values)

    def close(self) -> None:
        self.n_closed += 1


def question(text: str) -> ChatRequest:
    return ChatRequest((Message("user", text),))


def test_models_are_loaded_once_and_share_budget_and_store(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[ScriptedChatModel] = []

    def load(spec: str, *, budget: Any) -> ScriptedChatModel:
        loaded.append(ScriptedChatModel(lambda _: "yes", name=spec, budget=budget))
        return loaded[-1]

    monkeypatch.setattr("rif_plugins.llm.load_chat_model", load)
    store = DictStore()
    settings = Settings(max_llm_calls=2, llm_prompt_price=3.0, llm_completion_price=4.0)
    models = ChatModels(settings, store)
    assert not models.is_used
    assert models(" llm:a ") is models("llm:a")
    models("llm:a").complete([question("one")])
    models("llm:b").complete([question("one"), question("two")])
    assert [model.name for model in loaded] == ["llm:a", "llm:b"]
    assert [len(model.requests) for model in loaded] == [1, 1]  # the third call was one too many
    assert (models.budget.prompt_price, models.budget.completion_price) == (3.0, 4.0)
    again = ChatModels(Settings(max_llm_calls=0), store)
    (answer,) = again("llm:a").complete([question("one")])
    assert isinstance(answer, ChatReply) and answer.is_stored
    models.close()
    assert (store.n_closed, models.is_used) == (1, True)
    ChatModels(settings).close()
