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
from rif_plugins.llm.loading import load_chat_model
from rif_plugins.llm.run_models import CallSettings, ChatModels
from rif_plugins.llm.stored import StoredChatModel

__all__ = [
    "CallBudget",
    "CallSettings",
    "ChatAnswer",
    "ChatFailure",
    "ChatModel",
    "ChatModels",
    "ChatReply",
    "ChatRequest",
    "Message",
    "StoredChatModel",
    "load_chat_model",
]
