"""Pairs of words that an entailment model mostly takes for the same: the table of :class:`ContextProposer`.

``data/equivalents.tsv`` is written by ``benchmarks/build_equivalents.py``. The pairs come from WordNet and
from a list written by hand; the embedded entailment model has judged each of them in a handful of sentences
made for that purpose, and the table keeps the share of edits that is expected to pass its filter.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rif_plugins.core.wordnet import Sense, WordNet
from rif_plugins.errors import DataError

EQUIVALENTS_FILE = Path(__file__).resolve().parent / "data" / "equivalents.tsv"
STRICT_MARK = "*"
_SMOOTHING = 0.5  # so that senses without a tag count have a share
TAGS = {"n": ("NN", "NNS"), "v": ("VB", "VBZ", "VBD", "VBN", "VBG"), "a": ("JJ",), "r": ("RB",)}
"""The inflections that the table tells apart, by part of speech; the first is the base form."""
TABLE_TAGS = {"VBP": "VB", "JJR": "JJ", "JJS": "JJ", "RBR": "RB", "RBS": "RB"}
_KNOWN_TAGS = frozenset(tag for tags in TAGS.values() for tag in tags)
_MOST_NEIGHBOURS = 200


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A word that can stand for a lemma.

    Attributes:
        lemma: The word, several words joined by ``_``.
        share: Share of its edits expected to pass the embedded filter at 0.8, 0 to 1.
        is_strict: From the list written by hand; else a synonym of one of WordNet's senses.
    """

    lemma: str
    share: float
    is_strict: bool


class Equivalents:
    """Look-ups in the table; get the packaged one with :meth:`load`.

    Args:
        rows: For each Penn tag and lemma its equivalents, best first; see :func:`read_equivalents`.
    """

    def __init__(self, rows: dict[tuple[str, str], tuple[Equivalent, ...]]) -> None:
        self._rows = rows

    @staticmethod
    @functools.cache
    def load(path: Path = EQUIVALENTS_FILE) -> Equivalents:
        """Read the table once a process.

        Raises:
            DataError: The file is missing or damaged.
        """
        return Equivalents(read_equivalents(path))

    def of(self, lemma: str, tag: str) -> tuple[Equivalent, ...]:
        """Equivalents of a lemma in the inflection that a Penn tag names, best first."""
        return self._rows.get((TABLE_TAGS.get(tag, tag), lemma), ())

    def in_all(self, lemma: str, tags: Sequence[str]) -> tuple[Equivalent, ...]:
        """Equivalents in every one of ``tags``, where the context leaves it open, with their least share."""
        first, *others = ({e.lemma: e for e in self.of(lemma, tag)} for tag in tags)
        for other in others:
            first = {
                word: min(e, other[word], key=lambda each: each.share)
                for word, e in first.items()
                if word in other
            }
        return tuple(first.values())

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))


def read_equivalents(path: Path) -> dict[tuple[str, str], tuple[Equivalent, ...]]:
    """Rows of Penn tag, lemma and ``word=percent word*=percent ...``, with tabs between.

    The inflection matters: the same two verbs may pass as participles and not as infinitives.

    Raises:
        DataError: The file is missing or a row is damaged; with the line number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(
            f"cannot read {path}: {error.strerror or error}; install the package again"
        ) from error
    rows: dict[tuple[str, str], tuple[Equivalent, ...]] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        try:
            tag, lemma, found = line.split("\t")
            words = tuple(_equivalent(item) for item in found.split(" "))
        except ValueError:
            tag = lemma = ""
            words = ()
        if tag not in _KNOWN_TAGS or not lemma:
            raise DataError(f"{path} line {number}: expected tag, lemma and word=percent, got {line[:60]!r}")
        rows[tag, lemma] = words
    return rows


def _equivalent(item: str) -> Equivalent:
    word, _, percent = item.partition("=")
    number = int(percent)
    if not word.strip(STRICT_MARK) or not 0 <= number <= 100:
        raise ValueError
    return Equivalent(word.removesuffix(STRICT_MARK), number / 100, word.endswith(STRICT_MARK))


def shared_senses(lemma: str, pos: str, other: str) -> tuple[tuple[Sense, ...], float]:
    """The senses of a lemma that hold ``other``, and their share of the lemma's tag counts.

    For adjectives a sense's cluster counts as well: *amusing* and *funny* have no sense in common, but
    WordNet calls them similar.
    """
    senses = WordNet.load().senses(lemma, pos)
    total = sum(sense.count + _SMOOTHING for sense in senses)
    found = tuple(sense for sense in senses if _holds(sense, other))
    return found, sum(sense.count + _SMOOTHING for sense in found) / total if found else 0.0


def _holds(sense: Sense, other: str) -> bool:
    if other in sense.lemmas:
        return True
    if sense.pos != "a":
        return False
    lexicon = WordNet.load()
    return any(other in near.lemmas for near in (*lexicon.heads(sense), *lexicon.satellites(sense)))


def is_about(senses: Iterable[Sense], words: frozenset[str]) -> bool:
    """True when one of ``words`` is a neighbour of a sense: a hypernym, a hyponym or a sibling of it.

    This is how the sentence chooses a sense without a model: *the bank of the river* has a neighbour of
    *shore*, *the bank and its loans* has none.
    """
    return any(not words.isdisjoint(_neighbourhood(sense.id)) for sense in senses)


@functools.lru_cache(maxsize=2**12)
def _neighbourhood(sense_id: str) -> frozenset[str]:
    lexicon = WordNet.load()
    sense = lexicon.sense(sense_id)
    above = lexicon.hypernyms(sense)
    near = [*above, *lexicon.hyponyms(sense), *lexicon.siblings(sense), *lexicon.heads(sense)]
    near += lexicon.satellites(sense)
    return frozenset(lemma for each in near[:_MOST_NEIGHBOURS] for lemma in each.lemmas)
