"""One call to the victim engine: whose budget pays for which text, and what is known so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]


class Budget:
    """How many victim rows one example may still cost. ``None`` is unlimited.

    Rows are texts that the victim really saw; remembered answers are free.

    Attributes:
        limit: Most rows.
        spent: Rows so far.
        hits: Texts answered from memory, repeats within one call included.
        stored_hits: Texts answered from the store of earlier runs.
        reserved: Rows kept back.
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and limit < 0:
            raise UsageError(f"query budget must be 0 or more, got {limit}")
        self.limit = limit
        self.spent = 0
        self.hits = 0
        self.stored_hits = 0
        self.reserved = 0

    @property
    def left(self) -> float:
        """Rows that may still be spent outside the reserve; infinite without a limit."""
        return float("inf") if self.limit is None else max(0, self.limit - self.spent - self.reserved)

    @property
    def is_spent(self) -> bool:
        """True when no row is left."""
        return self.left <= 0


@dataclass(slots=True, eq=False)
class Request:
    """One request while it is answered; ``texts`` are numbers of texts of the ``Call``.

    Attributes:
        wanted: Length of the prefix that the budget pays for.
        own: The texts of which this request pays the row.
        error: Why it failed.
    """

    texts: list[int]
    budget: Budget
    wanted: int = 0
    own: set[int] = field(default_factory=set)
    error: Exception | None = None


class Call:
    """The distinct texts of one call to the engine, by number, and what is known of them."""

    def __init__(self, texts: list[str], keys: list[bytes]) -> None:
        self.texts = texts
        self.keys = keys
        self.owners: list[Request | None] = [None] * len(keys)
        self.is_known = [False] * len(keys)
        self.stored: set[int] = set()
        self._blocks: list[tuple[list[int], FloatArray]] = []

    def add(self, numbers: list[int], rows: FloatArray) -> None:
        """Learn the rows of some texts."""
        for number in numbers:
            self.is_known[number] = True
        if numbers:
            self._blocks.append((numbers, rows))

    def rows(self, width: int) -> FloatArray:
        """The row of every text, shape (texts, width); arbitrary where none is known."""
        table = np.empty((len(self.keys), width))
        for numbers, rows in self._blocks:
            table[numbers] = rows
        return table

    def unanswered(self) -> list[int]:
        """The texts that have an owner and no row, shortest first; the order of requests does not matter."""
        owned = [i for i, owner in enumerate(self.owners) if owner is not None and not self.is_known[i]]
        owned.sort(key=self.texts.__getitem__)
        owned.sort(key=[len(text) for text in self.texts].__getitem__)
        return owned

    def new(self) -> list[int]:
        """The texts that the victim saw in this call."""
        return [i for i, owner in enumerate(self.owners) if owner is not None and self.is_known[i]]

    def plan(self, requests: Sequence[Request]) -> None:
        """Find for each request the prefix that its budget pays for; new texts get the first as owner."""
        self._disown_unknown()
        owners, known = self.owners, self.is_known
        planned: dict[Budget, int] = {}
        for request in requests:
            left = request.budget.left - planned.get(request.budget, 0)
            n_new = wanted = 0
            for number in request.texts:
                if not known[number] and owners[number] is None:
                    if n_new >= left:
                        break
                    owners[number] = request
                    request.own.add(number)
                    n_new += 1
                wanted += 1
            request.wanted = wanted
            planned[request.budget] = planned.get(request.budget, 0) + n_new

    def _disown_unknown(self) -> None:
        for number, owner in enumerate(self.owners):
            if owner is not None and not self.is_known[number]:
                self.owners[number] = None

    def hits(self, request: Request) -> tuple[int, int]:
        """How many texts of the answer came from memory and from the store; each stored one counts once."""
        answered = request.texts[: request.wanted]
        stored = self.stored.intersection(answered) if self.stored else set()
        self.stored -= stored
        own = request.own.intersection(answered) if request.own else ()
        return len(answered) - len(own) - len(stored), len(stored)
