"""Word pairs with a known relation, mined from WordNet by general rules.

A word counts as *known* when the base model's vocabulary holds it whole (grade 2) or in at most three pieces
(grade 1): a cheap stand-in for word frequency that also covers rare leaves such as *didgeridoo*.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from rif_plugins.core.wordnet import Sense, WordNet

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
_CONCRETE_NAMES = "animal artifact body food location object person plant substance time group event act"
CONCRETE = frozenset(f"noun.{name}" for name in _CONCRETE_NAMES.split())
_GENERAL_LEMMAS = """
entity physical_entity abstraction abstract_entity object thing whole unit artifact matter substance
causal_agent attribute relation group measure instrumentality living_thing organism being part piece act
event state psychological_feature communication region location
"""
TOO_GENERAL = frozenset(_GENERAL_LEMMAS.split())
# General roots (lemma/lexical file) below which words exclude one another.
_ROOTS = """
beverage/noun.food vegetable/noun.food edible_fruit/noun.food meat/noun.food dish/noun.food
baked_goods/noun.food sweet/noun.food condiment/noun.food dairy_product/noun.food meal/noun.food
room/noun.artifact building/noun.artifact vehicle/noun.artifact garment/noun.artifact
furniture/noun.artifact weapon/noun.artifact tool/noun.artifact container/noun.artifact
musical_instrument/noun.artifact fabric/noun.artifact footwear/noun.artifact headdress/noun.artifact
toy/noun.artifact machine/noun.artifact way/noun.artifact sports_equipment/noun.artifact
material/noun.substance metallic_element/noun.substance alloy/noun.substance rock/noun.object
fuel/noun.substance liquid/noun.substance mammal/noun.animal bird/noun.animal fish/noun.animal
insect/noun.animal reptile/noun.animal flower/noun.plant tree/noun.plant fruit/noun.plant herb/noun.plant
worker/noun.person professional/noun.person entertainer/noun.person athlete/noun.person
relative/noun.person leader/noun.person inhabitant/noun.person European/noun.person Asian/noun.person
American/noun.person African/noun.person creator/noun.person country/noun.location city/noun.location
state/noun.location continent/noun.object planet/noun.object celestial_body/noun.object
body_of_water/noun.object geological_formation/noun.object chromatic_color/noun.attribute
achromatic_color/noun.attribute color/noun.attribute sport/noun.act game/noun.act dance/noun.act
month/noun.time day_of_the_week/noun.time season/noun.time time_of_day/noun.time body_part/noun.body
natural_language/noun.communication disease/noun.state emotion/noun.feeling
publication/noun.communication music/noun.communication science/noun.cognition weather/noun.phenomenon
currency/noun.possession
"""
FAMILY_ROOTS = tuple(tuple(item.rsplit("/", 1)) for item in _ROOTS.split())
_ADJECTIVAL_ROOTS = {
    "chromatic_color", "achromatic_color", "color", "inhabitant", "European", "Asian", "American", "African",
}  # fmt: skip
_PROPER_ROOTS = {"country", "city", "state", "continent", "planet", "celestial_body"}


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two lemmas, the part of speech of their slot, and the labels of a|b and b|a.

    ``file`` is the lexical file of slots that may hold either word; ``name`` the relation.
    """

    a: str
    b: str
    pos: str
    name: str
    forward: int
    backward: int
    file: str = ""
    proper: bool = False


class RelationMiner:
    """Collects word pairs; deterministic for one lexicon and one vocabulary."""

    def __init__(self, wordnet: WordNet, pieces: Callable[[str], int]) -> None:
        """``pieces`` gives the number of pieces the base model's tokenizer cuts a word into."""
        self.wordnet = wordnet
        self._pieces = pieces
        self._grades: dict[str, int] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._portions: dict[tuple[str, str], float] = {}

    def grade(self, lemma: str) -> int:
        """2 whole words of the vocabulary, 1 up to three pieces a word, 0 unknown."""
        known = self._grades.get(lemma)
        if known is None:
            words = lemma.replace("_", " ").split(" ")
            counts = [self._pieces(word) for word in words]
            plain = all(word.replace("-", "").isalpha() for word in words) and len(words) <= 2
            known = 0 if not plain or max(counts) > 3 or len(lemma) < 3 else (2 if max(counts) == 1 else 1)
            self._grades[lemma] = known
        return known

    def share(self, lemma: str, sense: Sense) -> float:
        """Share of ``lemma``'s tagged uses (add-one) in this sense among those of the same part of speech."""
        rank, count = self.wordnet.usage(lemma, sense)
        if rank == 0:
            return 0.0
        weight = count + (1.0 if rank == 1 else 0.5 / rank)
        total = self._totals.get((lemma, sense.pos))
        if total is None:
            senses = self.wordnet.senses(lemma, sense.pos)
            total = sum(s.count + (1.0 if s.rank == 1 else 0.5 / s.rank) for s in senses)
            self._totals[lemma, sense.pos] = total
        return weight / total

    def portion(self, lemma: str, pos: str) -> float:
        """Share of ``lemma``'s tagged uses (add-one) that have this part of speech."""
        known = self._portions.get((lemma, pos))
        if known is None:
            uses = {
                p: self.wordnet.frequency(lemma, p) + 1 for p in "nvar" if self.wordnet.contains(lemma, p)
            }
            known = uses.get(pos, 0) / (sum(uses.values()) or 1)
            self._portions[lemma, pos] = known
        return known

    def commonness(self, lemma: str) -> float:
        """A sampling weight: whole words of the vocabulary and tagged words first, two-word lemmas last."""
        weight = 1.0 if self.grade(lemma) == 2 else 0.25
        if "_" in lemma:
            weight *= 0.4
        return weight * (1.0 + math.log1p(self.wordnet.frequency(lemma)))

    def _usable(self, sense: Sense, *, least: float, grade: int = 1) -> list[str]:
        proper = sense.is_instance
        return [
            lemma
            for lemma in sense.lemmas
            if self.grade(lemma) >= grade
            and (proper or lemma[1:].islower() or "_" in lemma)
            and self.portion(lemma, sense.pos) >= 0.3
            and self.share(lemma, sense) >= least
        ]

    def synonyms(self) -> Iterator[WordPair]:
        """Words of one synset that mostly have this sense, both ways."""
        for sense in self.wordnet.all_senses():
            if len(sense.lemmas) < 2 or sense.is_instance:
                continue
            strong = self._usable(sense, least=0.5)
            for a, b in itertools.combinations(strong, 2):
                if self.grade(a) + self.grade(b) < 3 or a.lower() == b.lower() or ("_" in a and "_" in b):
                    continue
                if ("_" in a or "_" in b) and sense.pos != "n":
                    continue
                yield WordPair(a, b, sense.pos, "synonym", ENTAILMENT, ENTAILMENT, sense.lexical_file)

    def loose_synonyms(self) -> Iterator[WordPair]:
        """The first word mostly has the sense, the second has it as its first or second sense."""
        for sense in self.wordnet.all_senses():
            if len(sense.lemmas) < 2 or sense.is_instance:
                continue
            strong = self._usable(sense, least=0.5, grade=2)
            loose = [b for b in self._usable(sense, least=0.25, grade=2) if b not in strong]
            for a, b in itertools.product(strong, loose):
                if "_" not in a + b and a.lower() != b.lower():
                    yield WordPair(a, b, sense.pos, "synonym", ENTAILMENT, ENTAILMENT, sense.lexical_file)

    def antonyms(self) -> Iterator[WordPair]:
        """Direct antonyms of all parts of speech."""
        for sense in self.wordnet.all_senses():
            for lemma in self._usable(sense, least=0.15):
                if self.wordnet.usage(lemma, sense)[0] != 1:
                    continue
                for other in self.wordnet.antonyms(lemma, sense.pos):
                    if self.grade(other) and "_" not in lemma + other:
                        yield WordPair(
                            lemma,
                            other,
                            sense.pos,
                            "antonym",
                            CONTRADICTION,
                            CONTRADICTION,
                            sense.lexical_file,
                        )

    def indirect_antonyms(self) -> Iterator[WordPair]:
        """Adjectives of opposite clusters, both well known and mostly of that sense."""
        for sense in self.wordnet.all_senses("a"):
            if any(head.lemmas[0] in ("cardinal", "ordinal") for head in self.wordnet.heads(sense)):
                continue  # numerals are made from a table, see closed_class
            for lemma in self._usable(sense, least=0.4, grade=2):
                for other in self.wordnet.indirect_antonyms(lemma):
                    if self.grade(other) == 2 and "_" not in other and self._mostly_opposed(lemma, other):
                        yield WordPair(lemma, other, "a", "indirect", CONTRADICTION, CONTRADICTION)

    def _mostly_opposed(self, lemma: str, other: str) -> bool:
        return self.wordnet.relation(lemma, other, max_senses=1) == "antonym"

    def hypernyms(self) -> Iterator[WordPair]:
        """Nouns and verbs with a more general word up to three steps above: entailment one way only."""
        for pos, steps in (("n", 4), ("v", 1)):
            for sense in self.wordnet.all_senses(pos):
                words = [w for w in self._usable(sense, least=0.5) if self.commonness(w) >= 0.9]
                if not words or sense.is_instance:
                    continue
                for above in self._above(sense, steps):
                    general = self._usable(above, least=0.4, grade=2)[:2]
                    for a, b in itertools.product(words, general):
                        if "_" not in a + b and b not in sense.lemmas and b not in TOO_GENERAL:
                            file = sense.lexical_file
                            yield WordPair(
                                a, b, pos, "hypernym", ENTAILMENT, NEUTRAL, file, sense.is_instance
                            )

    def _above(self, sense: Sense, steps: int) -> list[Sense]:
        level, found = [sense], []
        for _ in range(steps):
            level = [parent for each in level for parent in self.wordnet.hypernyms(each)]
            found += level
        return list({each.id: each for each in found}.values())

    def intensified(self) -> Iterator[WordPair]:
        """Satellite to head of its adjective cluster (gigantic, big): mostly entailment one way."""
        for sense in self.wordnet.all_senses("a"):
            heads = self.wordnet.heads(sense)
            words = self._usable(sense, least=0.6, grade=2) if heads else []
            for head in heads:
                for a, b in itertools.product(words, self._usable(head, least=0.5, grade=2)):
                    if a not in head.lemmas and "_" not in a + b:
                        yield WordPair(a, b, "a", "intensified", ENTAILMENT, NEUTRAL)

    def siblings(self) -> Iterator[WordPair]:
        """Concrete nouns under one direct hypernym, and verbs of motion, contact, consumption and change."""
        files = CONCRETE | {
            "verb.motion",
            "verb.contact",
            "verb.consumption",
            "verb.communication",
            "verb.change",
        }
        for pos in ("n", "v"):
            for parent in self.wordnet.all_senses(pos):
                children = [c for c in self.wordnet.hyponyms(parent) if c.lexical_file in files]
                if not 2 <= len(children) <= 80:
                    continue
                members = [
                    (w, c) for c in children for w in self._usable(c, least=0.5, grade=2)[:2] if w.islower()
                ]
                for (a, x), (b, y) in itertools.combinations(members[:24], 2):
                    if x.id != y.id and "_" not in a + b and self._apart(a, b):
                        yield WordPair(
                            a, b, pos, "sibling", CONTRADICTION, CONTRADICTION, x.lexical_file, x.is_instance
                        )

    def _apart(self, a: str, b: str) -> bool:
        return self.wordnet.relation(a, b) not in ("same", "synonym", "hypernym", "hyponym")

    def family(self, root: str, file: str) -> list[tuple[str, Sense]]:
        """Words below a root, at most five steps down, named individuals included."""
        tops = [s for s in self.wordnet.senses(root, "n") if s.lexical_file == file]
        if not tops:
            return []
        level, found = list(self.wordnet.hyponyms(tops[0])), {}
        for _ in range(5):
            found.update({sense.id: sense for sense in level})
            level = [
                child for sense in level for child in self.wordnet.hyponyms(sense) if child.id not in found
            ]
        return [
            (word, sense)
            for sense in found.values()
            for word in self._usable(sense, least=0.1 if sense.is_instance else 0.3)[:3]
            if not (sense.is_instance and "_" in word)
        ]

    def family_pairs(self, random: Random, per_family: int) -> Iterator[WordPair]:
        """Random pairs inside each family; common words more often."""
        for root, file in FAMILY_ROOTS:
            members = self.family(root, file)
            if len(members) < 3:
                continue
            weights = [self.commonness(word) for word, _ in members]
            # Small families (planets, seasons) get all their pairs and no more.
            for _ in range(min(per_family, len(members) * (len(members) - 1) // 2)):
                (a, x), (b, y) = random.choices(members, weights, k=2)
                if x.id == y.id or a == b or not self._apart(a, b):
                    continue
                adjective = root in _ADJECTIVAL_ROOTS and self.wordnet.contains(a, "a")
                pos = "a" if adjective and self.wordnet.contains(b, "a") else "n"
                yield WordPair(
                    a, b, pos, "family", CONTRADICTION, CONTRADICTION, x.lexical_file, root in _PROPER_ROOTS
                )

    def unrelated(self, random: Random, number: int) -> Iterator[WordPair]:
        """Adjectives, adverbs and verbs with no relation: neutral both ways."""
        for pos, portion in (("a", 0.6), ("r", 0.15), ("v", 0.25)):
            words = [w for s in self.wordnet.all_senses(pos) for w in self._usable(s, least=0.5, grade=2)]
            words = [w for w in dict.fromkeys(words) if "_" not in w and self.wordnet.frequency(w, pos) > 1]
            for _ in range(int(number * portion)):
                a, b = random.sample(words, 2)
                if self.wordnet.relation(a, b) == "none" and not self._same_cluster(a, b):
                    yield WordPair(a, b, pos, "unrelated", NEUTRAL, NEUTRAL)

    def _same_cluster(self, a: str, b: str) -> bool:
        clusters = []
        for word in (a, b):
            senses = self.wordnet.senses(word, "a")
            clusters.append({s.id for s in senses} | {h.id for s in senses for h in self.wordnet.heads(s)})
        return bool(clusters[0] & clusters[1])


def distinct(pairs: Iterable[WordPair]) -> list[WordPair]:
    """Pairs without repetition; the first of two that differ in order only."""
    found: dict[tuple[frozenset[str], str, str], WordPair] = {}
    for pair in pairs:
        found.setdefault((frozenset((pair.a.lower(), pair.b.lower())), pair.pos, pair.name), pair)
    return list(found.values())
