"""Second judgement of the pairs in the table of equivalents: real sentences in the place of made ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import numpy as np

from edit_lab.yields import Proposal, editable_tokens
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.proposers.context import ContextProposer, expected_share
from rif_plugins.proposers.equivalents import TABLE_TAGS, Equivalent, Equivalents
from rif_plugins.similar import Lexicon

SEED = 20_261_130
MOST_WORDS = 24
LEAST_PLACES, LEAST_PLACES_NEW = 2, 10
TRIALS, TRIALS_FREQUENT, TRIALS_NEW = 6, 10, 4
FREQUENT = 20
_BATCH = 512
_GRID = np.linspace(-5, 5, 201)

PlaceKey: TypeAlias = tuple[tuple[str, ...], str, str]
"""The Penn tags that a token can have where it stands, its lemma, and the other lemma."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One edit that the filter judged.

    Attributes:
        passed: Whether the filter accepted it.
        n_words: Words of the sentence.
    """

    passed: bool
    n_words: int


@dataclass(frozen=True, slots=True)
class Prior:
    """What is believed about the log-odds of a share before any trial: normal, with mean and deviation."""

    mean: float
    deviation: float


class _Traced(ContextProposer):
    """Writes the row that a candidate comes from into its source."""

    def generate(self, contexts: Sequence[TokenContext]) -> list[list[Candidate]]:
        return [
            [
                Candidate(m.text, f"{'+'.join(m.reading.tags)}|{m.reading.lemma}|{m.equivalent.lemma}")
                for m in self.matches(context)
            ]
            for context in contexts
        ]


def places(texts: Iterable[str], table: Equivalents, lexicon: Lexicon) -> dict[PlaceKey, list[Proposal]]:
    """Where each row of a table can be applied in texts of at most ``MOST_WORDS`` words."""
    proposer = _Traced(least=0, max_candidates=None, protected=lexicon.is_sensitive, table=table)
    found: dict[PlaceKey, list[Proposal]] = defaultdict(list)
    for text in texts:
        if len(text.split()) > MOST_WORDS:
            continue
        contexts = editable_tokens(text, lexicon)
        for context, candidates in zip(contexts, proposer.propose(contexts), strict=True):
            for candidate in candidates:
                tags, lemma, other = candidate.source.split("|")
                found[tuple(tags.split("+")), lemma, other].append(Proposal(context, candidate))
    return dict(found)


def trials(
    found: Mapping[PlaceKey, Sequence[Proposal]],
    is_new: Callable[[PlaceKey], bool],
    gate: EntailmentFilter,
    say: Callable[[str], None],
) -> dict[PlaceKey, list[Trial]]:
    """Judge some of the places of each row, drawn by a seed; rows with too few places are left out.

    Args:
        found: See :func:`places`.
        is_new: Whether the made sentences spoke against a row; few of these pass, so only the frequent ones
            are tried.
        gate: The filter.
        say: Hears how far it is.
    """
    rng = Random(SEED)
    chosen: list[tuple[PlaceKey, Proposal]] = []
    for key in sorted(found):
        n = len(found[key])
        if n < (LEAST_PLACES_NEW if is_new(key) else LEAST_PLACES):
            continue
        most = TRIALS_NEW if is_new(key) else TRIALS_FREQUENT if n >= FREQUENT else TRIALS
        chosen += [(key, each) for each in rng.sample(list(found[key]), min(most, n))]
    judged: dict[PlaceKey, list[Trial]] = defaultdict(list)
    for start in range(0, len(chosen), _BATCH):
        batch = chosen[start : start + _BATCH]
        for (key, each), passed in zip(batch, gate.accepts([p.pair for _, p in batch]), strict=True):
            judged[key].append(Trial(passed, len(each.context.text.split())))
        say(f"{start + len(batch)} of {len(chosen)} edits")
    return dict(judged)


def refined(
    rows: Mapping[tuple[str, str], Sequence[Equivalent]],
    judged: Mapping[PlaceKey, Sequence[Trial]],
    is_strict: Callable[[str, str, str], bool],
    priors: tuple[Prior, Prior],
    least: float,
) -> dict[tuple[str, str], tuple[Equivalent, ...]]:
    """The table after the trials.

    Args:
        rows: The table before; a row's log-odds are the mean of its prior.
        judged: See :func:`trials`.
        is_strict: Whether tag, lemma and other lemma are from the list written by hand.
        priors: For rows of the table, to whose mean the row's log-odds are added, and for new rows.
        least: Least share of a row that is kept.
    """
    by_row: dict[tuple[str, str, str], list[Trial]] = defaultdict(list)
    for (tags, lemma, other), found in judged.items():
        for tag in dict.fromkeys(TABLE_TAGS.get(tag, tag) for tag in tags):
            by_row[tag, lemma, other] += found
    old = {(tag, lemma, e.lemma): e for (tag, lemma), found in rows.items() for e in found}
    made: dict[tuple[str, str], list[Equivalent]] = defaultdict(list)
    for tag, lemma, other in sorted({*old, *by_row}):
        row = old.get((tag, lemma, other))
        prior = (
            priors[1] if row is None else Prior(_log_odds(row.share) + priors[0].mean, priors[0].deviation)
        )
        share = round(posterior_share(prior, by_row.get((tag, lemma, other), ())), 2)
        if share >= least:
            hand = row.is_strict if row else is_strict(tag, lemma, other)
            made[tag, lemma].append(Equivalent(other, share, hand))
    return {key: tuple(sorted(found, key=lambda e: (-e.share, e.lemma))) for key, found in made.items()}


def posterior_share(prior: Prior, found: Sequence[Trial]) -> float:
    """The expected share of passing edits in a sentence of twenty words, given trials."""
    density = -0.5 * ((_GRID - prior.mean) / prior.deviation) ** 2
    shares = 1 / (1 + np.exp(-_GRID))
    for trial in found:
        here = np.array([expected_share(float(share), trial.n_words) for share in shares])
        density += np.log(here if trial.passed else 1 - here)
    weights = np.exp(density - density.max())
    return float((weights * shares).sum() / weights.sum())


def _log_odds(share: float) -> float:
    cut = min(max(share, 0.02), 0.98)
    return math.log(cut / (1 - cut))


def lines(rows: Mapping[tuple[str, str], Sequence[Equivalent]]) -> list[str]:
    """The rows as the file holds them."""
    return [
        f"{tag}\t{lemma}\t"
        + " ".join(f"{e.lemma}{'*' if e.is_strict else ''}={round(100 * e.share)}" for e in found)
        for (tag, lemma), found in sorted(rows.items())
    ]
