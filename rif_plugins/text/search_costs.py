"""What our search methods share: costs of an example, equivalence of a pair, and how results are shown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from textattack import Attack
from textattack.goal_function_results import GoalFunctionResultStatus

from rif_plugins.core.pair_search import PairSearchResult
from rif_plugins.core.pairs import SIDES, Pair
from rif_plugins.core.results import Record
from rif_plugins.text.constraints import BidirectionalEntailment
from rif_plugins.text.goal_functions import PairGoalFunction
from rif_plugins.text.goal_result import PairGoalFunctionResult
from rif_plugins.text.host_side import HostState
from rif_plugins.text.pairing import pair_text
from rif_plugins.text.transformations import ProposedWordSwap


class AttackCosts:
    """What one example costs from now on: the counters of filter and proposer run on over the examples."""

    def __init__(self, attack: Attack, goal: PairGoalFunction) -> None:
        self.attack = attack
        self.goal = goal
        self.rows = sum(constraint.n_rows for constraint in entailments(attack))
        self.calls = sum(part.n_calls for part in _proposers(attack))

    def spent(self) -> dict[str, int]:
        """The ``queries`` of a record."""
        return {
            "victim_rows": self.goal.budget.spent,
            "cache_hits": self.goal.budget.hits,
            "entailment_rows": sum(c.n_rows for c in entailments(self.attack)) - self.rows,
            "proposer_calls": sum(part.n_calls for part in _proposers(self.attack)) - self.calls,
        }


def entailments(attack: Attack) -> list[BidirectionalEntailment]:
    """The entailment constraints of an attack."""
    return [c for c in attack.constraints if isinstance(c, BidirectionalEntailment)]


def _proposers(attack: Attack) -> list[ProposedWordSwap]:
    parts: Sequence[Any] = getattr(attack.transformation, "transformations", [attack.transformation])
    return [part for part in parts if isinstance(part, ProposedWordSwap)]


def equivalence_of(
    attack: Attack, pair: Pair, texts: tuple[str, str]
) -> tuple[dict[str, dict[str, float]], str]:
    """``equivalence`` and ``scorer`` of a record: both directions for each side, against its own original."""
    values: dict[str, dict[str, float]] = {}
    for constraint in entailments(attack):
        for side, edited in zip(SIDES, texts, strict=True):
            for verdict in constraint.verdicts(pair.text(side), [edited]):
                values[side] = {
                    "forward": round(float(verdict.forward), 6),
                    "backward": round(float(verdict.backward), 6),
                    "score": round(float(verdict.score), 6),
                }
    return values, ", ".join(constraint.scorer_name for constraint in entailments(attack))


def failed_result(
    goal: PairGoalFunction, initial_result: PairGoalFunctionResult, message: str, start: float, seed: int
) -> PairGoalFunctionResult:
    """The victim raised before any pair was searched: the clean pair, and the error."""
    final = goal.result_for(initial_result.attacked_text, initial_result.raw_output, initial_result.pair)
    final.goal_status = GoalFunctionResultStatus.SEARCHING
    final.message = message
    pair = initial_result.pair
    final.record = Record(
        id=f"{goal.example}-{goal.target_name}",
        example=goal.example,
        target=goal.target_name,
        status="error",
        stop_reason="error",
        label=goal.ground_truth_output,
        attribute=pair.attribute if pair else "",
        original=pair.original if pair else "",
        similar=pair.similar if pair else "",
        queries={"victim_rows": goal.budget.spent, "cache_hits": goal.budget.hits},
        seconds=round(time.perf_counter() - start, 4),
        seed=seed,
        message=message,
    )
    goal.write(final.record)
    return final


def show_clean_pair(
    initial_result: PairGoalFunctionResult,
    goal: PairGoalFunction,
    pair: Pair,
    result: PairSearchResult[HostState],
) -> None:
    """Make the initial result show another clean pair of the same example."""
    names = initial_result.attacked_text.attack_attrs.get("label_names")
    rows = np.stack([result.clean.p, result.clean.p_similar])
    fresh = goal.result_for(pair_text(pair.original, pair.similar, names), rows, pair)
    initial_result.__dict__.update(fresh.__dict__)
