"""Rows told as text, as attacks on texts see them: who is similar, and which other values a field can have.

Templates and tellers are those of :mod:`rif_plugins.tables`; here they become a source of pairs and a
proposer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.core.seeds import example_generator, example_id
from rif_plugins.core.tokens import word_spans
from rif_plugins.errors import DataError
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.similar import Lexicon, PairSource
from rif_plugins.tables.columns import ColumnSpec
from rif_plugins.tables.telling import FieldSpan, Row, Teller, ToldRow
from rif_plugins.tables.template_library import BUILT_IN, built_in
from rif_plugins.tables.templates import PERSPECTIVES, Gender, Template
from rif_plugins.tables.told_reading import Said
from rif_plugins.tables.told_values import Value

__all__ = [
    "BUILT_IN",
    "PERSPECTIVES",
    "FieldProposer",
    "FieldSpan",
    "Gender",
    "Teller",
    "Template",
    "ToldRow",
    "ToldSource",
    "built_in",
]


class ToldSource(PairSource):
    """Who counts as similar to a told row: exactly the rows with other sensitive values, told again.

    Args:
        teller: Told the texts.
        max_counterparts: Most similar texts of one text; None is all.
        seed: Seed of the sample where there are more.
        lexicon: What proposers may not touch or write besides; None: nothing.
    """

    def __init__(
        self,
        teller: Teller,
        max_counterparts: int | None = None,
        seed: int = 0,
        lexicon: Lexicon | None = None,
    ) -> None:
        super().__init__(lexicon, None, max_counterparts, seed)
        self.teller = teller
        self._is_lexical = lexicon is not None

    def pairs_of(self, text: str, similar: str | None = None) -> list[Pair]:
        """All pairs of one told row; with ``similar`` the pair of the two rows.

        Raises:
            DataError: The text is none that the template tells.
        """
        row = self.teller.read(text)
        if similar is not None:
            others = [self.teller.read(similar)]
        else:
            others = drawn(self.teller, row, self.max_counterparts, self.seed)
        return [pair for other in others if (pair := self.teller.pair(row, other)).swaps]

    def controls_of(self, text: str, max_controls: int | None = 8) -> list[Pair]:
        """None: a table has no two names for the same group."""
        del text, max_controls
        return []

    def sensitive_spans(self, text: str) -> list[Span]:
        """Where the sensitive fields stand, and what follows from them.

        A text that was edited beyond reading has none: its positions were closed before.
        """
        try:
            spans = self.teller.sensitive_spans(self.teller.locate(text))
        except DataError:
            spans = []
        more = super().sensitive_spans(text) if self._is_lexical else []
        return sorted([*spans, *more], key=lambda span: (span.start, span.end))


def drawn(teller: Teller, row: Row, count: int | None, seed: int) -> list[Row]:
    """Similar rows of a row, a sample that depends on the row alone where there are more than ``count``."""
    others = list(teller.similar_rows(row))
    if count is None or len(others) <= count:
        return others
    rng = example_generator(seed, example_id(teller.tell(row).text, None))
    return [others[i] for i in np.sort(rng.choice(len(others), size=count, replace=False))]


class FieldProposer:
    """Replaces the value of a field by other values of its column: an edit of the text is an edit of the row.

    Sensitive and immutable columns have no candidates, nor has a gender that other words agree with, nor have
    the words of the template. Where another article is needed, it is replaced with the value. Relations
    between columns are not looked at.

    Args:
        teller: Told the texts.
        max_values: Most candidates of a field; categories in the order of the schema, numbers the nearest.
    """

    name = "fields"

    def __init__(self, teller: Teller, max_values: int = 12) -> None:
        self.teller = teller
        self.max_values = max_values
        self._known: dict[tuple[str, Value], list[Said]] = {}
        self._columns = {c.name: c for c in teller.schema.columns if not c.sensitive and not c.immutable}

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        """Other values for each context that covers a field, or all of it that is a word."""
        located: dict[str, ToldRow | None] = {}
        for context in contexts:
            if context.text not in located:
                located[context.text] = self._located(context.text)
        return [self._candidates(context, located[context.text]) for context in contexts]

    def phrases(self, text: str) -> list[tuple[int, int]]:
        """Fields of several words, and fields with the article before them."""
        told = self._located(text)
        words = word_spans(text)
        found = []
        for span in () if told is None else self._fields(told):
            article = None if told is None else _article_of(told, span)
            for start in (span.start,) if article is None else (span.start, article.start):
                inside = [w for w in words if w.start < span.end and w.end > start]
                if len(inside) > 1 and inside[0].start >= start:
                    found.append((inside[0].start, inside[-1].end))
        return found

    def _located(self, text: str) -> ToldRow | None:
        try:
            return self.teller.locate(text)
        except DataError:
            return None

    def _fields(self, told: ToldRow) -> list[FieldSpan]:
        return [s for s in told.spans if s.role == "value" and s.column in self._columns]

    def _candidates(self, context: TokenContext, told: ToldRow | None) -> tuple[Candidate, ...]:
        touched = (
            []
            if told is None
            else [
                s for s in told.spans if s.role == "value" and s.start < context.end and s.end > context.start
            ]
        )
        if told is None or len(touched) != 1 or touched[0].column not in self._columns:
            return ()
        span, found = touched[0], []
        article = _article_of(told, span)
        before, after = context.text[: context.start], context.text[context.end :]
        for said in self._others(span.column, told.row[span.column]):
            if article is None or context.text[article.start : article.end] == said.article:
                edited = context.text[: span.start] + said.words
            else:
                edited = f"{context.text[: article.start]}{said.article} {said.words}"
            edited += context.text[span.end :]
            # What stands outside of the context must stay as it is.
            length = len(edited) - len(before) - len(after)
            if length > 0 and edited.startswith(before) and edited.endswith(after):
                found.append(Candidate(edited[len(before) : len(before) + length], self.name))
            if len(found) == self.max_values:
                break
        return tuple(found)

    def _others(self, column: str, value: Value) -> list[Said]:
        """What other values of a column are told as."""
        if (column, value) not in self._known:
            others = self._values(self._columns[column], value)
            self._known[column, value] = [self.teller.said(column, other) for other in others]
        return self._known[column, value]

    def _values(self, column: ColumnSpec, value: Value) -> list[Value]:
        codec = self.teller.codecs[column.name]
        if not codec.is_number:
            return [other for other in codec.domain() if other != value]
        if value is None:
            return []
        steps = [sign * k for k in range(1, self.max_values + 1) for sign in (1, -1)]
        moved = np.asarray([[float(value) + k * (column.step or 1.0)] for k in steps])
        nearest = column.nearest(moved)[:, 0]
        others = dict.fromkeys(codec.normal(float(number)) for number in nearest)
        return [other for other in others if other != value]


def _article_of(told: ToldRow, span: FieldSpan) -> FieldSpan | None:
    return next((s for s in told.spans if s.column == span.column and s.role == "article"), None)
