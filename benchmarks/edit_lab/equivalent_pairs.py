"""Which pairs of words go into the table of equivalents, and how the entailment model judges them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.wordnet import Sense, WordNet
from rif_plugins.entailment import EntailmentScorer, LexiconVeto
from rif_plugins.entailment.base import equivalence
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.equivalents import TAGS, shared_senses
from rif_plugins.proposers.guard import Guard
from rif_plugins.proposers.inflection import inflect
from rif_plugins.proposers.wordnet import EXCLUDED_REGISTERS, is_derived

NEAR_SYNONYMS = Path(__file__).resolve().parent / "near_synonyms.txt"
TOKEN_RANK, CANDIDATE_RANK = 30_000, 80_000
FIRST_LIMIT, SECOND_LIMIT, LEAST_SHARE = 0.5, 0.3, 0.1

ANY_WORD = "they saw {} here"
BY_POS = {
    "n": "the {} was all that people talked about in the end .",
    "v": "they will {} it again before the end of the story .",
    "a": "it was the {} thing to see on the screen .",
    "r": "the story was told {} and they liked it .",
}
SENTENCES = {
    "n": (
        "there is no doubt that the {} is what makes it work , and it shows",
        "he said that he had never thought about the {} until that day",
        "a {} like this",
        "when the story reaches its end , the {} still matters to the people who made it",
    ),
    "v": (
        "there is no doubt that it will {} , and it shows",
        "he said that he had never seen them {} until that day",
        "people {} like this",
        "when the story reaches its end , they still {} with the people who made it",
    ),
    "a": (
        "there is no doubt that the {} part is what makes it work , and it shows",
        "he said that he had never been so {} until that day",
        "{} like this",
        "when the story reaches its end , it is still {} to the people who made it",
    ),
    "r": (
        "there is no doubt that it {} works , and it shows",
        "he said that he had {} thought about it until that day",
        "done {} like this",
        "when the story reaches its end , it {} matters to the people who made it",
    ),
}
_LEMMA = re.compile(r"[a-z]{2,}(?:[_' -][a-z]+)*")
_PARTS = re.compile(r"[_' -]")


Key: TypeAlias = tuple[str, str, str]
"""Part of speech and two words in the order of the alphabet."""


@dataclass(frozen=True, slots=True, order=True)
class WordPair:
    """Two lemmas of one part of speech; the second one may be several words joined by ``_``."""

    pos: str
    lemma: str
    other: str

    @property
    def key(self) -> Key:
        """The pair without its direction: the model's score is symmetric."""
        first, second = sorted((self.lemma.replace("_", " "), self.other.replace("_", " ")))
        return self.pos, first, second


def near_synonyms(protected: Callable[[str], bool], path: Path = NEAR_SYNONYMS) -> list[WordPair]:
    """The pairs of the list written by hand, both ways; what the guard forbids is left out."""
    guard = Guard(protected)
    found: dict[WordPair, None] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        words = [word.strip() for word in line[1:].split(",")]
        for a in words:
            for b in words:
                if a != b and " " not in a and guard.allows(a, b):
                    found[WordPair(line[0], a, b.replace(" ", "_"))] = None
    return list(found)


def wordnet_pairs(ranks: Mapping[str, int], protected: Callable[[str], bool]) -> list[WordPair]:
    """Words that share a sense, or for adjectives a cluster, and are common enough to stand in plain text.

    Args:
        ranks: Place of each word in a list by frequency.
        protected: Tells whether a word is sensitive.
    """
    guard = Guard(protected)
    found: dict[WordPair, None] = {}
    for pos in "nvar":
        for sense in WordNet.load().all_senses(pos):
            if sense.is_instance:
                continue
            tokens = [a for a in sense.lemmas if "_" not in a and _is_common(a, ranks, TOKEN_RANK)]
            for token in tokens:
                for other in _others(token, sense):
                    if _is_common(other, ranks, CANDIDATE_RANK) and guard.allows(
                        token, other.replace("_", " ")
                    ):
                        found[WordPair(pos, token, other)] = None
    return list(found)


def _others(token: str, sense: Sense) -> Iterable[str]:
    lexicon = WordNet.load()
    near = (*lexicon.heads(sense), *lexicon.satellites(sense)) if sense.pos == "a" else ()
    for each in (sense, *near):
        for other in each.lemmas:
            is_same = other == token or token in re.split("[_-]", other) or is_derived(token, other)
            if not is_same and EXCLUDED_REGISTERS.isdisjoint(lexicon.registers(other, each)):
                yield other


def _is_common(lemma: str, ranks: Mapping[str, int], limit: int) -> bool:
    if not _LEMMA.fullmatch(lemma) or lemma in FUNCTION_WORDS:
        return False
    return all(ranks.get(word, limit) < limit for word in _PARTS.split(lemma) if word)


def judged(
    pairs: Sequence[WordPair],
    strict: Sequence[WordPair],
    scorer: EntailmentScorer,
    say: Callable[[str], None],
) -> dict[Key, list[float]]:
    """The pairs that pass the first two sentences and the veto.

    Most pairs end after the first sentence, which is the same for all parts of speech.

    Returns:
        For each pair its ``S_eq`` in the first two sentences, both words in their base form.
    """
    veto, hand = LexiconVeto(), {pair.key for pair in strict}
    keys = sorted({pair.key for pair in (*pairs, *strict)})
    scores: dict[Key, list[float]] = {key: [] for key in keys if veto.relation(key[1], key[2]) is None}
    say(f"{len(scores)} pairs without veto")
    for sentences, limit in ((dict.fromkeys("nvar", ANY_WORD), FIRST_LIMIT), (BY_POS, SECOND_LIMIT)):
        left = list(scores)
        values = equivalence(scorer, [_filled(sentences[key[0]], key) for key in left])
        for key, value in zip(left, values, strict=True):
            scores[key].append(float(value))
            if value < limit:
                del scores[key]
        say(f"{len(scores)} pairs left")
    common = {pair.key for pair in pairs if pair.key in scores and _share(pair) >= LEAST_SHARE}
    scores = {key: found for key, found in scores.items() if key in hand or key in common}
    say(f"{len(scores)} pairs of a sense that is not rare")
    return scores


def judged_forms(
    keys: Sequence[Key], scorer: EntailmentScorer, say: Callable[[str], None]
) -> dict[Key, list[float]]:
    """``S_eq`` of pairs of inflected words in the sentences of their part of speech."""
    scores: dict[Key, list[float]] = {key: [] for key in dict.fromkeys(keys)}
    for number in range(len(SENTENCES["n"])):
        values = equivalence(scorer, [_filled(SENTENCES[key[0]][number], key) for key in scores])
        for found, value in zip(scores.values(), values, strict=True):
            found.append(float(value))
        say(f"sentence {number + 1}: {len(scores)} pairs of forms")
    return scores


def form_key(key: Key, tag: str) -> Key | None:
    """The pair inflected; None where one of the two has no such form or both have the same."""
    first, second = inflect(key[1], tag), inflect(key[2], tag)
    if first is None or second is None or first == second:
        return None
    a, b = sorted((first, second))
    return key[0], a, b


def log_odds(values: Sequence[float]) -> NDArray[np.float64]:
    """Log-odds of probabilities, cut at one in a thousand."""
    p = np.clip(np.asarray(values, dtype=np.float64), 1e-3, 1 - 1e-3)
    return np.asarray(np.log(p / (1 - p)))


def _filled(sentence: str, key: Key) -> tuple[str, str]:
    return sentence.format(key[1]), sentence.format(key[2])


def table_lines(
    pairs: Sequence[WordPair],
    strict: Sequence[WordPair],
    first: Mapping[Key, Sequence[float]],
    forms: Mapping[Key, Sequence[float]],
    share_of: Callable[[float], float],
    least: float,
) -> list[str]:
    """The rows of the table, sorted.

    Args:
        pairs, strict: The pairs of WordNet and those written by hand.
        first: See :func:`judged`.
        forms: See :func:`judged_forms`; a form that is absent has no row.
        share_of: Turns mean log-odds into the share of edits that pass.
        least: Least share of a pair in the table.
    """
    hand = set(strict)
    rows: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for pair in sorted({*pairs, *strict}):
        if pair.key not in first or (pair not in hand and _share(pair) < LEAST_SHARE):
            continue
        for tag in TAGS[pair.pos]:
            form = form_key(pair.key, tag)
            found = forms.get(form, ()) if form else ()
            if not found:
                continue
            percent = round(100 * share_of(float(np.mean(log_odds([*first[pair.key], *found])))))
            if percent >= 100 * least:
                item = f"{pair.other}{'*' if pair in hand else ''}={percent}"
                rows.setdefault((tag, pair.lemma), []).append((-percent, item))
    return [
        f"{tag}\t{lemma}\t{' '.join(item for _, item in sorted(found))}"
        for (tag, lemma), found in sorted(rows.items())
    ]


def _share(pair: WordPair) -> float:
    return shared_senses(pair.lemma, pair.pos, pair.other)[1]
