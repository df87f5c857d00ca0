"""Choose one candidate a side out of all combinations of both sides.

With ``D = |p_y - p'_y|`` the four corners (largest and smallest ``p_y`` on each side) hold the
minimum of ``J``; taking the minimum over all combinations gives the same choice there, and is right
for total variation and for several classes as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome

FloatArray = NDArray[np.float64]
S = TypeVar("S")
Judge = Callable[[Sequence[S]], list[bool]]

# Differences of the objective below this are noise of floating-point batching: no improvement.
MIN_GAIN = 1e-6
_FILTER_CHUNK = 8


@dataclass(slots=True)
class Option(Generic[S]):
    """One scored state of a side; index 0 of a list is the kept token.

    Attributes:
        key: The replacement word; empty for the kept token.
        state: The state.
        p: Its class probabilities, ``(k,)``.
        is_admissible: None until the filter was asked.
    """

    key: str
    state: S
    p: FloatArray
    is_admissible: bool | None


def choose_combination(
    first: list[Option[S]],
    second: list[Option[S]],
    *,
    evaluate: Callable[[FloatArray, FloatArray], Any],
    label: int,
    target: Outcome,
    is_coupled: bool,
    judges: tuple[Judge[S], Judge[S]],
) -> tuple[int, int] | None:
    """Indices of the best admissible combination, or None when none improves on keeping both.

    Combinations that reach the target come first (fewest edits, then lowest objective), then those
    that lower the objective. Options whose admissibility is unknown are judged in that order, only
    until one combination passes: the choice is the same as when all had been judged beforehand.
    """
    p = np.stack([option.p for option in first])
    p_similar = np.stack([option.p for option in second])
    values = np.asarray(evaluate(p[:, None, :], p_similar[None, :, :]), dtype=np.float64)
    reached = _reaches(p, p_similar, label, target)
    useful = reached | (values < values[0, 0] - MIN_GAIN)
    useful[0, 0] = False
    if is_coupled:
        keys = np.array([option.key for option in first])[:, None] == np.array(
            [option.key for option in second]
        )
        useful &= keys
    i, j = np.nonzero(useful)
    if not len(i):
        return None
    n_edits = (i > 0).astype(int) + (j > 0).astype(int)
    success = reached[i, j]
    rounded = np.round(values[i, j] / MIN_GAIN)
    order = np.lexsort((j, i, n_edits, rounded, np.where(success, n_edits, 0), ~success))
    ranked = [(int(i[k]), int(j[k])) for k in order]
    for place, (a, b) in enumerate(ranked):
        if _passes(first, a, judges[0], [pair[0] for pair in ranked[place:]]) and _passes(
            second, b, judges[1], [pair[1] for pair in ranked[place:]]
        ):
            return a, b
    return None


def _reaches(p: FloatArray, p_similar: FloatArray, label: int, target: Outcome) -> NDArray[np.bool_]:
    prediction = p.argmax(axis=1)[:, None]
    other = p_similar.argmax(axis=1)[None, :]
    is_robust = np.broadcast_to(prediction == label, (len(p), len(p_similar)))
    is_fair = prediction == other
    return np.asarray((is_robust == target.is_robust) & (is_fair == target.is_fair), dtype=np.bool_)


def _passes(options: list[Option[S]], index: int, judge: Judge[S], upcoming: list[int]) -> bool:
    """Whether an option is admissible; judges the next few unknown ones with it in one batch."""
    if options[index].is_admissible is None:
        unknown = [k for k in dict.fromkeys(upcoming) if options[k].is_admissible is None]
        batch = unknown[:_FILTER_CHUNK]
        for k, verdict in zip(batch, judge([options[k].state for k in batch]), strict=True):
            options[k].is_admissible = verdict
    return bool(options[index].is_admissible)
