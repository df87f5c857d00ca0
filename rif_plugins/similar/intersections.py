"""Intersections: the joint values of several attributes, such as ``gender×race``.

A member differs in one factor or in more: ``male×black`` becomes ``female×black``, ``male×white`` and
``female×white``. The factors are changed one after the other, each by a transposition, so that a term that
two of them share (*Latina*) is changed by both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.errors import UsageError
from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.spans import SensitiveSpan, find_spans
from rif_plugins.similar.transpositions import Plan, apply_plan, transpositions

TIMES = "\u00d7"
MAX_FACTORS = 3
_SIGN = re.compile(r"\s*[*\u00d7]\s*")


def factors_of(attribute: str) -> tuple[str, ...]:
    """The factors of an intersection; one for a plain attribute.

    >>> factors_of("gender*race"), factors_of("age")
    (('gender', 'race'), ('age',))

    Raises:
        UsageError: A factor is missing or repeated, or there are too many.
    """
    factors = tuple(_SIGN.split(attribute.strip()))
    if len(factors) > 1 and (not all(factors) or len(set(factors)) < len(factors)):
        raise UsageError(
            f"intersection {attribute!r}: expected different attributes joined by *, such as gender*race"
        )
    if len(factors) > MAX_FACTORS:
        raise UsageError(
            f"intersection {attribute!r} has {len(factors)} attributes, expected {MAX_FACTORS} at most: "
            "their joint values are too many; drop some"
        )
    return factors


def canonical(attribute: str) -> str:
    """One spelling for an attribute or an intersection: ``gender×race`` for ``gender * race``."""
    return TIMES.join(factors_of(attribute))


@dataclass(frozen=True, slots=True)
class JointPlan:
    """Plans of different attributes, carried out one after the other.

    Attributes:
        attribute, value_from, value_to: Joint names, for records.
        steps: One plan for each attribute that changes.
    """

    attribute: str
    value_from: str
    value_to: str
    steps: tuple[Plan, ...]


def joint_transpositions(
    spans: Sequence[SensitiveSpan], lexicon: Lexicon, factors: Sequence[str]
) -> list[JointPlan]:
    """Every combination of transpositions of ``factors`` that changes at least one of them.

    Empty unless each factor occurs in ``spans``.
    """
    options: list[list[tuple[str, str, Plan | None]]] = []
    for factor in factors:
        plans = transpositions(spans, lexicon, factor)
        if not plans:
            return []
        first = plans[0].value_from
        options.append([(first, first, None), *((p.value_from, p.value_to, p) for p in plans)])
    joint: list[JointPlan] = []
    for choice in product(*options):
        steps = tuple(plan for _, _, plan in choice if plan is not None)
        if steps:
            names = (TIMES.join(c[0] for c in choice), TIMES.join(c[1] for c in choice))
            joint.append(JointPlan(TIMES.join(factors), *names, steps))
    return joint


def apply_jointly(text: str, lexicon: Lexicon, plan: JointPlan, attributes: Sequence[str]) -> Pair | None:
    """Carry out the steps of a joint plan.

    Args:
        text: The original.
        lexicon: The terms.
        plan: What becomes what.
        attributes: Plain attributes to look for.

    Returns:
        The pair, or ``None`` when a term has no counterpart of the value asked for.
    """
    current, swaps = text, tuple[Swap, ...]()
    for step in plan.steps:
        pair = apply_plan(current, find_spans(current, lexicon, attributes), lexicon, step)
        if pair is None:
            return None
        swaps = composed(text, swaps, pair)
        current = pair.similar
    return Pair(text, current, swaps, plan.attribute, plan.value_from, plan.value_to)


def composed(text: str, first: Sequence[Swap], then: Pair) -> tuple[Swap, ...]:
    """The swaps from ``text`` to ``then.similar``, given those from ``text`` to ``then.original``."""
    regions: list[list[int]] = []
    middle = [(s.similar_start, s.similar_end) for s in first] + [(s.start, s.end) for s in then.swaps]
    for start, end in sorted(middle):
        if regions and start < regions[-1][1]:
            regions[-1][1] = max(end, regions[-1][1])
        else:
            regions.append([start, end])
    swaps: list[Swap] = []
    for start, end in regions:
        a, b = (place - sum(_growth(s) for s in first if s.similar_end <= place) for place in (start, end))
        c, d = (place + sum(_growth(s) for s in then.swaps if s.end <= place) for place in (start, end))
        if text[a:b] != then.similar[c:d]:
            swaps.append(Swap(a, b, text[a:b], then.similar[c:d], c))
    return tuple(swaps)


def _growth(swap: Swap) -> int:
    return len(swap.target) - len(swap.source)
