"""What all engines share: shards wait for a worker that is ready, and a worker that died is replaced."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any, Generic, TypeVar

from rif_plugins.errors import UsageError
from rif_plugins.runner.child_process import retold
from rif_plugins.runner.shards import Lost, Shard, ShardResult


class Slot(ABC):
    """A worker, seen from the engine, and what it does.

    Attributes:
        is_ready: Whether victim and filter are loaded.
        shard: What it searches; None while it loads or waits.
    """

    def __init__(self) -> None:
        self.is_ready = False
        self.shard: Shard | None = None

    def begin(self, shard: Shard) -> None:
        """Search a shard."""
        self.shard = shard
        self.send(shard)

    @abstractmethod
    def send(self, shard: Shard) -> None:
        """Hand the shard over; a worker that has just died must not raise here."""


SlotT = TypeVar("SlotT", bound=Slot)


class SlotEngine(ABC, Generic[SlotT]):
    """An engine that keeps the shards which no worker is ready for.

    Args:
        n_slots: Workers.
    """

    def __init__(self, n_slots: int) -> None:
        self.n_slots = n_slots
        self._backlog: deque[Shard] = deque()
        self._slots: list[SlotT] = []

    def submit(self, shard: Shard) -> None:
        """Begin a shard, or keep it for the next worker that is ready."""
        self._backlog.append(shard)
        self._feed()

    @abstractmethod
    def next(self) -> ShardResult | Lost:
        """Wait for a shard; see :class:`rif_plugins.runner.shards.Engine`."""

    @abstractmethod
    def close(self) -> None:
        """End all workers; idempotent."""

    @abstractmethod
    def _started(self) -> SlotT:
        """A new worker, which still loads."""

    @abstractmethod
    def _unloaded(self, reason: str) -> UsageError:
        """The error of a worker that ended while it loaded the victim."""

    def _start_all(self) -> None:
        for _ in range(self.n_slots):
            self._slots.append(self._started())

    def _feed(self) -> None:
        for slot in self._slots:
            if self._backlog and slot.is_ready and slot.shard is None:
                slot.begin(self._backlog.popleft())

    def _answered(self, slot: SlotT, kind: str, value: Any) -> ShardResult | None:
        """What a worker says; None where that is nothing about a shard.

        Raises:
            RIFError: What the worker raised.
        """
        if kind == "error":
            raise retold(*value)
        slot.is_ready, slot.shard = True, None
        self._feed()
        return value if kind == "done" else None

    def _lost(self, slot: SlotT, reason: str) -> Lost | None:
        """Replace a worker that died; None where no shard is lost with it.

        Raises:
            UsageError: It died while it loaded the victim, as the next one would.
        """
        if not slot.is_ready:
            raise self._unloaded(reason)
        self._slots[self._slots.index(slot)] = self._started()
        return None if slot.shard is None else Lost(slot.shard, reason)
