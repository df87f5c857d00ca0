"""Positions that overlap, such as a phrase and its tokens: at most one edit may cover a character."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.pairs import Span

FloatArray = NDArray[np.float64]


def overlapping(spans: Mapping[int, Span]) -> dict[int, frozenset[int]]:
    """For each position that shares a character with others, which these are; empty where none does.

    >>> overlapping({0: Span(0, 4), 1: Span(5, 9), 2: Span(10, 12), 9: Span(0, 9)})
    {0: frozenset({9}), 9: frozenset({0, 1}), 1: frozenset({9})}
    """
    found: dict[int, set[int]] = {}
    reaching: list[tuple[int, Span]] = []
    for position, span in sorted(spans.items(), key=lambda item: (item[1].start, item[1].end)):
        reaching = [(other, there) for other, there in reaching if there.end > span.start]
        for other, _ in reaching:
            found.setdefault(other, set()).add(position)
            found.setdefault(position, set()).add(other)
        reaching.append((position, span))
    return {position: frozenset(others) for position, others in found.items()}


def largest_sums(spans: Sequence[Span], gains: FloatArray, most: int | None) -> FloatArray:
    """The largest sum of gains over spans that share no character, each column for itself.

    Weighted interval scheduling: in the order of their ends, each span is left out, or added to the best
    choice among those that end before it.

    Args:
        spans: ``n`` spans, in any order.
        gains: What each adds, 0 or more, ``(n, k)``.
        most: Most spans in a choice; None is unlimited.

    Returns:
        The sums, ``(k,)``.
    """
    order = sorted(range(len(spans)), key=lambda i: (spans[i].end, spans[i].start))
    ends = [spans[i].end for i in order]
    # One level a number of spans, the last is the answer; without a limit one level that adds to itself.
    n_levels = 1 if most is None else min(most, len(spans)) + 1
    best = np.zeros((len(spans) + 1, n_levels, gains.shape[1]))
    for row, i in enumerate(order, 1):
        before = best[bisect_right(ends, spans[i].start, 0, row - 1)]
        taken = before + gains[i]
        best[row] = best[row - 1]
        if most is None:
            np.maximum(best[row], taken, out=best[row])
        else:
            np.maximum(best[row, 1:], taken[:-1], out=best[row, 1:])
    return np.asarray(best[-1, -1], dtype=np.float64)


def count_choices(spans: Sequence[Span], sizes: Sequence[int], most: int) -> int:
    """How many ways there are to edit 1 to ``most`` of the spans, none of which share a character.

    Args:
        spans: The spans, in any order.
        sizes: How many replacements each has.
        most: Most edits.
    """
    order = sorted(range(len(spans)), key=lambda i: (spans[i].end, spans[i].start))
    ends = [spans[i].end for i in order]
    # Row by row: the ways to edit exactly 0, 1 ... most of the spans so far.
    ways = [[1] + [0] * most]
    for row, i in enumerate(order, 1):
        before = ways[bisect_right(ends, spans[i].start, 0, row - 1)]
        fewer = [0, *before[:-1]]
        ways.append([out + sizes[i] * taken for out, taken in zip(ways[-1], fewer, strict=True)])
    return sum(ways[-1][1:])
