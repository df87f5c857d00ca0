"""How far two judges agree on the ratings that both have given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rif_plugins.diagnostics.judge_answers import HIGHEST, LOWEST
from rif_plugins.errors import UsageError


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two judges.

    Attributes:
        n: Edits that both have rated.
        kappa: Cohen's kappa with quadratic weights; None where it is not defined (nothing rated by both, or
            both gave one and the same rating to everything).
        within_one: Share of the edits whose ratings differ by at most one; None for no edits.
        same: Share of the edits with the same rating; None for no edits.
    """

    n: int
    kappa: float | None
    within_one: float | None
    same: float | None


def agreement(first: Sequence[int | None], second: Sequence[int | None]) -> Agreement:
    """Compare two judges' ratings of the same edits; an edit that one has not rated is left out.

    Kappa is ``1 - sum(w * observed) / sum(w * expected)`` with ``w = (i - j)**2``, where ``expected`` is the
    product of the judges' own distributions (Cohen 1968).

    >>> agreement([5, 4, 1, None], [5, 4, 1, 2]).kappa
    1.0

    Raises:
        UsageError: The lists differ in length, or a rating is not from 1 to 5.
    """
    if len(first) != len(second):
        raise UsageError(f"two judges rated {len(first)} and {len(second)} edits, expected the same ones")
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    wrong = [rating for pair in both for rating in pair if not LOWEST <= rating <= HIGHEST]
    if wrong:
        raise UsageError(f"a rating is {wrong[0]}, expected a whole number from {LOWEST} to {HIGHEST}")
    if not both:
        return Agreement(0, None, None, None)
    a, b = (np.array(column, dtype=np.int64) - LOWEST for column in zip(*both, strict=True))
    size = HIGHEST - LOWEST + 1
    observed = np.zeros((size, size))
    np.add.at(observed, (a, b), 1.0 / len(both))
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    levels = np.arange(size)
    weights = (levels[:, None] - levels[None, :]) ** 2
    chance = float((weights * expected).sum())
    kappa = 1.0 - float((weights * observed).sum()) / chance if chance > 0 else None
    distance = np.abs(a - b)
    return Agreement(
        len(both),
        None if kappa is None else round(kappa, 12),
        float((distance <= 1).mean()),
        float((distance == 0).mean()),
    )
