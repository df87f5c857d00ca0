"""Enumerate I(v): the texts of the same individual with another value of a sensitive attribute.

A counterpart is the text under a *transposition* of two values of one attribute: every term of X becomes
the term of Y **and the other way round**. A text with one gender is flipped, a mixed text is mirrored, and
*Christians and Muslims* under Christian/Hindu becomes *Hindus and Muslims*, under Christian/Muslim
*Muslims and Christians*: two people never collapse into one, and the same step leads back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from rif_plugins.core.pairs import Pair
from rif_plugins.errors import UsageError
from rif_plugins.similar.intersections import JointPlan, apply_jointly, factors_of, joint_transpositions
from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.masking import mask_spans
from rif_plugins.similar.spans import find_spans
from rif_plugins.similar.transpositions import Plan as Plan
from rif_plugins.similar.transpositions import apply_plan as apply_plan
from rif_plugins.similar.transpositions import transpositions as transpositions


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
        attributes: Which attributes to change, one at a time; all of the lexicon for ``None``. An
            intersection such as ``"gender*race"`` gives the joint changes of texts that hold both.
        max_counterparts: At most so many; the attributes take turns, drawn at random within each.
        seed: Seed of that draw. It depends on the seed and the text only, not on other texts.

    Returns:
        Pairs with exact swaps (articles and possessive marks that had to follow are swaps too); empty when
        the text holds no sensitive term.

    Raises:
        LexiconError: The lexicon lacks one of ``attributes``.
        UsageError: ``max_counterparts`` is below 1, or an intersection is malformed.
    """
    if max_counterparts is not None and max_counterparts < 1:
        raise UsageError(f"max_counterparts is {max_counterparts}, expected 1 or more: use None for no limit")
    wanted, plain = split_attributes(attributes, lexicon)
    spans = find_spans(text, lexicon, plain)
    if not spans:
        return []
    plans: list[Plan | JointPlan] = []
    for factors in wanted:
        if len(factors) == 1:
            plans += transpositions(spans, lexicon, factors[0])
        else:
            plans += joint_transpositions(spans, lexicon, factors)
    is_sample = max_counterparts is not None and max_counterparts < len(plans)
    order = draw([plan.attribute for plan in plans], text, seed) if is_sample else range(len(plans))
    masked = mask_spans(text, spans)
    found: dict[int, Pair] = {}
    seen = {text}
    for index in order:
        plan = plans[index]
        if isinstance(plan, Plan):
            pair = apply_plan(text, spans, lexicon, plan)
        else:
            pair = apply_jointly(text, lexicon, plan, plain)
        if pair is None or pair.similar in seen:
            continue
        if mask_spans(pair.similar, find_spans(pair.similar, lexicon, plain)) != masked:
            continue
        seen.add(pair.similar)
        found[index] = pair
        if len(found) == max_counterparts:
            break
    return [found[index] for index in sorted(found)]


def split_attributes(
    attributes: Sequence[str] | None, lexicon: Lexicon
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """The attributes and intersections that are asked for, as factors, and all plain attributes in them.

    Raises:
        LexiconError: The lexicon lacks one of them.
        UsageError: An intersection is malformed.
    """
    if attributes is None:
        return tuple((name,) for name in lexicon.attributes), lexicon.attributes
    if isinstance(attributes, str):
        attributes = (attributes,)
    wanted = tuple(dict.fromkeys(factors_of(attribute) for attribute in attributes))
    return wanted, lexicon.select([factor for factors in wanted for factor in factors])


def draw(attributes: Sequence[str], text: str, seed: int) -> list[int]:
    """All positions of ``attributes`` in a random order in which different attributes take turns.

    The order depends on the seed and the text only.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    text_seed = np.frombuffer(digest, dtype="<u4").tolist()
    generator = np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, *text_seed])
    shuffled = generator.permutation(len(attributes)).tolist()
    turns: dict[str, int] = {}
    keyed: list[tuple[int, int]] = []
    for rank, index in enumerate(shuffled):
        turn = turns.get(attributes[index], 0)
        turns[attributes[index]] = turn + 1
        keyed.append((turn * len(attributes) + rank, index))
    return [index for _, index in sorted(keyed)]
