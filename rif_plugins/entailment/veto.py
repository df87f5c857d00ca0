"""Refuse an edit for what a lexicon knows about the two words, whatever the model says."""

from __future__ import annotations

import re
from itertools import product
from typing import Protocol

from rif_plugins.core.wordnet import Sense, WordNet
from rif_plugins.entailment.edits import hunks
from rif_plugins.errors import UsageError

RELATIONS = ("antonym", "sibling", "cousin", "hypernym", "hyponym")
OPPOSITES = ("antonym", "sibling", "cousin")
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_LONGEST_LEMMA_WORDS = 3
_COUSIN_STEPS = 2
_COUSIN_SENSES = 2
_LEAST_DEPTH = 5


class Veto(Protocol):
    """Gives the reason to refuse an edited text, or None."""

    def reason(self, original: str, edited: str) -> str | None:
        """Why ``edited`` is refused, such as ``"antonym"``."""
        ...


class LexiconVeto:
    """Refuses a replaced word whose relation to the original word in WordNet is not one of equal meaning.

    Every changed word is looked up with its base forms. A common sense (synonym) clears the change, whatever
    else holds. Words that the lexicon does not relate, and changes of other kinds, pass. The relations:

    * ``antonym``: *good*, *bad*; opposite clusters of adjectives too;
    * ``sibling``: a common direct hypernym or class: *kitchen*, *bathroom*; *Peru*, *Chile*;
    * ``cousin``: nouns without another relation whose first two senses meet at most two steps above, in a
      class that is itself at least five steps below the root: *beer*, *gin*;
    * ``hypernym``, ``hyponym``: the new word is more general, more special: *dog*, *animal*. WordNet also has
      near synonyms so (*father*, *dad*; *street*, *road*), so that this costs recall; it is off by default.

    Args:
        relations: Which relations to refuse.
        max_senses: Look at this many senses of each word and part of speech; None looks at all.
        wordnet: The lexicon; None loads the embedded one on first use.

    Raises:
        UsageError: A relation is unknown.
    """

    def __init__(
        self,
        relations: tuple[str, ...] = OPPOSITES,
        *,
        max_senses: int | None = None,
        wordnet: WordNet | None = None,
    ) -> None:
        """Remember the settings; the lexicon is loaded on first use."""
        unknown = [name for name in relations if name not in RELATIONS]
        if unknown:
            raise UsageError(f"unknown relation {unknown[0]!r}: expected some of {', '.join(RELATIONS)}")
        self._relations = frozenset(relations)
        self._max_senses = max_senses
        self._wordnet = wordnet
        self._known: dict[tuple[str, str], str | None] = {}

    def reason(self, original: str, edited: str) -> str | None:
        """The first refused relation, such as ``"antonym (good, bad)"``; None when every change passes."""
        for hunk in hunks(original, edited):
            source = _bare(original[hunk.start : hunk.end])
            target = _bare(edited[hunk.edited_start : hunk.edited_end])
            for a, b in self._replacements(source, target):
                relation = self.relation(a, b)
                if relation is not None:
                    return f"{relation} ({a}, {b})"
        return None

    def _replacements(self, source: str, target: str) -> list[tuple[str, str]]:
        """The word pairs to look up in one change.

        Neighbouring edits of different length come as one change (*good movie*, *bad motion picture*).
        What has an equal on the other side is set aside, and every word left meets every word left.
        """
        if len(source.split()) <= 1 or len(target.split()) <= 1:
            return [(source, target)]
        left, right = source.split(), target.split()
        for size_left, size_right in product(range(_LONGEST_LEMMA_WORDS, 0, -1), repeat=2):
            for i, j in product(range(len(left) - size_left + 1), range(len(right) - size_right + 1)):
                a, b = " ".join(left[i : i + size_left]), " ".join(right[j : j + size_right])
                if self._is_same(a, b):
                    del left[i : i + size_left], right[j : j + size_right]
                    break
        return list(product(left, right))

    def _is_same(self, source: str, target: str) -> bool:
        return any(
            self._lexicon().relation(a, b) in ("same", "synonym")
            for a in self._lexicon().base_forms(source) or (source,)
            for b in self._lexicon().base_forms(target) or (target,)
        )

    def _lexicon(self) -> WordNet:
        if self._wordnet is None:
            self._wordnet = WordNet.load()
        return self._wordnet

    def relation(self, source: str, target: str) -> str | None:
        """The refused relation of two words or short phrases, None when the change passes."""
        key = (source.lower(), target.lower())
        if key not in self._known:
            found = self._look_up(*key)
            self._known[key] = found if found in self._relations else None
        return self._known[key]

    def _look_up(self, source: str, target: str) -> str | None:
        if {source, target} == {"a", "an"} or not source or not target:
            return None
        if max(len(source.split()), len(target.split())) > _LONGEST_LEMMA_WORDS:
            return None
        wordnet = self._lexicon()
        found = set()
        for a in wordnet.base_forms(source) or (source,):
            for b in wordnet.base_forms(target) or (target,):
                if wordnet.relation(a, b) in ("same", "synonym"):
                    return None
                relation = wordnet.relation(a, b, max_senses=self._max_senses)
                if relation == "none" and _are_cousins(wordnet, a, b):
                    relation = "cousin"
                found.add(relation)
        # One-way relations come before "cousin": base forms of another part of speech do not make them worse.
        for name in ("antonym", "sibling", "hypernym", "hyponym", "cousin"):
            if name in found:
                return name
        return None


def _are_cousins(wordnet: WordNet, a: str, b: str) -> bool:
    above = [_above(wordnet, wordnet.senses(word, "n")[:_COUSIN_SENSES]) for word in (a, b)]
    shared = above[0].keys() & above[1].keys()
    return any(_depth(wordnet, above[0][sense_id]) >= _LEAST_DEPTH for sense_id in shared)


def _above(wordnet: WordNet, senses: tuple[Sense, ...]) -> dict[str, Sense]:
    level, found = list(senses), {}
    for _ in range(_COUSIN_STEPS):
        level = [parent for sense in level for parent in wordnet.hypernyms(sense)]
        found.update({sense.id: sense for sense in level})
    return found


def _depth(wordnet: WordNet, sense: Sense) -> int:
    """Steps on the shortest way up to the root, counted no further than needed."""
    level = [sense]
    for steps in range(_LEAST_DEPTH):
        parents = [wordnet.hypernyms(each) for each in level]
        if not all(parents):
            return steps
        level = [parent for each in parents for parent in each]
    return _LEAST_DEPTH


def _bare(text: str) -> str:
    return _ARTICLE.sub("", " ".join(text.split()).strip(".,;:!?\"'()"))
