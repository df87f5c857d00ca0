"""Carry out a change of values: which terms become which, and the exact swaps that come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.similar.agreement import (
    find_article,
    find_possessive,
    fit_article,
    fit_possessive,
    fit_term_case,
    takes_possessive,
)
from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.spans import SensitiveSpan
from rif_plugins.similar.word_view import WordView


@dataclass(frozen=True, slots=True)
class Plan:
    """Which value becomes which; values that are left out stay.

    Attributes:
        attribute: Name of what changes, for records.
        value_from, value_to: Names of the change, for records.
        changes: (attribute, value) to value.
    """

    attribute: str
    value_from: str
    value_to: str
    changes: Mapping[tuple[str, str], str]


def transpositions(spans: Sequence[SensitiveSpan], lexicon: Lexicon, attribute: str) -> list[Plan]:
    """Every exchange of a value that occurs in ``spans`` with another value of ``attribute``."""
    occurring = list(dict.fromkeys(span.value for span in spans if span.attribute == attribute))
    plans: list[Plan] = []
    done: set[frozenset[str]] = set()
    for value in occurring:
        for other in lexicon.values(attribute):
            if other == value or frozenset((value, other)) in done:
                continue
            done.add(frozenset((value, other)))
            changes = {(attribute, value): other, (attribute, other): value}
            plans.append(Plan(attribute, value, other, changes))
    return plans


def apply_plan(text: str, spans: Sequence[SensitiveSpan], lexicon: Lexicon, plan: Plan) -> Pair | None:
    """Carry out one plan.

    Args:
        text: The original.
        spans: Its spans, from :func:`find_spans` with the same lexicon.
        lexicon: The terms.
        plan: What becomes what.

    Returns:
        The pair, or ``None`` when a term has no counterpart of the value asked for.
    """
    targets: list[tuple[SensitiveSpan, str]] = []
    for span in spans:
        value = plan.changes.get((span.attribute, span.value))
        if value is None:
            continue
        term = lexicon.find_term(span.attribute, span.term)
        target = term.reading(span.slot).targets.get(value) if term else None
        if target is None:
            return None
        targets.append((span, target))
    return rewrite(text, targets, plan.attribute, plan.value_from, plan.value_to)


def rewrite(
    text: str,
    targets: Sequence[tuple[SensitiveSpan, str]],
    attribute: str,
    value_from: str,
    value_to: str,
) -> Pair:
    """Write other terms in the place of spans, with the articles and possessive marks that follow.

    Args:
        text: The original.
        targets: Spans in order of position, none overlapping, and the lexicon's spelling of what comes there.
        attribute: What the pair says it changes.
        value_from: The value on the side of the original.
        value_to: The value on the other side.
    """
    view = WordView(text)
    changes = [change for span, target in targets for change in _changes_at(view, span, target)]
    pieces: list[str] = []
    swaps: list[Swap] = []
    position, length = 0, 0
    for start, end, written in changes:
        if text[start:end] == written:
            continue
        pieces += [text[position:start], written]
        length += start - position
        swaps.append(Swap(start, end, text[start:end], written, length))
        length += len(written)
        position = end
    pieces.append(text[position:])
    return Pair(text, "".join(pieces), tuple(swaps), attribute, value_from, value_to)


def _changes_at(view: WordView, span: SensitiveSpan, target: str) -> list[tuple[int, int, str]]:
    """Replacements for one term: a preceding article, the term, a possessive mark behind it."""
    text, source = view.text, view.text[span.start : span.end]
    index = view.index_at(span.start)
    written = fit_term_case(
        source,
        span.term,
        target,
        text_is_lower=view.is_lower_case,
        is_sentence_start=view.starts_sentence(index),
    )
    if "-" in source and " " not in source and "-" not in span.term:
        written = written.replace(" ", "-")
    changes: list[tuple[int, int, str]] = []
    article = find_article(text, span.start)
    if article is not None and text[article[0] : article[1]].lower() != fit_article("a", target, False):
        old = text[article[0] : article[1]]
        changes.append((*article, fit_article(old, target, len(source) > 1 and source.isupper())))
    end = span.end
    if takes_possessive(span.slot):
        mark = find_possessive(text, span.start, span.end)
        fitted = fit_possessive(mark, source, written, is_plural=span.slot == "plural") if mark else None
        if mark is not None and fitted is not None:
            end, written = mark.end, written + fitted
    changes.append((span.start, end, written))
    return changes
