"""Generate: proposers of replacements for the tokens of a text.

A proposer answers *what could stand here instead?*; the entailment filter decides which of it keeps the
meaning. :func:`load_proposer` makes one from the text that ``--proposer`` takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rif_plugins.core.stores import PredictionStore
from rif_plugins.errors import UsageError
from rif_plugins.llm.base import ChatModel
from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    GuardedProposer,
    Proposer,
    TokenContext,
)
from rif_plugins.proposers.composite import CompositeProposer
from rif_plugins.proposers.table import TableProposer
from rif_plugins.proposers.wordnet import WordNetProposer

__all__ = [
    "DEFAULT_MAX_CANDIDATES",
    "BaseProposer",
    "Candidate",
    "CompositeProposer",
    "GuardedProposer",
    "Proposer",
    "TableProposer",
    "TokenContext",
    "WordNetProposer",
    "load_proposer",
]


def load_proposer(
    spec: str,
    *,
    max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
    protected: Callable[[str], bool] | None = None,
    chat_models: Callable[[str], ChatModel] | None = None,
    store: PredictionStore | None = None,
    seed: int = 0,
) -> Proposer:
    """Make the proposer that ``spec`` names.

    Args:
        spec: ``"wordnet"``; ``"table:FILE"`` for a JSONL, CSV or TSV file; ``"llm:NAME"``,
            ``"llm:gguf:FILE"`` or ``"llm:hf:NAME"``; ``"phrases:llm:..."`` for phrases of a language model;
            or several of them with commas between, which take turns.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive; such words are never added, dropped or changed.
        chat_models: Hands out language models, so that those of a run share limits and store; None loads
            them.
        store: Keeps what language models proposed, across runs.
        seed: Seed of the run, for language models.

    Raises:
        UsageError: There is no such proposer.
        DataError: The table cannot be read.
    """
    names = [name.strip() for name in spec.split(",")]
    options: dict[str, Any] = {"chat_models": chat_models, "store": store, "seed": seed}
    options["protected"] = protected
    if len(names) == 1:
        return _load_one(names[0], max_candidates=max_candidates, **options)
    # Members do not cap: the cap comes after they have taken turns.
    members = [_load_one(name, max_candidates=None, **options) for name in names]
    return CompositeProposer(members, max_candidates=max_candidates, protected=protected)


def _load_one(
    spec: str,
    *,
    max_candidates: int | None,
    protected: Callable[[str], bool] | None,
    chat_models: Callable[[str], ChatModel] | None,
    store: PredictionStore | None,
    seed: int,
) -> Proposer:
    kind, _, argument = spec.partition(":")
    if kind == "wordnet" and not argument:
        return WordNetProposer(max_candidates=max_candidates, protected=protected)
    if kind == "table" and argument:
        return TableProposer(argument, max_candidates=max_candidates, protected=protected)
    if (kind == "llm" and argument) or (kind == "phrases" and argument.startswith("llm:")):
        from rif_plugins.llm import load_chat_model
        from rif_plugins.proposers.language_model import stored_language_model_proposer
        from rif_plugins.proposers.paraphrases import PhraseProposer

        model = (chat_models or load_chat_model)(spec if kind == "llm" else argument)
        if kind == "phrases":
            return PhraseProposer(model, seed=seed, max_candidates=max_candidates, protected=protected)
        return stored_language_model_proposer(
            model, store=store, max_candidates=max_candidates, protected=protected, seed=seed
        )
    raise UsageError(
        f"unknown proposer {spec!r}: expected 'wordnet', 'table:FILE' (JSONL, CSV or TSV), 'llm:NAME', "
        "'phrases:llm:NAME', or several with commas between"
    )
