"""Enumerate I(v): the texts of the same individual with another value of a sensitive attribute.

A counterpart is the text under a *transposition* of two values of one attribute: every term of X becomes
the term of Y **and the other way round**. A text with one gender is flipped, a mixed text is mirrored, and
*Christians and Muslims* under Christian/Hindu becomes *Hindus and Muslims*, under Christian/Muslim
*Muslims and Christians*: two people never collapse into one, and the same step leads back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.errors import UsageError
from rif_plugins.similar.agreement import (
    find_article,
    find_possessive,
    fit_article,
    fit_possessive,
    fit_term_case,
)
from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.masking import mask_spans
from rif_plugins.similar.spans import SensitiveSpan, find_spans
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


def similar_texts(
    text: str,
    lexicon: Lexicon,
    attributes: Sequence[str] | None = None,
    *,
    max_counterparts: int | None = None,
    seed: int = 0,
) -> list[Pair]:
    """List the similar texts of ``text``, the text itself excluded: I(v) without v.

    Every member keeps the mask: ``mask(pair.original) == mask(pair.similar)`` for the same lexicon and
    attributes; a change that would not is left out. The order is that of the attributes, of the values'
    first occurrence, of the columns of the lexicon.

    Args:
        text: Any string.
        lexicon: The terms.
        attributes: Which attributes to change, one at a time; all of the lexicon for ``None``.
        max_counterparts: At most so many; the attributes take turns, drawn at random within each.
        seed: Seed of that draw. It depends on the seed and the text only, not on other texts.

    Returns:
        Pairs with exact swaps (articles and possessive marks that had to follow are swaps too); empty when
        the text holds no sensitive term.

    Raises:
        LexiconError: The lexicon lacks one of ``attributes``.
        UsageError: ``max_counterparts`` is below 1.
    """
    if max_counterparts is not None and max_counterparts < 1:
        raise UsageError(f"max_counterparts is {max_counterparts}, expected 1 or more: use None for no limit")
    spans = find_spans(text, lexicon, attributes)
    plans = [p for attribute in lexicon.select(attributes) for p in transpositions(spans, lexicon, attribute)]
    if not plans:
        return []
    order = range(len(plans)) if max_counterparts is None else _draw(plans, text, seed)
    masked = mask_spans(text, spans)
    found: dict[int, Pair] = {}
    seen = {text}
    for index in order:
        pair = apply_plan(text, spans, lexicon, plans[index])
        if pair is None or pair.similar in seen:
            continue
        if mask_spans(pair.similar, find_spans(pair.similar, lexicon, attributes)) != masked:
            continue
        seen.add(pair.similar)
        found[index] = pair
        if len(found) == max_counterparts:
            break
    return [found[index] for index in sorted(found)]


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
    view = WordView(text)
    changes: list[tuple[int, int, str]] = []
    for span in spans:
        value = plan.changes.get((span.attribute, span.value))
        if value is None:
            continue
        term = lexicon.find_term(span.attribute, span.term)
        target = term.reading(span.slot).targets.get(value) if term else None
        if term is None or target is None:
            return None
        changes.extend(_changes_at(view, span, target))
    return _pair(text, [c for c in changes if text[c[0] : c[1]] != c[2]], plan)


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
    if span.slot in ("noun", "plural"):
        mark = find_possessive(text, span.start, span.end)
        fitted = fit_possessive(mark, source, written, is_plural=span.slot == "plural") if mark else None
        if mark is not None and fitted is not None:
            end, written = mark.end, written + fitted
    changes.append((span.start, end, written))
    return changes


def _pair(text: str, changes: Sequence[tuple[int, int, str]], plan: Plan) -> Pair:
    pieces: list[str] = []
    swaps: list[Swap] = []
    position, length = 0, 0
    for start, end, written in changes:
        pieces += [text[position:start], written]
        length += start - position
        swaps.append(Swap(start, end, text[start:end], written, length))
        length += len(written)
        position = end
    pieces.append(text[position:])
    return Pair(text, "".join(pieces), tuple(swaps), plan.attribute, plan.value_from, plan.value_to)


def _draw(plans: Sequence[Plan], text: str, seed: int) -> list[int]:
    """All plan numbers in a random order in which the attributes take turns."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    text_seed = np.frombuffer(digest, dtype="<u4").tolist()
    generator = np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, *text_seed])
    shuffled = generator.permutation(len(plans)).tolist()
    turns: dict[str, int] = {}
    keyed: list[tuple[int, int]] = []
    for rank, index in enumerate(shuffled):
        turn = turns.get(plans[index].attribute, 0)
        turns[plans[index].attribute] = turn + 1
        keyed.append((turn * len(plans) + rank, index))
    return [index for _, index in sorted(keyed)]
