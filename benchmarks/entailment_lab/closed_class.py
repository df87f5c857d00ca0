"""Relations that WordNet does not hold: numerals, prepositions, pronouns, contractions, identity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from .nli_sets import Row
from .word_relations import CONTRADICTION, ENTAILMENT, NEUTRAL

_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_CARDINALS = dict(enumerate(_UNITS.split(), start=1)) | {
    17: "seventeen", 18: "eighteen", 19: "nineteen", 20: "twenty", 30: "thirty", 40: "forty", 50: "fifty",
    60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred",
}  # fmt: skip
_ORDINALS = {
    1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth",
    9: "ninth", 10: "tenth", 11: "eleventh", 12: "twelfth", 13: "thirteenth", 14: "fourteenth",
    15: "fifteenth", 16: "sixteenth", 17: "seventeenth", 18: "eighteenth", 19: "nineteenth", 20: "twentieth",
    30: "thirtieth", 40: "fortieth", 50: "fiftieth", 60: "sixtieth", 70: "seventieth", 80: "eightieth",
    90: "ninetieth", 100: "hundredth",
}  # fmt: skip
# Groups of words of one meaning; the groups of one line exclude each other.
_GROUPS = """
inside,within,in | outside,outside of
above,over | below,beneath,under,underneath
in front of,ahead of | behind,in back of
near,close to,next to,beside,by | far from,far away from,a long way from
before,prior to | after,following
with | without
up | down
upstairs | downstairs
upward,upwards | downward,downwards
toward,towards | away from
onto,on,on top of,upon | off,off of
into | out of
indoors | outdoors
indoor | outdoor
forward,forwards | backward,backwards
left | right
always,all the time | never
often,frequently | rarely,seldom
everyone,everybody | no one,nobody
someone,somebody | no one,nobody
everything | nothing
everywhere | nowhere
all,every one of | none of,no
many,a lot of,lots of,plenty of,numerous | few,hardly any
some | no
several,a number of | no
most | few
more | fewer,less
together | alone,separately
today | tomorrow
tonight | tomorrow night
this morning | this evening
during the day,by day | at night,by night
early | late
perhaps,maybe
although,though,even though
because,since
until,till
while,whilst
among,amongst
around,round
also,too
through,throughout
despite,in spite of
instead of,rather than
almost,nearly
very,extremely
quite,rather
really,truly
him | her
he | she
his | her
man | woman
men | women
boy | girl
boys | girls
big,large | small,little
fast,quick | slow
start,begin | stop,end
starts,begins | stops,ends
kid,child | adult,grown-up
kids,children | adults,grown-ups
photo,picture
photos,pictures
mom,mother | dad,father
bike,bicycle
cellphone,cell phone,mobile phone
tv,television
movie,film
movies,films
"""
_CONTRACTIONS = (
    ("do not", "don't"), ("does not", "doesn't"), ("did not", "didn't"), ("is not", "isn't"),
    ("are not", "aren't"), ("was not", "wasn't"), ("can not", "can't"), ("will not", "won't"),
    ("could not", "couldn't"), ("would not", "wouldn't"), ("it is", "it's"), ("there is", "there's"),
    ("that is", "that's"), ("he is", "he's"), ("she is", "she's"), ("they are", "they're"),
    ("do n't", "do not"), ("does n't", "does not"), ("is n't", "is not"), ("ca n't", "can not"),
)  # fmt: skip


def _ordinal_digits(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _replace(text: str, source: str, target: str) -> str | None:
    """``text`` with the first whole-word ``source`` replaced; None where it does not occur."""
    match = re.search(rf"(?<![\w'-]){re.escape(source)}(?![\w'-])", text, re.I)
    if match is None:
        return None
    if match.group()[0].isupper():
        target = target[0].upper() + target[1:]
    return text[: match.start()] + target + text[match.end() :]


def numeral_rows(texts: Sequence[str], random: Random, number: int) -> list[Row]:
    """Cardinals and ordinals in words and digits: another number contradicts, another spelling does not."""
    cardinal = [t for t in texts if re.search(r"\b(?:two|three|four|five|six|seven|[2-9])\b", t, re.I)]
    ordinal = [t for t in texts if re.search(r"\b(?:first|second|third|fourth|fifth)\b", t, re.I)]
    nouns = [t for t in texts if re.search(r"\bthe\b", t)]
    rows: list[Row] = []
    while len(rows) < number:
        ordinals = random.random() < 0.5
        table = _ORDINALS if ordinals else _CARDINALS
        spell = _ordinal_digits if ordinals else str
        first, second = (
            random.choice(list(table)[1 - ordinals : 12]),
            random.choice(list(table)[1 - ordinals :]),
        )
        if random.random() < 0.12:
            second = first
        forms = [random.choice((table[n], spell(n))) for n in (first, second)]
        if ordinals and random.random() < 0.5:
            base = random.choice(nouns)
            pair = [_replace(base, "the", f"the {form}") for form in forms]
        else:
            base = random.choice(ordinal if ordinals else cardinal)
            words = [w for n in table for w in (table[n], spell(n)) if _replace(base, w, "x") is not None]
            pair = [_replace(base, words[0], form) for form in forms] if words else [None, None]
        if pair[0] is None or pair[1] is None or pair[0] == pair[1]:
            continue
        label = ENTAILMENT if first == second else CONTRADICTION
        rows.append(Row(pair[0], pair[1], label, "ordinal" if ordinals else "cardinal"))
    return rows


def function_word_rows(texts: Sequence[str], random: Random, number: int) -> list[Row]:
    """Prepositions, pronouns, quantifiers and a few everyday nouns, both same and opposite."""
    lines = [[group.split(",") for group in line.split(" | ")] for line in _GROUPS.strip().split("\n")]
    places: dict[str, list[str]] = {}
    for word in {w.strip() for line in lines for group in line for w in group}:
        places[word] = [t for t in texts if _replace(t, word, "x") is not None][:400]
    rows: list[Row] = []
    while len(rows) < number:
        line = random.choice(lines)
        opposite = len(line) == 2 and random.random() < 0.65
        if opposite:
            sides = random.sample(line, 2)
            source, target = random.choice(sides[0]).strip(), random.choice(sides[1]).strip()
        else:
            group = random.choice(line)
            if len(group) < 2:
                continue
            source, target = (word.strip() for word in random.sample(group, 2))
        slots = places[source] or places[target]
        here = source if places[source] else target
        if not slots:
            continue
        base = random.choice(slots)
        premise, hypothesis = _replace(base, here, source), _replace(base, here, target)
        if premise and hypothesis:
            label = CONTRADICTION if opposite else ENTAILMENT
            rows.append(Row(premise, hypothesis, label, "function"))
    return rows


def same_rows(texts: Sequence[str], random: Random, number: int) -> list[Row]:
    """Identical texts, contractions, and texts that differ only in case or final punctuation."""
    rows: list[Row] = []
    while len(rows) < number:
        text = random.choice(texts)
        options = [text, text.lower(), text.rstrip(" ."), text.replace(" .", ".").replace(" ,", ",")]
        for full, short in _CONTRACTIONS:
            options += [t for t in (_replace(text, full, short), _replace(text, short, full)) if t] * 3
        rows.append(Row(text, random.choice(options), ENTAILMENT, "same"))
    return rows


def dropped_rows(texts: Sequence[str], random: Random, number: int) -> list[Row]:
    """One adverb or adjective-like word of the second text is missing: entailment one way, neutral back."""
    rows: list[Row] = []
    pattern = re.compile(
        r"\b(very|really|quickly|slowly|young|old|red|blue|green|small|large|big|little)\s+", re.I
    )
    while len(rows) < number:
        text = random.choice(texts)
        match = pattern.search(text)
        if match is None or re.search(r"\bno[t]?\b|n't|never", text):
            continue
        shorter = text[: match.start()] + text[match.end() :]
        if random.random() < 0.5:
            rows.append(Row(text, shorter, ENTAILMENT, "dropped"))
        elif match.group(1).lower() not in ("very", "really"):
            rows.append(Row(shorter, text, NEUTRAL, "dropped"))
    return rows
