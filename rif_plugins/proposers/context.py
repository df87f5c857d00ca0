"""Proposer of the substitutes that are most likely to keep the meaning where the token stands."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.core.pairs import Span
from rif_plugins.core.sentences import passages
from rif_plugins.core.tokens import word_spans
from rif_plugins.core.wordnet import WordNet
from rif_plugins.errors import UsageError
from rif_plugins.proposers.base import DEFAULT_MAX_CANDIDATES, BaseProposer, Candidate, TokenContext
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.equivalents import (
    EQUIVALENTS_FILE,
    Equivalent,
    Equivalents,
    is_about,
    shared_senses,
)
from rif_plugins.proposers.inflection import inflect, lemmas
from rif_plugins.proposers.readings import Reading, readings
from rif_plugins.proposers.substitutes import SOURCE as STRICT
from rif_plugins.proposers.substitutes import STRICT_FILE, strict_substitutes

WORDNET = "wordnet"
_TOKEN = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)(['’]s)?", re.IGNORECASE)
_BASE_TAGS = frozenset({"JJ", "RB"})
_MIN_SHARE = 0.2
_CLEAR_SHARE = 0.2
_SHORT_TEXT = 40


class Match(NamedTuple):
    """A row of the table that fits a token.

    Attributes:
        text: What to write instead of the token.
        share: The expected share of passing edits in this sentence.
        reading: How the token was read.
        equivalent: The row's entry.
    """

    text: str
    share: float
    reading: Reading
    equivalent: Equivalent


class ContextProposer(BaseProposer):
    """Few candidates, about half or more of which pass the entailment filter.

    Three sources, by the place of the token:

    * function words and very frequent ones: a list of strict substitutes, each with a condition on its
      neighbours (source ``"strict"``);
    * other words: the equivalents of their lemma in the parts of speech and inflections that they can have
      there (see :mod:`rif_plugins.proposers.equivalents`);
    * of these, a word of a rarer sense (below a fifth of the lemma's tag counts) only where the sentence
      holds a neighbour of that sense in WordNet.

    For each candidate the chance to pass is estimated: the share of its edits that passed when the list was
    made, less where the token's part of speech is unsure, and less the longer the sentence is, because small
    entailment models refuse almost everything in sentences of forty words (see :func:`expected_share`).

    Args:
        least: Least expected share of passing edits; 0 proposes all that the table has.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.
        table: Equivalents of words; None takes the packaged table.

    Raises:
        UsageError: A number is out of range.
        DataError: The packaged table is damaged.
    """

    name = "context"

    def __init__(
        self,
        *,
        least: float = 0.4,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
        table: Equivalents | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if not 0 <= least <= 1:
            raise UsageError(f"least must be between 0 and 1, got {least}")
        self.least = least
        self._table = table

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Most likely to pass first."""
        return [self._candidates(context) for context in contexts]

    def __repr__(self) -> str:
        return f"ContextProposer(least={self.least}, max_candidates={self.max_candidates})"

    @property
    def version(self) -> str:
        """Digest of the packaged lists, with the release of the lexicon; ``""`` with a table of one's own."""
        return "" if self._table is not None else f"{_lists_digest()} {WordNet.load().version}"

    def matches(self, context: TokenContext) -> Iterator[Match]:
        """The table's equivalents that can stand for the token, in the table's order for each reading."""
        match = _TOKEN.fullmatch(context.token)
        if match is None:
            return
        stem, clitic = match.group(1), match.group(2) or ""
        word, pattern = stem.lower(), case_pattern(stem)
        if len(word) < 2 or word in FUNCTION_WORDS or pattern == "mixed":
            return
        n_words = _compared_words(context)
        found = readings(word, context.previous_word.lower(), context.next_word.lower(), _MIN_SHARE)
        total = sum(reading.weight for reading in found)
        table = self._table or Equivalents.load()
        for reading in found:
            if clitic and reading.pos != "n":
                continue
            for equivalent in table.in_all(reading.lemma, reading.tags):
                share = expected_share(equivalent.share, n_words, reading.weight / total)
                form = _form(equivalent, reading) if share >= self.least else None
                if form is not None and self._is_meant(context, reading, equivalent):
                    yield Match(fit_case(pattern, form) + clitic, share, reading, equivalent)

    def _candidates(self, context: TokenContext) -> list[Candidate]:
        n_words = _compared_words(context)
        strict = ((expected_share(share, n_words), text) for text, share in strict_substitutes(context))
        ranked = [(share, Candidate(text, STRICT)) for share, text in strict if share >= self.least]
        for each in self.matches(context):
            source = STRICT if each.equivalent.is_strict else WORDNET
            ranked.append((each.share, Candidate(each.text, source)))
        return [candidate for _, candidate in sorted(ranked, key=lambda pair: -pair[0])]

    @staticmethod
    def _is_meant(context: TokenContext, reading: Reading, equivalent: Equivalent) -> bool:
        if equivalent.is_strict:
            return True
        senses, share = shared_senses(reading.lemma, reading.pos, equivalent.lemma)
        if reading.pos == "a" and not _can_stand(equivalent.lemma, bool(context.next_word)):
            return False
        return share >= _CLEAR_SHARE or is_about(senses, _sentence_words(context))


def expected_share(share: float, n_words: int, certainty: float = 1.0) -> float:
    """Share of edits that are expected to pass in a sentence of some length.

    Log-odds fall by 0.05 a word, and from the thirtieth on by 0.13 more; both were fitted on edits of 3,000
    sentences of SST-2 train, judged by the embedded model.

    Args:
        share: The share in a sentence of twenty words.
        n_words: Words that the filter compares.
        certainty: How likely the token has the part of speech that the candidate is for, in (0, 1].

    >>> [round(expected_share(0.8, n), 2) for n in (5, 20, 40)]
    [0.89, 0.8, 0.29]
    """
    if not 0 < share < 1:
        return share
    odds = math.log(share / (1 - share)) - 0.05 * (n_words - 20) - 0.13 * max(0, n_words - 30)
    return 1.0 / (1.0 + math.exp(-(odds + 0.6 * math.log(certainty))))


@functools.cache
def _lists_digest() -> str:
    digest = hashlib.sha256()
    for path in (EQUIVALENTS_FILE, STRICT_FILE):
        digest.update(path.read_bytes())
    return f"sha256:{digest.hexdigest()[:12]}"


def _form(equivalent: Equivalent, reading: Reading) -> str | None:
    # Where the context leaves the tag open (past or participle), only a lemma with one form for all will do.
    found = {inflect(equivalent.lemma, tag) for tag in reading.tags}
    form = found.pop() if len(found) == 1 else None
    # "more wonderful" is no substitute for "greater".
    is_graded = not _BASE_TAGS.issuperset(reading.tags) and reading.pos in "ar"
    return None if form and is_graded and form.startswith(("more ", "most ")) else form


@functools.lru_cache(maxsize=2**12)
def _can_stand(lemma: str, is_before_word: bool) -> bool:
    """False for an adjective that in all its senses has another place: *asleep* stands before no noun."""
    lexicon = WordNet.load()
    places = {lexicon.placement(lemma, sense) for sense in lexicon.senses(lemma, "a")}
    return not places or not places.isdisjoint({"", "a" if is_before_word else "p"})


def _compared_words(context: TokenContext) -> int:
    """Words of what an entailment filter compares: the text if it is short, else the sentence."""
    n_words = _n_words(context.text)
    if n_words <= _SHORT_TEXT:
        return n_words
    for span in _passages(context.text):
        if span.start <= context.start < span.end:
            return _n_words(context.text[span.start : span.end])
    return n_words


@functools.lru_cache(maxsize=2**8)
def _n_words(text: str) -> int:
    return len(text.split())


def _sentence_words(context: TokenContext) -> frozenset[str]:
    """The other words of the sentence and their base forms."""
    for span in _passages(context.text):
        if span.start <= context.start < span.end:
            text = context.text[span.start : span.end]
            return _words_of(text) - {context.token.lower(), *lemmas(context.token.lower(), "n")}
    return frozenset()


@functools.lru_cache(maxsize=2**6)
def _passages(text: str) -> tuple[Span, ...]:
    return tuple(passages(text))


@functools.lru_cache(maxsize=2**8)
def _words_of(text: str) -> frozenset[str]:
    plain = {text[s.start : s.end].lower() for s in word_spans(text)} - FUNCTION_WORDS
    return frozenset({*plain, *(lemma for word in plain if word.isascii() for lemma in lemmas(word, "n"))})
