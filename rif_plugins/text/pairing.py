"""Pairs as TextAttack texts: two columns, ``original`` and ``similar``.

``AttackedText`` compares by text alone, so the similar text must be part of the text and not an
attribute of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np
from numpy.typing import NDArray
from textattack.shared import AttackedText

from rif_plugins import similar
from rif_plugins.core.pairs import Pair, Span
from rif_plugins.errors import UsageError
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon
from rif_plugins.similar.pair_source import embedded_and
from rif_plugins.similar.pair_source import sensitive_spans as sensitive_spans
from rif_plugins.similar.pair_source import untouched as untouched

COLUMNS = ["original", "similar"]


def is_pair_text(text: AttackedText) -> bool:
    """True when the text has exactly the two columns of a pair."""
    return bool(text.column_labels == COLUMNS)


def side_strings(text: AttackedText) -> tuple[str, str]:
    """Both sides of a pair text."""
    original, similar = text.tokenizer_input
    return str(original), str(similar)


def pair_text(original: str, similar: str, label_names: Sequence[str] | None = None) -> AttackedText:
    """A fresh pair text."""
    attributes: dict[str, Any] = {} if label_names is None else {"label_names": label_names}
    return AttackedText(OrderedDict(zip(COLUMNS, (original, similar), strict=True)), attack_attrs=attributes)


def rewritten(text: AttackedText, columns: Sequence[str]) -> AttackedText:
    """``text`` with new column contents, and the host's bookkeeping carried on.

    ``original_index_map`` keeps mapping words of the *first* text of the chain, and
    ``modified_indices`` keeps the words that earlier steps changed, moved to where they stand now.
    """
    contents = OrderedDict(zip(text.column_labels, columns, strict=True))
    attributes: dict[str, Any] = {"previous_attacked_text": text}
    if "label_names" in text.attack_attrs:
        attributes["label_names"] = text.attack_attrs["label_names"]
    new = AttackedText(contents, attack_attrs=attributes)
    step, changed = _word_map(text, new)
    before = np.asarray(text.attack_attrs["original_index_map"], dtype=int)
    # Index -1 means deleted; it must not pick the last word of the step.
    new.attack_attrs["original_index_map"] = np.where(before >= 0, step[before], -1)
    moved = {int(step[i]) for i in text.attack_attrs["modified_indices"] if step[i] >= 0}
    new.attack_attrs["modified_indices"] = moved | changed
    new.attack_attrs["newly_modified_indices"] = set(changed)
    return new


def _word_map(old: AttackedText, new: AttackedText) -> tuple[NDArray[np.int_], set[int]]:
    """Where each word of ``old`` stands in ``new`` (-1: nowhere), and the words of ``new`` that differ."""
    maps: list[NDArray[np.int_]] = []
    changed: set[int] = set()
    offset = 0
    for before, after in zip(old.words_per_input, new.words_per_input, strict=True):
        column, differing = _column_map(before, after)
        maps.append(np.where(column >= 0, column + offset, -1))
        changed |= {offset + index for index in differing}
        offset += len(after)
    # One spare element, so that an empty map can be indexed with -1.
    return np.concatenate([*maps, np.array([-1])]).astype(int), changed


def _column_map(before: list[str], after: list[str]) -> tuple[NDArray[np.int_], set[int]]:
    if len(before) == len(after):
        return np.arange(len(before)), {i for i, word in enumerate(after) if word != before[i]}
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    tail = 0
    while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    column = np.full(len(before), -1)
    column[:start] = np.arange(start)
    if tail:
        column[-tail:] = np.arange(len(after) - tail, len(after))
    changed: set[int] = set()
    middle = SequenceMatcher(
        None, before[start : len(before) - tail], after[start : len(after) - tail], autojunk=False
    )
    for tag, i1, i2, j1, j2 in middle.get_opcodes():
        for k in range(min(i2 - i1, j2 - j1)):
            column[start + i1 + k] = start + j1 + k
        if tag != "equal":
            changed.update(range(start + j1, start + j2))
    return column, changed


def word_offsets(text: AttackedText) -> list[tuple[int, Span]]:
    """Column number and character span of every word of the text, in the host's order."""
    offsets = []
    for column, (content, column_words) in enumerate(
        zip(text._text_input.values(), text.words_per_input, strict=True)
    ):
        position = 0
        for word in column_words:
            start = content.find(word, position)
            if start < 0:  # the host cuts Chinese text by dictionary and may change its spacing
                start = position
            offsets.append((column, Span(start, start + len(word))))
            position = start + len(word)
    return offsets


def lexicon_of(settings: Settings) -> Lexicon:
    """The embedded lexicon, with the user's own file merged into it where the settings name one."""
    return embedded_and(settings.lexicon, settings.sensitive)


class PairSource(similar.PairSource):
    """Builds the pairs of the host's texts; see :class:`rif_plugins.similar.PairSource`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> PairSource:
        """Build from ``rif.toml`` and ``RIF_*`` variables."""
        counterparts = None if settings.counterparts == "all" else settings.counterparts
        return cls(lexicon_of(settings), settings.sensitive, counterparts, settings.seed)

    def pairs(self, text: AttackedText) -> list[Pair]:
        """All pairs of one example; empty when it holds no sensitive token.

        Raises:
            UsageError: The example has several columns that are not ``original`` and ``similar``.
        """
        if is_pair_text(text):
            return self.pairs_of(*side_strings(text))
        if len(text.column_labels) != 1:
            raise UsageError(
                f"example has the columns {', '.join(text.column_labels)}: expected one text column, "
                "or 'original' and 'similar' for ready pairs"
            )
        return self.pairs_of(text.text)
