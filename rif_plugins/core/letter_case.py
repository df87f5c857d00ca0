"""The letter case of a word, and how a replacement takes it over."""

from __future__ import annotations

from typing import Literal

CasePattern = Literal["lower", "capital", "upper", "mixed"]


def case_pattern(word: str) -> CasePattern:
    """Tell the case of the letters of ``word``; one capital letter alone counts as ``"capital"``.

    >>> [case_pattern(w) for w in ("dog", "Dog", "DOG", "iPhone", "X-ray")]
    ['lower', 'capital', 'upper', 'mixed', 'capital']
    """
    cased = [letter for letter in word if letter.isupper() or letter.islower() or letter.istitle()]
    large = [not letter.islower() for letter in cased]
    if not any(large):
        return "lower"
    if large[0] and not any(large[1:]):
        return "capital"
    return "upper" if all(large) else "mixed"


def fit_case(pattern: CasePattern, replacement: str) -> str:
    """Write ``replacement`` in the case of the word it replaces.

    Capitals that the replacement brings along (*TV*) stay; for ``"mixed"`` and ``"lower"`` nothing changes.

    >>> fit_case("capital", "hot dog"), fit_case("upper", "hot dog"), fit_case("lower", "TV")
    ('Hot dog', 'HOT DOG', 'TV')
    """
    if pattern == "upper":
        return replacement.upper()
    if pattern == "capital":
        return replacement[:1].upper() + replacement[1:]
    return replacement
