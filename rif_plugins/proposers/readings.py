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
    CONTRACTIONS_OF_BE,
    DEGREE_WORDS,
    DETERMINERS,
    DO_FORMS,
    HAVE_FORMS,
    LET_US,
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


@functools.lru_cache(maxsize=2**14)
def readings(word: str, previous: str, following: str, min_share: float) -> tuple[Reading, ...]:
    """Readings of ``word`` between two words, most likely first.

    Args:
        word: The word, lower case.
        previous: The word before it, lower case, or ``""``.
        following: The word after it, lower case, or ``""``.
        min_share: Drop readings with less than this share of the heaviest one's weight.
    """
    previous = previous.replace("’", "'")
    found = [r for r in _all_readings(word) if not _is_part_of_phrase(r.lemma, previous, following)]
    for applies, keeps in _RULES:
        if applies(previous, following):
            found = _narrowed(found, keeps) or found
    found = _without_rivals(found, word, previous, following)
    heaviest = max((reading.weight for reading in found), default=0)
    likely = [reading for reading in found if reading.weight >= min_share * heaviest]
    return tuple(sorted(likely, key=lambda reading: -reading.weight))


def _without_rivals(found: list[Reading], word: str, previous: str, following: str) -> list[Reading]:
    """Drop the readings that lose against another one of the same word where it stands."""
    weights: dict[str, int] = {}
    for reading in found:
        weights[reading.pos] = max(weights.get(reading.pos, 0), reading.weight)
    dropped: set[str] = set()
    if word.endswith("ing") and "v" in weights and previous in BE_FORMS | CONTRACTIONS_OF_BE:
        dropped.add("n")  # "was running" is no "was run"
        if "a" in weights and _is_action(word, found, weights["a"]):
            dropped.add("a")  # "was crying" is no "was clamant"
    if {"n", "a"} <= weights.keys() and not following and previous in DETERMINERS | POSSESSIVES:
        dropped.add("a" if weights["n"] >= weights["a"] else "")  # "he lost the key."
    if {"a", "r"} <= weights.keys() and is_noun(following):
        dropped.add("r")  # "an awful film"
    if "a" in weights and "a" not in dropped and not _has_object(previous, following):
        # "an interesting book", "it is boring": the adjective, not the participle it comes from
        found = [r for r in found if r.pos != "v" or not _PARTICIPLES.issuperset(r.tags)]
    return [r for r in found if r.pos not in dropped]


def _is_action(word: str, found: Iterable[Reading], adjective_weight: int) -> bool:
    """True when the *-ing* form says what somebody does, not what something is like.

    It says the latter when the adjective is the likelier reading, has an adverb (*movingly*, *engagingly*),
    or its verb has a counted sense of feeling (*bore*, *grip*).
    """
    lexicon = WordNet.load()
    verbs = [reading for reading in found if reading.pos == "v"]
    senses = (sense for verb in verbs for sense in lexicon.senses(verb.lemma, "v"))
    is_feeling = any(sense.lexical_file == "verb.emotion" and sense.count for sense in senses)
    likelier = max(verb.weight for verb in verbs) > adjective_weight
    return likelier and not is_feeling and not lexicon.contains(f"{word}ly", "r")


def is_noun(word: str) -> bool:
    """True when the lower-case ``word`` is a noun in its likeliest reading."""
    found = _all_readings(word) if word else ()
    heaviest = max((reading.weight for reading in found), default=0)
    return any(r.pos == "n" and r.weight == heaviest for r in found)


def is_adverb(word: str) -> bool:
    """True when the lower-case ``word`` is an adverb in its likeliest reading."""
    found = _all_readings(word) if word else ()
    heaviest = max((reading.weight for reading in found), default=0)
    return any(r.pos == "r" and r.weight == heaviest for r in found)


def verb_tags(word: str) -> frozenset[str]:
    """Penn tags that the lower-case ``word`` can have as a verb."""
    return frozenset(tag for r in (_all_readings(word) if word else ()) if r.pos == "v" for tag in r.tags)


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
    # "took place" and "was active": the verb by its lemma, but "be active" is no set phrase.
    starts = {previous} - {"", "the"}
    if previous and previous not in BE_FORMS | CONTRACTIONS_OF_BE:
        starts.update(lemmas(previous, "v"))
    if any(lexicon.contains(f"{start}_{lemma}") for start in starts):
        return True
    if not following or following in OBJECT_PRONOUNS | DETERMINERS | POSSESSIVES:
        return False
    ends = (following, *lemmas(following, "n"))
    return any(lexicon.contains(f"{lemma}_{end}") for end in ends)


def _has_object(previous: str, following: str) -> bool:
    return previous in HAVE_FORMS or following in OBJECT_PRONOUNS | DETERMINERS | POSSESSIVES


def is_adjective(word: str) -> bool:
    """True when the lower-case ``word`` is hardly anything but an adjective."""
    found = [r for r in _all_readings(word) if not _PARTICIPLES.issuperset(r.tags)]
    heaviest = max((reading.weight for reading in found), default=0)
    return bool(found) and all(r.pos == "a" for r in found if 4 * r.weight >= heaviest)


def _narrowed(found: Iterable[Reading], keeps: Callable[[str, str], bool]) -> list[Reading]:
    kept = [replace(r, tags=tuple(tag for tag in r.tags if keeps(r.pos, tag))) for r in found]
    return [reading for reading in kept if reading.tags]


def _is_negated(previous: str) -> bool:
    return previous.endswith("n't")


def _is_possessive(previous: str) -> bool:
    return previous.endswith("'s") and previous != LET_US and previous not in CONTRACTIONS_OF_BE


_RULES: tuple[tuple[Callable[[str, str], bool], Callable[[str, str], bool]], ...] = (
    # "can walk", "does not walk": a bare verb, perhaps an adverb before it
    (
        lambda p, f: p in MODALS | DO_FORMS or p == LET_US or _is_negated(p),
        lambda pos, tag: tag == "VB" or pos == "r",
    ),
    # "to walk", "to school", "used to walking": no finite verb but the bare one
    (lambda p, f: p == "to", lambda pos, tag: tag == "VB" or tag not in _FINITE),
    # "the walk", "her walking stick", "of walking": no finite verb
    (
        lambda p, f: p in DETERMINERS | POSSESSIVES | PREPOSITIONS - {"to"} or _is_possessive(p),
        lambda pos, tag: tag not in _FINITE,
    ),
    # "strange claims": a noun or another adjective, no finite verb
    (lambda p, f: is_adjective(p), lambda pos, tag: tag not in _FINITE),
    # "they walk": no noun, no participle
    (lambda p, f: p in NOMINATIVE_PRONOUNS, lambda pos, tag: pos != "n" and tag not in _PARTICIPLES),
    # "is walking": no finite verb
    (lambda p, f: p in BE_FORMS | CONTRACTIONS_OF_BE, lambda pos, tag: tag not in _FINITE),
    # "has walked": of the verb forms only the past participle
    (lambda p, f: p in HAVE_FORMS, lambda pos, tag: pos != "v" or tag == "VBN"),
    # "very strange": an adjective or an adverb
    (lambda p, f: p in DEGREE_WORDS, lambda pos, tag: pos in "ar"),
    # "drives it": no noun
    (lambda p, f: f in OBJECT_PRONOUNS, lambda pos, tag: pos != "n"),
)
