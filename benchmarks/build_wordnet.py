"""Build the lexicon that rif-plugins embeds from a WordNet 3.0 database folder.

    python benchmarks/build_wordnet.py --database /usr/share/wordnet

The folder needs data.*, index.* and *.exc for noun, verb, adj, adv, and cntlist.rev; Debian's package
``wordnet-base`` has them all. Glosses, examples, meronyms, verb frames and derivational links are left out.
The same input gives the same bytes (with the same version of liblzma).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rif_plugins.core.wordnet_format import LEXICAL_FILES, POS_ORDER, Tables, write_tables
from rif_plugins.errors import DataError

NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
SENSE_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
MARKER = re.compile(r"\((?:a|p|ip)\)$")
DEFAULT_OUT = Path(__file__).resolve().parents[1] / "rif_plugins" / "core" / "data" / "wordnet" / "wordnet.xz"

Key = tuple[str, str]  # part of speech, lower-case lemma


@dataclass(slots=True)
class Synset:
    """One line of a data file, cut down to what the lexicon keeps."""

    offset: int
    pos: str
    file: int
    words: list[str]
    hypernyms: list[int] = field(default_factory=list)
    instance_of: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    antonyms: list[tuple[int, int, int]] = field(default_factory=list)
    registers: list[tuple[int, int]] = field(default_factory=list)  # synset of the usage label, word (0: all)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) without the licence lines, which start with two spaces."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"cannot read {path} ({type(error).__name__}): expected a WordNet 3.0 database folder such as "
            "/usr/share/wordnet of Debian's package wordnet-base; give it with --database"
        ) from error
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("  "):
            yield number, line


def parse_synset(line: str, pos: str) -> Synset:
    """Parse one line of a data file (layout: WordNet's manual page wndb)."""
    fields = line.partition(" | ")[0].split()
    n_words = int(fields[3], 16)
    words = fields[4 : 4 + 2 * n_words : 2]
    synset = Synset(int(fields[0]), pos, int(fields[1]), words)
    at = 4 + 2 * n_words
    for k in range(int(fields[at])):
        symbol, target, _, ends = fields[at + 1 + 4 * k : at + 5 + 4 * k]
        if symbol == "@":
            synset.hypernyms.append(int(target))
        elif symbol == "@i":
            synset.instance_of.append(int(target))
        elif symbol == "&" and fields[2] == "s":
            synset.heads.append(int(target))
        elif symbol == "!":
            synset.antonyms.append((int(target), int(ends[:2], 16), int(ends[2:], 16)))
        elif symbol == ";u":
            synset.registers.append((int(target), int(ends[:2], 16)))
    return synset


def read_synsets(database: Path, pos: str) -> list[Synset]:
    """Read all synsets of one part of speech, in order of offset."""
    path = database / f"data.{NAMES[pos]}"
    synsets = []
    for number, line in read_lines(path):
        try:
            synset = parse_synset(line, pos)
            if synset.file >= len(LEXICAL_FILES) or not synset.words:
                raise ValueError("unknown lexicographer file or no words")
        except (ValueError, IndexError) as error:
            raise DataError(f"{path} line {number}: not a synset of WordNet 3.0 ({error})") from error
        if any(mark in word for word in synset.words for mark in ":\t"):
            raise DataError(
                f"{path} line {number}: a lemma holds a colon or a tab, which the format reserves"
            )
        synsets.append(synset)
    return sorted(synsets, key=lambda synset: synset.offset)


def read_ranks(database: Path, pos: str) -> dict[tuple[str, int], int]:
    """Rank (from 1) of every (lower-case lemma, offset): the order of the offsets in the index file."""
    path = database / f"index.{NAMES[pos]}"
    ranks = {}
    for number, line in read_lines(path):
        fields = line.split()
        try:
            offsets = fields[6 + int(fields[3]) :]
            if len(offsets) != int(fields[2]):
                raise ValueError(f"{len(offsets)} offsets where {fields[2]} are announced")
            ranks.update({(fields[0], int(offset)): rank for rank, offset in enumerate(offsets, 1)})
        except (ValueError, IndexError) as error:
            raise DataError(f"{path} line {number}: not an index line of WordNet 3.0 ({error})") from error
    return ranks


def read_counts(database: Path) -> dict[tuple[str, str, int], int]:
    """Tag count of every (part of speech, lemma, rank); two keys of one sense never both carry a count."""
    path = database / "cntlist.rev"
    counts: dict[tuple[str, str, int], int] = {}
    for number, line in read_lines(path):
        try:
            sense_key, rank, count = line.split()
            lemma, _, rest = sense_key.rpartition("%")
            key = (SENSE_TYPES[rest[0]], lemma, int(rank))
            counts[key] = counts.get(key, 0) + int(count)
        except (ValueError, KeyError, IndexError) as error:
            raise DataError(f"{path} line {number}: expected `sense_key rank count`, got {line!r}") from error
    return counts


def read_exceptions(database: Path) -> list[str]:
    """Irregular forms as lines ``pos form base ...``."""
    lines = []
    for pos in POS_ORDER:
        for _, line in read_lines(database / f"{NAMES[pos]}.exc"):
            lines.append(f"{pos} {' '.join(line.split())}")
    return lines


def encode_lemmas(
    synset: Synset, ranks: dict[tuple[str, int], int], counts: dict[tuple[str, str, int], int]
) -> str:
    """One line of the column ``lemmas``; adjectives keep their syntactic marker, such as ``asleep(p)``."""
    items = []
    for word in synset.words:
        key = MARKER.sub("", word).lower()
        rank = ranks.get((key, synset.offset))
        if rank is None:
            raise DataError(f"{key} of synset {synset.pos}{synset.offset:08d} is missing in the index file")
        count = counts.get((synset.pos, key, rank), 0)
        items.append(f"{word}:{rank}:{count}" if count else f"{word}:{rank}" if rank > 1 else word)
    return " ".join(items)


def encode_pointers(synset: Synset, here: int, place: dict[int, int], nouns: dict[int, int]) -> str:
    """One line of the column ``pointers``; ``place`` maps offsets of this part of speech to line numbers."""
    items = [str(place[offset] - here) for offset in synset.hypernyms]
    items += [f"i{place[offset] - here}" for offset in synset.instance_of]
    items += [f"&{place[offset] - here}" for offset in synset.heads]
    items += [f"!{place[offset] - here}.{source}.{target}" for offset, source, target in synset.antonyms]
    items += [f"u{nouns[offset] - here}.{word}" for offset, word in synset.registers]
    return " ".join(items)


def build(database: Path) -> Tables:
    """Read a WordNet 3.0 database folder.

    Raises:
        DataError: A file is missing or a line is not of WordNet 3.0's layout.
    """
    counts = read_counts(database)
    tables = Tables("WordNet 3.0", {}, [], [], [], [], read_exceptions(database))
    nouns: dict[int, int] = {}
    for pos in POS_ORDER:
        synsets, ranks = read_synsets(database, pos), read_ranks(database, pos)
        start = len(tables.offsets)
        place = {synset.offset: start + k for k, synset in enumerate(synsets)}
        nouns = nouns or place  # usage labels are nouns, which come first
        tables.sizes[pos] = len(synsets)
        for here, synset in enumerate(synsets, start):
            tables.offsets.append(synset.offset)
            tables.files.append(f"{synset.file:02d}")
            tables.lemmas.append(encode_lemmas(synset, ranks, counts))
            try:
                tables.pointers.append(encode_pointers(synset, here, place, nouns))
            except KeyError as error:
                raise DataError(
                    f"synset {pos}{synset.offset:08d} points to offset {error.args[0]}, which is missing"
                ) from error
    return tables


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--database", type=Path, default=Path("/usr/share/wordnet"), help="WordNet 3.0 folder"
    )
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="file to write")
    options = parser.parse_args(arguments)
    try:
        tables = build(options.database)
        write_tables(tables, options.out)
    except (DataError, OSError) as error:
        print(f"build_wordnet: {error}", file=sys.stderr)
        return 2
    data = options.out.read_bytes()
    print(
        json.dumps({"synsets": tables.sizes, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
