"""Batches of texts of like length, so that padding costs little."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_FILL = 0.85
_SLACK = 4


def length_batches(lengths: Sequence[int], most: int) -> list[NDArray[np.intp]]:
    """Cut texts into batches in which the shortest fills at least 85 % of the longest, or lacks 4 tokens.

    On processors a transformer's time grows with the padded tokens; a few more calls cost less than the
    padding that they save. The number of calls grows with the logarithm of the spread of lengths only.

    Args:
        lengths: Tokens of each text, shape (n,).
        most: Most texts of a batch.

    Returns:
        Places of the texts, longest batch first; each text once.

    Raises:
        ValueError: ``most`` is below 1.
    """
    if most < 1:
        raise ValueError(f"most is {most}, expected 1 or more")
    sizes = np.asarray(lengths)
    order = np.argsort(-sizes, kind="stable")
    batches, start = [], 0
    while start < len(order):
        width = int(sizes[order[start]])
        least = min(_FILL * width, width - _SLACK)
        stop = start + 1
        while stop < min(len(order), start + most) and sizes[order[stop]] >= least:
            stop += 1
        batches.append(order[start:stop])
        start = stop
    return batches
