"""The searches of this project as contenders."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.core.pair_search import PositionMode, SearchSettings, run_search, search_pair
from rif_plugins.core.pairs import SIDES, Pair
from rif_plugins.core.reach import ReachSettings, optimism_for
from rif_plugins.core.results import Record
from rif_plugins.core.sides import TextSide
from rif_plugins.core.victim import VictimEngine
from rif_plugins.examples.base import Example
from rif_plugins.runner.sweep import WINDOW, Sweep
from rif_plugins.similar import Lexicon, PairSource
from search_lab.cases import Case, editable_alignment
from search_lab.contenders import Finding, PairResult
from search_lab.metering import Workbench

_TITLES = {"shared": "one search a target, shared positions", "coupled": "coupled edits (ablation)"}


def sides(case: Case, bench: Workbench) -> tuple[TextSide, TextSide]:
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

    first, second = (TextSide(case.pair, side, alignment, propose, judge) for side in SIDES)
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
        self, case: Case, both: tuple[TextSide, TextSide], target: Outcome
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


class SweepSearch:
    """One search a text for all pairs and targets, many examples in lock step.

    Args:
        bench: What to work with.
        window: Examples that are searched at the same time; None is the project's own choice.
    """

    name = "sweep"
    title = "one search a text, in lock step"

    def __init__(self, bench: Workbench, window: int | None = None) -> None:
        self.bench = bench
        self.engine = VictimEngine(bench.victim, output="probabilities", batch_size=bench.batch_size)
        self.window = WINDOW if window is None else window

    def search(self, cases: Sequence[Case]) -> list[PairResult]:
        """All pairs, those of one data row together."""
        by_example: dict[str, list[Case]] = {}
        for case in cases:
            by_example.setdefault(case.example, []).append(case)
        found = {
            (record.example, record.similar, record.target): record
            for records in self._records(by_example)
            for record in records
        }
        return [_from_records(case, by_example[case.example][0] is case, found) for case in cases]

    def _records(self, by_example: dict[str, list[Case]]) -> Iterator[list[Record]]:
        entailment = "none" if self.bench.filter is None else "embedded"
        sweep = Sweep(
            self.engine,
            GivenPairs(self.bench.lexicon, [case.pair for cases in by_example.values() for case in cases]),
            self.bench.proposer,
            self.bench.filter,
            SweepPlan(settings=ReachSettings(optimism=optimism_for(entailment))),
            window=self.window,
        )
        yield from sweep.run(
            Example(name, cases[0].pair.original, cases[0].label) for name, cases in by_example.items()
        )


class GivenPairs(PairSource):
    """The pairs of the benchmark, and no others."""

    def __init__(self, lexicon: Lexicon, pairs: Sequence[Pair]) -> None:
        super().__init__(lexicon)
        self._pairs: dict[str, dict[str, Pair]] = {}
        for pair in pairs:
            self._pairs.setdefault(pair.original, {})[pair.similar] = pair

    def pairs_of(self, text: str, similar: str | None = None) -> list[Pair]:
        """The pairs of one text."""
        return list(self._pairs.get(text, {}).values())


def _from_records(case: Case, is_first: bool, found: Mapping[tuple[str, str, str], Record]) -> PairResult:
    """The records of a pair in the form of the benchmark; costs stand at the first pair of a data row."""
    records = {t: found[case.example, case.pair.similar, t] for t in map(str, TARGETS)}
    findings = {
        target: Finding(
            record.is_found,
            (record.perturbed_original, record.perturbed_similar)
            if record.is_found
            else (case.pair.original, case.pair.similar),
            (
                sum(edit["side"] == "original" for edit in record.edits),
                sum(edit["side"] == "similar" for edit in record.edits),
            ),
        )
        for target, record in records.items()
    }
    first = records[str(TARGETS[0])]
    return PairResult(
        case,
        Outcome(first.clean_outcome),
        findings,
        first.queries.get("victim_rows", 0) if is_first else 0,
        first.queries.get("entailment_rows", 0) if is_first else 0,
        first.seconds if is_first else 0.0,
    )
