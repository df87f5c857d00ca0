"""What every contender is measured by: rows and seconds of victim, filter and proposer; time; memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rif_plugins.entailment import EntailmentFilter, EntailmentScorer
from rif_plugins.proposers import Candidate, Proposer, TokenContext
from rif_plugins.similar import Lexicon

FloatArray = NDArray[np.float64]
Predict = Callable[[list[str]], FloatArray]
_STATUS = Path("/proc/self/status")
_RESET_PEAK = Path("/proc/self/clear_refs")


class MeteredVictim:
    """Counts and times a victim; never answers from memory.

    Attributes:
        rows: Texts it saw.
        calls: How often it was called.
        seconds: Time inside it.
        texts: The distinct texts with the number of times each was asked.
    """

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self.rows = 0
        self.calls = 0
        self.seconds = 0.0
        self.texts: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Class probabilities, (n, k)."""
        batch = list(texts)
        start = time.perf_counter()
        probabilities = self._predict(batch)
        self.seconds += time.perf_counter() - start
        self.rows += len(batch)
        self.calls += 1
        for text in batch:
            self.texts[text] = self.texts.get(text, 0) + 1
        return probabilities


class MeteredScorer:
    """Counts and times an entailment scorer.

    Args:
        scorer: The scorer.
        known: Answers shared between contenders, so that a run that only counts need not ask the model
            again; None asks the model every time. Rows are counted either way.
    """

    def __init__(
        self, scorer: EntailmentScorer, known: dict[tuple[str, str], NDArray[np.float64]] | None = None
    ) -> None:
        self._scorer = scorer
        self._known = known
        self.name, self.version = scorer.name, scorer.version
        self.rows = 0
        self.seconds = 0.0
        self.pairs: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """Probabilities of the model, (n, 3)."""
        start = time.perf_counter()
        if self._known is None:
            result = self._scorer.probabilities(pairs)
        else:
            fresh = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
            if fresh:
                self._known.update(zip(fresh, self._scorer.probabilities(fresh), strict=True))
            result = np.stack([self._known[pair] for pair in pairs]) if pairs else np.zeros((0, 3))
        self.seconds += time.perf_counter() - start
        self.rows += len(pairs)
        self.pairs.extend(pairs)
        return result


class MeteredProposer:
    """Times a proposer and counts the tokens that it was asked about.

    Args:
        proposer: The proposer.
        notes: Note the distinct edits proposed, for the count of an eager filter.
    """

    def __init__(self, proposer: Proposer, *, notes: bool = False) -> None:
        self._proposer = proposer
        self.name = proposer.name
        self.edits: set[int] | None = set() if notes else None
        self.calls = 0
        self.seconds = 0.0

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        """Candidates for each context."""
        start = time.perf_counter()
        found = self._proposer.propose(contexts)
        self.seconds += time.perf_counter() - start
        self.calls += len(contexts)
        if self.edits is not None:
            self.edits.update(
                hash((context.text, context.start, context.end, candidate.text))
                for context, candidates in zip(contexts, found, strict=True)
                for candidate in candidates
            )
        return found


@dataclass
class Workbench:
    """What a contender works with; a fresh one for every run.

    Attributes:
        victim: The victim.
        proposer: The proposer.
        filter: The filter, or None for the runs without one.
        scorer: The scorer inside the filter.
        lexicon: What counts as sensitive.
        batch_size: Most texts of one victim call, for contenders that batch.
    """

    victim: MeteredVictim
    proposer: MeteredProposer
    filter: EntailmentFilter | None
    scorer: MeteredScorer | None
    lexicon: Lexicon
    batch_size: int = 64

    @property
    def nli_rows(self) -> int:
        """Rows of the entailment model so far."""
        return 0 if self.scorer is None else self.scorer.rows

    def words(self, text: str, start: int, end: int) -> list[str]:
        """Candidates for ``text[start:end]``."""
        found = self.proposer.propose([TokenContext(text, start, end)])[0]
        return [candidate.text for candidate in found]


@dataclass
class Clock:
    """Wall and processor time, and memory, of a block of code.

    Attributes:
        seconds: Wall time.
        cpu_seconds: Processor time of all threads of the process.
        peak_mb: Highest resident memory within the block; None where the system does not tell.
        growth_mb: How far that is above the memory at the start of the block.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float | None = None
    growth_mb: float | None = None


@contextmanager
def clock() -> Iterator[Clock]:
    """Measure a block."""
    result = Clock()
    can_reset = _reset_peak()
    before = memory_mb("VmRSS")
    start, cpu = time.perf_counter(), time.process_time()
    yield result
    result.seconds, result.cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    peak = memory_mb("VmHWM")
    if can_reset and peak is not None and before is not None:
        result.peak_mb, result.growth_mb = round(peak, 1), round(peak - before, 1)


def memory_mb(name: str) -> float | None:
    """A line of ``/proc/self/status`` in MB: VmRSS is the memory now, VmHWM its peak."""
    try:
        lines = _STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), None)


def _reset_peak() -> bool:
    """Start a new peak; False where the system does not allow it."""
    try:
        _RESET_PEAK.write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
