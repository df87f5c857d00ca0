"""What the measured effects of single replacements say about several of them together.

Effects add up in log probabilities: exactly so in the logits of a linear model, elsewhere as an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from rif_plugins.core.combination import MIN_GAIN
from rif_plugins.core.overlaps import largest_sums
from rif_plugins.core.pairs import Span
from rif_plugins.core.reach import FloatArray
from rif_plugins.core.reach_candidates import Candidate, log_probabilities

S = TypeVar("S")


def is_in_reach(
    remaining: Mapping[int, Sequence[Candidate[Any]]],
    here: FloatArray,
    label: int,
    *,
    optimism: float,
    max_edits: int | None = None,
    spans: Mapping[int, Span] | None = None,
) -> bool:
    """Whether all remaining effects together, times ``optimism``, could make a label the largest.

    Args:
        remaining: Open candidates by position.
        here: Log probabilities of the current text, ``(k,)``.
        label: The label wanted.
        optimism: Factor on the sum of the largest effects; infinity always says yes.
        max_edits: Most further edits.
        spans: Where the positions stand, if any overlap: of those only one counts.
    """
    if not np.isfinite(optimism):
        return True
    lead = here[label] - here
    if remaining:
        best = np.array([np.max(_advantages(found, label), axis=0) for found in remaining.values()])
        gains = np.maximum(best, 0.0)
        if spans is None:
            sums = np.sort(gains, axis=0)[::-1][:max_edits].sum(axis=0)
        else:
            sums = largest_sums([spans[position] for position in remaining], gains, max_edits)
        lead = lead + optimism * sums
    # Equal labels are told apart by their numbers alone; rounding must not rule them out.
    return bool((lead >= -MIN_GAIN).all())


def rival(values: FloatArray, label: int) -> FloatArray:
    """The largest of the other labels' values, ``(..., k)`` to ``(...)``."""
    others = values.copy()
    others[..., label] = -np.inf
    return np.asarray(others.max(axis=-1))


def margin(p: FloatArray, label: int) -> float:
    """By how much a label leads its strongest rival, in log probabilities; below 0 where it trails."""
    log_p = log_probabilities(p)
    return float(log_p[label] - rival(log_p, label))


def _advantages(candidates: Sequence[Candidate[S]], label: int) -> FloatArray:
    """``(n, k)``: how much each candidate raises the label against each other label."""
    effects = np.array([candidate.effect for candidate in candidates], dtype=np.float64)
    return np.asarray(effects[:, [label]] - effects, dtype=np.float64)


def in_order(
    remaining: dict[int, tuple[Candidate[S], ...]], here: FloatArray, label: int
) -> list[Candidate[S]]:
    """Candidates that should raise the label on top of the edits so far, the best first."""
    candidates = [candidate for found in remaining.values() for candidate in found]
    if not candidates:
        return []
    effects = np.array([candidate.effect for candidate in candidates], dtype=np.float64)
    estimated = here[None, :] + effects
    gains = estimated[:, label] - rival(estimated, label) - (here[label] - rival(here, label))
    # Rounded, so that the floating-point noise of batching does not order candidates.
    rounded = np.round(gains / MIN_GAIN)
    order = np.argsort(-rounded, kind="stable")
    return [candidates[i] for i in order if rounded[i] > 1]


def without(
    remaining: dict[int, tuple[Candidate[S], ...]], candidate: Candidate[S]
) -> dict[int, tuple[Candidate[S], ...]]:
    """The open candidates without one of them."""
    left = tuple(c for c in remaining[candidate.position] if c is not candidate)
    rest = {p: c for p, c in remaining.items() if p != candidate.position}
    return {**rest, candidate.position: left} if left else rest
