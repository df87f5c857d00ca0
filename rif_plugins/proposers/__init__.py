"""Generate: proposers of replacements for the tokens of a text.

A proposer answers *what could stand here instead?*; the entailment filter decides which of it keeps the
meaning. :func:`load_proposer` makes one from the text that ``--proposer`` takes.
"""

from __future__ import annotations

from collections.abc import Callable

from rif_plugins.errors import UsageError
from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    GuardedProposer,
    Proposer,
    TokenContext,
)
from rif_plugins.proposers.table import TableProposer
from rif_plugins.proposers.wordnet import WordNetProposer

__all__ = [
    "DEFAULT_MAX_CANDIDATES",
    "BaseProposer",
    "Candidate",
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
) -> Proposer:
    """Make the proposer that ``spec`` names.

    Args:
        spec: ``"wordnet"``, or ``"table:FILE"`` for a JSONL, CSV or TSV file.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive; such words are never added, dropped or changed.

    Raises:
        UsageError: There is no such proposer.
        DataError: The table cannot be read.
    """
    kind, _, argument = spec.partition(":")
    if kind == "wordnet" and not argument:
        return WordNetProposer(max_candidates=max_candidates, protected=protected)
    if kind == "table" and argument:
        return TableProposer(argument, max_candidates=max_candidates, protected=protected)
    raise UsageError(f"unknown proposer {spec!r}: expected 'wordnet' or 'table:FILE' (JSONL, CSV or TSV)")
