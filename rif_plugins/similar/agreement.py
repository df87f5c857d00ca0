"""What agrees with a sensitive term: letter case, a preceding a/an, a following possessive mark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rif_plugins.similar.word_view import APOSTROPHES, WORD

_ARTICLE = re.compile(r"(?<![\w\-])(an?)(?=\s+[\"'\u201c\u2018(\[]?\Z)", re.IGNORECASE)
_POSSESSIVE = re.compile(rf"(\s?)([{APOSTROPHES}])(s\b)?", re.IGNORECASE)
_OPENING = re.compile(rf"(?<!\w)[{APOSTROPHES}\u2018]\w")
_CONSONANT_SOUND = re.compile(
    r"(?:uni(?![nm])|u[ksrt][aeiou]|ub[iy]|ukr|eu|ewe|one(?![a-z])|once|ouija)", re.IGNORECASE
)
_SILENT_H = re.compile(r"(?:heir|hour|honest|hono[u]?r)", re.IGNORECASE)
_SPELLED_LIKE_AN = frozenset("AEFHILMNORSX")
_LOOK_BACK = 8


def indefinite_article(term: str) -> str:
    """``"a"`` or ``"an"``, by the sound of the first word.

    Args:
        term: The word that follows, in its normal spelling: capitals only for names and letter words.
    """
    found = WORD.search(term)
    word = found.group() if found else ""
    if word[:1].isdigit():
        return "an" if re.match(r"8|1[18](?!\d)", word) else "a"
    if len(word) > 1 and word.isupper() and word.isalpha():
        return "an" if word[0] in _SPELLED_LIKE_AN else "a"
    if _SILENT_H.match(word):
        return "an"
    if _CONSONANT_SOUND.match(word):
        return "a"
    return "an" if word[:1].lower() in set("aeiouáéíóúàèìòùâêîôûäëïöü") and word else "a"


def find_article(text: str, start: int) -> tuple[int, int] | None:
    """Offsets of the a/an that stands right before ``start``, or ``None``."""
    match = _ARTICLE.search(text, max(0, start - _LOOK_BACK), start)
    return match.span(1) if match else None


def fit_article(article: str, target: str, term_is_upper: bool) -> str:
    """``article`` as ``target`` asks for it, in the same letter case."""
    fitted = indefinite_article(target)
    if article.isupper() and (len(article) > 1 or term_is_upper):
        return fitted.upper()
    return fitted.capitalize() if article[0].isupper() else fitted


@dataclass(frozen=True, slots=True)
class PossessiveMark:
    """A possessive ``'s`` or ``'`` behind a noun: its end, its lead (white space, apostrophe)."""

    end: int
    space: str
    apostrophe: str
    has_s: bool


def find_possessive(text: str, start: int, end: int) -> PossessiveMark | None:
    """The possessive mark right after ``text[start:end]``, or ``None``.

    A bare apostrophe counts only after ``s`` and when it cannot be a closing quotation mark.
    """
    match = _POSSESSIVE.match(text, end)
    if match is None:
        return None
    space, apostrophe, s = match.groups()
    if s is None:
        behind = re.match(r"\s+\w", text[match.end() : match.end() + _LOOK_BACK])
        if text[end - 1 : end].lower() != "s" or behind is None:
            return None
        if _OPENING.search(text, max(0, start - 200), end):
            return None
    return PossessiveMark(match.end(), space, apostrophe, s is not None)


def fit_possessive(mark: PossessiveMark, source: str, target: str, *, is_plural: bool) -> str | None:
    """The mark as ``target`` asks for it, or ``None`` when it stays as it is."""
    ends_in_s = target[-1:].lower() == "s"
    if mark.has_s and is_plural and ends_in_s and source[-1:].lower() != "s":
        return mark.space + mark.apostrophe
    if not mark.has_s and not ends_in_s:
        return mark.space + mark.apostrophe + ("S" if source.isupper() else "s")
    return None


def fit_case(source: str, spelling: str, target: str, *, text_is_lower: bool, is_sentence_start: bool) -> str:
    """``target`` in the letter case of ``source``.

    Args:
        source: The term as it stands in the text.
        spelling: The lexicon's spelling of it; a capital there (*Asian*) says nothing about the text.
        target: The lexicon's spelling of what replaces it.
        text_is_lower: No letter of the text is upper case.
        is_sentence_start: A capital is due whatever the word.
    """
    if text_is_lower:
        return target.lower()
    letters = [c for c in source if c.isalpha()]
    if len(letters) > 1 and source.isupper() and not spelling.isupper():
        return target.upper()
    if source.islower():
        return target if spelling[:1].islower() or spelling.islower() else target.lower()
    if source[:1].isupper():
        words_are_capital = len(source.split()) > 1 and all(w[:1].isupper() for w in source.split())
        if words_are_capital and spelling.islower():
            return " ".join(w[:1].upper() + w[1:] for w in target.split())
        if spelling[:1].islower() or is_sentence_start:
            return target[:1].upper() + target[1:]
    return target
