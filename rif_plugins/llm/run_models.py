"""The language models that a run names, whoever asks them: one budget of calls, one store of answers."""

from __future__ import annotations

from typing import Protocol

from rif_plugins.core.stores import PredictionStore
from rif_plugins.llm.base import CallBudget, ChatModel
from rif_plugins.llm.stored import StoredChatModel


class CallSettings(Protocol):
    """What the settings of a run say about its calls."""

    @property
    def max_llm_calls(self) -> int | None:
        """Most calls; None means no limit."""
        ...  # pragma: no cover

    @property
    def llm_prompt_price(self) -> float:
        """Price of a million prompt tokens."""
        ...  # pragma: no cover

    @property
    def llm_completion_price(self) -> float:
        """Price of a million completion tokens."""
        ...  # pragma: no cover


class ChatModels:
    """Hands out the language models of one run; call it with ``"llm:NAME"``. Each is loaded once.

    Args:
        settings: The limit of the calls and the prices.
        store: Keeps answers across runs; None keeps none.

    Attributes:
        budget: The calls of the run.
    """

    def __init__(self, settings: CallSettings, store: PredictionStore | None = None) -> None:
        self.budget = CallBudget(
            settings.max_llm_calls,
            prompt_price=settings.llm_prompt_price,
            completion_price=settings.llm_completion_price,
        )
        self._store = store
        self._models: dict[str, ChatModel] = {}

    def __call__(self, spec: str) -> ChatModel:
        """The model that ``spec`` names.

        Raises:
            UsageError: It cannot be loaded.
        """
        from rif_plugins import llm  # late: that package names this class

        spec = spec.strip()
        if spec not in self._models:
            model = llm.load_chat_model(spec, budget=self.budget)
            self._models[spec] = StoredChatModel(model, self._store)
        return self._models[spec]

    def add(self, spec: str, model: ChatModel) -> None:
        """Hand out ``model`` for ``spec``, in place of the one that would be loaded."""
        self._models[spec.strip()] = model

    @property
    def is_used(self) -> bool:
        """Whether the run names a language model."""
        return bool(self._models)

    def close(self) -> None:
        """Write what the store still holds."""
        close = getattr(self._store, "close", None)
        if close is not None:
            close()
