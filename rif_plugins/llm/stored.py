"""Keep what a language model answered, across runs, and ask equal questions of a batch once."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from typing import Any

from rif_plugins.core.stores import PredictionStore, namespace, text_keys
from rif_plugins.llm.base import CallBudget, ChatAnswer, ChatModel, ChatReply, ChatRequest


class StoredChatModel:
    """A chat model that asks only what it was not asked before.

    The key is the model's version and the whole request, seed and temperature included. Failures are never
    kept. A model without a version keeps nothing: a changed one must never get old answers.

    Args:
        model: The model.
        store: Where answers are kept; None keeps none.
        budget: Told of answers that came from the store; None takes the model's own attribute ``budget``.

    Attributes:
        name, version: Those of the model.
    """

    def __init__(
        self, model: ChatModel, store: PredictionStore | None, *, budget: CallBudget | None = None
    ) -> None:
        self.model = model
        self.name = model.name
        self.version = model.version
        self.budget: CallBudget | None = budget or getattr(model, "budget", None)
        self._store = store if model.version else None
        self._space = namespace("chat", model.name, model.version)

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatAnswer]:
        """One answer a request, in their order."""
        texts = [request_text(request) for request in requests]
        asked = dict(zip(texts, requests, strict=True))
        keys = dict(zip(texts, text_keys(texts, self._space), strict=True))
        found: dict[str, ChatAnswer] = {}
        if self._store is not None and keys:
            for text, value in zip(keys, self._store.get_many(list(keys.values())), strict=True):
                reply = None if value is None else _read(value, asked[text].n_samples)
                if reply is not None:
                    found[text] = reply
                    if self.budget is not None:
                        self.budget.add(reply)
        open_requests = {text: request for text, request in asked.items() if text not in found}
        if open_requests:
            answers = self.model.complete(list(open_requests.values()))
            found.update(zip(open_requests, answers, strict=True))
            fresh = {
                keys[text]: _written(answer)
                for text, answer in zip(open_requests, answers, strict=True)
                # What lacks samples or words would lack them for ever.
                if isinstance(answer, ChatReply)
                and not answer.is_stored
                and len(answer.texts) == open_requests[text].n_samples
                and all(said.strip() for said in answer.texts)
            }
            if self._store is not None and fresh:
                self._store.set_many(fresh)
        return [found[text] for text in texts]

    def __repr__(self) -> str:
        return f"StoredChatModel({self.model!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the store: a worker wraps the model again where it wants one."""
        return {**self.__dict__, "_store": None}


def request_text(request: ChatRequest) -> str:
    """Everything that decides the answer to a request, as one text."""
    fields = {
        field.name: getattr(request, field.name)
        for field in dataclasses.fields(request)
        if field.name != "messages"
    }
    fields["messages"] = [[message.role, message.content] for message in request.messages]
    return json.dumps(fields, sort_keys=True, ensure_ascii=True)


def _written(reply: ChatReply) -> bytes:
    return json.dumps([list(reply.texts), dict(reply.first_tokens)]).encode("ascii")


def _read(value: bytes, n_samples: int) -> ChatReply | None:
    """The reply of a stored value; None where it is not what ``_written`` writes."""
    try:
        texts, first_tokens = json.loads(value)
        logs = {token: float(value) for token, value in first_tokens.items()}
        is_sound = (
            isinstance(texts, list)
            and len(texts) == n_samples
            and all(isinstance(text, str) for text in texts)
            and all(map(math.isfinite, logs.values()))
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return ChatReply(tuple(texts), logs, is_stored=True) if is_sound else None
