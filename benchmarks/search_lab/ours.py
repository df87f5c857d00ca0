"""The searches of this project as contenders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.core.pair_search import PositionMode, SearchSettings, run_search, search_pair
from rif_plugins.core.pairs import SIDES
from rif_plugins.core.sides import Proposal, TextSide, TextState
from rif_plugins.core.victim import VictimEngine
from search_lab.cases import Case, editable_alignment
from search_lab.contenders import Finding, PairResult
from search_lab.metering import Workbench

_TITLES = {"shared": "one search a target, shared positions", "coupled": "coupled edits (ablation)"}


class CountingSide(TextSide):
    """A side that notes every edit it proposes, for the count of an eager filter."""

    def __init__(self, bench: Workbench, *args: Any) -> None:
        super().__init__(*args)
        self._bench = bench

    def propose(self, state: TextState, position: int) -> list[Proposal[TextState]]:
        """Proposals, noted."""
        proposals = super().propose(state, position)
        self._bench.eager.update((self.unedited, proposal.state.text) for proposal in proposals)
        return proposals


def sides(case: Case, bench: Workbench) -> tuple[CountingSide, CountingSide]:
    """Both sides of a pair with the proposer and the lazy filter of the bench."""
    alignment = editable_alignment(case.pair, bench.lexicon)
    known: dict[tuple[str, int, int], list[str]] = {}

    def propose(text: str, start: int, end: int) -> list[str]:
        key = (text, start, end)
        if key not in known:
            known[key] = bench.words(text, start, end)
        return known[key]

    def judge(unedited: str, edited: Sequence[str]) -> list[bool]:
        if bench.filter is None:
            return [True] * len(edited)
        return bench.filter.accepts([(unedited, text) for text in edited])

    first, second = (CountingSide(bench, case.pair, side, alignment, propose, judge) for side in SIDES)
    return first, second


class PairSearch:
    """One search for each target of each pair, predictions shared within the pair.

    Args:
        bench: What to work with.
        positions: ``"shared"`` or ``"coupled"``.
    """

    def __init__(self, bench: Workbench, positions: PositionMode) -> None:
        self.name = positions
        self.title = _TITLES[positions]
        self.bench = bench
        self.settings = SearchSettings(positions=positions, filter_first=False)
        self.engine = VictimEngine(bench.victim, output="probabilities", batch_size=bench.batch_size)

    def search(self, cases: Sequence[Case]) -> list[PairResult]:
        """All pairs, one after the other."""
        return [self._pair(case) for case in cases]

    def _pair(self, case: Case) -> PairResult:
        rows, nli, start = self.bench.victim.rows, self.bench.nli_rows, time.perf_counter()
        self.engine.clear()
        both = sides(case, self.bench)
        findings = {}
        clean = Outcome.ROBUST_FAIR
        for target in TARGETS:
            clean, findings[str(target)] = self._target(case, both, target)
        return PairResult(
            case,
            clean,
            findings,
            self.bench.victim.rows - rows,
            self.bench.nli_rows - nli,
            time.perf_counter() - start,
        )

    def _target(
        self, case: Case, both: tuple[CountingSide, CountingSide], target: Outcome
    ) -> tuple[Outcome, Finding]:
        rows, nli, start = self.bench.victim.rows, self.bench.nli_rows, time.perf_counter()
        search = search_pair(
            *both, label=case.label, objective=Objective.for_target(target), settings=self.settings
        )
        result = run_search(search, self.engine.probabilities)
        found = result.is_success
        state = result.state if found else result.clean
        finding = Finding(
            found,
            (state.original.text, state.similar.text),
            (len(state.original.edits), len(state.similar.edits)),
            self.bench.victim.rows - rows,
            self.bench.nli_rows - nli,
            time.perf_counter() - start,
        )
        return result.clean_outcome, finding
