"""Does a word have the part of speech and inflection that the place of a token wants?"""

from __future__ import annotations

import functools

from rif_plugins.proposers.base import TokenContext
from rif_plugins.proposers.fitting import without_clitic
from rif_plugins.proposers.inflection import UPOS, lemmas, tags
from rif_plugins.proposers.readings import readings

_MIN_SHARE = 0.2


def agrees(context: TokenContext, word: str, *, is_possessive: bool = False) -> bool:
    """True when ``word`` can be what the token is in its sentence: the same part of speech and inflection.

    A token that the lexicon does not know could be anything; there every word agrees. Words of several parts
    of speech agree when one of them does.

    Args:
        context: The token.
        word: One word.
        is_possessive: The token has a possessive *'s*, so it is a noun.
    """
    stem, _ = without_clitic(context.token)
    previous, following = context.previous_word.lower(), context.next_word.lower()
    wanted = _wanted(stem.lower(), previous, following, is_possessive)
    return not wanted or not wanted.isdisjoint(forms(word.lower()))


@functools.lru_cache(maxsize=2**14)
def _wanted(word: str, previous: str, following: str, is_possessive: bool) -> frozenset[tuple[str, str]]:
    found = readings(word, previous, following, _MIN_SHARE)
    return frozenset((r.pos, tag) for r in found for tag in r.tags if r.pos == "n" or not is_possessive)


@functools.lru_cache(maxsize=2**15)
def forms(word: str) -> frozenset[tuple[str, str]]:
    """Parts of speech and Penn tags that a lower-case word can have.

    >>> sorted(forms("walked"))
    [('v', 'VBD'), ('v', 'VBN')]
    """
    if not word.isascii() or not word.isalpha():
        return frozenset()
    found = {(pos, tag) for pos in UPOS for lemma in lemmas(word, pos) for tag in tags(word, lemma, pos)}
    # Of "movies" lemminflect also says that it is a singular.
    return frozenset(found - {("n", "NN")} if ("n", "NNS") in found else found)
