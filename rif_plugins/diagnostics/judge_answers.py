"""Read a rating from 1 to 5 out of whatever a judge wrote, or say why there is none."""

from __future__ import annotations

import re
from typing import Any

from rif_plugins.llm.json_answers import first_json

LOWEST, HIGHEST = 1, 5
_NAMES = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_KEYS = ("rating", "score", "grade", "answer")
_LONGEST = 4000

_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
# Not the lower end of a range ("4-5", "4 or 5"), and no percentage.
_NUMBER = (
    r"(?P<number>[-−]?\d{1,6}(?:\.\d+)?|one|two|three|four|five)\b"
    r"(?!\s*(?:[-–—]|to|or)\s*\d)(?!\.\d)(?!\s*%)"
)
_OF = r"(?:\s*(?:/|out\s+of|of)\s*(?P<of>\d{1,6}(?:\.\d+)?|five|ten)\b)?"
# The scale itself is no rating: "from 1 to 5", "(1-5)".
_SCALE = re.compile(r"\b(?:1|one)\s*(?:-|–|—|to|and|through)\s*(?:5|five)\b", re.IGNORECASE)
_LABELLED = re.compile(
    rf"\b(?:rating|score|grade|answer|rate\s+(?:it|this|them)|give\s+(?:it|this|them))\b"
    rf"(?:\s+(?:is|of|as|be|would\s+be|a|an))*[\s:=*_`\"'(]*(?:a\s+)?{_NUMBER}{_OF}",
    re.IGNORECASE,
)
_LEADING = re.compile(rf"\A[\s*_`\"'(#]*{_NUMBER}{_OF}(?=[*_`\"')]*\s*(?:\Z|\n|[.,;:!(–—-]))", re.IGNORECASE)
# "1. Sentence A praises. 2. Sentence B": numbers of lines, no rating.
_NUMBERED = re.compile(r"\A[\s*_`\"'(#]*1[.)][ \t]+\S")
_NEXT_NUMBER = re.compile(r"(?<![\w.])2[.)]\s+\S")
_OUT_OF = re.compile(rf"\b{_NUMBER}\s*(?:/|out\s+of)\s*(?P<of>\d{{1,6}}(?:\.\d+)?|five|ten)\b", re.IGNORECASE)
_BARE = re.compile(r"(?<![\w.])(?P<number>[-−]?\d{1,6}(?:\.\d+)?)(?![\w%])")
_AT_END = re.compile(r"\d[\s*_`\"')\].!]*\Z")
_REFUSAL = re.compile(
    r"\b(?:can(?:no|['’])t|can not|unable|won['’]t|will not|refuse|decline|sorry|apologi[sz]e|as an ai)\b",
    re.IGNORECASE,
)

NOTHING = "empty answer"
REFUSED = "refused"
UNREADABLE = "no rating in the answer"
AMBIGUOUS = "several ratings in the answer"
OUT_OF_RANGE = "rating outside 1 to 5"
FRACTION = "rating is not a whole number"
OTHER_SCALE = "rating on another scale"


def parse_rating(text: str) -> tuple[int | None, str]:
    """The rating that an answer gives, and ``""``; or None and the reason.

    Read in this order: JSON, a labelled number (*Rating: 4*), a number at the start, *4 out of 5*, the one
    number of a text that ends with it. Of a refusal only the first three count. Nothing is guessed: halves,
    other scales and answers with two different ratings give None.

    >>> parse_rating("4/5"), parse_rating('{"rating": 5}'), parse_rating("I rate it four out of five.")
    ((4, ''), (5, ''), (4, ''))
    >>> parse_rating("I'm sorry, I can't judge that.")
    (None, 'refused')
    """
    text = _THOUGHT.sub("", text)[:_LONGEST].strip()
    if not text:
        return None, NOTHING
    value = first_json(text)
    if isinstance(value, dict):
        return _of_object(value) or _single(_LABELLED, text) or (None, UNREADABLE)
    plain = _SCALE.sub(" ", text)
    found = _single(_LABELLED, plain)
    is_list = _NUMBERED.match(plain) and (_NEXT_NUMBER.search(plain) or _REFUSAL.search(plain))
    if found is None and not is_list and (first := _LEADING.search(plain)):
        found = _of_match(first)
    if found is None and _REFUSAL.search(plain):
        return None, REFUSED
    last = None if is_list else _last_number(plain)
    return found or _single(_OUT_OF, plain) or last or (None, UNREADABLE)


def _single(pattern: re.Pattern[str], text: str) -> tuple[int | None, str] | None:
    """What all matches agree on; None where there is no match."""
    found = set(map(_of_match, pattern.finditer(text)))
    if len(found) > 1:
        return None, AMBIGUOUS
    return next(iter(found), None)


def _last_number(text: str) -> tuple[int | None, str] | None:
    """The one number of a text where it ends with it; others count something (*differ in 2 words*)."""
    found = _single(_BARE, text)
    return found if found is None or found[1] == AMBIGUOUS or _AT_END.search(text) else None


def _of_match(match: re.Match[str]) -> tuple[int | None, str]:
    of = match.groupdict().get("of")
    return _checked(match.group("number"), of)


def _checked(value: object, of: str | None) -> tuple[int | None, str]:
    if isinstance(value, str):
        folded = value.strip().lower().replace("−", "-")
        try:
            value = float(_NAMES.get(folded, folded))
        except ValueError:
            return None, UNREADABLE
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, UNREADABLE
    if of is not None and of.lower() not in ("5", "5.0", "five"):
        return None, OTHER_SCALE
    if not LOWEST <= value <= HIGHEST:
        return None, OUT_OF_RANGE
    return (int(value), "") if value == int(value) else (None, FRACTION)


def _of_object(value: dict[Any, Any]) -> tuple[int | None, str] | None:
    """The rating under the first key that names one; None where no key does."""
    for name in _KEYS:
        for key, item in value.items():
            if re.split(r"[\W_]+", str(key).strip().lower())[-1] == name:
                is_text = isinstance(item, str) and first_json(item) is None
                return parse_rating(item) if is_text else _checked(item, None)
    return None
