"""Inflected forms: which lemma and Penn tag a word is, and a lemma written with a given tag.

Single words are looked up in lemminflect (imported on first use); this module adds multi-word lemmas and
comparatives with *more* and *most*.
"""

from __future__ import annotations

import functools
from types import ModuleType

from rif_plugins.optional import require
from rif_plugins.proposers.closed_classes import PREPOSITIONS

UPOS = {"n": "NOUN", "v": "VERB", "a": "ADJ", "r": "ADV"}
"""WordNet's parts of speech in the universal tag set."""

BASE_TAGS = {"n": "NN", "v": "VB", "a": "JJ", "r": "RB"}
_TAGS = {
    "n": ("NN", "NNS"),
    "v": ("VB", "VBP", "VBZ", "VBD", "VBN", "VBG"),
    "a": ("JJ", "JJR", "JJS"),
    "r": ("RB", "RBR", "RBS"),
}
_ANALYTIC = {"JJR": "more", "RBR": "more", "JJS": "most", "RBS": "most"}


@functools.lru_cache(maxsize=65536)
def lemmas(word: str, pos: str) -> tuple[str, ...]:
    """Lemmas of the lower-case ``word`` as part of speech ``pos`` (n v a r); empty when unknown."""
    found = _lemminflect().getAllLemmas(word, upos=UPOS[pos])
    return tuple(lemma for group in found.values() for lemma in group)


@functools.lru_cache(maxsize=65536)
def tags(word: str, lemma: str, pos: str) -> tuple[str, ...]:
    """Penn tags with which ``lemma`` is written ``word``.

    A word equal to its lemma is the base form; verbs whose past equals the base form (*put*) have more tags.

    >>> tags("walked", "walk", "v"), tags("dogs", "dog", "n"), tags("put", "put", "v")
    (('VBD', 'VBN'), ('NNS',), ('VB', 'VBP', 'VBD', 'VBN'))
    """
    if word == lemma and pos != "v":
        return (BASE_TAGS[pos],)
    return tuple(tag for tag in _TAGS[pos] if word in _forms(lemma, tag))


@functools.lru_cache(maxsize=65536)
def inflect(lemma: str, tag: str) -> str | None:
    """Write ``lemma`` (words joined by ``_`` or spaces) with a Penn tag; None where no form fits.

    In a multi-word verb the first word is inflected, in a noun the last one or the one before a preposition;
    adjectives and adverbs without a form of their own take *more* or *most*.

    >>> inflect("look_into", "VBD"), inflect("head_of_state", "NNS"), inflect("amusing", "JJR")
    ('looked into', 'heads of state', 'more amusing')
    """
    words = lemma.replace(" ", "_").split("_")
    if tag in BASE_TAGS.values() and tag != "NN":
        return " ".join(words)
    if tag in _ANALYTIC:
        form = _forms(lemma, tag)[:1] if len(words) == 1 else ()
        return form[0] if form else " ".join((_ANALYTIC[tag], *words))
    at = _head(words) if tag in ("NN", "NNS") else 0
    head = _inflect_hyphenated(words[at], tag)
    return None if head is None else " ".join((*words[:at], head, *words[at + 1 :]))


def _inflect_hyphenated(word: str, tag: str) -> str | None:
    parts = word.split("-")
    at = _head(parts) if tag in ("NN", "NNS") else len(parts) - 1
    form = _inflect_word(parts[at], tag)
    return None if form is None else "-".join((*parts[:at], form, *parts[at + 1 :]))


@functools.lru_cache(maxsize=2**14)
def _inflect_word(word: str, tag: str) -> str | None:
    if tag in ("NN", "NNS"):
        singular = lemmas(word, "n")
        if singular and word not in singular:  # a lemma that is itself a plural, such as "folks"
            return word if tag == "NNS" else None
        if tag == "NN":
            return word
    if word == "be" and tag in ("VBP", "VBD"):
        return None  # am or are, was or were: the subject decides
    found = _lemminflect().getInflection(word, tag)
    return str(found[0]) if found else None


def _head(words: list[str]) -> int:
    for at, word in enumerate(words[1:], 1):
        if word in PREPOSITIONS:
            return at - 1
    return len(words) - 1


@functools.lru_cache(maxsize=2**14)
def _forms(lemma: str, tag: str) -> tuple[str, ...]:
    return tuple(_lemminflect().getInflection(lemma, tag, inflect_oov=False))


@functools.cache
def _lemminflect() -> ModuleType:
    return require("lemminflect", purpose="the inflection of WordNet candidates")
