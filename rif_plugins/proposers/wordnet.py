"""Proposer that takes synonyms from the embedded WordNet lexicon."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.core.wordnet import Sense, WordNet
from rif_plugins.errors import UsageError
from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    TokenContext,
)
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.inflection import inflect
from rif_plugins.proposers.readings import Reading, readings

EXCLUDED_REGISTERS = frozenset(
    {"ethnic_slur", "obscenity", "disparagement", "archaism", "trade_name", "trademark", "combining_form"}
)
"""Usage labels of WordNet whose words are never proposed: they change the tone or name a product."""

_TOKEN = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)(['’]s)?", re.IGNORECASE)
_LEMMA = re.compile(r"[a-z]{2,}(?:[_' -][a-z]+)*")

# Endings that make another kind of word; not "al", since *comic* and *comical* replace one another.
_DERIVING = frozenset({"ing", "ly", "ish", "ness", "fulness", "like", "y"})


class WordNetProposer(BaseProposer):
    """Synonyms of the dominant senses, in the inflection and letter case of the token.

    Function words, names, negations, numbers, words of one letter, and words that are part of a multi-word
    lemma (*hot dog*, *looked into*) get no candidates. Order: reading by weight, sense by frequency, synonym
    by its tag count in the sense.

    Args:
        max_senses: Senses looked at for each part of speech.
        min_share: A sense needs this share of the dominant sense's tag count, and a part of speech this
            share of the likeliest one's.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.

    Raises:
        UsageError: A number is out of range.
    """

    name = "wordnet"

    def __init__(
        self,
        *,
        max_senses: int = 3,
        min_share: float = 0.2,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if max_senses < 1:
            raise UsageError(f"max_senses must be at least 1, got {max_senses}")
        if not 0 <= min_share <= 1:
            raise UsageError(f"min_share must be between 0 and 1, got {min_share}")
        self.max_senses = max_senses
        self.min_share = min_share

    @property
    def version(self) -> str:
        """The release of the lexicon."""
        return WordNet.load().version

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Synonyms for each context."""
        return [self._candidates(context) for context in contexts]

    def __repr__(self) -> str:
        return (
            f"WordNetProposer(max_senses={self.max_senses}, min_share={self.min_share}, "
            f"max_candidates={self.max_candidates})"
        )

    def _candidates(self, context: TokenContext) -> Iterator[Candidate]:
        match = _TOKEN.fullmatch(context.token)
        if match is None:
            return
        stem, clitic = match.group(1), match.group(2) or ""
        word, pattern = stem.lower(), case_pattern(stem)
        if len(word) < 2 or word in FUNCTION_WORDS or pattern == "mixed":
            return
        previous, following = context.previous_word.lower(), context.next_word.lower()
        for reading in readings(word, previous, following, self.min_share):
            if clitic and reading.pos != "n":
                continue
            for form in _forms(reading, self.max_senses, self.min_share, bool(following)):
                yield Candidate(fit_case(pattern, form) + clitic, self.name)


# Words recur within a run, and every text of I(v) holds nearly the same ones.
@functools.lru_cache(maxsize=2**13)
def _forms(reading: Reading, max_senses: int, min_share: float, is_before_word: bool) -> tuple[str, ...]:
    """Inflected synonyms of a reading, sense by sense."""
    return tuple(
        form
        for sense in _senses(reading, max_senses, min_share)
        for lemma in _synonyms(reading, sense)
        if _can_stand(lemma, sense, is_before_word=is_before_word)
        and (form := _form(lemma, reading)) is not None
    )


def _senses(reading: Reading, max_senses: int, min_share: float) -> list[Sense]:
    # A lemma spelt with capitals (the country, the abbreviation) is not the word that was read.
    senses = [
        sense
        for sense in WordNet.load().senses(reading.lemma, reading.pos)
        if not sense.is_instance and reading.lemma in sense.lemmas
    ]
    if not senses:
        return []
    least = min_share * senses[0].count
    return [sense for sense in senses[:max_senses] if sense.count >= least]


def _synonyms(reading: Reading, sense: Sense) -> list[str]:
    lexicon = WordNet.load()
    usable = [
        lemma
        for lemma in sense.lemmas
        if reading.lemma not in re.split("[_-]", lemma)  # "domestic dog" for "dog" replaces nothing
        and not is_derived(reading.lemma, lemma)
        and _LEMMA.fullmatch(lemma)
        and lemma not in FUNCTION_WORDS
        and EXCLUDED_REGISTERS.isdisjoint(lexicon.registers(lemma, sense))
    ]
    return sorted(usable, key=lambda lemma: -lexicon.usage(lemma, sense)[1])


def is_derived(a: str, b: str) -> bool:
    """True for a word and its own derivation: *jerk*, *jerking*; *power*, *powerfulness*.

    WordNet lists such pairs as synonyms of some sense, but one does not replace the other in a sentence.
    """
    short, long = sorted((a, b), key=len)
    return long.startswith(short) and long[len(short) :] in _DERIVING


def _can_stand(lemma: str, sense: Sense, *, is_before_word: bool) -> bool:
    if sense.pos != "a":
        return True
    placement = WordNet.load().placement(lemma, sense)
    return placement == "" or placement == ("a" if is_before_word else "p")


def _form(lemma: str, reading: Reading) -> str | None:
    # Where the context leaves the tag open (past or participle), only a lemma with one form for all will do.
    forms = {inflect(lemma, tag) for tag in reading.tags}
    return forms.pop() if len(forms) == 1 else None
