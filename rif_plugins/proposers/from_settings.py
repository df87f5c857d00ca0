"""From the settings of a run to its proposer, the same on every route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rif_plugins.core.stores import PredictionStore
from rif_plugins.llm import CallSettings, ChatModel, ChatModels
from rif_plugins.proposers.base import Proposer
from rif_plugins.proposers.loading import load_proposer, single_proposers


class ProposerSettings(CallSettings, Protocol):
    """What the settings of a run say about its proposer."""

    @property
    def proposer(self) -> str:
        """What ``load_proposer`` takes."""
        ...  # pragma: no cover

    @property
    def max_candidates(self) -> int:
        """Most candidates a token."""
        ...  # pragma: no cover

    @property
    def seed(self) -> int:
        """The run's seed."""
        ...  # pragma: no cover

    @property
    def llm_temperature(self) -> float:
        """How language models draw."""
        ...  # pragma: no cover


def settings_proposer(
    settings: ProposerSettings,
    *,
    protected: Callable[[str], bool] | None = None,
    store: PredictionStore | None = None,
    chat_models: Callable[[str], ChatModel] | None = None,
) -> Proposer:
    """Make the proposer of a run.

    Args:
        settings: The run's settings.
        protected: Tells whether a word is sensitive; such words are never added, dropped or changed.
        store: Keeps answers of models across runs; None keeps none.
        chat_models: The language models of the run, where something else asks them, too; None makes them
            from the settings, with a budget of their own.

    Raises:
        UsageError: There is no such proposer.
        DataError: A file cannot be read.
    """
    return load_proposer(
        settings.proposer,
        max_candidates=settings.max_candidates,
        protected=protected,
        chat_models=chat_models or ChatModels(settings, store),
        store=store,
        seed=settings.seed,
        temperature=settings.llm_temperature,
    )


def asks_models(spec: str) -> bool:
    """Whether a proposer asks models whose answers a store can keep.

    >>> asks_models("table:llm:a.csv"), asks_models("wordnet,phrases:llm:a"), asks_models("masked-lm:b")
    (False, True, True)
    """
    return any(name.startswith(("llm:", "phrases:llm:", "masked-lm:")) for name in single_proposers(spec))
