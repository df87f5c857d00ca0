"""From ``llm:...`` to a chat model."""

from __future__ import annotations

from rif_plugins.errors import UsageError
from rif_plugins.llm.base import CallBudget, ChatModel

PREFIX = "llm:"


def load_chat_model(spec: str, *, budget: CallBudget | None = None) -> ChatModel:
    """Make the chat model that ``spec`` names.

    Args:
        spec: ``"llm:NAME"`` asks for the model NAME at an OpenAI-compatible address (``OPENAI_BASE_URL``, and
            ``OPENAI_API_KEY`` where the server wants a key); ``"llm:gguf:FILE"`` runs a GGUF file;
            ``"llm:hf:NAME"`` runs a folder or hub name with transformers.
        budget: Counts and limits the calls; None counts without a limit.

    Raises:
        UsageError: No model is named, the file is missing, or no address and no key are set.
        MissingDependencyError: The client is not installed.
    """
    budget = budget or CallBudget()
    name = spec.strip().removeprefix(PREFIX)
    kind, _, rest = name.partition(":")
    if not spec.strip().startswith(PREFIX) or not name or (kind in ("gguf", "hf") and not rest):
        raise UsageError(
            f"unknown language model {spec!r}: expected llm:NAME (an OpenAI-compatible server), "
            "llm:gguf:FILE or llm:hf:NAME (a folder or hub name)"
        )
    if kind == "gguf":
        from rif_plugins.llm.gguf import load_gguf

        return load_gguf(rest, budget)
    if kind == "hf":
        from rif_plugins.llm.hugging_face import load_hugging_face_chat

        return load_hugging_face_chat(rest, budget)
    from rif_plugins.llm.endpoint import load_endpoint_chat

    return load_endpoint_chat(name, budget)
