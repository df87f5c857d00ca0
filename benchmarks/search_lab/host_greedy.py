"""TextAttack's greedy word swap, ranked by deletion, on each side of a pair: what its users have today.

Each side is attacked for itself until its label flips, with the same transformation and the same constraint,
through the host's own model wrapper. The pair's outcome is read from what the two sides reached.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rif_plugins.core.outcomes import TARGETS, Outcome, classify
from search_lab.cases import Case
from search_lab.contenders import Finding, PairResult
from search_lab.metering import Workbench


@dataclass(frozen=True)
class Reached:
    """A label that a side can have, with the text that has it."""

    label: int
    text: str
    n_edits: int


class HostGreedy:
    """``GreedyWordSwapWIR("delete")`` with ``UntargetedClassification`` on each side.

    Args:
        bench: What to work with; its victim calls the host's wrapper.
    """

    name = "textattack"
    title = "TextAttack greedy, each side"

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self._attack = _attack(bench)

    def search(self, cases: Sequence[Case]) -> list[PairResult]:
        """All pairs, one after the other."""
        return [self._pair(case) for case in cases]

    def _pair(self, case: Case) -> PairResult:
        rows, nli, start = self.bench.victim.rows, self.bench.nli_rows, time.perf_counter()
        first, second = (self._side(text, case.label) for text in (case.pair.original, case.pair.similar))
        clean = classify(case.label, first[0].label, second[0].label)
        return PairResult(
            case,
            clean,
            {str(target): finding(case.label, target, first, second) for target in TARGETS},
            self.bench.victim.rows - rows,
            self.bench.nli_rows - nli,
            time.perf_counter() - start,
        )

    def _side(self, text: str, label: int) -> list[Reached]:
        """The clean label, and the one that the attack brought, if it did."""
        from textattack.attack_results import SuccessfulAttackResult

        result = self._attack.attack(text, label)
        reached = [Reached(int(result.original_result.output), text, 0)]
        if isinstance(result, SuccessfulAttackResult):
            final = result.perturbed_result
            n_edits = len(final.attacked_text.attack_attrs["modified_indices"])
            reached.append(Reached(int(final.output), final.attacked_text.text, n_edits))
        return reached


def finding(label: int, target: Outcome, first: Sequence[Reached], second: Sequence[Reached]) -> Finding:
    """The combination of reached labels with the fewest edits that is in the target outcome."""
    hits = [(a, b) for a in first for b in second if classify(label, a.label, b.label) is target]
    if not hits:
        return Finding(False, (first[0].text, second[0].text))
    a, b = min(hits, key=lambda both: both[0].n_edits + both[1].n_edits)
    return Finding(True, (a.text, b.text), (a.n_edits, b.n_edits))


def _attack(bench: Workbench) -> Any:
    from textattack import Attack
    from textattack.constraints.pre_transformation import RepeatModification
    from textattack.goal_functions import UntargetedClassification
    from textattack.models.wrappers import ModelWrapper
    from textattack.search_methods import GreedyWordSwapWIR

    from rif_plugins.text.constraints import BidirectionalEntailment, SensitiveTokenProtection
    from rif_plugins.text.transformations import ProposedWordSwap

    class Wrapper(ModelWrapper):  # type: ignore[misc]
        """Counts what passes to the host's own wrapper."""

        def __init__(self) -> None:
            self.model = bench.victim

        def __call__(self, text_input_list: list[str], **kwargs: Any) -> Any:
            return bench.victim(text_input_list)

    constraints: list[Any] = [RepeatModification(), SensitiveTokenProtection(bench.lexicon)]
    if bench.filter is not None:
        entailment = BidirectionalEntailment()
        entailment.filter = bench.filter
        constraints.append(entailment)
    return Attack(
        UntargetedClassification(Wrapper()),
        constraints,
        ProposedWordSwap(bench.proposer, lexicon=bench.lexicon),
        GreedyWordSwapWIR(wir_method="delete"),
    )
