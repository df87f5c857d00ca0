"""Which findings a page shows where there are too many: as many of each target, then of each kind."""

from __future__ import annotations

import hashlib
import heapq

from rif_plugins.core.results import Record

_Kind = tuple[str, str]  # status and attribute


class FindingSample:
    """Draws findings while they come, of rare kinds all, of frequent ones as many as there is room for.

    Every target gets the same room, and within it every status and attribute; what one does not need, others
    get. Within a kind chance decides, by a digest of the id: the same findings give the same sample. As long
    as there are not more than ``most``, it is all of them. Holds two numbers for each drawn finding.

    Args:
        most: How many to draw.
    """

    def __init__(self, most: int) -> None:
        self.most = max(0, most)
        self._heaps: dict[str, dict[_Kind, list[tuple[int, int]]]] = {}
        self._sizes: dict[str, int] = {}
        self._cut: set[tuple[str, _Kind]] = set()
        self._n_drawn = 0

    def add(self, record: Record, place: int) -> None:
        """Take the next finding.

        Args:
            record: The finding.
            place: What names it, such as its number.
        """
        target, kind = record.target, (record.status, record.attribute)
        heap = self._heaps.setdefault(target, {}).setdefault(kind, [])
        entry = (-_rank(record.id), place)  # the one of the highest rank comes first, to be put away
        if (target, kind) in self._cut:
            if heap:
                heapq.heappushpop(heap, entry)
            return
        heapq.heappush(heap, entry)
        self._sizes[target] = self._sizes.get(target, 0) + 1
        self._n_drawn += 1
        if self._n_drawn > self.most:
            self._put_one_away()

    def places(self) -> frozenset[int]:
        """The drawn findings, by what names them."""
        return frozenset(
            place for kinds in self._heaps.values() for heap in kinds.values() for _, place in heap
        )

    def _put_one_away(self) -> None:
        """Leave out one of the most frequent kind of the most frequent target; this kind grows no more."""
        target = max(self._sizes, key=lambda name: self._sizes[name])
        kinds = self._heaps[target]
        kind = max(kinds, key=lambda name: len(kinds[name]))
        heapq.heappop(kinds[kind])
        self._cut.add((target, kind))
        self._sizes[target] -= 1
        self._n_drawn -= 1


def _rank(name: str) -> int:
    data = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(data, "big")
