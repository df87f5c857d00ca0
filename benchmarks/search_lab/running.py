"""Run contenders on the same pairs: once to count, several times to take the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rif_plugins.core.pairs import Pair
from rif_plugins.entailment import EntailmentFilter, EntailmentScorer
from rif_plugins.proposers import TokenContext, load_proposer
from rif_plugins.similar import Lexicon
from search_lab.authors import AuthorsProcedure
from search_lab.cases import Case, editable_alignment
from search_lab.contenders import Contender, ContenderResult
from search_lab.host_greedy import HostGreedy
from search_lab.metering import MeteredProposer, MeteredScorer, MeteredVictim, Workbench, clock
from search_lab.ours import PairSearch, SweepSearch
from search_lab.victims import Victim

MIN_EQUIVALENCE = 0.8
MAX_CANDIDATES = 12
_SIZES = (8, 16, 32, 64, 128, 256)

CONTENDERS: dict[str, Callable[[Workbench], Contender]] = {
    "authors": lambda bench: AuthorsProcedure(bench, "table"),
    "authors-text": lambda bench: AuthorsProcedure(bench, "text"),
    "textattack": HostGreedy,
    "shared": lambda bench: PairSearch(bench, "shared"),
    "sweep": SweepSearch,
    "coupled": lambda bench: PairSearch(bench, "coupled"),
}
HOST = "textattack"


@dataclass
class Stage:
    """The victim, the filter's model and the lexicon that all contenders share.

    Attributes:
        victim: The victim.
        scorer: The entailment model; None runs without a filter.
        known: Its answers so far, for the runs that only count.
    """

    victim: Victim
    scorer: EntailmentScorer | None
    lexicon: Lexicon = field(default_factory=Lexicon.load)
    known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def bench(self, *, host: bool = False, remember: bool = False) -> Workbench:
        """Fresh meters, proposer and filter; ``remember`` answers entailment from ``known``."""
        predict = self.victim.host_predict() if host else self.victim.predict
        protected = self.lexicon.is_sensitive
        proposer = load_proposer("wordnet", max_candidates=MAX_CANDIDATES, protected=protected)
        scorer = MeteredScorer(self.scorer, self.known if remember else None) if self.scorer else None
        return Workbench(
            victim=MeteredVictim(predict),
            proposer=MeteredProposer(proposer, notes=remember and scorer is not None),
            filter=self.filter(scorer) if scorer else None,
            scorer=scorer,
            lexicon=self.lexicon,
        )

    @staticmethod
    def filter(scorer: EntailmentScorer) -> EntailmentFilter:
        """The filter of all contenders."""
        return EntailmentFilter(scorer, min_equivalence=MIN_EQUIVALENCE)

    def auditor(self) -> EntailmentFilter | None:
        """A filter for the audit, which answers from ``known`` where it can."""
        return self.filter(MeteredScorer(self.scorer, self.known)) if self.scorer else None

    def warm_up(self, cases: Sequence[Case]) -> None:
        """Fill what is kept for the life of the process, so that the first contender does not pay for all."""
        bench = self.bench()
        for case in cases:
            for text in (case.pair.original, case.pair.similar):
                bench.proposer.propose(_contexts(case.pair, text, bench.lexicon))
        if cases:
            self.victim.predict([cases[0].pair.original] * 8)
        if self.scorer and cases:
            self.scorer.probabilities([(cases[0].pair.original, cases[0].pair.original)] * 8)


def _contexts(pair: Pair, text: str, lexicon: Lexicon) -> list[TokenContext]:
    alignment = editable_alignment(pair, lexicon)
    spans = alignment.original if text == pair.original else alignment.similar
    return [TokenContext(text, span.start, span.end) for span in spans]


def run(
    stage: Stage, name: str, cases: Sequence[Case], *, remember: bool = False
) -> tuple[ContenderResult, Workbench]:
    """One run of one contender, with everything fresh."""
    bench = stage.bench(host=name == HOST, remember=remember)
    contender = CONTENDERS[name](bench)
    with clock() as measured:
        pairs = contender.search(cases)
    result = ContenderResult(
        name=name,
        pairs=pairs,
        victim_rows=bench.victim.rows,
        victim_calls=bench.victim.calls,
        distinct_texts=len(bench.victim.texts),
        nli_rows=bench.nli_rows,
        eager_nli_rows=None if bench.proposer.edits is None else 2 * len(bench.proposer.edits),
        proposer_calls=bench.proposer.calls,
        seconds=measured.seconds,
        cpu_seconds=measured.cpu_seconds,
        victim_seconds=bench.victim.seconds,
        nli_seconds=bench.scorer.seconds if bench.scorer else 0.0,
        proposer_seconds=bench.proposer.seconds,
        peak_mb=measured.peak_mb,
        growth_mb=measured.growth_mb,
    )
    return result, bench


def repeat(
    stage: Stage, names: Sequence[str], cases: Sequence[Case], repeats: int
) -> tuple[dict[str, list[ContenderResult]], dict[str, Workbench]]:
    """Paired runs: every repeat runs all contenders, in an order that moves on by one each time."""
    runs: dict[str, list[ContenderResult]] = {name: [] for name in names}
    benches: dict[str, Workbench] = {}
    for number in range(repeats):
        shift = number % max(1, len(names))
        for name in [*names[shift:], *names[:shift]]:
            result, benches[name] = run(stage, name, cases)
            runs[name].append(result)
    return runs, benches


def floor(stage: Stage, bench: Workbench) -> dict[str, Any]:
    """Seconds that the rows of a run cost at the best batch size, length by length, and nothing else."""
    texts = sorted((t for t, times in bench.victim.texts.items() for _ in range(times)), key=len)
    victim = _best(texts, stage.victim.predict)
    scorer = stage.scorer
    pairs = sorted(bench.scorer.pairs, key=lambda p: len(p[0]) + len(p[1])) if bench.scorer else []
    nli = _best(pairs, scorer.probabilities) if scorer and pairs else {"seconds": 0.0, "batch_size": None}
    return {"victim": victim, "nli": nli, "seconds": round(victim["seconds"] + nli["seconds"], 4)}


def _best(items: Sequence[Any], call: Callable[[list[Any]], Any]) -> dict[str, Any]:
    if not items:
        return {"seconds": 0.0, "batch_size": None}
    results = []
    for size in _SIZES:
        start = time.perf_counter()
        for place in range(0, len(items), size):
            call(list(items[place : place + size]))
        results.append((time.perf_counter() - start, size))
    seconds, size = min(results)
    return {"seconds": round(seconds, 4), "batch_size": size, "rows": len(items)}
