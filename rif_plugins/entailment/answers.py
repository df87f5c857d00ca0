"""Answers of an entailment scorer: remembered, stored, counted, and asked for in batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.row_memory import RowMemory
from rif_plugins.core.stores import PredictionStore, namespace, packed_rows, pair_keys, unpacked_rows
from rif_plugins.entailment.base import ENTAILMENT, EntailmentScorer

_MEMORY_SIZE = 200_000
_STORED_KIND = "e"
# What a scorer says about these tells scorers apart that call themselves alike; the long ones show where it
# cuts a text (64, 128, 256 or 512 tokens).
_PROBES = (
    ("The film is good.", "The film is great."),
    ("She did not like the soup.", "She liked the soup."),
    ("A man plays a guitar on stage.", "A person makes music."),
    *(("the film is good and " * n, "the movie is good and " * n) for n in (9, 16, 28)),
)
Pair = tuple[str, str]


@dataclass(slots=True)
class FilterCount:
    """What one search has asked of the filter.

    Attributes:
        rows: Rows that the scorer answered for it.
        cache_hits: Rows answered from memory.
        stored_hits: Rows answered from the store of earlier runs.
    """

    rows: int = 0
    cache_hits: int = 0
    stored_hits: int = 0


class ScorerAnswers:
    """P(premise entails hypothesis) for many pairs; the scorer sees only what is new.

    Args:
        scorer: Gives the probabilities.
        batch_size: Half as many rows as are handed to the scorer at once.
        store: Keeps answers across runs.

    Attributes:
        count: All that was asked so far.
    """

    def __init__(
        self, scorer: EntailmentScorer, *, batch_size: int, store: PredictionStore | None = None
    ) -> None:
        self.scorer = scorer
        self.count = FilterCount()
        self._batch_size = batch_size
        self._memory = RowMemory(_MEMORY_SIZE)
        self._store: PredictionStore | None = None
        self._space = b""
        if store is not None:
            self.use_store(store)

    def use_store(self, store: PredictionStore | None) -> bool:
        """Keep answers in ``store`` from now on, None for none; asks the scorer a few probe pairs.

        The keys hold the scorer's name, version and answers to the probes, so that another scorer never gets
        these answers.

        Returns:
            Whether answers are kept: not where the scorer cannot tell its version.
        """
        self._memory.clear()
        self._space = b""
        self._store = None
        version = self.scorer.version if store is not None else ""
        if store is None or version in ("", "unknown"):
            return False
        # One by one: a scorer pads the pairs of one call to the longest.
        answers = np.vstack([np.asarray(self.scorer.probabilities([pair])) for pair in _PROBES])
        self._space = namespace("entailment", self.scorer.name, version, str(answers.round(6).tolist()))
        self._store = store
        return True

    def clear(self) -> None:
        """Forget all answers in memory; counters and store stay."""
        self._memory.clear()

    def entailment(self, asked: Sequence[tuple[Pair, Sequence[FilterCount]]]) -> dict[Pair, float]:
        """P(premise entails hypothesis) of each pair; the scorer sees only what is new.

        ``asked`` names with each pair all who want it; the first of them pays.
        """
        who: dict[Pair, list[FilterCount]] = {}
        for pair, tallies in asked:
            who.setdefault(pair, []).extend(tallies)
        pairs = list(who)
        keys = pair_keys(pairs, self._space)
        slots = self._memory.slots(keys)
        known = [i for i, slot in enumerate(slots) if slot >= 0]
        unknown = [i for i, slot in enumerate(slots) if slot < 0]
        values = np.empty(len(pairs))
        if known:
            values[known] = self._memory.rows([slots[i] for i in known])[:, 0]
        stored = self._stored(keys, unknown, values)
        new = [i for i in unknown if i not in stored]
        self._score(pairs, new, values)
        learnt = [*stored, *new]
        if learnt:
            self._memory.add([keys[i] for i in learnt], values[learnt][:, None])
        if new and self._store is not None:
            packed = packed_rows(values[new][:, None], _STORED_KIND)
            self._store.set_many(dict(zip([keys[i] for i in new], packed, strict=True)))
        self._count(list(who.values()), set(new), stored)
        return dict(zip(pairs, values.tolist(), strict=True))

    def _stored(self, keys: Sequence[bytes], unknown: list[int], values: NDArray[np.float64]) -> set[int]:
        """Fill in what the store knows; returns which."""
        if self._store is None or not unknown:
            return set()
        found = self._store.get_many([keys[i] for i in unknown])
        places, rows = unpacked_rows(found, _STORED_KIND, width=1)
        sound = [(unknown[p], x) for p, x in zip(places, rows[:, 0].tolist(), strict=True) if 0.0 <= x <= 1.0]
        for number, value in sound:
            values[number] = value
        return {number for number, _ in sound}

    def _score(self, pairs: Sequence[Pair], new: Sequence[int], values: NDArray[np.float64]) -> None:
        """Ask the scorer, pairs of like length together."""
        order = sorted(new, key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
        for start in range(0, len(order), 2 * self._batch_size):
            part = order[start : start + 2 * self._batch_size]
            answers = np.asarray(self.scorer.probabilities([pairs[i] for i in part]), dtype=np.float64)
            values[part] = answers[:, ENTAILMENT]
            self.count.rows += len(part)

    def _count(self, who: Sequence[Sequence[FilterCount]], new: set[int], stored: set[int]) -> None:
        for number, tallies in enumerate(who):
            if number in new:
                tallies[0].rows += 1
            elif number in stored:
                tallies[0].stored_hits += 1
                self.count.stored_hits += 1
            else:
                tallies[0].cache_hits += 1
                self.count.cache_hits += 1
            for tally in tallies[1:]:
                tally.cache_hits += 1
            self.count.cache_hits += len(tallies) - 1

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the store: a worker opens its own and calls ``use_store``."""
        return {**self.__dict__, "_store": None}
