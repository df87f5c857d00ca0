"""From a question to the body of a request, in the words that a server is known to take."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Set
from typing import Any

from rif_plugins.llm.attempts import AttemptError
from rif_plugins.llm.base import ChatRequest

_MOST_TOP = 20
REFUSALS = (400, 415, 422, 501)
# What a message blames, by the words that servers use for it.
_BLAMED = {
    "response_format": re.compile(
        r"response_?format|json_schema|json_object|grammar|structured output|guided"
    ),
    "logprobs": re.compile(r"logprob"),
    "n": re.compile(r"(?<!\w)n(?!\w)|multiple (choices|completions)|best_of"),
    "seed": re.compile(r"(?<!\w)seed(?!\w)"),
    "top_p": re.compile(r"top_p"),
    "temperature": re.compile(r"(?<!\w)temperature(?!\w)"),
    "max_tokens": re.compile(r"max_completion_tokens"),
}
_GUESSED = ("response_format", "logprobs", "n", "seed")
_TOO_LONG = re.compile(r"context.{0,12} (length|size|window)|too long|too many tokens|exceeds? the")


class ServerHabits:
    """What one server was found not to take in this run; safe with several threads.

    Attributes:
        refused: ``"json_schema"`` (plain JSON is asked for then), ``"response_format"``, ``"logprobs"``,
            ``"n"``, ``"seed"``, ``"top_p"``, ``"temperature"``, or ``"max_tokens"`` (it goes under its newer
            name then).
    """

    def __init__(self, refused: Set[str] = frozenset()) -> None:
        self.refused = set(refused)
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    def learn(self, names: Set[str], answered: dict[str, Any]) -> None:
        """Never ask for these again, and never suspect without being told what the server has taken.

        Args:
            names: What was left out of the request.
            answered: The body of the request that was answered.
        """
        with self._lock:
            self.refused |= names
            self._taken |= {_mark(name, answered) for name in _GUESSED if name in answered}

    def suspect(self, error: AttemptError, body: dict[str, Any]) -> str:
        """What in a refused request is to blame, told or guessed; ``""`` where nothing is."""
        if error.status not in REFUSALS:
            return ""
        parameter, words = error.parameter.lower(), error.reason.lower()
        for name, pattern in _BLAMED.items():
            if name in body and (parameter.partition(".")[0] == name or pattern.search(words)):
                if name == "max_tokens" and not pattern.search(words):
                    continue  # too large, not unknown
                return _exact(name, body)
        if _TOO_LONG.search(words):
            return ""
        with self._lock:
            guesses = [name for name in _GUESSED if name in body and _mark(name, body) not in self._taken]
        return _exact(guesses[0], body) if guesses else ""


def _mark(name: str, body: dict[str, Any]) -> str:
    """A part of a request as it is remembered: a server may take one schema and not another."""
    return json.dumps([name, body[name]], sort_keys=True) if name == "response_format" else name


def _exact(name: str, body: dict[str, Any]) -> str:
    """A refused format may still be taken in its plainer form."""
    return "json_schema" if name == "response_format" and body[name]["type"] == "json_schema" else name


def body_of(model: str, request: ChatRequest, n_done: int, without: Set[str]) -> dict[str, Any]:
    """The body of a request for the samples that are still open.

    Args:
        model: The model's name at the server.
        request: The question.
        n_done: Samples that are there.
        without: What is left out, see ``ServerHabits``.
    """
    fields: dict[str, Any] = {"temperature": request.temperature, "max_tokens": request.max_tokens}
    if request.top_p < 1.0:
        fields["top_p"] = request.top_p
    if request.seed is not None:
        # Samples that are drawn one by one must not repeat the first.
        fields["seed"] = (request.seed + n_done) % 2**31
    if request.n_samples - n_done > 1:
        fields["n"] = request.n_samples - n_done
    if request.n_top_tokens:
        fields["logprobs"] = True
    if request.json_schema is not None:
        schema = {"name": "answer", "schema": dict(request.json_schema), "strict": True}
        fields["response_format"] = (
            {"type": "json_object"}
            if "json_schema" in without
            else {"type": "json_schema", "json_schema": schema}
        )
    fields = {name: value for name, value in fields.items() if name not in without}
    if "max_tokens" in without:
        # Older clients do not know the newer name.
        fields["extra_body"] = {"max_completion_tokens": request.max_tokens}
    if "logprobs" in fields:
        fields["top_logprobs"] = min(_MOST_TOP, request.n_top_tokens)
    messages = [{"role": m.role, "content": _sendable(m.content)} for m in request.messages]
    return {"model": model, "messages": messages, **fields}


def _sendable(text: str) -> str:
    """The text without halves of letters, which no request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
