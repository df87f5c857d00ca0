"""Pairs as TextAttack texts: two columns, ``original`` and ``similar``.

``AttackedText`` compares by text alone, so the similar text must be part of the text and not an
attribute of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from textattack.shared import AttackedText

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.errors import UsageError
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon, find_spans, pair_from_texts, similar_texts

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
    """``text`` with new column contents, and the word index map that the host's printing needs."""
    contents = OrderedDict(zip(text.column_labels, columns, strict=True))
    attributes: dict[str, Any] = {"previous_attacked_text": text}
    if "label_names" in text.attack_attrs:
        attributes["label_names"] = text.attack_attrs["label_names"]
    new = AttackedText(contents, attack_attrs=attributes)
    index_map, changed = _word_map(text.words, new.words)
    new.attack_attrs["original_index_map"] = index_map
    new.attack_attrs["modified_indices"] = set(changed)
    new.attack_attrs["newly_modified_indices"] = set(changed)
    return new


def _word_map(old: list[str], new: list[str]) -> tuple[Any, list[int]]:
    index_map = np.full(len(old), -1)
    changed: list[int] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        for offset in range(min(i2 - i1, j2 - j1)):
            index_map[i1 + offset] = j1 + offset
        if tag != "equal":
            changed.extend(range(j1, j2))
    return index_map, changed


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
    embedded = Lexicon.load()
    return embedded if settings.lexicon is None else embedded.merged_with(Lexicon.load(settings.lexicon))


class PairSource:
    """Who counts as similar: builds the pairs of a text.

    Args:
        lexicon: Sensitive lexicon; None loads the embedded one.
        attributes: Attributes to change; None is all of the lexicon.
        max_counterparts: Most similar texts of one text.
        seed: Seed of the sample where there are more.
    """

    def __init__(
        self,
        lexicon: Lexicon | str | Path | None = None,
        attributes: Sequence[str] | None = None,
        max_counterparts: int | None = 8,
        seed: int = 0,
    ) -> None:
        self.lexicon = lexicon if isinstance(lexicon, Lexicon) else Lexicon.load(lexicon)
        self.attributes = tuple(attributes) if attributes is not None else None
        unknown = sorted(set(self.attributes or ()) - set(self.lexicon.attributes))
        if unknown:
            raise UsageError(
                f"sensitive attribute {unknown[0]!r} is not in the lexicon: "
                f"expected some of {', '.join(self.lexicon.attributes)}"
            )
        self.max_counterparts = max_counterparts
        self.seed = seed

    @classmethod
    def from_settings(cls, settings: Settings) -> PairSource:
        """Build from ``rif.toml`` and ``RIF_*`` variables."""
        counterparts = settings.max_counterparts if settings.counterparts == "all" else settings.counterparts
        return cls(lexicon_of(settings), settings.sensitive, int(counterparts), settings.seed)

    def pairs(self, text: AttackedText) -> list[Pair]:
        """All pairs of one example; empty when it holds no sensitive token.

        Raises:
            UsageError: The example has several columns that are not ``original`` and ``similar``.
        """
        if is_pair_text(text):
            original, similar = side_strings(text)
            return [pair_from_texts(original, similar)] if original != similar else []
        if len(text.column_labels) != 1:
            raise UsageError(
                f"example has the columns {', '.join(text.column_labels)}: expected one text column, "
                "or 'original' and 'similar' for ready pairs"
            )
        return similar_texts(
            text.text,
            self.lexicon,
            self.attributes,
            max_counterparts=self.max_counterparts,
            seed=self.seed,
        )

    def sensitive_spans(self, text: str) -> list[Span]:
        """Spans of all sensitive tokens of a text, of every attribute of the lexicon."""
        return [Span(span.start, span.end) for span in find_spans(text, self.lexicon)]
