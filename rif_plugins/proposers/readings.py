"""What a word can be where it stands: part of speech, lemma, Penn tags, and how likely.

No tagger is run. A word's readings come from lemminflect and WordNet, their weights from WordNet's tag
counts, and a few rules on the neighbouring words drop readings that cannot stand there. A rule that would
leave nothing is not applied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rif_plugins.core.wordnet import WordNet
from rif_plugins.proposers.closed_classes import (
    BE_FORMS,
    DEGREE_WORDS,
    DETERMINERS,
    DO_FORMS,
    HAVE_FORMS,
    MODALS,
    NOMINATIVE_PRONOUNS,
    OBJECT_PRONOUNS,
    POSSESSIVES,
    PREPOSITIONS,
)
from rif_plugins.proposers.inflection import UPOS, lemmas, tags

_FINITE = frozenset({"VB", "VBP", "VBZ", "VBD"})
_PARTICIPLES = frozenset({"VBN", "VBG"})


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a word.

    Attributes:
        pos: WordNet's part of speech.
        lemma: Lower-case lemma, known to WordNet.
        tags: Penn tags that the form can have.
        weight: WordNet's tag count of the lemma in this part of speech, plus one.
    """

    pos: str
    lemma: str
    tags: tuple[str, ...]
    weight: int


def readings(word: str, previous: str, following: str, min_share: float) -> tuple[Reading, ...]:
    """Readings of ``word`` between two words, most likely first.

    Args:
        word: The word, lower case.
        previous: The word before it, lower case, or ``""``.
        following: The word after it, lower case, or ``""``.
        min_share: Drop readings with less than this share of the heaviest one's weight.
    """
    found = [r for r in _all_readings(word) if not _is_part_of_phrase(r.lemma, previous, following)]
    for applies, keeps in _RULES:
        if applies(previous, following):
            found = _narrowed(found, keeps) or found
    if any(reading.pos == "a" for reading in found) and not _has_object(previous, following):
        # "an interesting book", "it is boring": the adjective, not the participle it comes from
        found = [r for r in found if r.pos != "v" or not _PARTICIPLES.issuperset(r.tags)]
    heaviest = max((reading.weight for reading in found), default=0)
    likely = [reading for reading in found if reading.weight >= min_share * heaviest]
    return tuple(sorted(likely, key=lambda reading: -reading.weight))


@functools.lru_cache(maxsize=16384)
def _all_readings(word: str) -> tuple[Reading, ...]:
    lexicon = WordNet.load()
    found = []
    for pos in UPOS:
        known = lemmas(word, pos)
        if (
            pos in "ar" and word not in known
        ):  # adjectives such as "annoying" that lemminflect has as verbs only
            known = (*known, word)
        for lemma in known:
            word_tags = tags(word, lemma, pos)
            if word_tags and lexicon.contains(lemma, pos):
                found.append(Reading(pos, lemma, word_tags, 1 + lexicon.frequency(lemma, pos)))
    return tuple(found)


def _is_part_of_phrase(lemma: str, previous: str, following: str) -> bool:
    # In "hot dogs" or "looked into" the word has no meaning of its own to be replaced. The lexicon also has
    # "buy it" and "the City", which say nothing about "bought it" and "the city".
    lexicon = WordNet.load()
    if previous not in ("", "the") and lexicon.contains(f"{previous}_{lemma}"):
        return True
    if not following or following in OBJECT_PRONOUNS | DETERMINERS | POSSESSIVES:
        return False
    ends = (following, *lemmas(following, "n"))
    return any(lexicon.contains(f"{lemma}_{end}") for end in ends)


def _has_object(previous: str, following: str) -> bool:
    return previous in HAVE_FORMS or following in OBJECT_PRONOUNS | DETERMINERS | POSSESSIVES


def _is_adjective(word: str) -> bool:
    found = [r for r in _all_readings(word) if not _PARTICIPLES.issuperset(r.tags)]
    heaviest = max((reading.weight for reading in found), default=0)
    return bool(found) and all(r.pos == "a" for r in found if 4 * r.weight >= heaviest)


def _narrowed(found: Iterable[Reading], keeps: Callable[[str, str], bool]) -> list[Reading]:
    kept = [replace(r, tags=tuple(tag for tag in r.tags if keeps(r.pos, tag))) for r in found]
    return [reading for reading in kept if reading.tags]


def _is_negated(previous: str) -> bool:
    return previous.replace("’", "'").endswith("n't")


_RULES: tuple[tuple[Callable[[str, str], bool], Callable[[str, str], bool]], ...] = (
    # "can walk", "does not walk": a bare verb, perhaps an adverb before it
    (lambda p, f: p in MODALS | DO_FORMS or _is_negated(p), lambda pos, tag: tag == "VB" or pos == "r"),
    # "to walk", "to school", "used to walking": no finite verb but the bare one
    (lambda p, f: p == "to", lambda pos, tag: tag == "VB" or tag not in _FINITE),
    # "the walk", "her walking stick", "of walking": no finite verb
    (
        lambda p, f: p in DETERMINERS | POSSESSIVES | PREPOSITIONS - {"to"} or p.endswith(("'s", "’s")),
        lambda pos, tag: tag not in _FINITE,
    ),
    # "strange claims": a noun or another adjective, no finite verb
    (lambda p, f: _is_adjective(p), lambda pos, tag: tag not in _FINITE),
    # "they walk": no noun, no participle
    (lambda p, f: p in NOMINATIVE_PRONOUNS, lambda pos, tag: pos != "n" and tag not in _PARTICIPLES),
    # "is walking": no finite verb
    (lambda p, f: p in BE_FORMS, lambda pos, tag: tag not in _FINITE),
    # "has walked": of the verb forms only the past participle
    (lambda p, f: p in HAVE_FORMS, lambda pos, tag: pos != "v" or tag == "VBN"),
    # "very strange": an adjective or an adverb
    (lambda p, f: p in DEGREE_WORDS, lambda pos, tag: pos in "ar"),
    # "drives it": no noun
    (lambda p, f: f in OBJECT_PRONOUNS, lambda pos, tag: pos != "n"),
)
