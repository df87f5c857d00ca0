"""The four outcomes of a perturbed pair: what robust individual fairness is made of.

==================  =====================  =======================
..                  fair: ŷ' = ŷ           biased: ŷ' ≠ ŷ
==================  =====================  =======================
robust: ŷ = y       ``robust_fair``        ``robust_biased``
unrobust: ŷ ≠ y     ``unrobust_fair``      ``unrobust_biased``
==================  =====================  =======================

Source: Li et al., "Perturbation Effects on Robustness and Individual Fairness", KDD 2026.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Outcome(str, Enum):
    """Outcome of a pair. Compares equal to its own string value."""

    ROBUST_FAIR = "robust_fair"
    ROBUST_BIASED = "robust_biased"
    UNROBUST_FAIR = "unrobust_fair"
    UNROBUST_BIASED = "unrobust_biased"

    def __str__(self) -> str:
        return self.value

    @property
    def is_robust(self) -> bool:
        """True when the original side has the right label."""
        return self in (Outcome.ROBUST_FAIR, Outcome.ROBUST_BIASED)

    @property
    def is_fair(self) -> bool:
        """True when both sides have the same label."""
        return self in (Outcome.ROBUST_FAIR, Outcome.UNROBUST_FAIR)

    @property
    def is_violation(self) -> bool:
        """True for everything but ``robust_fair``."""
        return self is not Outcome.ROBUST_FAIR


TARGETS: tuple[Outcome, Outcome, Outcome] = (
    Outcome.ROBUST_BIASED,
    Outcome.UNROBUST_FAIR,
    Outcome.UNROBUST_BIASED,
)

ROBUSTNESS_ONLY = "robustness_only"
FAIRNESS_ONLY = "fairness_only"
AXES = (ROBUSTNESS_ONLY, FAIRNESS_ONLY)
"""Single-axis attacks that run beside the targets: flip the original whatever the pair does; make the two
predictions of a pair differ with the same edits on both sides, whatever the label."""
ALL_TARGETS: tuple[str, ...] = (*map(str, TARGETS), *AXES)


def is_in_target(outcome: Outcome, target: str) -> bool:
    """Whether an outcome is what a target or a single-axis attack aims at.

    >>> is_in_target(Outcome.UNROBUST_FAIR, "robustness_only")
    True
    >>> is_in_target(Outcome.UNROBUST_FAIR, "fairness_only")
    False
    """
    if target == ROBUSTNESS_ONLY:
        return not outcome.is_robust
    if target == FAIRNESS_ONLY:
        return not outcome.is_fair
    return str(outcome) == str(target)


def classify(label: int, prediction: int, similar_predictions: int | Iterable[int]) -> Outcome:
    """Name the outcome of a text and one or several similar texts.

    Args:
        label: The right label ``y``.
        prediction: The predicted label ``ŷ`` of the original side.
        similar_predictions: The predicted label of the similar side, or of every similar text;
            fair then means that all of them equal ``prediction``.

    Returns:
        The outcome. With more than two classes two different wrong labels are ``unrobust_biased``.

    Raises:
        ValueError: ``similar_predictions`` is empty.

    >>> str(classify(1, 1, 0)), str(classify(1, 0, 0)), str(classify(2, 0, [0, 1]))
    ('robust_biased', 'unrobust_fair', 'unrobust_biased')
    """
    similar = (
        list(similar_predictions) if isinstance(similar_predictions, Iterable) else [similar_predictions]
    )
    if not similar:
        raise ValueError(
            "similar_predictions is empty: expected one label or several, got none; "
            "a text without a similar text has no outcome"
        )
    is_fair = all(int(other) == int(prediction) for other in similar)
    if int(prediction) == int(label):
        return Outcome.ROBUST_FAIR if is_fair else Outcome.ROBUST_BIASED
    return Outcome.UNROBUST_FAIR if is_fair else Outcome.UNROBUST_BIASED
