"""What agrees with a sensitive term: letter case, a preceding a/an, a following possessive mark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rif_plugins.core.articles import indefinite_article
from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.similar.lexicon_file import slot_kind
from rif_plugins.similar.word_view import APOSTROPHES

_ARTICLE = re.compile(r"(?<![\w\-])(an?)(?=\s+[\"'\u201c\u2018(\[]?\Z)", re.IGNORECASE)
_POSSESSIVE = re.compile(rf"(\s?)([{APOSTROPHES}])(s\b)?", re.IGNORECASE)
_OPENING = re.compile(rf"(?<!\w)[{APOSTROPHES}\u2018]\w")
_LOOK_BACK = 8
_WITH_POSSESSIVE = frozenset({"noun", "plural", "given", "surname"})


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


def takes_possessive(slot: str) -> bool:
    """True for the slots behind which a possessive mark may stand."""
    return slot_kind(slot) in _WITH_POSSESSIVE


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


def fit_term_case(
    source: str, spelling: str, target: str, *, text_is_lower: bool, is_sentence_start: bool
) -> str:
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
    pattern = case_pattern(source)
    if pattern == "upper" and not spelling.isupper():
        return fit_case("upper", target)
    if pattern == "lower":
        return target if spelling[:1].islower() or spelling.islower() else target.lower()
    if source[:1].isupper():
        words_are_capital = len(source.split()) > 1 and all(w[:1].isupper() for w in source.split())
        if words_are_capital and spelling.islower():
            return " ".join(fit_case("capital", word) for word in target.split())
        if spelling[:1].islower() or is_sentence_start:
            return fit_case("capital", target)
    return target
