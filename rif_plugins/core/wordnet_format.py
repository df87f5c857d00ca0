"""The file that holds the embedded lexicon: what stands in it, how it is written and read.

The file is xz-compressed UTF-8 text. Its first line is a JSON header; then follow, one line a synset and in the
order n, v, a, r, four columns, each as a block of lines (like beside like compresses best), and the irregular
forms:

* ``offsets``: the synset's offset in WordNet's data file, minus the one before it in the same part of speech
* ``files``: the number of the lexicographer file, two digits
* ``lemmas``: ``lemma``, ``lemma:sense`` or ``lemma:sense:count``, separated by spaces. The sense number is the rank
  of this sense among the lemma's senses (1 is left out where no count follows), the count is the tag count
* ``pointers``: ``-12`` a hypernym 12 lines above, ``i-12`` an instance hypernym, ``&3`` the head of an adjective
  satellite, ``!5.1.2`` an antonym between word 1 of this synset and word 2 of the synset 5 lines below
* ``exceptions``: ``pos form base ...``
"""

from __future__ import annotations

import itertools
import json
import lzma
from dataclasses import dataclass
from pathlib import Path

from rif_plugins.errors import DataError

FORMAT = "rif-wordnet"
VERSION = 1
POS_ORDER = "nvar"

LEXICAL_FILES: tuple[str, ...] = (
    "adj.all", "adj.pert", "adv.all", "noun.Tops", "noun.act", "noun.animal", "noun.artifact", "noun.attribute",
    "noun.body", "noun.cognition", "noun.communication", "noun.event", "noun.feeling", "noun.food", "noun.group",
    "noun.location", "noun.motive", "noun.object", "noun.person", "noun.phenomenon", "noun.plant",
    "noun.possession", "noun.process", "noun.quantity", "noun.relation", "noun.shape", "noun.state",
    "noun.substance", "noun.time", "verb.body", "verb.change", "verb.cognition", "verb.communication",
    "verb.competition", "verb.consumption", "verb.contact", "verb.creation", "verb.emotion", "verb.motion",
    "verb.perception", "verb.possession", "verb.social", "verb.stative", "verb.weather", "adj.ppl",
)  # fmt: skip
"""Names of WordNet's lexicographer files by number; the table is part of WordNet's documentation (lexnames)."""


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
    path.write_bytes(lzma.compress(raw, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9 | lzma.PRESET_EXTREME))


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
            f"cannot read the WordNet lexicon {path}: expected a file written by benchmarks/build_wordnet.py, "
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
