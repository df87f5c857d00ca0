"""The procedure of RIFair's authors, written from its description: the thing to beat.

One pair at a time, one search for each of the three targets. Rank the tokens that both sides share by
deleting each on both sides, take the first 20; at each, put every candidate into both sides (one list of
candidates, two victim calls), look at the four corners (largest and smallest probability on each side) and
take the one with the lowest objective if it improves; stop at success. Nothing is remembered between victim
calls. Start value, best state and outcome are read as they should be, not as the first scripts did.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from rif_plugins.core.objective import FloatArray, Objective, runner_up
from rif_plugins.core.outcomes import TARGETS, Outcome, classify
from rif_plugins.core.pairs import Span
from rif_plugins.core.sides import TokenAlignment
from rif_plugins.core.tokens import remove_span, replace_spans
from search_lab.cases import Case, editable_alignment
from search_lab.contenders import Finding, PairResult
from search_lab.metering import Workbench

MAX_POSITIONS = 20


@dataclass(frozen=True)
class _State:
    edits: tuple[dict[Span, str], dict[Span, str]]
    p: tuple[FloatArray, FloatArray]
    value: float


class AuthorsProcedure:
    """The authors' procedure.

    Args:
        bench: What to work with.
        judging: ``"table"``: a candidate is judged once, alone in the original text, in both directions, when
            it is first needed, and the verdict holds on both sides and in every combination; ``"text"``: each
            side's text with all edits so far is judged, so that what is found is admissible.
    """

    def __init__(self, bench: Workbench, judging: Literal["table", "text"] = "table") -> None:
        self.name = "authors" if judging == "table" else "authors-text"
        self.title = f"authors' procedure, {'table' if judging == 'table' else 'text'} filter"
        self.bench = bench
        self.judging = judging

    def search(self, cases: Sequence[Case]) -> list[PairResult]:
        """All pairs, one after the other."""
        return [_PairRun(self.bench, case, self.judging).run() for case in cases]


class _PairRun:
    """One pair; holds the table of candidates, which its three targets share."""

    def __init__(self, bench: Workbench, case: Case, judging: str) -> None:
        self.bench = bench
        self.case = case
        self.judging = judging
        self.alignment: TokenAlignment = editable_alignment(case.pair, bench.lexicon)
        self.unedited = (case.pair.original, case.pair.similar)
        self.spans = (self.alignment.original, self.alignment.similar)
        self._table: dict[int, list[str]] = {}
        self._proposed: dict[int, list[str]] = {}

    def run(self) -> PairResult:
        rows, nli, start = self.bench.victim.rows, self.bench.nli_rows, time.perf_counter()
        findings = {}
        clean = Outcome.ROBUST_FAIR
        for target in TARGETS:
            clean, findings[str(target)] = self._target(target)
        return PairResult(
            self.case,
            clean,
            findings,
            self.bench.victim.rows - rows,
            self.bench.nli_rows - nli,
            time.perf_counter() - start,
        )

    def _target(self, target: Outcome) -> tuple[Outcome, Finding]:
        rows, nli, start = self.bench.victim.rows, self.bench.nli_rows, time.perf_counter()
        objective = Objective.for_target(target)
        p, p_similar = (self.bench.victim([text])[0] for text in self.unedited)
        wrong = runner_up(p, p_similar, self.case.label) if objective.needs_wrong_label(len(p)) else None
        state = _State(({}, {}), (p, p_similar), objective(p, p_similar, self.case.label, wrong))
        clean = self._outcome(state)
        if clean is not target:
            for position in self._ranked(objective, wrong, state)[:MAX_POSITIONS]:
                state = self._step(objective, wrong, state, position)
                if self._outcome(state) is target:
                    break
        found = self._outcome(state) is target
        finding = Finding(
            found,
            self._texts(state) if found else self.unedited,
            (len(state.edits[0]), len(state.edits[1])) if found else (0, 0),
            self.bench.victim.rows - rows,
            self.bench.nli_rows - nli,
            time.perf_counter() - start,
        )
        return clean, finding

    def _outcome(self, state: _State) -> Outcome:
        return classify(self.case.label, int(state.p[0].argmax()), int(state.p[1].argmax()))

    def _texts(self, state: _State) -> tuple[str, str]:
        first, second = (
            replace_spans(text, edits) for text, edits in zip(self.unedited, state.edits, strict=True)
        )
        return first, second

    def _ranked(self, objective: Objective, wrong: int | None, state: _State) -> list[int]:
        """Positions in descending order of ``J - J without the token``."""
        n = len(self.alignment.original)
        if not n:
            return []
        without = [
            self.bench.victim([remove_span(text, span) for span in spans])
            for text, spans in zip(self.unedited, self.spans, strict=True)
        ]
        values = objective(without[0], without[1], self.case.label, wrong)
        falls = np.round(state.value - np.asarray(values), 9)
        return [int(i) for i in np.argsort(-falls, kind="stable")]

    def _step(self, objective: Objective, wrong: int | None, state: _State, position: int) -> _State:
        """The better of staying and the best of the four corners."""
        lists = self._candidates(state, position)
        if not any(lists):
            return state
        options = [self._options(state, side, position, words) for side, words in enumerate(lists)]
        axis = self.case.label if wrong is None else wrong
        corners = [sorted({int(p[:, axis].argmin()), int(p[:, axis].argmax())}) for _, p in options]
        best = state
        for i, j in product(*corners):
            p, p_similar = options[0][1][i], options[1][1][j]
            value = objective(p, p_similar, self.case.label, wrong)
            if value < best.value:
                best = _State((options[0][0][i], options[1][0][j]), (p, p_similar), value)
        return best

    def _options(
        self, state: _State, side: int, position: int, words: list[str]
    ) -> tuple[list[dict[Span, str]], FloatArray]:
        """The edits of one side with each candidate, and one victim call for all of them."""
        if not words:
            return [state.edits[side]], state.p[side][None, :]
        edits = [{**state.edits[side], self.spans[side][position]: word} for word in words]
        return edits, self.bench.victim([replace_spans(self.unedited[side], each) for each in edits])

    def _candidates(self, state: _State, position: int) -> tuple[list[str], list[str]]:
        """The candidates of both sides: one list, unless each side is judged for itself."""
        if self.judging == "table" or self.bench.filter is None:
            if position not in self._table:
                words = self._words(position)
                texts = [self._edited(0, {}, position, word) for word in words]
                self._table[position] = self._kept(0, words, texts)
            return self._table[position], self._table[position]
        words = self._words(position)
        first, second = (
            self._kept(side, words, [self._edited(side, state.edits[side], position, w) for w in words])
            for side in (0, 1)
        )
        return first, second

    def _words(self, position: int) -> list[str]:
        if position not in self._proposed:
            span = self.spans[0][position]
            self._proposed[position] = self.bench.words(self.unedited[0], span.start, span.end)
        return self._proposed[position]

    def _edited(self, side: int, edits: dict[Span, str], position: int, word: str) -> str:
        return replace_spans(self.unedited[side], {**edits, self.spans[side][position]: word})

    def _kept(self, side: int, words: list[str], texts: list[str]) -> list[str]:
        """Eager: every candidate is judged in both directions."""
        pairs = [(self.unedited[side], text) for text in texts]
        if self.bench.filter is None or not pairs:
            return words
        verdicts = self.bench.filter.check_many(pairs)
        return [word for word, verdict in zip(words, verdicts, strict=True) if verdict.accepted]
