"""All generated rows of one epoch: which relations, how many of each, from which seed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random

from rif_plugins.core.wordnet import WordNet

from .closed_class import dropped_rows, function_word_rows, numeral_rows, same_rows
from .nli_sets import Row
from .one_word import PairPlacer, SlotFinder
from .word_relations import RelationMiner, WordPair, distinct

# Rows of one epoch at scale 1.
QUOTA = {
    "synonym": 11_000, "antonym": 3_600, "indirect": 1_200, "sibling": 3_600, "family": 6_500,
    "hypernym": 4_400, "intensified": 900, "unrelated": 1_800, "numeral": 2_000, "function": 2_000,
    "same": 700, "dropped": 300,
}  # fmt: skip


class Generator:
    """Makes one-word pairs; rows depend only on the seed, the sentences, the lexicon and the vocabulary."""

    def __init__(self, sentences: Sequence[str], pieces: Callable[[str], int], *, seed: int) -> None:
        """Mine the relations once (about a minute)."""
        wordnet = WordNet.load()
        self.miner = RelationMiner(wordnet, pieces)
        self.placer = PairPlacer(sentences, SlotFinder(wordnet, self.miner))
        random = Random(seed)
        miner = self.miner
        self.pairs: dict[str, list[WordPair]] = {
            "synonym": distinct(itertools.chain(miner.synonyms(), miner.loose_synonyms())),
            "antonym": distinct(miner.antonyms()),
            "indirect": distinct(miner.indirect_antonyms()),
            "sibling": distinct(miner.siblings()),
            "family": distinct(miner.family_pairs(random, 400)),
            "hypernym": distinct(miner.hypernyms()),
            "intensified": distinct(miner.intensified()),
            "unrelated": distinct(miner.unrelated(random, 6_000)),
        }

    def rows(self, seed: int, *, scale: float = 1.0) -> list[Row]:
        """Rows of one epoch."""
        random = Random(seed)
        texts = self.placer.texts
        found: list[Row] = []
        for name, pairs in self.pairs.items():
            found += self._placed(pairs, int(QUOTA[name] * scale), random)
        found += numeral_rows(texts, random, int(QUOTA["numeral"] * scale))
        found += function_word_rows(texts, random, int(QUOTA["function"] * scale))
        found += same_rows(texts, random, int(QUOTA["same"] * scale))
        found += dropped_rows(texts, random, int(QUOTA["dropped"] * scale))
        return found

    def _placed(self, pairs: Sequence[WordPair], number: int, random: Random) -> list[Row]:
        common = self.miner.commonness
        # The family draws are weighted already. Words that the sentences use come up more often.
        seen = self.placer.occurrences
        weights = [
            1.0
            if p.name == "family"
            else common(p.a) * common(p.b) * (1.0 + seen(p.a, p.pos) + seen(p.b, p.pos))
            for p in pairs
        ]
        rows: list[Row] = []
        while len(rows) < number:
            for pair in random.choices(pairs, weights, k=number - len(rows)):
                row = self.placer.place(pair, random, swap=random.random() < 0.5)
                if row is not None:
                    rows.append(row)
        return rows
