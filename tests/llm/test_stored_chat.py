"""Answers kept across runs: everything that decides an answer is in the key, and failures are not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from fakes.chat_models import ScriptedChatModel

from rif_plugins.errors import UsageError
from rif_plugins.llm import (
    CallBudget,
    ChatFailure,
    ChatReply,
    ChatRequest,
    Message,
    StoredChatModel,
    load_chat_model,
)


class Store:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        self.values.update(values)


def ask(text: str = "a") -> ChatRequest:
    return ChatRequest((Message("user", text),))


def test_the_second_run_asks_nothing() -> None:
    store = Store()
    first = ScriptedChatModel(lambda request: ChatReply(("yes",), {"y": -0.5}))
    StoredChatModel(first, store).complete([ask("a"), ask("b")])
    again = ScriptedChatModel(lambda request: "never")
    answers = StoredChatModel(again, store).complete([ask("b"), ask("a")])
    assert answers == [ChatReply(("yes",), {"y": -0.5}, is_stored=True)] * 2
    assert again.requests == []
    assert (again.budget.n_stored, again.budget.n_calls) == (2, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 9},
        {"n_samples": 2},
        {"n_top_tokens": 3},
        {"json_schema": {"type": "array"}},
        {"messages": (Message("system", "a"),)},
    ],
)
def test_another_request_is_asked(change: dict[str, object]) -> None:
    model = ScriptedChatModel(lambda request: "x")
    stored = StoredChatModel(model, Store())
    stored.complete([ask()])
    stored.complete([replace(ask(), **change)])  # type: ignore[arg-type]
    assert len(model.requests) == 2


def test_another_version_is_asked_and_no_version_keeps_nothing() -> None:
    store = Store()
    StoredChatModel(ScriptedChatModel(lambda r: "one", version="1"), store).complete([ask()])
    two = ScriptedChatModel(lambda r: "two", version="2")
    assert StoredChatModel(two, store).complete([ask()]) == [ChatReply(("two",))]
    kept = len(store.values)
    StoredChatModel(ScriptedChatModel(lambda r: "x", version=""), store).complete([ask()])
    assert len(store.values) == kept


def test_failures_are_asked_again() -> None:
    store = Store()
    StoredChatModel(ScriptedChatModel(lambda r: ChatFailure("down")), store).complete([ask()])
    model = ScriptedChatModel(lambda r: "up")
    assert StoredChatModel(model, store).complete([ask()]) == [ChatReply(("up",))]


def test_answers_that_lack_samples_are_not_kept() -> None:
    store = Store()
    request = replace(ask(), n_samples=2)
    StoredChatModel(ScriptedChatModel(lambda r: ["one"]), store).complete([request])
    model = ScriptedChatModel(lambda r: ["a", "b"])
    assert StoredChatModel(model, store).complete([request]) == [ChatReply(("a", "b"))]


def test_loading_with_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    store = Store()
    model = load_chat_model("llm:tiny", store=store)
    assert isinstance(model, StoredChatModel)
    model.model = ScriptedChatModel(lambda r: "kept")
    model.complete([ask()])
    assert load_chat_model("llm:tiny", store=store).complete([ask()]) == [
        ChatReply(("kept",), is_stored=True)
    ]
    assert b"secret" not in b"".join([*store.values, *store.values.values()])


def test_equal_requests_of_a_batch_are_asked_once() -> None:
    model = ScriptedChatModel(lambda request: "x")
    assert len(StoredChatModel(model, None).complete([ask(), ask(), ask("b")])) == 3
    assert model.batches == [2]


@pytest.mark.parametrize(
    "value", [b"", b"[]", b"[[1], {}]", b'[["a"], 3]', b"[" * 9999, b'[["a"], {"b": "c"}]']
)
def test_what_is_no_answer_of_ours_is_asked_again(value: bytes) -> None:
    store = Store()
    StoredChatModel(ScriptedChatModel(lambda r: "one"), store).complete([ask()])
    store.values = dict.fromkeys(store.values, value)
    model = ScriptedChatModel(lambda r: "two")
    assert StoredChatModel(model, store).complete([ask()]) == [ChatReply(("two",))]


def test_budgets_count_and_stop() -> None:
    budget = CallBudget(1, prompt_price=2.0, completion_price=3.0)
    assert [budget.take(), budget.take()] == [True, False]
    budget.add(ChatReply(("x",), {}, 1_000_000, 2_000_000))
    assert budget.cost == 8.0
    with pytest.raises(UsageError, match="--max-llm-calls must be a whole number from 0, got -1"):
        CallBudget(-1)
    with pytest.raises(UsageError, match="prices must not be negative"):
        CallBudget(prompt_price=-1.0)


@pytest.mark.parametrize("nothing", ["", " \n"])
def test_an_answer_without_words_is_not_kept(nothing: str) -> None:
    store = Store()
    StoredChatModel(ScriptedChatModel(lambda r: nothing), store).complete([ask()])
    assert not store.values
    assert StoredChatModel(ScriptedChatModel(lambda r: "two"), store).complete([ask()]) == [
        ChatReply(("two",))
    ]
