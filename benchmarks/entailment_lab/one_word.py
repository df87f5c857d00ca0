"""Put pairs of words into sentences: labelled pairs of texts that differ in one word."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from lemminflect import getInflection

from rif_plugins.core.wordnet import WordNet

from .nli_sets import Row
from .word_relations import RelationMiner, WordPair

_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|\d+(?:st|nd|rd|th)?")
_NEGATIONS = re.compile(r"\b(?:no|not|n't|never|nobody|none|nothing|without|few|every|all|if)\b|n't", re.I)
_VOWEL_SOUND = re.compile(r"(?!(?:uni|use|usu|eu|one\b|once))[aeiou]|hour|honest|heir", re.I)
_ARTICLES = {"a", "an"}
MAX_WORDS = 18


@dataclass(frozen=True, slots=True)
class Slot:
    """A word of a sentence that another may replace; ``form`` is a Penn tag such as ``"NNS"``."""

    text: str
    start: int
    end: int
    lemma: str
    pos: str
    form: str
    negated: bool


class SlotFinder:
    """Finds slots without a tagger: a word whose tagged uses are mostly of one part of speech."""

    def __init__(self, wordnet: WordNet, miner: RelationMiner) -> None:
        """Index nothing yet; see :meth:`slots`."""
        self._wordnet = wordnet
        self._miner = miner
        self._readings: dict[str, tuple[str, str, str] | None] = {}

    def slots(self, text: str) -> list[Slot]:
        """All slots of one sentence, left to right."""
        negated = _NEGATIONS.search(text) is not None
        found = []
        for match in _WORD.finditer(text):
            reading = self._reading(match.group().lower())
            if reading is not None:
                found.append(Slot(text, match.start(), match.end(), *reading, negated))
        return found

    def _reading(self, word: str) -> tuple[str, str, str] | None:
        if word not in self._readings:
            self._readings[word] = self._read(word)
        return self._readings[word]

    def _read(self, word: str) -> tuple[str, str, str] | None:
        options: dict[tuple[str, str, str], int] = {}
        for pos in "nvar":
            for base in self._wordnet.base_forms(word, pos):
                form = _form(word, base, pos)
                if form:
                    options[base, pos, form] = self._wordnet.frequency(base, pos) + 1
        if not options:
            return None
        best = max(options, key=lambda key: options[key])
        if options[best] < 0.7 * sum(options.values()) or len(word) < 3:
            return None
        return best


def _form(word: str, base: str, pos: str) -> str:
    if pos == "n":
        return "NN" if word == base else ("NNS" if word.endswith("s") or word in inflect(base, "NNS") else "")
    if pos == "v":
        if word == base:
            return "VB"
        return next((tag for tag in ("VBG", "VBZ", "VBD", "VBN") if word in inflect(base, tag)), "")
    return {"a": "JJ", "r": "RB"}[pos] if word == base else ""


_INFLECTED: dict[tuple[str, str], tuple[str, ...]] = {}


def inflect(lemma: str, tag: str) -> tuple[str, ...]:
    """Inflected forms of a lemma; the last word of two is inflected."""
    if tag in ("NN", "VB", "JJ", "RB"):
        return (lemma,)
    key = (lemma, tag)
    if key not in _INFLECTED:
        first, _, last = lemma.rpartition("_")
        forms = getInflection(last, tag) or ()
        _INFLECTED[key] = tuple(f"{first}_{form}" if first else form for form in forms)
    return _INFLECTED[key]


def fill(slot: Slot, lemma: str, random: Random) -> str | None:
    """The sentence with ``lemma`` in the slot; the article in front is mostly, not always, made to agree."""
    forms = inflect(lemma, slot.form)
    if not forms:
        return None
    word = forms[0].replace("_", " ")
    before, after = slot.text[: slot.start], slot.text[slot.end :]
    if slot.text[slot.start].isupper() and not word[0].isupper():
        word = word[0].upper() + word[1:]
    match = re.search(r"\b(an?)(\s+)$", before, re.I)
    if match and random.random() < 0.7:
        article = "an" if _VOWEL_SOUND.match(word) else "a"
        if match.group(1)[0].isupper():
            article = article.capitalize()
        before = before[: match.start()] + article + match.group(2)
    return before + word + after


def fill_proper(slot: Slot, name: str) -> str:
    """The sentence with a name in the slot, the determiner in front removed."""
    before = re.sub(r"\b(?:an?|the|this|that|his|her|their|its)\s+$", "", slot.text[: slot.start], flags=re.I)
    return before + name.replace("_", " ") + slot.text[slot.end :]


class PairPlacer:
    """Places word pairs into the slots of given sentences."""

    def __init__(self, sentences: Iterable[str], finder: SlotFinder) -> None:
        """Index the slots of all sentences of 4 to 18 words."""
        self._by_lemma: dict[tuple[str, str], list[Slot]] = defaultdict(list)
        self._by_file: dict[tuple[str, str], list[Slot]] = defaultdict(list)
        wordnet = finder._wordnet
        self.texts = []
        for text in sentences:
            if not 4 <= len(text.split()) <= MAX_WORDS:
                continue
            self.texts.append(text)
            for slot in finder.slots(text):
                self._by_lemma[slot.lemma, slot.pos].append(slot)
                senses = wordnet.senses(slot.lemma, slot.pos)
                file = senses[0].lexical_file if senses else ""
                for key in {file, ""}:
                    self._by_file[slot.pos, key].append(slot)

    def occurrences(self, lemma: str, pos: str) -> float:
        """Log of one plus the number of slots that hold the lemma."""
        return math.log1p(len(self._by_lemma.get((lemma, pos), ())))

    def place(self, pair: WordPair, random: Random, *, swap: bool) -> Row | None:
        """One row: ``swap`` puts ``b`` into the premise. None where no slot fits."""
        one_way = pair.forward != pair.backward
        slot = self._slot(pair, random, allow_negated=not one_way)
        if slot is None:
            return None
        if pair.proper:
            texts = [fill_proper(slot, word) for word in (pair.a, pair.b)]
        else:
            filled = [fill(slot, word, random) for word in (pair.a, pair.b)]
            if filled[0] is None or filled[1] is None:
                return None
            texts = [text for text in filled if text is not None]
        if texts[0] == texts[1]:
            return None
        if swap:
            return Row(texts[1], texts[0], pair.backward, pair.name)
        return Row(texts[0], texts[1], pair.forward, pair.name)

    def _slot(self, pair: WordPair, random: Random, *, allow_negated: bool) -> Slot | None:
        own = self._by_lemma.get((pair.a, pair.pos), []) + self._by_lemma.get((pair.b, pair.pos), [])
        general = self._by_file.get((pair.pos, pair.file)) or self._by_file.get((pair.pos, ""), [])
        for _ in range(6):
            source = own if own and random.random() < 0.75 else general
            if not source:
                return None
            slot = random.choice(source)
            if allow_negated or not slot.negated:
                return slot
        return None
