"""Refuse an edit for what a lexicon knows about the two words, whatever the model says."""

from __future__ import annotations

import re
from typing import Protocol

from rif_plugins.core.wordnet import WordNet
from rif_plugins.entailment.edits import hunks

VETOED = ("antonym", "hypernym", "hyponym", "sibling")
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_LONGEST_LEMMA_WORDS = 3


class Veto(Protocol):
    """Gives the reason to refuse an edited text, or None."""

    def reason(self, original: str, edited: str) -> str | None:
        """Why ``edited`` is refused, such as ``"antonym"``."""
        ...


class LexiconVeto:
    """Refuses a replaced word whose relation to the original word in WordNet is not one of equal meaning.

    Every changed word is looked up with its base forms. A common sense (synonym) clears the change, whatever
    else holds. Otherwise an antonym, a more general word, a more special word and a sibling (a common direct
    hypernym) are refused. Words that the lexicon does not relate, and changes of other kinds, pass.

    Args:
        relations: Which of ``antonym``, ``hypernym``, ``hyponym``, ``sibling`` to refuse.
        max_senses: Look at this many senses of each word and part of speech; None looks at all.
        wordnet: The lexicon; None loads the embedded one on first use.
    """

    def __init__(
        self,
        relations: tuple[str, ...] = VETOED,
        *,
        max_senses: int | None = None,
        wordnet: WordNet | None = None,
    ) -> None:
        """Remember the settings; the lexicon is loaded on first use."""
        self._relations = frozenset(relations)
        self._max_senses = max_senses
        self._wordnet = wordnet
        self._known: dict[tuple[str, str], str | None] = {}

    def reason(self, original: str, edited: str) -> str | None:
        """The first refused relation, such as ``"antonym (good, bad)"``; None when every change passes."""
        for hunk in hunks(original, edited):
            source = _bare(original[hunk.start : hunk.end])
            target = _bare(edited[hunk.edited_start : hunk.edited_end])
            relation = self.relation(source, target)
            if relation is not None:
                return f"{relation} ({source}, {target})"
        return None

    def relation(self, source: str, target: str) -> str | None:
        """The refused relation of two words or short phrases, None when the change passes."""
        key = (source.lower(), target.lower())
        if key not in self._known:
            self._known[key] = self._look_up(*key)
        return self._known[key]

    def _look_up(self, source: str, target: str) -> str | None:
        if {source, target} == {"a", "an"} or not source or not target:
            return None
        if max(len(source.split()), len(target.split())) > _LONGEST_LEMMA_WORDS:
            return None
        if self._wordnet is None:
            self._wordnet = WordNet.load()
        wordnet = self._wordnet
        found = set()
        for a in wordnet.base_forms(source) or (source,):
            for b in wordnet.base_forms(target) or (target,):
                full = wordnet.relation(a, b)
                if full in ("same", "synonym"):
                    return None
                found.add(wordnet.relation(a, b, max_senses=self._max_senses))
        return next((name for name in VETOED if name in found and name in self._relations), None)


def _bare(text: str) -> str:
    return _ARTICLE.sub("", " ".join(text.split()).strip(".,;:!?\"'()"))
