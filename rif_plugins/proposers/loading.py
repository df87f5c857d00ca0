"""From the text after ``--proposer`` to a proposer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rif_plugins.core.stores import PredictionStore
from rif_plugins.errors import UsageError
from rif_plugins.llm import ChatModel
from rif_plugins.proposers.asking import DEFAULT_TEMPERATURE
from rif_plugins.proposers.base import DEFAULT_MAX_CANDIDATES, GuardedProposer, Proposer
from rif_plugins.proposers.composite import CompositeProposer, RankedProposer
from rif_plugins.proposers.context import ContextProposer
from rif_plugins.proposers.embedding import EmbeddingProposer
from rif_plugins.proposers.masked_lm import MaskedLMProposer
from rif_plugins.proposers.stored import StoredProposer
from rif_plugins.proposers.table import TableProposer
from rif_plugins.proposers.wordnet import WordNetProposer

KINDS = ("wordnet", "context", "table:", "masked-lm:", "embedding:", "llm:", "phrases:llm:")
"""How a proposer's text begins; those with a colon want a name or file after it."""

EXPECTED = (
    "expected 'wordnet', 'table:FILE' (JSONL, CSV or TSV), 'context', 'masked-lm:NAME', 'embedding:FILE', "
    "'llm:NAME', 'phrases:llm:NAME', several with commas between, or 'PROPOSER&masked-lm:NAME'"
)
# Names of files and models may hold the separators too, so one counts only where a kind follows.
_BETWEEN = re.compile(rf"\s*[,+]\s*(?=(?:{'|'.join(KINDS)}))")
_RANKED_BY = re.compile(r"\s*&\s*(?=masked-lm:)")


def single_proposers(spec: str) -> tuple[str, ...]:
    """The names of all proposers that work together in a specification, rankers among them.

    >>> single_proposers("wordnet, llm:a & masked-lm:b+c")
    ('wordnet', 'llm:a', 'masked-lm:b+c')
    """
    return tuple(name for part in _BETWEEN.split(spec.strip()) for name in _RANKED_BY.split(part))


@dataclass(frozen=True, slots=True)
class _Options:
    # Members of several, and what is ranked, keep all; `n_kept` is the cap of the whole.
    max_candidates: int | None
    protected: Callable[[str], bool] | None
    chat_models: Callable[[str], ChatModel] | None
    store: PredictionStore | None
    seed: int
    temperature: float
    n_kept: int | None


def load_proposer(
    spec: str,
    *,
    max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
    protected: Callable[[str], bool] | None = None,
    chat_models: Callable[[str], ChatModel] | None = None,
    store: PredictionStore | None = None,
    seed: int = 0,
    temperature: float = DEFAULT_TEMPERATURE,
) -> Proposer:
    """Make the proposer that ``spec`` names.

    Args:
        spec: One of

            * ``wordnet``: synonyms of the dominant senses;
            * ``context``: few substitutes, about half or more of which pass the filter;
            * ``table:FILE``: a JSONL, CSV or TSV file;
            * ``masked-lm:NAME``: a folder or hub name of a masked language model;
            * ``embedding:FILE``: nearest word vectors;
            * ``llm:NAME``, ``llm:gguf:FILE``, ``llm:hf:NAME``: a language model; ``phrases:llm:...``: its
              substitutes for phrases;
            * several of them with ``,`` or ``+`` between: their candidates in turn;
            * ``A&masked-lm:NAME``: what A proposes and the masked language model finds fitting, best first.

        max_candidates: Keep at most this many candidates a token; None keeps all. A language model is asked
            for so many substitutes, but for 15 at least and 20 at most (None: 20).
        protected: Tells whether a word is sensitive; such words are never added, dropped or changed.
        chat_models: Hands out language models, so that those of a run share limits and store; None loads
            them.
        store: Keeps what models propose across runs; None keeps nothing.
        seed: The run's seed, for language models.
        temperature: How language models draw, 0 to 2; 0 is greedy.

    Raises:
        UsageError: There is no such proposer, or a number is out of range.
        DataError: A file cannot be read.
    """
    parts = _BETWEEN.split(spec.strip())
    options = _Options(max_candidates, protected, chat_models, store, seed, temperature, max_candidates)
    if len(parts) == 1:
        return _one(parts[0], options)
    if len(set(parts)) < len(parts):
        raise UsageError(f"the proposer {spec!r} names one twice: name each once")
    members = [_one(part, replace(options, max_candidates=None)) for part in parts]
    return CompositeProposer(members, max_candidates=max_candidates, protected=protected)


def _one(spec: str, options: _Options) -> Proposer:
    """A proposer without separators, perhaps ranked by masked language models."""
    first, *rankers = _RANKED_BY.split(spec)
    if not rankers:
        return _simple(first, spec, options)
    cap, protected = options.max_candidates, options.protected
    proposer = _simple(first, spec, replace(options, max_candidates=None))
    for number, name in enumerate(rankers, 1):
        ranker = MaskedLMProposer(name.partition(":")[2], max_candidates=None)
        last = number == len(rankers)
        proposer = RankedProposer(proposer, ranker, max_candidates=cap if last else None, protected=protected)
    return proposer


def _simple(spec: str, whole: str, options: _Options) -> Proposer:
    kind, _, argument = spec.partition(":")
    cap, protected = options.max_candidates, options.protected
    if kind == "wordnet" and spec == kind:
        return WordNetProposer(max_candidates=cap, protected=protected)
    if kind == "context" and spec == kind:
        return ContextProposer(max_candidates=cap, protected=protected)
    if kind == "table" and argument:
        return TableProposer(argument, max_candidates=cap, protected=protected)
    if kind == "embedding" and argument:
        return EmbeddingProposer(argument, max_candidates=cap, protected=protected)
    if kind == "masked-lm" and argument:
        if options.store is None:
            return MaskedLMProposer(argument, max_candidates=cap, protected=protected)
        bare = MaskedLMProposer(argument, max_candidates=None)
        return GuardedProposer(StoredProposer(bare, options.store), max_candidates=cap, protected=protected)
    if (kind == "llm" and argument) or (kind == "phrases" and argument.startswith("llm:")):
        return _language_model(kind, spec if kind == "llm" else argument, options)
    raise UsageError(f"unknown proposer {whole!r}: {EXPECTED}")


def _language_model(kind: str, name: str, options: _Options) -> Proposer:
    # Late, because these modules need the clients of language models.
    from rif_plugins.llm import load_chat_model
    from rif_plugins.proposers.language_model import asked_number, stored_language_model_proposer
    from rif_plugins.proposers.paraphrases import PhraseProposer

    model = (options.chat_models or load_chat_model)(name)
    rules: dict[str, Any] = {
        "max_candidates": options.max_candidates,
        "protected": options.protected,
        "seed": options.seed,
        "temperature": options.temperature,
    }
    if kind == "phrases":
        return PhraseProposer(model, **rules)
    n_asked = asked_number(options.n_kept)
    return stored_language_model_proposer(model, store=options.store, n_candidates=n_asked, **rules)
