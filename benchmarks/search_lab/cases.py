"""The pairs that every contender gets: SST-2 and BOLD sentences with a gender token, and one counterpart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sst2_victims.bold import read_bold
from sst2_victims.sst2 import read_split

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.core.sides import TokenAlignment, align_tokens
from rif_plugins.similar import Lexicon, find_spans, similar_texts

ATTRIBUTE = "gender"


@dataclass(frozen=True)
class Case:
    """One pair with its right label.

    Attributes:
        name: Names the pair in tables, such as ``"sst2-17"``.
        example: Names the data row, which may have several pairs.
        pair: The pair.
        label: The right label of both sides.
    """

    name: str
    example: str
    pair: Pair
    label: int


@dataclass(frozen=True)
class DataSet:
    """Pairs, and what they come from.

    Attributes:
        name: ``"sst2"``, ``"bold"`` or ``"generated"``.
        description: Source and split.
        label_names: Names of the labels.
        cases: The pairs, in the order of the source.
    """

    name: str
    description: str
    label_names: tuple[str, ...]
    cases: tuple[Case, ...]


def sst2(data_dir: Path) -> DataSet:
    """SST-2 dev and test, gender swapped."""
    rows = [row for split in ("dev", "test") for row in zip(*read_split(data_dir, split), strict=True)]
    return DataSet(
        "sst2",
        "SST-2 dev and test, sentences with a gender token",
        ("negative", "positive"),
        cases("sst2", rows),
    )


def bold(folder: Path) -> DataSet:
    """The held-out half of BOLD's profession sentences, gender swapped, in an order that mixes the groups."""
    splits, names = read_bold(folder)
    rows = sorted(zip(*splits["test"], strict=True), key=lambda row: hashlib.sha256(row[0].encode()).digest())
    description = "BOLD profession sentences (Wikipedia), held-out half, sentences with a gender token"
    return DataSet("bold", description, names, cases("bold", rows))


def cases(prefix: str, rows: Iterable[tuple[str, int]]) -> tuple[Case, ...]:
    """The pairs of texts and labels; a text without a gender token has none."""
    lexicon = Lexicon.load()
    found = [
        (f"{prefix}-row-{row}", pair, label)
        for row, (text, label) in enumerate(rows)
        for pair in similar_texts(text, lexicon, [ATTRIBUTE], max_counterparts=8)
    ]
    return tuple(Case(f"{prefix}-{number}", *parts) for number, parts in enumerate(found))


def editable_alignment(pair: Pair, lexicon: Lexicon) -> TokenAlignment:
    """The tokens that are the same on both sides and sensitive on neither."""
    alignment = align_tokens(pair)
    sensitive = [_sensitive(text, lexicon) for text in (pair.original, pair.similar)]
    free = [
        (a, b)
        for a, b in zip(alignment.original, alignment.similar, strict=True)
        if not any(a.overlaps(span) for span in sensitive[0])
        and not any(b.overlaps(span) for span in sensitive[1])
    ]
    return TokenAlignment(tuple(a for a, _ in free), tuple(b for _, b in free))


def _sensitive(text: str, lexicon: Lexicon) -> list[Span]:
    return [Span(span.start, span.end) for span in find_spans(text, lexicon)]
