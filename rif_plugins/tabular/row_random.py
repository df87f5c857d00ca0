"""Random numbers of a row that depend on the run's seed and the row's values alone.

An attack draws for thousands of rows at once. With a counter-based generator every row has a stream of
its own, so results are the same for any order of rows and any batch size, and no state is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
KeyArray = NDArray[np.uint64]

# Constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): an odd increment and two multipliers.
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_DRAWS_PER_STEP = 64


def row_keys(rows: NDArray[np.floating], seed: int = 0) -> KeyArray:
    """A 64-bit key of every row: equal rows have equal keys, whatever stands around them.

    Args:
        rows: ``(n, d)``; read as float64, with -0.0 as 0.0.
        seed: The run's seed.

    Returns:
        ``(n,)``. Different rows share a key with a probability of about 1 in 2**64.
    """
    values = np.ascontiguousarray(np.asarray(rows, dtype=np.float64) + 0.0)
    bits = values.view(np.uint64)
    key = np.full(len(values), seed & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
    key = _mix(key)
    for column in range(values.shape[1]):
        key = _mix(key ^ bits[:, column])
    return key


def first_of_each(keys: KeyArray) -> IntArray:
    """Positions of the first occurrence of every key, in ascending order."""
    _, first = np.unique(keys, return_index=True)
    return np.sort(first).astype(np.int64)


class RowRandom:
    """Streams of random numbers, one a row.

    Args:
        seed: The run's seed.
        rows: ``(n, d)``: what the streams belong to.
    """

    def __init__(self, seed: int, rows: NDArray[np.floating]) -> None:
        self._keys = row_keys(rows, seed)

    def __len__(self) -> int:
        return len(self._keys)

    def take(self, index: NDArray[np.generic]) -> RowRandom:
        """The streams of some of the rows (positions or a mask)."""
        part = object.__new__(RowRandom)
        part._keys = self._keys[index]
        return part

    def uniform(self, step: int | IntArray, draw: int = 0) -> FloatArray:
        """One number in [0, 1) a row.

        Args:
            step: Which step of the search; an array ``(n,)`` where rows are at different steps, or one
                that broadcasts with ``(n,)``, such as ``(k, 1)`` for a block of k steps.
            draw: Which of the draws of that step, below 64.
        """
        counter = np.atleast_1d(np.asarray(step, dtype=np.uint64)) * np.uint64(_DRAWS_PER_STEP)
        bits = _mix(self._keys ^ _mix(counter + np.uint64(draw)))
        return np.asarray((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)

    def integers(self, step: int | IntArray, high: int | IntArray, draw: int = 0) -> IntArray:
        """One integer in [0, high) a row; ``high`` may differ from row to row."""
        return np.asarray(np.floor(self.uniform(step, draw) * high), dtype=np.int64)

    def signs(self, step: int | IntArray, draw: int = 0) -> FloatArray:
        """-1.0 or +1.0 a row."""
        return np.where(self.uniform(step, draw) < 0.5, -1.0, 1.0)


def _mix(values: KeyArray) -> KeyArray:
    """The finaliser of SplitMix64, after its increment."""
    with np.errstate(over="ignore"):
        values = values + _INCREMENT
        values = (values ^ (values >> np.uint64(30))) * _FIRST
        values = (values ^ (values >> np.uint64(27))) * _SECOND
        return np.asarray(values ^ (values >> np.uint64(31)), dtype=np.uint64)


def weighted_choice(weights: FloatArray, uniform: FloatArray) -> IntArray:
    """One position a row, with probabilities in proportion to ``(n, d)`` weights.

    Args:
        weights: Not negative; a position with weight 0 is never chosen where another has more.
        uniform: ``(n,)`` numbers in [0, 1).

    Returns:
        ``(n,)``; 0 for a row whose weights are all 0.
    """
    ends = np.cumsum(weights, axis=1)
    place = np.sum(ends <= (uniform * ends[:, -1])[:, None], axis=1)
    last = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    return np.where(ends[:, -1] > 0, np.minimum(place, last), 0).astype(np.int64)
