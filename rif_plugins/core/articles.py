"""*A* or *an* before a word: by sound, not by letter.

Decisions where dictionaries leave a choice: *yttrium* and *Yves* begin with a vowel sound (*an yttrium
lamp*); *herb*, *historic* and *homage* take either; capitals are read letter by letter when there are up to
three or no vowel is among them (*an MP*, *an NBA*, *a US*), else as a word (*a NASA*, *an AIDS*).
"""

from __future__ import annotations

import re

_SILENT_H = re.compile(r"(hour|honest|honou?r|heir)")
_EITHER_H = re.compile(r"(herb(?!iv|ic)|histori|hotel|homage)")
# The long "you" and "wa" sounds that are written with a vowel.
_CONSONANT_SOUND = re.compile(
    r"(eu|ewe|once|one(?![a-z])|oneness|oneself|onetime|ouija|u[rv][aeiou]|us[aeiu]|u[kt](?!t)[aeiou]|ubi|ufo"
    r"|ukrain|ugand|unanim(?!a)|unesco|uni(?!n|m(?!od)|d(?!ir|im)|ll|rr|ro|ss))"
)
_SPELT = frozenset({"LAPD", "NAACP", "NCAA", "RSPCA", "USAF", "YMCA", "YWCA"})
_SPELT_WITH_VOWEL_SOUND = frozenset("aefhilmnorsx")
_FIRST_PART = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*")


def article_fits(previous_word: str, candidate: str) -> bool:
    """True unless ``previous_word`` is *a* or *an* and ``candidate`` begins with the wrong sound.

    >>> article_fits("an", "hour"), article_fits("a", "university"), article_fits("a", "hour")
    (True, True, False)
    """
    article = previous_word.lower()
    if article not in ("a", "an"):
        return True
    sound = has_vowel_sound(candidate)
    return sound is None or sound == (article == "an")


def indefinite_article(phrase: str) -> str:
    """``"a"`` or ``"an"`` as ``phrase`` asks for it; ``"a"`` where both are heard or nothing is.

    >>> [indefinite_article(word) for word in ("Ukrainian", "MP", "historian", "")]
    ['a', 'an', 'a', 'a']
    """
    return "an" if has_vowel_sound(phrase) else "a"


def has_vowel_sound(phrase: str) -> bool | None:
    """Tell whether ``phrase`` begins with a vowel sound; None where speakers differ (*herb*).

    Numbers are read aloud (*an 8*, *an 11*, *an 18*), single letters by their name (*an x-ray*, *a u-turn*),
    and capitals letter by letter when they are short or hold no vowel (*an MBA*, *a NASA*, *a US*).
    """
    match = _FIRST_PART.search(phrase)
    if match is None:
        return None
    part = match.group()
    if part[0].isdecimal():
        return _number_has_vowel_sound(part)
    word = part.replace(".", "").partition(",")[0]
    if len(word) == 1 or _is_spelt(word):
        return word[0].lower() in _SPELT_WITH_VOWEL_SOUND
    word = word.lower()
    if _EITHER_H.match(word):
        return None
    if _SILENT_H.match(word):
        return True
    if word[0] == "y":
        return len(word) > 1 and word[1] not in "aeiou"
    return word[0] in "aeiouàáâäãåæèéêëìíîïòóôöõøùúûü" and not _CONSONANT_SOUND.match(word)


def _is_spelt(word: str) -> bool:
    if not (word.isupper() and word.isalpha()):
        return False
    return len(word) <= 3 or word in _SPELT or not set(word) & set("AEIOU")


def _number_has_vowel_sound(number: str) -> bool:
    digits = re.match(r"\d+", number.replace(",", ""))
    if digits is None:
        return False
    text = digits.group()
    return text[0] == "8" or (text[:2] in ("11", "18") and len(text) % 3 == 2)
