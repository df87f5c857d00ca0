"""Language models: one vocabulary for hosted and local ones, for proposing, judging and classifying."""

from __future__ import annotations

from rif_plugins.llm.base import (
    CallBudget,
    ChatAnswer,
    ChatFailure,
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
)

__all__ = [
    "CallBudget",
    "ChatAnswer",
    "ChatFailure",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Message",
]
