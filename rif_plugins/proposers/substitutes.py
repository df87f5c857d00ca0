"""Strict substitutes of function words and other very frequent words, each with where it may stand.

The list (``data/substitutes.txt``) is written by hand. WordNet has no function words, and for *very* or
*almost* it has only words of another tone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.errors import DataError
from rif_plugins.proposers.base import TokenContext
from rif_plugins.proposers.closed_classes import (
    ARTICLES,
    BE_FORMS,
    DETERMINERS,
    DO_FORMS,
    HAVE_FORMS,
    MODALS,
    POSSESSIVES,
)
from rif_plugins.proposers.readings import is_adjective, is_adverb, is_noun, verb_tags

STRICT_FILE = Path(__file__).resolve().parent / "data" / "substitutes.txt"
SOURCE = "strict"

_NOT_BUT = frozenset(
    [
        "nothing",
        "anything",
        "everything",
        "all",
        "everyone",
        "anyone",
        "none",
        "no",
        "last",
        "help",
        "also",
        "then",
    ]
)
_MEASURES = frozenset(["so", "too", "as", "how", "very", "not", "that", "this"])
_COMPARATIVES = frozenset(["more", "less", "fewer", "better", "worse", "rather", "further"])
_COMPARATIVE_ENDING = re.compile(r"[a-z]{2,}er")
_NEGATED = re.compile(r"\b(?:not|n['’]t|never|no)\b", re.IGNORECASE)
_DEFINITE = frozenset(("the", "this", "these"))
_POINTING = frozenset(("this", "that", "these", "those"))
_VERBS = BE_FORMS | HAVE_FORMS | DO_FORMS | MODALS


Rule: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, float], ...]]
"""Conditions, and substitutes with the share of their edits that pass."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A token's neighbours, lower case, ``""`` where there is none or a mark stands between."""

    before: str
    after: str
    text_before: str


def _is_contrast(place: _Place) -> bool:
    return not (place.before in _NOT_BUT or place.after in _NOT_BUT or _NEGATED.search(place.text_before))


def _is_nominal(place: _Place) -> bool:
    after = place.after
    return after in DETERMINERS | POSSESSIVES or is_noun(after) or is_adjective(after)


def _is_relative(place: _Place) -> bool:
    finite = place.after in _VERBS or bool(verb_tags(place.after) & {"VBZ", "VBD"})
    return finite and not is_adverb(place.after) and is_noun(place.before) and place.before not in DETERMINERS


def _is_comparative(place: _Place) -> bool:
    after = place.after
    return after in _COMPARATIVES or (
        _COMPARATIVE_ENDING.fullmatch(after) is not None and not is_noun(after) and not verb_tags(after)
    )


_CONDITIONS: dict[str, Callable[[_Place], bool]] = {
    "after-a": lambda place: place.before == "a",
    "any": lambda place: True,
    "article": lambda place: place.after in ARTICLES | POSSESSIVES | _POINTING,
    "bare-verb": lambda place: "VB" in verb_tags(place.after),
    "before-of": lambda place: place.after == "of",
    "clause": lambda place: place.before == "",
    "comma": lambda place: place.before == "" and place.after == "",
    "comparative": _is_comparative,
    "contrast": _is_contrast,
    "definite": lambda place: place.after in _DEFINITE,
    "end": lambda place: place.after == "",
    "graded": lambda place: is_adjective(place.after) or is_adverb(place.after),
    # "it's been" has another word in it than "it's good"
    "is-contraction": lambda place: place.after not in ("", "got") and "VBN" not in verb_tags(place.after),
    "joining": lambda place: place.after not in ("", "then", "so", "yet", "also"),
    "nominal": _is_nominal,
    "not-measured": lambda place: place.before not in _MEASURES,
    "not-of": lambda place: place.after not in ("of", ""),
    "relative": _is_relative,
    "topic": lambda place: is_noun(place.before) and _is_nominal(place),
}


def strict_substitutes(context: TokenContext) -> Iterator[tuple[str, float]]:
    """Substitutes of the token that the list allows where it stands, in the token's letter case.

    Yields:
        The substitute, and the share of its edits that are expected to pass the embedded filter at 0.8.
    """
    pattern = case_pattern(context.token)
    rules = _table().get(context.token.lower().replace("’", "'"), ()) if pattern != "mixed" else ()
    before = context.text[max(0, context.start - 200) : context.start]
    place = _Place(context.previous_word.lower(), context.next_word.lower(), before)
    for conditions, substitutes in rules:
        if all(_CONDITIONS[name](place) for name in conditions):
            for substitute, share in substitutes:
                yield fit_case(pattern, substitute), share


@functools.cache
def _table() -> dict[str, tuple[Rule, ...]]:
    return read_substitutes(STRICT_FILE)


def read_substitutes(path: Path) -> dict[str, tuple[Rule, ...]]:
    """For each token its lines: the conditions of its place, and its substitutes with their shares.

    Raises:
        DataError: A line is not ``token ; conditions ; substitute=percent, ...``, or the file cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"cannot read {path}: {reason}; install the package again") from error
    table: dict[str, tuple[Rule, ...]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            token, places, listed = (field.strip() for field in line.split(";"))
            substitutes = tuple(_substitute(item) for item in listed.split(","))
        except ValueError:
            token, places, substitutes = "", "", ()
        conditions = tuple(places.split("+"))
        if not token or not _CONDITIONS.keys() >= set(conditions):
            raise DataError(
                f"{path} line {number}: expected `token ; conditions ; substitute=percent, ...` with "
                f"conditions among {', '.join(_CONDITIONS)}; got {line!r}"
            )
        table[token] = (*table.get(token, ()), (conditions, substitutes))
    return table


def _substitute(item: str) -> tuple[str, float]:
    text, _, percent = item.strip().partition("=")
    if not text or not 0 <= int(percent) <= 100:
        raise ValueError
    return text, int(percent) / 100
