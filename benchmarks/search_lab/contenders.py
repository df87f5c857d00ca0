"""What a contender is, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rif_plugins.core.outcomes import TARGETS, Outcome
from search_lab.cases import Case

TARGET_NAMES = tuple(str(target) for target in TARGETS)


@dataclass(frozen=True)
class Finding:
    """What a contender says about one pair and target.

    Attributes:
        found: The target is reached, before or after editing.
        texts: The two final texts; the clean ones where nothing was found.
        n_edits: Edits of each side.
        victim_rows, nli_rows, seconds: Cost of this target; None where all targets share one search.
    """

    found: bool
    texts: tuple[str, str]
    n_edits: tuple[int, int] = (0, 0)
    victim_rows: int | None = None
    nli_rows: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class PairResult:
    """What a contender says about one pair.

    Attributes:
        case: The pair.
        clean: Outcome of the unedited pair.
        findings: By the name of the target.
        victim_rows, nli_rows, seconds: Cost of the pair, all targets; None where pairs run together.
    """

    case: Case
    clean: Outcome
    findings: dict[str, Finding]
    victim_rows: int | None = None
    nli_rows: int | None = None
    seconds: float | None = None

    def is_natural(self, target: str) -> bool:
        """True when the unedited pair is in the target outcome."""
        return str(self.clean) == target

    def is_induced(self, target: str) -> bool:
        """True when edits brought a clean robust and fair pair to the target."""
        return self.findings[target].found and self.clean is Outcome.ROBUST_FAIR


@dataclass
class ContenderResult:
    """One run of one contender over all pairs.

    Attributes:
        name: The contender.
        pairs: In the order of the cases; fewer where the contender takes only the first ones.
        victim_rows, victim_calls, distinct_texts: Texts the victim saw, in how many calls, how many
            different ones. Their difference is what a prediction cache would have saved.
        nli_rows, eager_nli_rows: Rows of the entailment model; and twice the distinct edits proposed, which
            is what a filter that judges all of them in both directions needs (None where not noted).
        proposer_calls: Tokens the proposer was asked about.
        seconds, cpu_seconds: Wall and processor time of the run.
        victim_seconds, nli_seconds, proposer_seconds: Wall time inside the parts.
        peak_mb, growth_mb: Peak of the resident memory, and how far it is above the start of the run.
    """

    name: str
    pairs: list[PairResult] = field(default_factory=list)
    victim_rows: int = 0
    victim_calls: int = 0
    distinct_texts: int = 0
    nli_rows: int = 0
    eager_nli_rows: int | None = None
    proposer_calls: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    victim_seconds: float = 0.0
    nli_seconds: float = 0.0
    proposer_seconds: float = 0.0
    peak_mb: float | None = None
    growth_mb: float | None = None


class Contender(Protocol):
    """A way to search pairs for violations."""

    name: str
    title: str

    def search(self, cases: Sequence[Case]) -> list[PairResult]:
        """Search all pairs for all three targets."""
        ...
