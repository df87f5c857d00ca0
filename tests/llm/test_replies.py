"""What servers write into chat completions, also where it is odd."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rif_plugins.llm.replies import reply_of


def of(choice: dict[str, Any], usage: Any = None) -> Any:
    return reply_of(
        json.dumps({"choices": [{"message": {"content": "positive"}, **choice}], "usage": usage}).encode()
    )


def top(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    alternatives = [{"token": token, "logprob": value} for token, value in pairs]
    return {"logprobs": {"content": [{"token": "positive", "logprob": -0.1, "top_logprobs": alternatives}]}}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (top(("positive", -0.1), ("neg", -2)), {"positive": -0.1, "neg": -2.0}),
        (top(("positive", -0.1), ("neg", None)), {"positive": -0.1}),
        (top(("positive", -0.1), ("neg", float("-inf"))), {"positive": -0.1}),
        (top(("positive", "-0.1")), {}),
        (top((None, -0.1)), {}),
        ({"logprobs": {"content": [{"token": "positive", "logprob": -0.1}]}}, {"positive": -0.1}),
        ({"logprobs": {"content": [{"logprob": -0.1}]}}, {}),
        ({"logprobs": {"content": [{"top_logprobs": {"positive": -0.1}}]}}, {}),
        ({"logprobs": {"tokens": ["positive"], "token_logprobs": [-0.1]}}, {}),
        ({"logprobs": [{"token": "positive"}]}, {}),
        ({"logprobs": None}, {}),
    ],
)
def test_chances_that_cannot_be_read_leave_the_answer(choice: dict[str, Any], expected: object) -> None:
    reply = of(choice)
    assert reply.texts == ("positive",)
    assert dict(reply.first_tokens) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3}, (7, 3)),
        ({"prompt_tokens": float("nan"), "completion_tokens": -4}, (0, 0)),
        ({"prompt_tokens": "many", "completion_tokens": 10**12}, (0, 0)),
        ("none", (0, 0)),
        ([1], (0, 0)),
        (None, (0, 0)),
    ],
)
def test_odd_counts_of_tokens_count_nothing(usage: Any, expected: tuple[int, int]) -> None:
    reply = of({}, usage)
    assert (reply.texts, reply.prompt_tokens, reply.completion_tokens) == (("positive",), *expected)
