"""Rows of numbers under keys, in memory: a table that overwrites its oldest rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_FIRST_CAPACITY = 256


class RowMemory:
    """At most ``size`` rows of one width; the row stored first is forgotten first.

    All rows lie in one array, so that thousands are read or written in one step.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._slots: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._next = 0
        self._table: FloatArray = np.zeros((0, 0))

    def __len__(self) -> int:
        return len(self._slots)

    def slots(self, keys: Sequence[bytes]) -> list[int]:
        """Where the row of each key lies, -1 where it is unknown; good until the next ``add``."""
        get = self._slots.get
        return [get(key, -1) for key in keys]

    def rows(self, slots: Sequence[int]) -> FloatArray:
        """The rows at ``slots``, shape (m, k)."""
        taken: FloatArray = self._table[np.asarray(slots, dtype=np.intp)]
        return taken

    def add(self, keys: Sequence[bytes], rows: FloatArray) -> None:
        """Keep ``rows`` (m, k) under ``keys``; a known key gets the new row."""
        if self.size <= 0 or not len(keys):
            return
        keys, rows = keys[-self.size :], rows[-self.size :]
        slots = self._taken(keys)
        if len(self._keys) > len(self._table):
            self._grow(rows.shape[1])
        # Where one slot was taken twice, numpy lets the later row stand, as it should.
        self._table[slots] = rows

    def clear(self) -> None:
        """Forget all rows."""
        self._slots, self._keys, self._next = {}, [], 0
        self._table = np.zeros((0, 0))

    def _taken(self, keys: Sequence[bytes]) -> list[int]:
        """A slot for each key: its own, else the next free or oldest one."""
        known, order, slots = self._slots, self._keys, []
        for key in keys:
            slot = known.get(key)
            if slot is None:
                slot = self._next
                if slot < len(order):
                    del known[order[slot]]
                    order[slot] = key
                else:
                    order.append(key)
                known[key] = slot
                self._next = slot + 1 if slot + 1 < self.size else 0
            slots.append(slot)
        return slots

    def _grow(self, width: int) -> None:
        capacity = min(self.size, max(len(self._keys), 2 * len(self._table), _FIRST_CAPACITY))
        table = np.empty((capacity, width))
        if len(self._table):
            table[: len(self._table)] = self._table
        self._table = table
