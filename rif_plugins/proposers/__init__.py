"""Generate: proposers of replacements for the tokens of a text.

A proposer answers *what could stand here instead?*; the entailment filter decides which of it keeps the
meaning. :func:`load_proposer` makes one from the text that ``--proposer`` takes, :func:`settings_proposer`
that of a run.
"""

from __future__ import annotations

from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    GuardedProposer,
    Proposer,
    TokenContext,
)
from rif_plugins.proposers.composite import CompositeProposer, RankedProposer
from rif_plugins.proposers.context import ContextProposer
from rif_plugins.proposers.embedding import EmbeddingProposer
from rif_plugins.proposers.from_settings import settings_proposer
from rif_plugins.proposers.loading import load_proposer
from rif_plugins.proposers.masked_lm import MaskedLMProposer
from rif_plugins.proposers.table import TableProposer
from rif_plugins.proposers.wordnet import WordNetProposer

__all__ = [
    "DEFAULT_MAX_CANDIDATES",
    "BaseProposer",
    "Candidate",
    "CompositeProposer",
    "ContextProposer",
    "EmbeddingProposer",
    "GuardedProposer",
    "MaskedLMProposer",
    "Proposer",
    "RankedProposer",
    "TableProposer",
    "TokenContext",
    "WordNetProposer",
    "load_proposer",
    "settings_proposer",
]
