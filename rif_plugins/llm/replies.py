"""From the bytes of a chat completion to a reply."""

from __future__ import annotations

import json
import math
from typing import Any

from rif_plugins.llm.attempts import AttemptError, one_line
from rif_plugins.llm.base import ChatReply

_MOST_TOKENS = 10**9


def reply_of(raw: bytes) -> ChatReply:
    """The reply that a server sent.

    Raises:
        AttemptError: It is no chat completion; another attempt may give one.
    """
    try:
        data = json.loads(raw)
        choices = data["choices"]
        texts = tuple(_text(choice["message"]) for choice in choices)
        if not texts:
            raise ValueError
        usage = data.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return ChatReply(
            texts,
            first_tokens_of(choices[0]),
            _count(usage.get("prompt_tokens")),
            _count(usage.get("completion_tokens")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError):
        start = one_line(raw[:80].decode("utf-8", "replace"))
        raise AttemptError(f"answered no chat completion but {start!r}") from None


def first_tokens_of(choice: Any) -> dict[str, float]:
    """Log-probabilities of the alternatives of the first token; of one text for several, the largest.

    Servers differ here; an answer whose chances cannot be read is an answer without them.
    """
    try:
        first = choice["logprobs"]["content"][0]
        alternatives = first.get("top_logprobs") or [first]
        pairs = [(one.get("token"), one.get("logprob")) for one in alternatives]
    except (TypeError, KeyError, IndexError, AttributeError):
        return {}
    found: dict[str, float] = {}
    for token, value in pairs:
        # Minus infinity is null in JSON.
        if isinstance(token, str) and isinstance(value, (int, float)) and math.isfinite(value):
            text = _writable(token)
            found[text] = max(float(value), found.get(text, -math.inf))
    return found


def _text(message: Any) -> str:
    """The text of a message; some servers send it in parts, and none at all for a refusal."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    return _writable(str(content or ""))


def _writable(text: str) -> str:
    """The text without halves of letters, which no file takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _count(value: Any) -> int:
    is_number = isinstance(value, (int, float)) and 0 <= value <= _MOST_TOKENS
    return int(value) if is_number else 0
