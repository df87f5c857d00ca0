"""The victim engine: the one place that turns texts into class probabilities.

It de-duplicates, remembers (in memory, and in a store that outlives the run), counts rows and hits, sorts
by length so that a batch pads little, halves the batch when memory runs out, keeps budgets, and checks what
comes back. Requests of many searches are answered together, each on its own budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind, PredictionReader
from rif_plugins.core.row_memory import RowMemory
from rif_plugins.core.stores import PredictionStore, namespace, packed_rows, text_keys, unpacked_rows
from rif_plugins.core.victim_call import Budget as Budget
from rif_plugins.core.victim_call import Call, Request
from rif_plugins.errors import RIFError, UsageError, VictimError, VictimRowError

FloatArray = NDArray[np.float64]
Predict = Callable[[list[str]], Any]
# What the raw outputs were read as is the first byte of a stored row.
_CODES: dict[OutputKind, str] = {"auto": "?", "probabilities": "p", "logits": "l"}
_KINDS: dict[bytes, OutputKind] = {b"p": "probabilities", b"l": "logits"}


class VictimCallError(RIFError):
    """The victim raised while predicting; the message names its error and the text."""


class VictimEngine:
    """Batched, remembered and counted predictions of one victim.

    Args:
        predict: Takes a list of texts, returns one row a text (see ``PredictionReader``).
        n_labels: Number of classes if known.
        output: ``"auto"``, ``"probabilities"`` or ``"logits"``.
        batch_size: Most texts in one call; fewer once memory has run out at that size.
        cache_size: Most predictions kept in memory; 0 keeps none.
        is_out_of_memory: Tells from an exception whether a smaller batch may help.
        store: Keeps predictions across runs; asked after the memory and before the victim.
        fingerprint: Tells this victim from every other one; without it the store is not used.

    Attributes:
        rows: Texts the victim saw.
        cache_hits: Texts answered from memory (repeats within one call included).
        stored_hits: Texts answered from the store.
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
        store: PredictionStore | None = None,
        fingerprint: str | None = None,
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
        self.stored_hits = 0
        self.seconds = 0.0
        self._declared = (output, n_labels)
        self._reader = PredictionReader(n_labels, output)
        self._is_out_of_memory = is_out_of_memory or is_out_of_memory_error
        self._memory = RowMemory(cache_size)
        self._store: PredictionStore | None = None
        self._space = b""
        self.use_store(store, fingerprint)

    @property
    def n_labels(self) -> int | None:
        """Number of classes, known after the first call at the latest."""
        return self._reader.n_labels

    @property
    def output(self) -> OutputKind:
        """What ``predict`` is read as; ``"auto"`` before the first call."""
        return self._reader.output

    def read_as(self, output: OutputKind) -> None:
        """Read the answers as another engine has found them to be, unless that is declared or known here."""
        if self._reader.output == "auto":
            self._reader.output = output

    def use_store(self, store: PredictionStore | None, fingerprint: str | None) -> None:
        """Keep predictions in ``store`` from now on; None for either stops that. Memory starts afresh."""
        self._store = store if fingerprint is not None else None
        output, n_labels = self._declared
        self._space = namespace("victim", fingerprint or "", output, str(n_labels))
        self._memory.clear()

    def probabilities(
        self, texts: Sequence[str], *, budget: Budget | None = None, fresh: bool = False
    ) -> FloatArray:
        """Class probabilities of ``texts`` in their order, shape ``(m, k)``.

        Args:
            texts: The texts; repeats cost nothing.
            budget: Limits the new rows of this call. Where it does not suffice, the answer is the
                longest prefix of ``texts`` that it pays for, so ``m`` may be smaller than ``len(texts)``.
            fresh: Ask the victim again, whatever memory and store hold.

        Raises:
            VictimError: The output is no prediction.
            VictimCallError: The victim raised.
        """
        (answer,) = self._answers([(texts, budget if budget is not None else Budget())], fresh)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def predict_many(self, requests: Sequence[tuple[Sequence[str], Budget]]) -> list[FloatArray]:
        """Answer several requests with one pass over the victim.

        The answers are those of ``probabilities`` for one request after another: each on its own budget
        (which several may share), a text wanted by several charged to the first of them. Only the batches
        are larger, because they hold the new texts of all requests, sorted by length.

        Raises:
            VictimError, VictimCallError: That of the first request that failed; the others' rows are kept.
        """
        answers: list[FloatArray] = []
        for answer in self.predict_each(requests):
            if isinstance(answer, Exception):
                raise answer
            answers.append(answer)
        return answers

    def predict_each(self, requests: Sequence[tuple[Sequence[str], Budget]]) -> list[FloatArray | Exception]:
        """As ``predict_many``, but a request that failed is answered with its error.

        A batch in which the victim raised is asked again, each request's part alone, so that one bad text
        fails only the requests that want it. ``rows`` counts both calls, a budget only its own part.
        """
        return self._answers(requests, fresh=False)

    def clear(self) -> None:
        """Forget the predictions in memory; counters and store stay."""
        self._memory.clear()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without memory and store: a worker starts with an empty memory and opens its own store."""
        return {**self.__dict__, "_memory": RowMemory(self.cache_size), "_store": None}

    # -- one call -------------------------------------------------------------------------------------

    def _answers(
        self, requests: Sequence[tuple[Sequence[str], Budget]], fresh: bool
    ) -> list[FloatArray | Exception]:
        texts = list(dict.fromkeys(text for wanted, _ in requests for text in wanted))
        number = {text: i for i, text in enumerate(texts)}
        call = Call(texts, text_keys(texts, self._space))
        entries = [Request([number[text] for text in wanted], budget) for wanted, budget in requests]
        if not fresh:
            self._recall(call)
        open_entries = entries
        while open_entries:
            call.plan(open_entries)
            self._ask(call, call.unanswered())
            # Where a text failed, those that had left its row to the failed request are planned again.
            open_entries = [
                entry
                for entry in open_entries
                if entry.error is None and not all(call.is_known[i] for i in entry.texts[: entry.wanted])
            ]
        rows = call.rows(self.n_labels or 0)
        self._keep(call, rows)
        return [self._finished(call, entry, rows) for entry in entries]

    def _recall(self, call: Call) -> None:
        """Take what memory and store know."""
        slots = self._memory.slots(call.keys)
        remembered = [i for i, slot in enumerate(slots) if slot >= 0]
        if remembered:
            call.add(remembered, self._memory.rows([slots[i] for i in remembered]))
        unknown = [i for i, slot in enumerate(slots) if slot < 0]
        if self._store is None or not unknown:
            return
        values = self._store.get_many([call.keys[i] for i in unknown])
        reader = self._reader
        if reader.output == "auto":
            # What the raw outputs are was decided in the run that stored the rows.
            kind = next((_KINDS.get(value[:1]) for value in values if value), None)
            reader.output = kind or "auto"
        places, rows = unpacked_rows(values, _CODES[reader.output], reader.n_labels)
        if places:
            reader.n_labels = rows.shape[1]
            found = [unknown[place] for place in places]
            call.stored.update(found)
            call.add(found, rows)

    def _ask(self, call: Call, numbers: list[int]) -> None:
        """Ask the victim for texts, sorted by length, in batches; a failure is noted at its request.

        An error that is not about some text, such as that of a server which is gone, fails all requests at
        once: asking for each of them alone would only wait for the same error many times.
        """
        position = 0
        while position < len(numbers):
            size = min(self.batch_size, self._fitting_size or self.batch_size)
            owned = [(i, call.owners[i]) for i in numbers[position : position + size]]
            batch = [(i, owner) for i, owner in owned if owner is not None and owner.error is None]
            try:
                if batch:
                    rows = self._predicted([call.texts[i] for i, _ in batch])
                    call.add([i for i, _ in batch], rows)
            except Exception as error:
                if len(batch) > 1 and self._is_out_of_memory(error):
                    # Nothing was answered, so nothing is charged; the smaller size is kept.
                    self.rows -= len(batch)
                    self._fitting_size = len(batch) // 2
                    continue
                self._note_failure(call, batch, error)
            else:
                for _, owner in batch:
                    owner.budget.spent += 1
            position += len(owned)

    def _note_failure(self, call: Call, batch: list[tuple[int, Request]], error: Exception) -> None:
        owners = list(dict.fromkeys(owner for _, owner in batch))
        if isinstance(error, VictimError) and not isinstance(error, VictimRowError):
            for _, owner in batch:
                owner.budget.spent += 1
            for request in call.owners:
                if request is not None and request.error is None:
                    request.error = error
            return
        if len(owners) > 1:
            for owner in owners:
                self._ask(call, [i for i, of in batch if of is owner])
            return
        owners[0].budget.spent += len(batch)
        explained = self._explained(error, [call.texts[i] for i, _ in batch])
        if explained is not error:
            explained.__cause__ = error
        owners[0].error = explained

    def _predicted(self, batch: list[str]) -> FloatArray:
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

    def _keep(self, call: Call, rows: FloatArray) -> None:
        new = call.new()
        learnt = [*sorted(call.stored), *new]
        if learnt:
            self._memory.add([call.keys[i] for i in learnt], rows[learnt])
        if new and self._store is not None:
            values = packed_rows(rows[new], _CODES[self._reader.output])
            self._store.set_many(dict(zip([call.keys[i] for i in new], values, strict=True)))

    def _finished(self, call: Call, entry: Request, rows: FloatArray) -> FloatArray | Exception:
        if entry.error is not None:
            return entry.error
        hits, stored_hits = call.hits(entry)
        self.cache_hits += hits
        self.stored_hits += stored_hits
        entry.budget.hits += hits
        entry.budget.stored_hits += stored_hits
        answer: FloatArray = rows[np.asarray(entry.texts[: entry.wanted], dtype=np.intp)]
        return answer


_OUT_OF_MEMORY = (
    "out of memory",  # torch on CUDA and MPS, JAX, the operating system
    "allocate memory",  # torch on a CPU ("can't"), onnxruntime ("failed to"), ENOMEM ("cannot")
    "alloc_failed",  # cuBLAS, cuDNN
    "bad_alloc",
    "resource_exhausted",
    "oom when allocating",
)


def is_out_of_memory_error(error: BaseException) -> bool:
    """True for the ways in which numpy, torch, onnxruntime and CUDA say that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    message = str(error).lower()
    return any(words in message for words in _OUT_OF_MEMORY)
