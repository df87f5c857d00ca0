"""The language models of one run: each loaded once, its answers stored, all calls on one budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rif_plugins.core.stores import PredictionStore
from rif_plugins.core.victim import Budget, FloatArray, Predict, VictimEngine
from rif_plugins.core.victim_call import Call
from rif_plugins.llm import CallSettings, ChatModels
from rif_plugins.victims.base import Uncertainty, Victim

# Examples that are searched together where a language model answers: few, so that a run whose calls are used
# up has finished as many as possible; its client asks the texts of a batch at the same time anyway.
WINDOW = 8


class LanguageModels(ChatModels):
    """Hands out the language models that proposer, victim and judge name, and tells of them.

    Args:
        settings: The limit of the calls and the prices.
        store: Keeps answers across runs; None keeps none.

    Attributes:
        details: More to tell in ``run.json``, by role.
    """

    def __init__(self, settings: CallSettings, store: PredictionStore | None = None) -> None:
        super().__init__(settings, store)
        self.details: dict[str, Any] = {}

    def note_victim(self, victim: Victim) -> None:
        """Tell in ``run.json`` how a language model as the victim has answered."""
        told = getattr(victim.identity, "to_dict", None)
        if victim.again is not None and callable(told):
            self.details["victim"] = told

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
