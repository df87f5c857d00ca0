"""The embedded lexicon: synonyms, antonyms, hypernyms and frequencies of WordNet 3.0.

The data (117,659 synsets, licence beside the file) is read on first use. Standard library only. Lemmas
are given as they stand in text or with underscores, in any case; answers have WordNet's form, such as
``"ice_cream"``.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rif_plugins.core.morphology import base_forms
from rif_plugins.core.wordnet_format import (
    LEXICAL_FILES,
    PLACE_MASK,
    POS_ORDER,
    Pointers,
    Tables,
    index_lemmas,
    line_usages,
    line_words,
    parse_pointers,
    read_tables,
    split_marker,
)
from rif_plugins.errors import UsageError

_DEFAULT_PATH = Path(__file__).resolve().parent / "data" / "wordnet" / "wordnet.xz"


@dataclass(frozen=True, slots=True)
class Sense:
    """One synset, as seen from a lemma; two senses are equal when their ``id`` is.

    Attributes:
        id: Part of speech and offset in WordNet 3.0's data file, such as ``"n00001740"``.
        pos: ``"n"``, ``"v"``, ``"a"`` or ``"r"``; adjective satellites are ``"a"``.
        lemmas: All lemmas of the synset in WordNet's order, such as ``("doctor", "doc", "physician", ...)``.
        lexical_file: Name of the lexicographer file, such as ``"noun.food"``.
        rank: 1 for the most frequent sense of the lemma asked for; 0 when the sense was reached by a pointer.
        count: Tag count of the lemma in this sense; of all lemmas together when ``rank`` is 0.
        is_instance: True for a named individual (a country, a person), which has classes but no hypernym.
    """

    id: str
    pos: str = field(compare=False)
    lemmas: tuple[str, ...] = field(compare=False)
    lexical_file: str = field(compare=False)
    rank: int = field(compare=False)
    count: int = field(compare=False)
    is_instance: bool = field(compare=False)


class WordNet:
    """Look-ups in the lexicon; get one with :meth:`load`. Pickles as its path."""

    def __init__(self, tables: Tables, path: Path | None = None) -> None:
        """Index ``tables``; ``path`` is where a pickled copy reads them again (None: the embedded file)."""
        self._tables = tables
        self._path = path
        self._starts: dict[str, int] = {}
        for pos in POS_ORDER:
            self._starts[pos] = sum(tables.sizes[before] for before in self._starts)
        self._index = index_lemmas(tables.lemmas)
        self._parsed: dict[int, Pointers] = {}

    @staticmethod
    def load(path: Path | None = None) -> WordNet:
        """The embedded lexicon (one object a process), or one built by ``benchmarks/build_wordnet.py``.

        Raises:
            DataError: The file is missing or damaged.
        """
        return _load_embedded() if path is None else WordNet(read_tables(path), path)

    def __reduce__(self) -> tuple[object, tuple[Path | None]]:
        """Pickle the path alone: the data is some 40 MB in memory."""
        return WordNet.load, (self._path,)

    @property
    def version(self) -> str:
        """Name and version of the database, ``"WordNet 3.0"``."""
        return self._tables.source

    # -- senses ------------------------------------------------------------------------------------

    def senses(self, lemma: str, pos: str | None = None) -> tuple[Sense, ...]:
        """Senses of a lemma, most frequent first; over all parts of speech by tag count, then n, v, a, r."""
        key = _key(lemma)
        senses = [self._sense(place, key) for place in self._places(key, pos)]
        if pos is None:
            senses.sort(key=lambda sense: -sense.count)  # stable: n, v, a, r and the rank decide ties
        return tuple(senses)

    def sense(self, sense_id: str) -> Sense:
        """The sense with this ``id`` (rank 0).

        Raises:
            UsageError: There is no such sense.
        """
        place = self._place_of(sense_id)
        return self._sense(place)

    def all_senses(self, pos: str | None = None) -> Iterator[Sense]:
        """Every synset once (rank 0), in WordNet's order."""
        for each in POS_ORDER if pos is None else _checked_pos(pos):
            start = self._starts[each]
            for place in range(start, start + self._tables.sizes[each]):
                yield self._sense(place)

    def contains(self, lemma: str, pos: str | None = None) -> bool:
        """True when the lexicon has this lemma."""
        return bool(self._places(_key(lemma), pos))

    def frequency(self, lemma: str, pos: str | None = None) -> int:
        """Tag counts of the lemma in WordNet's sense-tagged texts, summed over its senses; 0 when unknown."""
        return sum(sense.count for sense in self.senses(lemma, pos))

    def usage(self, lemma: str, sense: Sense) -> tuple[int, int]:
        """(rank, tag count) that ``lemma`` has in ``sense``; (0, 0) when the sense does not hold it."""
        return line_usages(self._tables.lemmas[self._place_of(sense.id)]).get(_key(lemma), (0, 0))

    def placement(self, lemma: str, sense: Sense) -> str:
        """Where an adjective may stand.

        Returns:
            ``"a"``: before its noun only (*sheer*); ``"p"``: as a predicate only (*asleep*); ``"ip"``: right
            after its noun only (*galore*); ``""``: no limit known.
        """
        for item in self._tables.lemmas[self._place_of(sense.id)].split(" "):
            word, marker = split_marker(item.partition(":")[0])
            if word.lower() == _key(lemma):
                return marker
        return ""

    def registers(self, lemma: str, sense: Sense) -> tuple[str, ...]:
        """Usage labels of ``lemma`` in ``sense``, such as ``"ethnic_slur"``, ``"slang"``, ``"archaism"``."""
        place, key = self._place_of(sense.id), _key(lemma)
        labels = [
            line_words(self._tables.lemmas[label])[0]
            for label, word in self._pointers(place).registers
            if word == 0 or sense.lemmas[word - 1].lower() == key
        ]
        return tuple(dict.fromkeys(labels))

    def base_forms(self, word: str, pos: str | None = None) -> tuple[str, ...]:
        """Lemmas that ``word`` may be a form of, by WordNet's own rules; empty when none is known."""
        key = _key(word)
        found: list[str] = []
        for each in POS_ORDER if pos is None else _checked_pos(pos):
            known = functools.partial(self.contains, pos=each)
            found += base_forms(key, each, self._exceptions[each], known)
        return tuple(dict.fromkeys(found))

    # -- relations of senses -----------------------------------------------------------------------

    def hypernyms(self, sense: Sense) -> tuple[Sense, ...]:
        """Direct hypernyms; for a named individual (``is_instance``) the classes it belongs to."""
        return self._as_senses(self._pointers(self._place_of(sense.id)).parents)

    def ancestors(self, sense: Sense) -> tuple[Sense, ...]:
        """All hypernyms up to the root, nearest first."""
        return self._as_senses(self._ancestors([self._place_of(sense.id)]))

    def hyponyms(self, sense: Sense) -> tuple[Sense, ...]:
        """Direct hyponyms, then named individuals of the class (``is_instance``)."""
        found = self._as_senses(self._children.get(self._place_of(sense.id), ()))
        return tuple(sorted(found, key=lambda child: child.is_instance))

    def siblings(self, sense: Sense) -> tuple[Sense, ...]:
        """Other senses that share a direct hypernym (or class), without ``sense``."""
        place = self._place_of(sense.id)
        found: dict[int, None] = {}
        for parent in self._pointers(place).parents:
            found.update(dict.fromkeys(self._children[parent]))
        found.pop(place, None)
        return self._as_senses(found)

    def heads(self, sense: Sense) -> tuple[Sense, ...]:
        """Heads of the adjective cluster that a satellite belongs to; empty for all other senses."""
        return self._as_senses(self._pointers(self._place_of(sense.id)).heads)

    def satellites(self, sense: Sense) -> tuple[Sense, ...]:
        """Satellites of the adjective cluster whose head ``sense`` is."""
        return self._as_senses(self._satellites.get(self._place_of(sense.id), ()))

    # -- relations of words ------------------------------------------------------------------------

    def synonyms(self, lemma: str, pos: str, max_senses: int | None = None) -> tuple[str, ...]:
        """Lemmas that share a sense with ``lemma``, by sense rank, then WordNet's order."""
        senses = self.senses(lemma, pos)[:max_senses]
        return _without(lemma, (word for sense in senses for word in sense.lemmas))

    def antonyms(self, lemma: str, pos: str) -> tuple[str, ...]:
        """Direct antonyms: pointers of ``lemma`` itself, by sense rank (good: bad, evil)."""
        key, found = _key(lemma), []
        for place in self._places(key, pos):
            own = line_words(self._tables.lemmas[place])
            for target, source_word, target_word in self._pointers(place).antonyms:
                if own[source_word - 1].lower() == key:
                    found.append(line_words(self._tables.lemmas[target])[target_word - 1])
        return _without(lemma, found)

    def indirect_antonyms(self, lemma: str, pos: str = "a") -> tuple[str, ...]:
        """Words of the opposite adjective clusters, heads first, without the direct antonyms.

        The cluster of a satellite is its head's: *damp* belongs to *wet*, so *dry* and *arid* oppose it.
        """
        opposite = list(self._opposites(self._places(_key(lemma), pos)))
        around = [place for head in opposite for place in self._satellites.get(head, ())]
        words = (word for place in opposite + around for word in line_words(self._tables.lemmas[place]))
        direct = set(self.antonyms(lemma, pos))
        return tuple(word for word in _without(lemma, words) if word not in direct)

    def relation(self, a: str, b: str, *, max_senses: int | None = None) -> str:
        """The strongest relation of two lemmas over all parts of speech.

        Args:
            a: A lemma; inflected forms are the caller's task (see :meth:`base_forms`).
            b: Another one.
            max_senses: Look at this many senses of each part of speech only.

        Returns:
            The first that holds of: ``"same"``; ``"synonym"`` (a common sense); ``"antonym"`` (two senses, or
            the heads of their adjective clusters, are joined by an antonym pointer: wider than
            :meth:`antonyms`, so that *increase* opposes *diminish*); ``"hypernym"`` (``b`` is more general
            than ``a``, any distance, classes of named individuals included); ``"hyponym"`` (the reverse);
            ``"sibling"`` (a common direct hypernym or class); ``"none"``.
        """
        key_a, key_b = _key(a), _key(b)
        if key_a == key_b:
            return "same"
        here, there = self._places(key_a, None, max_senses), self._places(key_b, None, max_senses)
        if set(here) & set(there):
            return "synonym"
        if not here or not there:
            return "none"
        if self._are_opposed(here, there):
            return "antonym"
        if not self._ancestors(here).keys().isdisjoint(there):
            return "hypernym"
        if not self._ancestors(there).keys().isdisjoint(here):
            return "hyponym"
        parents = {parent for place in here for parent in self._pointers(place).parents}
        shared = any(parent in parents for place in there for parent in self._pointers(place).parents)
        return "sibling" if shared else "none"

    # -- places: line numbers of the tables --------------------------------------------------------

    def _places(self, key: str, pos: str | None, max_senses: int | None = None) -> list[int]:
        each_pos = POS_ORDER if pos is None else _checked_pos(pos)
        entry = self._index.get(key)
        if entry is None:
            return []
        packed = [entry] if isinstance(entry, int) else sorted(entry)
        found: list[int] = []
        for each in each_pos:
            start = self._starts[each]
            end = start + self._tables.sizes[each]
            places = [item & PLACE_MASK for item in packed if start <= item & PLACE_MASK < end]
            found += places[:max_senses]
        return found

    def _place_of(self, sense_id: str) -> int:
        pos, digits = sense_id[:1], sense_id[1:]
        if pos in self._starts and digits.isdecimal():
            start, offsets = self._starts[pos], self._tables.offsets
            end = start + self._tables.sizes[pos]
            place = bisect_left(offsets, int(digits), start, end)
            if place < end and offsets[place] == int(digits):
                return place
        raise UsageError(
            f"no sense has the id {sense_id!r}: expected one of this lexicon, such as 'n00001740'"
        )

    def _pos_of(self, place: int) -> str:
        return next(pos for pos in reversed(POS_ORDER) if place >= self._starts[pos])

    def _sense(self, place: int, key: str | None = None) -> Sense:
        tables, pos = self._tables, self._pos_of(place)
        usages = line_usages(tables.lemmas[place])
        rank, count = usages[key] if key else (0, sum(count for _, count in usages.values()))
        return Sense(
            id=f"{pos}{tables.offsets[place]:08d}",
            pos=pos,
            lemmas=tuple(line_words(tables.lemmas[place])),
            lexical_file=LEXICAL_FILES[int(tables.files[place])],
            rank=rank,
            count=count,
            is_instance="i" in tables.pointers[place],
        )

    def _as_senses(self, places: Iterable[int]) -> tuple[Sense, ...]:
        return tuple(self._sense(place) for place in places)

    def _pointers(self, place: int) -> Pointers:
        known = self._parsed.get(place)
        if known is None:
            known = self._parsed[place] = parse_pointers(self._tables.pointers[place], place)
        return known

    def _ancestors(self, places: Iterable[int]) -> dict[int, None]:
        found: dict[int, None] = {}
        level = list(places)
        while level:
            above = [parent for place in level for parent in self._pointers(place).parents]
            level = [parent for parent in dict.fromkeys(above) if parent not in found]
            found.update(dict.fromkeys(level))
        return found

    def _cluster(self, place: int) -> tuple[int, ...]:
        return (place, *self._pointers(place).heads)

    def _opposites(self, places: Iterable[int]) -> dict[int, None]:
        found: dict[int, None] = {}
        for place in places:
            for member in self._cluster(place):
                found.update((target, None) for target, _, _ in self._pointers(member).antonyms)
        return found

    def _are_opposed(self, here: list[int], there: list[int]) -> bool:
        opposed_to_here, opposed_to_there = self._opposites(here), self._opposites(there)
        return any(member in opposed_to_here for place in there for member in self._cluster(place)) or any(
            member in opposed_to_there for place in here for member in self._cluster(place)
        )

    @functools.cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for place, line in enumerate(self._tables.pointers):
            if line and line[0] in "-i0123456789":
                for parent in self._pointers(place).parents:
                    children.setdefault(parent, []).append(place)
        return children

    @functools.cached_property
    def _satellites(self) -> dict[int, list[int]]:
        satellites: dict[int, list[int]] = {}
        for place, line in enumerate(self._tables.pointers):
            if "&" in line:
                for head in self._pointers(place).heads:
                    satellites.setdefault(head, []).append(place)
        return satellites

    @functools.cached_property
    def _exceptions(self) -> dict[str, dict[str, tuple[str, ...]]]:
        table: dict[str, dict[str, tuple[str, ...]]] = {pos: {} for pos in POS_ORDER}
        for line in self._tables.exceptions:
            pos, form, *bases = line.split(" ")
            table[pos][form] = (*table[pos].get(form, ()), *bases)
        return table


@functools.cache
def _load_embedded() -> WordNet:
    return WordNet(read_tables(_DEFAULT_PATH))


def _key(lemma: str) -> str:
    return lemma.strip().lower().replace(" ", "_")


def _checked_pos(pos: str) -> str:
    folded = "a" if pos == "s" else pos
    if len(folded) != 1 or folded not in POS_ORDER:
        raise UsageError(f"unknown part of speech {pos!r}: expected one of 'n', 'v', 'a', 'r'")
    return folded


def _without(lemma: str, words: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for word in words:
        found.setdefault(word.lower(), word)
    found.pop(_key(lemma), None)
    return tuple(found.values())
