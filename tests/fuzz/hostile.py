"""Hostile values: texts, JSON, files. Each comes fast from a generator; texts from hypothesis too."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from rif_plugins.similar import Lexicon

ODD = (
    *("\x00", "\x1b[31m", "\x7f", "\x85", "\xa0", "\xad", "\u0300", "\u061c", "\u200b", "\u200d", "\u200f"),
    *("\u2028", "\u202e", "\u2066", "\u3000", "\ud800", "\udfff", "\ufeff", "\uffff", "\U000e0041"),
    *("ß", "İ", "ŉ", "ﬁ", "Ǆ", "ς", "ﷺ", "Å", "é", "हिन्दी", "漢字", "👩🏽‍🔬", "🇩🇪", "１２", "٣"),
)
MARKS = (
    *("'", "’", "''", '"', '""', "-", "--", "_", "*", "@", "`", "×", ".", "...", ",", ";", ":", "!", "?"),
    *("/", "\\", "(", ")", "[[", "]]", "[SENSITIVE]", "[MASK]", "<SPLIT>", "{", "}", "#", "=1+1", "+", "|"),
    *("<script>", "</script>", "<!--", "&amp;", "{{7*7}}", "%s", "$(id)", "; rm -rf /", "../../etc/passwd"),
)
PLAIN = (
    *(
        "a",
        "an",
        "the",
        "A",
        "An",
        "is",
        "are",
        "was",
        "and",
        "or",
        "not",
        "no",
        "never",
        "don't",
        "ca",
        "n't",
    ),
    *(
        "film",
        "good",
        "bad",
        "awful",
        "doctor",
        "nurse",
        "cooked",
        "cars",
        "men's",
        "7",
        "2024",
        "1.5",
        "U.S.",
    ),
    *("Mr", "Mrs.", "Dr", "Smith", "BBC", "McDonald", "s/he", "they're", "x" * 70, "www.a.org", "me@b.org"),
)
BLANKS = (" ", " ", " ", "", "\n", "\t", "\r\n", "-", "'", "’", "/", ", ", ". ", "\u200b", "\u00a0")


def terms() -> tuple[str, ...]:
    """All sensitive terms, the optional lists among them."""
    return tuple(term.text for name in (None, "marital_status", "names") for term in Lexicon.load(name))


_TERMS = terms()


def text(rng: random.Random, n_most: int = 14) -> str:
    """Words, sensitive terms and oddities in a row; now and then a very long one."""
    words = [_word(rng) for _ in range(rng.randint(0, n_most))]
    if rng.random() < 0.01:
        words += [rng.choice((*ODD, *MARKS, *PLAIN))] * rng.choice((50, 500, 3000))
    blank = rng.choice(BLANKS) if rng.random() < 0.2 else " "
    return "".join(word + (rng.choice(BLANKS) if rng.random() < 0.2 else blank) for word in words)


def _word(rng: random.Random) -> str:
    where = rng.random()
    if where < 0.4:
        word = rng.choice(_TERMS)
    elif where < 0.75:
        word = rng.choice(PLAIN)
    elif where < 0.85:
        word = rng.choice(MARKS)
    elif where < 0.95:
        word = rng.choice(ODD)
    else:
        word = chr(rng.randrange(0x110000))
    change = rng.random()
    if change < 0.1:
        return word.upper()
    if change < 0.2:
        return word.capitalize()
    if change < 0.25:
        return word + rng.choice(ODD)
    if change < 0.3:
        return word + rng.choice(MARKS)
    return word


ANY_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, exclude_categories=()), max_size=40)
TEXTS = st.one_of(
    ANY_TEXT,
    st.lists(st.one_of(st.sampled_from((*_TERMS[::7], *PLAIN, *MARKS, *ODD)), ANY_TEXT), max_size=12).flatmap(
        lambda words: st.sampled_from(BLANKS).map(lambda blank: blank.join(words))
    ),
)

SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), -float("inf"), "", " ", "0", "1", "nan", "text", "label", "robust_biased"),
    *("male", "original", "natural", "=1+1", "../x", "a\nb", *ODD),
)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), ANY_TEXT, st.sampled_from(SCALARS)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner, max_size=4)),
    max_leaves=12,
)


def json_value(rng: random.Random, depth: int = 3) -> Any:
    """Any JSON value."""
    kind = rng.random()
    if depth == 0 or kind < 0.6:
        return rng.choice(SCALARS)
    n = rng.randint(0, 3)
    if kind < 0.8:
        return [json_value(rng, depth - 1) for _ in range(n)]
    names = ("label", "score", "start", "end", "from", "to", "side", "value", "original", "similar", "a")
    return {rng.choice(names): json_value(rng, depth - 1) for _ in range(n)}


def disturbed(rng: random.Random, value: Any, n_most: int = 3) -> Any:
    """A copy of a JSON value with a few places replaced, deleted, repeated or renamed."""
    changed = copy.deepcopy(value)
    for _ in range(rng.randint(1, n_most)):
        places = list(_places(changed))
        if not places:
            return json_value(rng)
        holder, key = rng.choice(places)
        what = rng.random()
        if what < 0.6:
            holder[key] = json_value(rng)
        elif what < 0.8:
            del holder[key]
        elif isinstance(holder, dict):
            holder[rng.choice((*ODD, "schema", "extra"))] = holder[key]
        else:
            holder.append(holder[key])
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key
            yield from _places(item)
    elif isinstance(value, list):
        for key, item in enumerate(value):
            yield value, key
            yield from _places(item)


def json_text(value: Any) -> str:
    """JSON as Python writes it: NaN and half surrogates included."""
    try:
        return json.dumps(value)
    except ValueError:  # an integer of more digits than may be written
        return '{"a": ' + "9" * 5000 + "}"


BYTES = (
    *(b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b",", b'"', b'""', b";", b"\\", b"#"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"[" * 3000,
        b"{" * 2000,
        b'{"a":' * 2000,
        b"=",
        b"'",
        b"nan",
        b"NaN",
        b"1e999",
    ),
    *(
        b"9" * 400,
        b"9" * 5000,
        b"-1",
        b"true",
        b"null",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        "\u202e".encode(),
        b" ",
    ),
    *(b"\x1b[31m", "\u2028".encode(), b"-Infinity", b'"\\ud800"', b"\\u0000", b"x" * 5000),
)


def broken(rng: random.Random, seeds: Sequence[bytes], n_most: int = 4) -> bytes:
    """A valid file with some bytes replaced, deleted, repeated or put in."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(0, n_most)):
        place = rng.randint(0, len(data))
        what = rng.random()
        if what < 0.35:
            data[place:place] = rng.choice(BYTES)
        elif what < 0.55:
            data[place : place + rng.choice((1, 1, 2, 8))] = rng.choice(BYTES)
        elif what < 0.7:
            del data[place : place + rng.choice((1, 1, 3, 20))]
        elif what < 0.8:
            data[place:place] = data[place : place + rng.choice((1, 5, 30))]
        elif what < 0.9 and data:
            data[place % len(data)] ^= 1 << rng.randrange(8)
        elif what < 0.95:
            del data[place:]
        else:
            lines = bytes(data).splitlines(keepends=True)
            rng.shuffle(lines)
            data = bytearray(b"".join(lines))
    return bytes(data)


def breaking(*seeds: str | bytes, n_most: int = 4) -> Callable[[random.Random], bytes]:
    """``broken`` over some files."""
    raw = [seed.encode() if isinstance(seed, str) else seed for seed in seeds]
    return lambda rng: broken(rng, raw, n_most)
