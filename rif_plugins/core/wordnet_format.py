"""The file that holds the embedded lexicon: what stands in it, how it is written and read.

The file is xz-compressed UTF-8 text. Its first line is a JSON header; then follow four columns, one line
a synset in the order n, v, a, r, each column as a block of lines (like beside like compresses best), and
the irregular forms:

* ``offsets``: the synset's offset in WordNet's data file, minus the one before it in the same part of
  speech
* ``files``: the number of the lexicographer file, two digits
* ``lemmas``: ``lemma``, ``lemma:sense`` or ``lemma:sense:count``, separated by spaces. The sense number
  is the rank of this sense among the lemma's senses (1 is left out where no count follows), the count is
  the tag count
* ``pointers``: ``-12`` a hypernym 12 lines above, ``i-12`` an instance hypernym, ``&3`` the head of an
  adjective satellite, ``!5.1.2`` an antonym between word 1 of this synset and word 2 of the synset 5
  lines below, ``u-40.2`` a usage label (the noun synset 40 lines above, such as *ethnic slur*) of word
  2, of all words where the number is 0
* ``exceptions``: ``pos form base ...``
"""

from __future__ import annotations

import itertools
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rif_plugins.errors import DataError

FORMAT = "rif-wordnet"
VERSION = 1
POS_ORDER = "nvar"
PLACE_BITS = 20
PLACE_MASK = (1 << PLACE_BITS) - 1
_MARKERS = ("(a)", "(p)", "(ip)")

LEXICAL_FILES: tuple[str, ...] = (
    "adj.all", "adj.pert", "adv.all", "noun.Tops", "noun.act", "noun.animal", "noun.artifact",
    "noun.attribute", "noun.body", "noun.cognition", "noun.communication", "noun.event", "noun.feeling",
    "noun.food", "noun.group", "noun.location", "noun.motive", "noun.object", "noun.person",
    "noun.phenomenon", "noun.plant", "noun.possession", "noun.process", "noun.quantity", "noun.relation",
    "noun.shape", "noun.state", "noun.substance", "noun.time", "verb.body", "verb.change",
    "verb.cognition", "verb.communication", "verb.competition", "verb.consumption", "verb.contact",
    "verb.creation", "verb.emotion", "verb.motion", "verb.perception", "verb.possession", "verb.social",
    "verb.stative", "verb.weather", "adj.ppl",
)  # fmt: skip
"""Names of WordNet's lexicographer files by number, as its manual page lexnames lists them."""


@dataclass(frozen=True)
class Tables:
    """The raw columns; index ``i`` of every column speaks of the same synset.

    Attributes:
        source: Name and version of the database, such as ``"WordNet 3.0"``.
        sizes: Synsets by part of speech, in the order n, v, a, r.
        offsets: Offset of each synset in the data file of its part of speech.
        files: Number of the lexicographer file, two digits.
        lemmas, pointers: See the module's text.
        exceptions: Lines ``pos form base ...``.
    """

    source: str
    sizes: dict[str, int]
    offsets: list[int]
    files: list[str]
    lemmas: list[str]
    pointers: list[str]
    exceptions: list[str]


class Pointers(NamedTuple):
    """The pointers of one synset; targets are line numbers ("places") of the columns."""

    hypernyms: tuple[int, ...]
    classes: tuple[int, ...]  # targets of "is an instance of"
    heads: tuple[int, ...]
    antonyms: tuple[tuple[int, int, int], ...]  # place, word here, word there (words from 1)
    registers: tuple[tuple[int, int], ...]  # place of the usage label, word here (0: all words)

    @property
    def parents(self) -> tuple[int, ...]:
        """Hypernyms and classes."""
        return self.hypernyms + self.classes


def parse_pointers(line: str, place: int) -> Pointers:
    """Parse line ``place`` of the column ``pointers``."""
    hypernyms, classes, heads, antonyms, registers = [], [], [], [], []
    for item in line.split():
        kind, numbers = item[0], item[1:].split(".")
        if kind == "i":
            classes.append(place + int(numbers[0]))
        elif kind == "&":
            heads.append(place + int(numbers[0]))
        elif kind == "!":
            antonyms.append((place + int(numbers[0]), int(numbers[1]), int(numbers[2])))
        elif kind == "u":
            registers.append((place + int(numbers[0]), int(numbers[1])))
        else:
            hypernyms.append(place + int(item))
    return Pointers(tuple(hypernyms), tuple(classes), tuple(heads), tuple(antonyms), tuple(registers))


def split_marker(word: str) -> tuple[str, str]:
    """Split an adjective's syntactic marker off: ``asleep(p)`` gives ``("asleep", "p")``."""
    if word.endswith(_MARKERS):
        word, _, marker = word[:-1].rpartition("(")
        return word, marker
    return word, ""


def line_words(line: str) -> list[str]:
    """Lemmas of one line of the column ``lemmas``."""
    return [split_marker(item.partition(":")[0])[0] for item in line.split(" ")]


def line_usages(line: str) -> dict[str, tuple[int, int]]:
    """(sense rank, tag count) of each lower-case lemma in one line of the column ``lemmas``."""
    found = {}
    for item in line.split(" "):
        word, _, numbers = item.partition(":")
        rank, _, count = numbers.partition(":")
        found[split_marker(word)[0].lower()] = (int(rank or 1), int(count or 0))
    return found


def index_lemmas(lines: list[str]) -> dict[str, int | list[int]]:
    """Lower-case lemma to ``rank << PLACE_BITS | place``, a list where there is more than one sense."""
    index: dict[str, int | list[int]] = {}
    for place, line in enumerate(lines):
        for item in line.lower().split(" "):
            word, _, numbers = item.partition(":")
            if word[-1] == ")":
                word = split_marker(word)[0]
            packed = (int(numbers.partition(":")[0]) if numbers else 1) << PLACE_BITS | place
            known = index.setdefault(word, packed)
            if isinstance(known, list):
                known.append(packed)
            elif known != packed:
                index[word] = [known, packed]
    return index


def write_tables(tables: Tables, path: Path) -> None:
    """Write ``tables``; equal tables give equal bytes with the same liblzma."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "source": tables.source,
        "synsets": {pos: tables.sizes[pos] for pos in POS_ORDER},
        "exceptions": len(tables.exceptions),
    }
    lines = [json.dumps(header, separators=(",", ":"))]
    start = 0
    for pos in POS_ORDER:
        offsets = tables.offsets[start : start + tables.sizes[pos]]
        lines += [str(b - a) for a, b in itertools.pairwise([0, *offsets])]
        start += len(offsets)
    for column in (tables.files, tables.lemmas, tables.pointers, tables.exceptions):
        lines += column
    raw = ("\n".join(lines) + "\n").encode()
    preset = 9 | lzma.PRESET_EXTREME
    path.write_bytes(lzma.compress(raw, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=preset))


def read_tables(path: Path) -> Tables:
    """Read a file written by :func:`write_tables`.

    Raises:
        DataError: The file is missing, is not such a file, or is cut short.
    """
    try:
        lines = lzma.decompress(path.read_bytes()).decode("utf-8").split("\n")
        header = json.loads(lines[0])
        if header["format"] != FORMAT or header["version"] != VERSION:
            raise ValueError(f"format {header['format']!r} version {header['version']!r}")
        sizes = {pos: int(header["synsets"][pos]) for pos in POS_ORDER}
        n_exceptions = int(header["exceptions"])
        n = sum(sizes.values())
        if len(lines) != 1 + 4 * n + n_exceptions + 1:
            raise ValueError(f"{len(lines)} lines where the header promises {2 + 4 * n + n_exceptions}")
        offsets = _absolute(lines[1 : 1 + n], sizes)
    except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"cannot read the WordNet lexicon {path}: expected a file of benchmarks/build_wordnet.py, "
            f"got {type(error).__name__} ({error}); build it again or reinstall rif-plugins"
        ) from error
    files, lemmas, pointers = (lines[1 + k * n : 1 + (k + 1) * n] for k in (1, 2, 3))
    exceptions = lines[1 + 4 * n : 1 + 4 * n + n_exceptions]
    return Tables(str(header["source"]), sizes, offsets, files, lemmas, pointers, exceptions)


def _absolute(deltas: list[str], sizes: dict[str, int]) -> list[int]:
    offsets: list[int] = []
    for pos in POS_ORDER:
        part = deltas[len(offsets) : len(offsets) + sizes[pos]]
        offsets.extend(itertools.accumulate(map(int, part)))
    return offsets
