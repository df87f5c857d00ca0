"""Which tokens look like names of people, places, products and organisations; no proposer replaces them.

A name is told by its capitals alone, because nothing larger is at hand offline. Words that a name was made of
and that stand in lower case (*apple*, *windows*) are words here, and headlines In Title Case are all names:
both errors cost candidates or are left to the entailment filter; neither makes one up.
"""

from __future__ import annotations

import re

from rif_plugins.core.letter_case import case_pattern
from rif_plugins.core.wordnet import WordNet
from rif_plugins.proposers.closed_classes import CONTRACTIONS_OF_BE, FUNCTION_WORDS

_SENTENCE_END = re.compile(r"(?:\A|[.!?:;…\n]|--)[\s\"“”‘’'(\[*\-]*\Z")
_TITLE = re.compile(r"\b(?:mr|mrs|ms|dr|st|prof|jr|sr|gen|sen|rep|rev|capt)\.\s*\Z", re.IGNORECASE)
_NEXT = re.compile(r"[^\S\n]+([\w'’\-]*\w)")
_CLITIC = re.compile(r"['’][a-z]{1,2}\Z", re.IGNORECASE)


def is_name(text: str, start: int, end: int) -> bool:
    """True when ``text[start:end]`` looks like a name or an acronym.

    * *iPhone*, *McCartney*: capitals inside;
    * *NASA*, *US*: capitals only, where WordNet has the word so or has no such word in lower case; *GREAT* is
      a shouted word;
    * *Paris*, *Smith*: a capital that does not begin a sentence, or one that does with another capital after
      it (*Rose Smith came*). The pronoun *I* is none.
    """
    token = text[start:end]
    stem = _CLITIC.sub("", token)
    folded = stem.lower()
    pattern = case_pattern(stem)
    if pattern == "lower" or folded == "i" or token.lower().replace("’", "'") in CONTRACTIONS_OF_BE:
        return False
    if pattern == "mixed":
        return True
    if pattern == "upper":
        return _is_acronym(stem)
    before = text[max(0, start - 16) : start]
    starts_sentence = _SENTENCE_END.search(before) is not None and _TITLE.search(before) is None
    following = _NEXT.match(text[end : end + 64])
    next_word = following.group(1) if following else ""
    # "The Rose" begins with an article, "Elizabeth I" with a name.
    next_is_name = case_pattern(next_word) == "capital" and folded not in FUNCTION_WORDS
    return not starts_sentence or next_is_name


def _is_acronym(word: str) -> bool:
    lexicon = WordNet.load()
    if any(word in sense.lemmas for sense in lexicon.senses(word)):
        return True
    return word.lower() not in FUNCTION_WORDS and not lexicon.base_forms(word.lower())
