"""From ``llm:...`` to a chat model."""

from __future__ import annotations

from rif_plugins.core.stores import PredictionStore
from rif_plugins.errors import UsageError
from rif_plugins.llm.base import CallBudget, ChatModel
from rif_plugins.llm.stored import StoredChatModel

PREFIX = "llm:"


def load_chat_model(
    spec: str, *, budget: CallBudget | None = None, store: PredictionStore | None = None
) -> ChatModel:
    """Make the chat model that ``spec`` names.

    Args:
        spec: ``"llm:NAME"`` asks for the model NAME at an OpenAI-compatible address (``OPENAI_BASE_URL``, and
            ``OPENAI_API_KEY`` where the server wants a key; ``RIF_LLM_BASE_URL`` and ``RIF_LLM_KEY`` go
            before them); ``"llm:gguf:FILE"`` runs a GGUF file; ``"llm:hf:NAME"`` runs a folder or hub name
            with transformers.
        budget: Counts and limits the calls; None counts without a limit.
        store: Keeps answers across runs; None keeps none.

    Raises:
        UsageError: No model is named, the file is missing, or no address and no key are set.
        MissingDependencyError: The client is not installed.
    """
    model = _loaded(spec, budget or CallBudget())
    return model if store is None else StoredChatModel(model, store)


def _loaded(spec: str, budget: CallBudget) -> ChatModel:
    name = spec.strip().removeprefix(PREFIX)
    kind, _, rest = name.partition(":")
    if not spec.strip().startswith(PREFIX) or not name or (kind in ("gguf", "hf") and not rest.strip()):
        raise UsageError(
            f"unknown language model {spec!r}: expected llm:NAME (an OpenAI-compatible server), "
            "llm:gguf:FILE or llm:hf:NAME (a folder or hub name)"
        )
    if kind == "gguf":
        from rif_plugins.llm.gguf import load_gguf

        return load_gguf(rest.strip(), budget)
    if kind == "hf":
        from rif_plugins.llm.hugging_face import load_hugging_face_chat

        return load_hugging_face_chat(rest.strip(), budget)
    from rif_plugins.llm.endpoint import load_endpoint_chat

    return load_endpoint_chat(name, budget)
