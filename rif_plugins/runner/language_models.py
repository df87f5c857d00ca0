"""The language models of one run: each loaded once, its answers stored, all calls on one budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rif_plugins import llm
from rif_plugins.core.stores import PredictionStore
from rif_plugins.core.victim import Budget, FloatArray, Predict, VictimEngine
from rif_plugins.core.victim_call import Call
from rif_plugins.llm import CallBudget, ChatModel, StoredChatModel
from rif_plugins.settings import Settings
from rif_plugins.victims.base import Uncertainty, Victim

# Examples that are searched together where a language model answers: few, so that a run whose calls are used
# up has finished as many as possible; its client asks the texts of a batch at the same time anyway.
WINDOW = 8


class LanguageModels:
    """Hands out the language models that proposer, victim and judge name; call it with ``"llm:NAME"``.

    Args:
        settings: The limit of the calls and the prices.
        store: Keeps answers across runs; None keeps none.

    Attributes:
        budget: The calls of the run.
        details: More to tell in ``run.json``, by role.
    """

    def __init__(self, settings: Settings, store: PredictionStore | None = None) -> None:
        self.budget = CallBudget(
            settings.max_llm_calls,
            prompt_price=settings.llm_prompt_price,
            completion_price=settings.llm_completion_price,
        )
        self.details: dict[str, Any] = {}
        self._store = store
        self._models: dict[str, ChatModel] = {}

    def __call__(self, spec: str) -> ChatModel:
        """The model that ``spec`` names.

        Raises:
            UsageError: It cannot be loaded.
        """
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

    def note_victim(self, victim: Victim) -> None:
        """Tell in ``run.json`` how a language model as the victim has answered."""
        told = getattr(victim.identity, "to_dict", None)
        if victim.again is not None and callable(told):
            self.details["victim"] = told

    def close(self) -> None:
        """Write what the store still holds."""
        close = getattr(self._store, "close", None)
        if close is not None:
            close()

    def to_dict(self) -> dict[str, Any]:
        """Names, counters and costs, for ``run.json``; no address, no key."""
        limit = self.budget.max_calls
        return {
            "names": [model.name for model in self._models.values()],
            "max_calls": limit,
            "are_used_up": limit is not None and self.budget.n_calls >= limit,
            **self.budget.as_dict(),
            **{role: told() if callable(told) else told for role, told in self.details.items()},
        }


class ConfirmingEngine(VictimEngine):
    """An engine over a victim that remembers its answers: what is asked afresh goes to ``again``.

    Its store is that of the victim, which keeps every asking apart.

    Args:
        victim: The victim.
        **options: See ``VictimEngine``.
    """

    def __init__(self, victim: Victim, **options: Any) -> None:
        super().__init__(victim.predict, **options)
        self.uncertainty: Uncertainty | None = victim.uncertainty
        self._again: Predict = victim.again or victim.predict
        self._is_confirming = False

    def probabilities(
        self, texts: Sequence[str], *, budget: Budget | None = None, fresh: bool = False
    ) -> FloatArray:
        """See ``VictimEngine.probabilities``."""
        if not fresh:
            return super().probabilities(texts, budget=budget)
        usual = self.predict
        self.predict, self._is_confirming = self._again, True
        try:
            return super().probabilities(texts, budget=budget, fresh=True)
        finally:
            self.predict, self._is_confirming = usual, False

    def _keep(self, call: Call, rows: FloatArray) -> None:
        # What a search is told about a text must not depend on whether another one has confirmed it.
        if not self._is_confirming:
            super()._keep(call, rows)


def with_own_checks(victim: Victim, checks: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The checks of a victim, those that it has made itself in the place of others of the same name."""
    own = {check["name"]: dict(check) for check in victim.own_checks}
    kept = [own.pop(check["name"], dict(check)) for check in checks]
    return [*kept, *own.values()]
