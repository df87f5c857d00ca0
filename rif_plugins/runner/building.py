"""Builds the parts of a sweep from the options: victim, pairs, proposer, filter, cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rif_plugins.cache import SQLiteStore, open_store
from rif_plugins.core.pair_search import TokenSaliency
from rif_plugins.core.pairs import Span
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter, load_scorer
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import ExampleSet
from rif_plugins.examples.loading import load_examples
from rif_plugins.proposers import Proposer, settings_proposer
from rif_plugins.runner import language_models
from rif_plugins.runner.language_models import ConfirmingEngine, LanguageModels
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.sweep import WINDOW, Sweep
from rif_plugins.similar import PairSource
from rif_plugins.similar.pair_source import embedded_and
from rif_plugins.victims.base import Victim
from rif_plugins.victims.fingerprint import Fingerprint, victim_fingerprint
from rif_plugins.victims.loading import load_victim

# The victim may cost this many times the filter before it pays to ask the filter first: on SST-2 the
# victim-first order saves about that many entailment rows for every victim row that it adds.
VICTIM_WORTH = 2.5
_TIMED_TEXTS = 16
# Enough for the texts of all open examples; more would only grow with the run.
_REMEMBERED = 2**15


@dataclass
class Parts:
    """The parts of one audit in one process.

    Attributes:
        victim: As loaded.
        engine: Its engine; also used by the checks.
        fingerprint: Who the victim is.
        store: The cache across runs, or None.
        filter: None when ``--entailment none``.
        source: Who counts as similar.
        models: The language models of the run.
        proposer: Loaded when it is first needed, and once: tables and models take time.
    """

    victim: Victim
    engine: VictimEngine
    fingerprint: Fingerprint
    store: SQLiteStore | None
    filter: EntailmentFilter | None
    source: PairSource
    models: LanguageModels
    proposer: Proposer | None = None

    def close(self) -> None:
        """Write what the cache still holds."""
        if self.store is not None:
            self.store.close()


def build_parts(options: AuditOptions, victim: Victim | None = None) -> Parts:
    """Load everything that the options name.

    Args:
        options: The options.
        victim: A victim that is loaded already.

    Raises:
        UsageError: Something cannot be loaded; the message says what and how to mend it.
    """
    settings = options.settings
    counterparts = None if settings.counterparts == "all" else int(settings.counterparts)
    source = PairSource(embedded_and(settings.lexicon), settings.sensitive, counterparts, settings.seed)
    store = open_store(cache=settings.cache, folder=settings.cache_dir, size=settings.cache_size)
    models = LanguageModels(settings, store)
    victim = victim or load_victim_of(options, models)
    models.note_victim(victim)
    who = victim.predict if victim.identity is None else victim.identity
    fingerprint = victim_fingerprint(who, victim.predict)
    engine = _engine(options, victim, store, fingerprint)
    scorer = load_scorer(settings.entailment)
    entailment = (
        None
        if scorer is None
        else EntailmentFilter(
            scorer,
            min_equivalence=settings.min_equivalence,
            scope=settings.scope,
            veto=None if settings.veto == "none" else settings.veto,
            store=store,
        )
    )
    if settings.saliency == "gradient" and victim.token_gradients is None:
        raise UsageError(
            f"--saliency gradient needs a white-box victim, got {victim.name}: "
            "use a Hugging Face model, or saliency delete, mask or random"
        )
    return Parts(victim, engine, fingerprint, store, entailment, source, models)


def load_victim_of(options: AuditOptions, models: LanguageModels | None = None) -> Victim:
    """Load the victim that the options name.

    Args:
        options: The options.
        models: The language models of the run.

    Raises:
        UsageError: It cannot be loaded.
    """
    settings = options.settings
    asking: dict[str, Any] = {}
    if options.model.startswith("llm:"):
        models = models or LanguageModels(settings)
        asking = {
            "chat_models": models,
            "budget": models.budget,
            "n_samples": settings.llm_samples,
            "max_tokens": settings.llm_max_tokens,
            "seed": settings.seed,
        }
    return load_victim(
        options.model,
        output=settings.victim_output,
        device=options.device,
        max_length=options.max_length,
        prompt=options.prompt,
        labels=options.label_names,
        **asking,
    )


def _engine(
    options: AuditOptions, victim: Victim, store: SQLiteStore | None, fingerprint: Fingerprint
) -> VictimEngine:
    settings = options.settings
    kept: dict[str, Any] = {
        # A setting never overrides what is known, such as the logits of a Hugging Face model.
        "output": settings.victim_output if victim.output == "auto" else victim.output,
        "batch_size": settings.batch_size,
        "cache_size": _REMEMBERED,
    }
    if victim.again is not None:
        return ConfirmingEngine(victim, **kept)
    return VictimEngine(victim.predict, store=store, fingerprint=fingerprint.value, **kept)


def build_sweep(options: AuditOptions, parts: Parts) -> Sweep:
    """The sweep over the parts."""
    settings = options.settings
    proposer = build_proposer(options, parts)
    return Sweep(
        parts.engine,
        parts.source,
        proposer,
        parts.filter,
        options.plan(),
        seed=settings.seed,
        query_budget=options.query_budget,
        token_saliency=_token_saliency(parts.victim),
        window=WINDOW if parts.victim.again is None else language_models.WINDOW,
    )


def build_proposer(options: AuditOptions, parts: Parts) -> Proposer:
    """The proposer of the options, with the language models and the cache of the run."""
    if parts.proposer is not None:
        return parts.proposer
    lexicon, settings = parts.source.lexicon, options.settings
    protected = {word.casefold() for word in options.protect}
    parts.proposer = settings_proposer(
        settings,
        protected=lambda word: lexicon.is_sensitive(word) or word.casefold() in protected,
        chat_models=parts.models,
        store=parts.store,
    )
    return parts.proposer


def read_examples(options: AuditOptions, label_names: Sequence[str] | None) -> ExampleSet:
    """The examples that the options name."""
    return load_examples(
        options.data,
        text_column=options.text_column,
        label_column=options.label_column,
        similar_column=options.similar_column,
        split=options.split,
        limit=options.limit,
        offset=options.offset,
        label_names=label_names,
        label_map=options.label_map,
        labels=options.labels,
    )


def decides_filter_first(options: AuditOptions, parts: Parts, texts: Sequence[str]) -> bool:
    """Whether the filter should see candidates before the victim.

    The same edits are admissible either way; filter-first does not give up early (see ``ReachSettings``), so
    it may find more on victims whose effects do not add up. With a query budget victim rows are scarce, so
    the filter goes first; else the price of a row of each is measured on a few texts, once a run.
    ``run.json`` says which order it was.
    """
    order = options.settings.filter_order
    if order != "auto" or parts.filter is None:
        return order == "filter-first" and parts.filter is not None
    # A language model answers slowly and for money, and what it has answered it repeats at once.
    if options.query_budget is not None or parts.victim.again is not None:
        return True
    sample = [text for text in dict.fromkeys(texts) if text.strip()][:_TIMED_TEXTS]
    if len(sample) < 2:
        return False
    try:
        victim_seconds = _seconds(parts.victim.predict, sample)
    except Exception:
        return False  # the search meets the same error and records it at its example
    pairs = [(text, text + " .") for text in sample]
    filter_seconds = _seconds(parts.filter.scorer.probabilities, pairs)
    return victim_seconds > VICTIM_WORTH * filter_seconds


def _seconds(call: Any, items: Sequence[Any]) -> float:
    """The faster of two calls; the first one often pays for what later ones find ready."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        call(list(items))
        times.append(time.perf_counter() - start)
    return min(times)


def _token_saliency(victim: Victim) -> TokenSaliency | None:
    gradients = victim.token_gradients
    if gradients is None:
        return None

    def of_text(text: str, label: int, spans: Sequence[Span]) -> Sequence[float]:
        (scores,) = gradients.token_saliency([text], label, [[(s.start, s.end) for s in spans]])
        return [float(score) for score in scores]

    return of_text
