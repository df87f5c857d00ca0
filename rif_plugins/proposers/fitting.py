"""Make what a language model wrote fit the place where it is to stand, or refuse it.

Nothing but the words of a replacement comes through here: letters, marks, apostrophes, hyphens and single
spaces (in a phrase commas too), on one line and of bounded length. Markup, addresses, control and
bidirectional characters, and letters of another script than a Latin token has are refused.
"""

from __future__ import annotations

import functools
import re
import unicodedata

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.proposers.base import TokenContext
from rif_plugins.proposers.closed_classes import POSSESSIVES, PREPOSITIONS, PRONOUNS
from rif_plugins.proposers.inflection import inflect, lemmas, tags
from rif_plugins.proposers.readings import readings

MOST_WORDS = 3
MOST_LETTERS = 40
_MOST_MARKS = 2  # combining characters in a row; more are a decoration
_LONGEST_RAW = 400
_JOINERS = frozenset("'’-")
_WRAPPING = "\"“”'‘’`*_.,;:!? "
_CLITIC = re.compile(r"['’][sS]\Z")
_MIN_SHARE = 0.2


def clean(
    raw: object, *, most_letters: int = MOST_LETTERS, most_words: int = MOST_WORDS, extra: str = ""
) -> str:
    """The replacement that ``raw`` spells, without quotes or marks around it; ``""`` when it is none.

    Args:
        raw: One item of a model's answer, of any type.
        most_letters: Longest replacement, in characters.
        most_words: Longest replacement, in words.
        extra: Characters allowed besides letters, apostrophes, hyphens and spaces.

    >>> clean(" “terrific” "), clean("very fine"), clean("see http://a.example"), clean(["x"])
    ('terrific', 'very fine', '', '')
    """
    if not isinstance(raw, str) or len(raw) > _LONGEST_RAW:
        return ""
    if not raw.strip().isprintable():
        return ""
    # Ligatures and wide letters become the plain letters that they look like.
    text = unicodedata.normalize("NFKC", raw).strip().strip(_WRAPPING)
    words = text.split(" ")
    if not text or len(text) > most_letters or len(words) > most_words or not all(words):
        return ""
    return text if _is_plain(text, _JOINERS | {" ", *extra}) else ""


def _is_plain(text: str, allowed: frozenset[str]) -> bool:
    marks = letters = 0
    for character in text:
        kind = unicodedata.category(character)[0]
        marks = marks + 1 if kind == "M" else 0
        letters += kind == "L"
        if marks > _MOST_MARKS or not (kind in "LM" or character in allowed):
            return False
    return letters > 0


def keeps_script(token: str, candidate: str) -> bool:
    """False when a Latin token would get letters of another script, which may only look the same."""
    return not _is_latin(token) or _is_latin(candidate)


@functools.lru_cache(maxsize=2**14)
def _is_latin(text: str) -> bool:
    return all(
        unicodedata.name(letter, "").startswith(("LATIN", "FEMININE", "MASCULINE"))
        for letter in text
        if letter.isalpha()
    )


def fitted_word(context: TokenContext, raw: object) -> str:
    """``raw`` as it can stand for the token (letter case, *'s*, inflection); ``""`` if it cannot."""
    candidate = clean(raw)
    if not candidate or not keeps_script(context.token, candidate):
        return ""
    stem, clitic = without_clitic(context.token)
    candidate = without_clitic(candidate)[0] if clitic else candidate
    pattern = case_pattern(stem)
    if pattern != "mixed":
        candidate = _plain_case(candidate, is_capital_kept=pattern != "lower")
    candidate = _inflected(
        stem.lower(), candidate, context.previous_word.lower(), context.next_word.lower(), bool(clitic)
    )
    return fit_case(pattern, candidate) + clitic


def fitted_phrase(phrase: str, raw: object) -> str:
    """``raw`` as it can stand for ``phrase``: at most twice as long, its first letter as there."""
    most_words = 2 * len(phrase.split()) + 2
    text = clean(raw, most_letters=2 * len(phrase) + 30, most_words=most_words, extra=",")
    if not text or text.startswith(",") or ",," in text or not keeps_script(phrase, text):
        return ""
    if case_pattern(phrase) == "upper":
        return text.upper()
    if phrase[0].isupper():
        return text[0].upper() + text[1:]
    first = text.split(" ")[0]
    is_name = first in phrase.split() or first == "I" or first.startswith(("I'", "I’"))
    if case_pattern(first) == "capital" and not is_name:
        return text[0].lower() + text[1:]
    return text


def without_clitic(token: str) -> tuple[str, str]:
    """The token and its possessive *'s*, if it has one.

    >>> without_clitic("film's"), without_clitic("films")
    (('film', "'s"), ('films', ''))
    """
    match = _CLITIC.search(token)
    return (token[: match.start()], match.group()) if match and match.start() else (token, "")


def _plain_case(candidate: str, *, is_capital_kept: bool) -> str:
    """Without the capitals with which models begin list items; *TV* and *iPhone* stay."""
    words = candidate.split(" ")
    if is_capital_kept and len(words) == 1:
        return candidate
    all_capital = all(case_pattern(word) == "capital" for word in words)
    plain = [
        word.lower() if case_pattern(word) == "capital" and (all_capital or not number) else word
        for number, word in enumerate(words)
    ]
    return " ".join(plain)


@functools.lru_cache(maxsize=2**15)
def _inflected(token: str, candidate: str, previous: str, following: str, is_possessive: bool) -> str:
    """The candidate in the inflection of the token, where both are clear; else as it is."""
    if not (token.isascii() and candidate.isascii() and candidate.islower()):
        return candidate
    found = readings(token, previous, following, _MIN_SHARE)
    wanted = {(r.pos, tag) for r in found for tag in r.tags if not is_possessive or r.pos == "n"}
    if len({pos for pos, _ in wanted}) != 1:
        return candidate
    pos = next(iter(wanted))[0]
    words = candidate.split(" ")
    if pos not in "nv" or (pos == "n" and not PREPOSITIONS.isdisjoint(words)):
        return candidate
    head = words[0 if pos == "v" else -1]
    if head in PRONOUNS or head in POSSESSIVES:
        return candidate  # "shes" would hide a sensitive word from the guard
    has = {tag for lemma in lemmas(head, pos) for tag in tags(head, lemma, pos)}
    # A form that can be what is wanted stays, as does a word of another kind: the filter decides.
    if head not in lemmas(head, pos) or any(tag in has for _, tag in wanted):
        return candidate
    # "walked" may be a past or a participle: clear only for verbs that have one form for both.
    forms = {inflect(candidate.replace(" ", "_"), tag) for _, tag in wanted}
    return (forms.pop() if len(forms) == 1 else None) or candidate
