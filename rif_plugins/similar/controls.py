"""No-effect controls: swaps between terms or names of the *same* group.

A model's answer may change under any swap of words. How often it changes when *man* becomes *guy*, or *Susan*
becomes *Jill*, says how much of a difference between groups is plain sensitivity to a swap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from rif_plugins.core.pairs import Pair
from rif_plugins.errors import LexiconError, UsageError
from rif_plugins.similar.counterparts import draw, split_attributes
from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.lexicon_file import NAME_SLOTS, slot_kind, term_key
from rif_plugins.similar.masking import mask_spans
from rif_plugins.similar.spans import SensitiveSpan, find_spans
from rif_plugins.similar.transpositions import rewrite

CONTROL = "control:"
_FILE = "controls.tsv"
_NAME_CONTROLS = 4
_Words = tuple[str, ...]
# attribute, value, slot, terms
_Group = tuple[str, str, str, tuple[str, ...]]
# (attribute, value, slot, words of a term) to the terms that may stand in its place
_Partners = Mapping[tuple[str, str, str, _Words], tuple[str, ...]]


def control_texts(
    text: str,
    lexicon: Lexicon,
    attributes: Sequence[str] | None = None,
    *,
    max_controls: int | None = 8,
    seed: int = 0,
) -> list[Pair]:
    """List texts in which terms are replaced by others of the same value: *a man* by *a guy*.

    A control changes the terms of one value that have such a partner, all others stay. Pronouns and most
    religions and nationalities have none: a text with only those has no control.

    Args:
        text: Any string.
        lexicon: The terms.
        attributes: As for :func:`similar_texts`; of an intersection each factor gets its own controls.
        max_controls: At most so many; the values take turns, drawn at random within each. None is all.
        seed: Seed of that draw. It depends on the seed and the text only.

    Returns:
        Pairs with the mask of the original, whose attribute is such as ``"control:gender"`` and whose two
        values are the same.

    Raises:
        LexiconError: The lexicon lacks one of ``attributes``.
        UsageError: ``max_controls`` is below 1.
    """
    if max_controls is not None and max_controls < 1:
        raise UsageError(f"max_controls is {max_controls}, expected 1 or more: use None for no limit")
    _, plain = split_attributes(attributes, lexicon)
    spans = find_spans(text, lexicon, plain)
    if not spans:
        return []
    partners = _partners(lexicon)
    plans = [
        (attribute, value, number)
        for attribute, value in dict.fromkeys((span.attribute, span.value) for span in spans)
        for number in range(_count(spans, attribute, value, partners))
    ]
    masked = mask_spans(text, spans)
    found: dict[int, Pair] = {}
    seen = {text}
    for index in draw([f"{attribute}={value}" for attribute, value, _ in plans], text, seed):
        pair = _control(text, spans, plans[index], partners)
        if pair.similar in seen:
            continue
        if mask_spans(pair.similar, find_spans(pair.similar, lexicon, plain)) != masked:
            continue
        seen.add(pair.similar)
        found[index] = pair
        if len(found) == max_controls:
            break
    return [found[index] for index in sorted(found)]


def _count(spans: Sequence[SensitiveSpan], attribute: str, value: str, partners: _Partners) -> int:
    """How many different controls one value has in the text."""
    counts = [0]
    for span in spans:
        if (span.attribute, span.value) == (attribute, value):
            n_partners = len(partners.get(_key(span), ()))
            counts.append(min(n_partners, _NAME_CONTROLS) if _is_name(span) else n_partners)
    return max(counts)


def _control(
    text: str, spans: Sequence[SensitiveSpan], plan: tuple[str, str, int], partners: _Partners
) -> Pair:
    attribute, value, number = plan
    targets: list[tuple[SensitiveSpan, str]] = []
    for span in spans:
        others = partners.get(_key(span), ())
        if (span.attribute, span.value) == (attribute, value) and others:
            targets.append((span, others[number % len(others)]))
    return rewrite(text, targets, f"{CONTROL}{attribute}", value, value)


def _key(span: SensitiveSpan) -> tuple[str, str, str, _Words]:
    return (span.attribute, span.value, span.slot, term_key(span.term))


def _is_name(span: SensitiveSpan) -> bool:
    return slot_kind(span.slot) in NAME_SLOTS


@lru_cache(maxsize=8)
def _partners(lexicon: Lexicon) -> _Partners:
    groups: list[_Group] = []
    names: dict[tuple[str, str, str], list[str]] = {}
    same, apart = _read_file()
    for table in lexicon.tables:
        for row in table.rows:
            for value, cell in row.by_value(table.values):
                if cell.is_target_only:
                    continue
                if slot_kind(row.slot) in NAME_SLOTS:
                    names.setdefault((table.attribute, value, row.slot), []).extend(cell.terms)
                kept = tuple(term for term in cell.terms if (table.attribute, term_key(term)) not in apart)
                groups.append((table.attribute, value, row.slot, kept))
    groups += [group for group in same if group[0] in lexicon.attributes]
    partners: dict[tuple[str, str, str, _Words], tuple[str, ...]] = {}
    for attribute, value, slot, terms in groups:
        for term in terms:
            key = (attribute, value, slot, term_key(term))
            others = (*partners.get(key, ()), *(other for other in terms if other != term))
            partners[key] = tuple(dict.fromkeys(others))
    for (attribute, value, slot), column in names.items():
        # The same step for all names of a column: two people never get one name.
        for place, name in enumerate(column):
            partners[attribute, value, slot, term_key(name)] = (*column[place + 1 :], *column[:place])
    return MappingProxyType(partners)


@lru_cache(maxsize=1)
def _read_file() -> tuple[list[_Group], frozenset[tuple[str, _Words]]]:
    """Groups of terms that say the same, and terms that their cell does not make partners."""
    file = resources.files("rif_plugins.core").joinpath("data", "lexicons", _FILE)
    same: list[_Group] = []
    apart: set[tuple[str, _Words]] = set()
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        kind, *fields = line.split("\t")
        if kind == "same" and len(fields) > 4:
            same.append((fields[0], fields[1], fields[2], tuple(fields[3:])))
        elif kind == "apart" and len(fields) == 2:
            apart.add((fields[0], term_key(fields[1])))
        else:
            raise LexiconError(f"{_FILE}: cannot read the line {line!r}: reinstall rif-plugins")
    return same, frozenset(apart)
