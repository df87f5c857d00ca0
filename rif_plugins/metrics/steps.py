"""What the steps of a search did to both sides of a pair, and how far a decision is from its flip.

Sources: the perturbation impact (PII, PID) and the theorems on the impact that a flip needs and on the
impact that a decision tolerates, Li et al., "Perturbation Effects on Accuracy and Fairness among Similar
Individuals", January 2026 (Theorems 3 and 4). There ``f`` is one number and ``τ`` its threshold; here, for
any number of classes, the tolerance of a decision is half the distance between its two largest
probabilities, measured in total variation: with two classes this is ``|τ - f|`` with ``τ = 0.5``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MAGNITUDE_TOLERANCE = 0.01
"""Two sides move by different amounts when their changes of ``p_y`` differ by more than this."""
_STILL = 1e-9

STEP_FIELDS = (
    "steps",
    "both_moved",
    "same_direction",
    "same_different",
    "opposite",
    "larger_move",
    "smaller_move",
)
FLIP_FIELDS = (
    "tolerance_original",
    "tolerance_similar",
    "spent_original",
    "spent_similar",
    "flipped_original",
    "flipped_similar",
)


def step_measures(trajectory: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """Count the steps of one trajectory, in the order of ``STEP_FIELDS``.

    A step moves a side when it changes the side's ``p_y``. ``steps`` counts steps that move a side,
    ``both_moved`` those that move both; of these, ``same_direction`` move both up or both down,
    ``opposite`` one up and one down, and ``same_different`` in the same direction by amounts that differ
    by more than ``MAGNITUDE_TOLERANCE``. ``larger_move`` and ``smaller_move`` add up the amounts of the
    steps in the same direction.
    """
    steps = both = same = different = opposite = 0
    larger = smaller = 0.0
    before: Mapping[str, Any] | None = None
    for point in trajectory:
        if before is not None:
            a = point["p_original"] - before["p_original"]
            b = point["p_similar"] - before["p_similar"]
            if abs(a) > _STILL and abs(b) > _STILL:
                steps += 1
                both += 1
                if (a > 0) == (b > 0):
                    same += 1
                    high, low = max(abs(a), abs(b)), min(abs(a), abs(b))
                    different += high - low > MAGNITUDE_TOLERANCE
                    larger += high
                    smaller += low
                else:
                    opposite += 1
            elif abs(a) > _STILL or abs(b) > _STILL:
                steps += 1
        before = point
    return steps, both, same, different, opposite, larger, smaller


def flip_tolerance(probabilities: Sequence[float]) -> float:
    """Total variation that a decision stands without changing: half the lead of the largest probability.

    A move of less than this in total variation cannot make another class the largest one.
    """
    if len(probabilities) < 2:
        return 0.0
    first, second = sorted(probabilities, reverse=True)[:2]
    return (first - second) / 2.0


def total_variation(p: Sequence[float], q: Sequence[float]) -> float:
    """Half the sum of absolute differences; with two classes the change of either probability."""
    if len(p) == len(q) == 2:  # the usual case, and a hot one
        return (abs(p[0] - q[0]) + abs(p[1] - q[1])) / 2.0
    return sum([abs(a - b) for a, b in zip(p, q, strict=True)]) / 2.0


def flip_measures(probabilities: Mapping[str, Sequence[float]]) -> tuple[float, ...]:
    """Tolerance, total variation spent and flip (1 or 0) of both sides, in the order of ``FLIP_FIELDS``.

    Args:
        probabilities: Class probabilities by text name, all four texts.
    """
    clean = probabilities["original"], probabilities["similar"]
    final = probabilities["perturbed_original"], probabilities["perturbed_similar"]
    pairs = tuple(zip(clean, final, strict=True))
    tolerance = [flip_tolerance(p) for p in clean]
    spent = [total_variation(p, q) for p, q in pairs]
    flipped = [float(p.index(max(p)) != q.index(max(q))) for p, q in pairs]
    return (*tolerance, *spent, *flipped)
