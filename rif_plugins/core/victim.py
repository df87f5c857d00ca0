"""The victim engine: the one place that turns texts into class probabilities.

It de-duplicates, caches, counts rows and hits, sorts by length so that a batch pads little, halves
the batch when memory runs out, keeps a budget, and checks what comes back.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind, PredictionReader
from rif_plugins.errors import RIFError, UsageError, VictimError

FloatArray = NDArray[np.float64]
Predict = Callable[[list[str]], Any]


class VictimCallError(RIFError):
    """The victim raised while predicting; the message names its error and the text."""


class Budget:
    """How many victim rows one example may still cost. ``None`` is unlimited.

    Rows are texts that the victim really saw; answers from the cache are free.
    """

    def __init__(self, limit: int | None = None) -> None:
        if limit is not None and limit < 0:
            raise UsageError(f"query budget must be 0 or more, got {limit}")
        self.limit = limit
        self.spent = 0
        self.hits = 0
        self.reserved = 0

    @property
    def left(self) -> float:
        """Rows that may still be spent outside the reserve; infinite without a limit."""
        return float("inf") if self.limit is None else max(0, self.limit - self.spent - self.reserved)

    @property
    def is_spent(self) -> bool:
        """True when no row is left."""
        return self.left <= 0


class VictimEngine:
    """Batched, cached and counted predictions of one victim.

    Args:
        predict: Takes a list of texts, returns one row a text (see ``PredictionReader``).
        n_labels: Number of classes if known.
        output: ``"auto"``, ``"probabilities"`` or ``"logits"``.
        batch_size: Most texts in one call; fewer once memory has run out at that size.
        cache_size: Most predictions kept; 0 switches the cache off.
        is_out_of_memory: Tells from an exception whether a smaller batch may help.

    Attributes:
        rows: Texts the victim saw.
        cache_hits: Texts answered without it (repeats within one call included).
        seconds: Time spent inside ``predict``.
    """

    def __init__(
        self,
        predict: Predict,
        *,
        n_labels: int | None = None,
        output: OutputKind = "auto",
        batch_size: int = 32,
        cache_size: int = 2**17,
        is_out_of_memory: Callable[[BaseException], bool] | None = None,
    ) -> None:
        if not callable(predict):
            raise VictimError(
                f"the victim is {type(predict).__name__}, "
                "expected a callable that maps a list of texts to rows"
            )
        if batch_size < 1:
            raise UsageError(f"batch size must be 1 or more, got {batch_size}")
        self.predict = predict
        self.batch_size = batch_size
        self.cache_size = cache_size
        self._fitting_size: int | None = None
        self.rows = 0
        self.cache_hits = 0
        self.seconds = 0.0
        self._reader = PredictionReader(n_labels, output)
        self._is_out_of_memory = is_out_of_memory or is_out_of_memory_error
        self._cache: dict[bytes, FloatArray] = {}

    @property
    def n_labels(self) -> int | None:
        """Number of classes, known after the first call at the latest."""
        return self._reader.n_labels

    def probabilities(
        self, texts: Sequence[str], *, budget: Budget | None = None, fresh: bool = False
    ) -> FloatArray:
        """Class probabilities of ``texts`` in their order, shape ``(m, k)``.

        Args:
            texts: The texts; repeats cost nothing.
            budget: Limits the new rows of this call. Where it does not suffice, the answer is the
                longest prefix of ``texts`` that it pays for, so ``m`` may be smaller than ``len(texts)``.
            fresh: Ask the victim again, whatever the cache holds.

        Raises:
            VictimError: The output is no prediction.
            VictimCallError: The victim raised.
        """
        budget = budget if budget is not None else Budget()
        wanted, new = self._affordable(texts, budget, fresh)
        predicted = self._predict_all(new, budget)
        self._remember(predicted)
        hits = len(wanted) - len(new)
        self.cache_hits += hits
        budget.hits += hits
        rows = [predicted[text] if text in predicted else self._cache[_key(text)] for text in wanted]
        if not rows:
            return np.zeros((0, self.n_labels or 0))
        self._forget()
        return np.stack(rows)

    def _affordable(self, texts: Sequence[str], budget: Budget, fresh: bool) -> tuple[list[str], list[str]]:
        """The prefix that the budget pays for, and its distinct texts that the victim must see."""
        wanted: list[str] = []
        new: dict[str, None] = {}
        for text in texts:
            if text not in new and (fresh or _key(text) not in self._cache):
                if len(new) >= budget.left:
                    break
                new[text] = None
            wanted.append(text)
        return wanted, list(new)

    def _predict_all(self, texts: list[str], budget: Budget) -> dict[str, FloatArray]:
        predicted: dict[str, FloatArray] = {}
        by_length = sorted(texts, key=lambda text: (len(text), text))
        position = 0
        size = min(self.batch_size, self._fitting_size or self.batch_size)
        while position < len(by_length):
            batch = by_length[position : position + size]
            try:
                probabilities = self._call(batch)
            except Exception as error:
                if size > 1 and self._is_out_of_memory(error):
                    # Nothing was answered, so nothing is charged; the smaller size is kept.
                    self.rows -= len(batch)
                    size = max(1, min(size, len(batch)) // 2)
                    self._fitting_size = size
                    continue
                budget.spent += len(batch)
                self._remember(predicted)
                raise self._explained(error, batch) from error
            budget.spent += len(batch)
            predicted.update(zip(batch, probabilities, strict=True))
            position += len(batch)
        return predicted

    def _call(self, batch: list[str]) -> FloatArray:
        start = time.perf_counter()
        self.rows += len(batch)
        try:
            raw = self.predict(list(batch))
        finally:
            self.seconds += time.perf_counter() - start
        return self._reader.read(raw, len(batch))

    @staticmethod
    def _explained(error: Exception, batch: list[str]) -> Exception:
        if isinstance(error, RIFError):
            return error
        first = batch[0] if len(batch[0]) <= 60 else batch[0][:57] + "..."
        what = str(error).splitlines()[0] if str(error) else ""
        return VictimCallError(
            f"the victim raised {type(error).__name__}: {what} "
            f"(in a batch of {len(batch)} texts starting with {first!r})"
        )

    def _remember(self, predicted: dict[str, FloatArray]) -> None:
        if self.cache_size > 0:
            self._cache.update((_key(text), row) for text, row in predicted.items())

    def _forget(self) -> None:
        while len(self._cache) > self.cache_size:
            del self._cache[next(iter(self._cache))]

    def clear(self) -> None:
        """Forget all predictions; the counters stay."""
        self._cache.clear()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the cache: a worker starts with an empty one."""
        return {**self.__dict__, "_cache": {}}


def _key(text: str) -> bytes:
    # A digest: the occlusions of one long text would otherwise keep thousands of copies of it alive.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def is_out_of_memory_error(error: BaseException) -> bool:
    """True for the ways in which numpy, torch and CUDA say that memory ran out."""
    return isinstance(error, MemoryError) or "out of memory" in str(error).lower()
