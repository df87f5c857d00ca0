"""What no proposer may touch: sensitive tokens, words about people, negations and numbers.

An edit that adds, drops or changes one of them changes who or how much is spoken of, or turns the
statement round, so it is refused before any model is asked.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from rif_plugins.core.morphology import base_forms
from rif_plugins.proposers.closed_classes import NEGATIONS, NEGATIVE_PREFIXES, NUMBER_WORDS
from rif_plugins.proposers.person_words import HOMOGRAPHS, NEVER_WRITTEN, PERSON_WORDS, person_ending

_PARTS = re.compile(r"[^\s_\-‐‑–—/]+")
_FOLD = re.compile(r"[a-z]{3,}-?fold")
_EDGES = "'\"‘’“”.,;:!?()[]{}"


def is_negation(word: str) -> bool:
    """True for *not*, *never*, *nobody*, *hardly*, ... and every contraction with *n't*.

    >>> [w for w in ("don't", "Never", "ever", "can", "cannot", "nothing's") if is_negation(w)]
    ["don't", 'Never', 'cannot', "nothing's"]
    """
    folded = _without_clitic(word.lower().replace("’", "'"))
    return folded in NEGATIONS or folded.endswith("n't")


def is_number(word: str) -> bool:
    """True when ``word`` holds a digit or another numeral, or is a cardinal, an ordinal or a multiple.

    >>> [w for w in ("3rd", "½", "Seven", "dozens", "tenth", "often", "someone") if is_number(w)]
    ['3rd', '½', 'Seven', 'dozens', 'tenth']
    """
    folded = _without_clitic(word.lower().replace("’", "'"))
    if folded in NUMBER_WORDS or any(letter.isnumeric() for letter in word):
        return True
    return _FOLD.fullmatch(folded) is not None and folded.removesuffix("fold").rstrip("-") in NUMBER_WORDS


def has_negative_prefix_only(a: str, b: str) -> bool:
    """True when the two words differ by a negative prefix alone, such as *happy* and *unhappy*."""
    short, long = sorted((a.lower(), b.lower()), key=len)
    return len(short) > 2 and any(
        long in (prefix + short, f"{prefix}-{short}") for prefix in NEGATIVE_PREFIXES
    )


# Words recur within a run, and every text of I(v) holds nearly the same ones.
_MOST_KNOWN = 2**16


@dataclass(frozen=True)
class Guard:
    """Decides which tokens may be replaced and by what.

    Attributes:
        protected: Tells whether a word is sensitive; it must pickle where the proposer does.
    """

    protected: Callable[[str], bool] | None = None
    _known: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def is_guarded(self, phrase: str) -> bool:
        """True when ``phrase`` or one of its words is sensitive, about people, a negation or a number.

        A word counts in every inflected form: *blacker* as *black*, *homos* as *homo*.
        """
        known = self._known.get(phrase)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[phrase] = self._is_guarded(phrase)
        return known

    def _is_guarded(self, phrase: str) -> bool:
        words = _words(phrase)
        if any(is_negation(word) or is_number(word) for word in words) or _holds(words, PERSON_WORDS):
            return True
        if self.protected is None:
            return False
        chunks = [_without_clitic(chunk.strip(_EDGES)) for chunk in phrase.split()]
        asked = [item for item in dict.fromkeys((phrase, *chunks, *words)) if item]
        return any(self.protected(item) or _bases(item, self.protected) for item in asked)

    def allows(self, token: str, candidate: str) -> bool:
        """True when ``candidate`` may stand for ``token``.

        A compound such as *crewman* or *cleaning lady* may stand only for one of the same gender.
        """
        return not (
            self.is_guarded(token)
            or self.is_guarded(candidate)
            or _holds(_words(candidate), NEVER_WRITTEN)
            or person_ending(token) != person_ending(candidate)
            or has_negative_prefix_only(token, candidate)
        )


def _holds(words: Iterable[str], listed: frozenset[str]) -> bool:
    return any(not listed.isdisjoint(_listed_bases(word)) for word in words)


@functools.lru_cache(maxsize=16384)
def _listed_bases(word: str) -> tuple[str, ...]:
    return _bases(word, NEVER_WRITTEN.__contains__)


def _bases(word: str, is_listed: Callable[[str], bool]) -> tuple[str, ...]:
    """The word itself and its base forms, as far as they are listed; homographs only as they are."""
    folded = word.lower()

    def is_known(form: str) -> bool:
        return (form == folded or form not in HOMOGRAPHS) and is_listed(form)

    return tuple(form for pos in "nva" for form in base_forms(folded, pos, {}, is_known))


def _words(phrase: str) -> list[str]:
    found = (part.strip(_EDGES) for part in _PARTS.findall(phrase))
    return [_without_clitic(word) for word in found if word]


def _without_clitic(word: str) -> str:
    return word[:-2] if len(word) > 2 and word[-2] in "'’" and word[-1] in "sS" else word
