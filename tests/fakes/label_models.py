"""A language model that classifies by keywords, as a test tells it to answer."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from fakes.runner_world import WEIGHTS
from fakes.scripted_server import Answer
from fakes.scripted_server import Script as ServerScript

from rif_plugins.llm import ChatAnswer, ChatFailure, ChatReply, ChatRequest, Message

LABELS = ("negative", "positive")
PROMPT = "Is the text {labels}? Say one word.\n<text>{text}</text>"
_TEXT = re.compile(r"<text>(.*)</text>", re.DOTALL)
Script = Callable[[ChatRequest], "str | list[str] | ChatAnswer"]


def text_of(request: ChatRequest) -> str:
    """The text that a question is about."""
    found = _TEXT.search(request.messages[-1].content)
    assert found is not None, request
    return found.group(1)


def positive_chance(text: str) -> float:
    """P(positive) by the words of the runner's world."""
    z = sum(WEIGHTS.get(word.strip(".,!").lower(), 0.0) for word in text.split())
    return 1 / (1 + math.exp(-z))


def keyword_script(
    *,
    has_tokens: bool = True,
    labels: Sequence[str] = LABELS,
    spelled: Callable[[str], str] = str,
    noise: float = 0.0,
) -> Script:
    """Answers as a model would whose chances are those of ``positive_chance``.

    Args:
        has_tokens: Whether the server gives the chances of the first token.
        labels: The two classes.
        spelled: How a class is written.
        noise: How much the chances move with the seed, in logits.
    """

    def script(request: ChatRequest) -> str | list[str] | ChatAnswer:
        text = text_of(request)
        digest = hashlib.sha256(f"{request.seed} {text}".encode()).digest()
        rng = np.random.default_rng(list(digest))
        p = positive_chance(text)
        p = 1 / (1 + math.exp(-math.log(p / (1 - p)) - noise * rng.normal()))
        if request.temperature > 0:
            return [spelled(labels[int(rng.random() < p)]) for _ in range(request.n_samples)]
        tokens = {}
        if has_tokens and request.n_top_tokens:
            firsts = [" " + spelled(label).split()[0] for label in labels]
            tokens = {firsts[0]: math.log(1 - p), firsts[1]: math.log(p), "The": -20.0}
        return ChatReply((spelled(labels[int(p >= 0.5)]),), tokens, 20, 1)

    return script


def served(script: Script, failures: Callable[[int], Answer | None] = lambda _: None) -> ServerScript:
    """The same behind an address, as OpenAI-compatible servers answer.

    Args:
        script: Answers.
        failures: From the number of a request to what is sent in the place of the answer; None sends it.
    """

    def answer(data: Any, number: int) -> Answer:
        failed = failures(number)
        if failed is not None:
            return failed
        messages = tuple(Message(m["role"], m["content"]) for m in data["messages"])
        request = ChatRequest(
            messages,
            temperature=float(data.get("temperature", 1.0)),
            seed=data.get("seed"),
            n_samples=int(data.get("n") or 1),
            n_top_tokens=int(data.get("top_logprobs") or 0),
        )
        said = script(request)
        assert not isinstance(said, ChatFailure)
        if isinstance(said, str):
            said = ChatReply((said,) * request.n_samples)
        reply = said if isinstance(said, ChatReply) else ChatReply(tuple(said))
        top = [{"token": token, "logprob": chance} for token, chance in reply.first_tokens.items()]
        logprobs = {"content": [{"token": "x", "logprob": -1.0, "top_logprobs": top}]} if top else None
        choices = [
            {
                "index": i,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
                "logprobs": logprobs,
            }
            for i, text in enumerate(reply.texts)
        ]
        usage = {"prompt_tokens": 20, "completion_tokens": len(reply.texts), "total_tokens": 20}
        return Answer(
            {
                "id": f"chat-{number}",
                "object": "chat.completion",
                "created": 1,
                "model": data.get("model"),
                "choices": choices,
                "usage": usage,
            }
        )

    return answer
