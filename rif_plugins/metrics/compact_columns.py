"""Many rows of numbers in little memory: kept column by column and compressed, without any loss."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_BLOCK = 8192  # rows
_LEVEL = 1
_SMALL: tuple[type[np.signedinteger], ...] = (np.int8, np.int16, np.int32)


class CompactColumns:
    """Rows of ``width`` numbers each, appended one by one.

    Most columns hold few different values, so that a row of 45 numbers takes some 60 bytes.

    Args:
        width: Numbers in a row.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._open = array("d")
        self._blocks: list[list[bytes]] = []

    def __len__(self) -> int:
        return len(self._blocks) * _BLOCK + len(self._open) // self.width

    def append(self, row: Sequence[float]) -> None:
        """Append one row.

        Raises:
            TypeError: A value is no number.
        """
        values = array("d", row)
        if len(values) != self.width:
            raise TypeError(f"expected {self.width} numbers, got {len(values)}")
        self._open.extend(values)
        if len(self._open) == _BLOCK * self.width:
            columns = np.ascontiguousarray(self._rows().T)
            self._blocks.append([zlib.compress(column.tobytes(), _LEVEL) for column in columns])
            self._open = array("d")

    def column(self, index: int) -> FloatArray:
        """One column, ``(n,)``."""
        parts = [np.frombuffer(zlib.decompress(block[index])) for block in self._blocks]
        return np.concatenate([*parts, self._rows()[:, index]])

    def _rows(self) -> FloatArray:
        return np.frombuffer(self._open, dtype=np.float64).reshape(-1, self.width)


def smallest(values: FloatArray) -> NDArray[np.generic]:
    """The same numbers in the smallest type that holds each exactly."""
    if not len(values):
        return values
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        low, high = values.min(), values.max()
        if np.isfinite(low) and np.isfinite(high) and (values == np.rint(values)).all():
            for kind in _SMALL:
                if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                    return values.astype(kind)
        single = values.astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else values
