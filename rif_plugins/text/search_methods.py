"""The pair search as a TextAttack search method."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from textattack import Attack
from textattack.search_methods import SearchMethod

from rif_plugins.core.objective import FloatArray
from rif_plugins.core.pair_search import (
    PairSearchResult,
    PairState,
    PositionMode,
    SaliencyMethod,
    SearchSettings,
    run_search,
    search_pair,
)
from rif_plugins.core.pairs import SIDES, Pair
from rif_plugins.core.results import Record, searched_record
from rif_plugins.core.seeds import example_generator
from rif_plugins.core.sides import align_tokens
from rif_plugins.core.victim import VictimCallError
from rif_plugins.errors import UsageError, VictimRowError
from rif_plugins.settings import Settings
from rif_plugins.text.goal_functions import PairGoalFunction
from rif_plugins.text.goal_result import PairGoalFunctionResult
from rif_plugins.text.host_side import HostSide, HostState
from rif_plugins.text.pairing import rewritten
from rif_plugins.text.search_costs import AttackCosts, equivalence_of, failed_result, show_clean_pair
from rif_plugins.text.token_gradients import token_saliency_of

FilterOrder = Literal["auto", "filter-first", "victim-first"]


class DecoupledPairSearch(SearchMethod):
    """Greedy search over both sides of a pair, each side with its own edits.

    Needs a pair goal such as ``RobustBiased``; takes any transformation and constraints of the host,
    which it applies to each side alone. Where an example has several similar texts, the most
    promising pair is searched first, then the others until one reaches the target.

    Args:
        positions: ``"shared"``, ``"independent"`` or ``"coupled"``.
        max_positions: Most positions tried, by saliency.
        max_edits: Most edits a side; None is unlimited, ``"settings"`` reads the setting.
        saliency: ``"delete"``, ``"mask"``, ``"gradient"`` or ``"random"``.
        filter_order: Which of filter and victim sees candidates first (see ``Settings.filter_order``).
        seed: Run seed of the random saliency.

    Arguments that are None are read from the settings.
    """

    def __init__(
        self,
        positions: PositionMode | None = None,
        max_positions: int | None = None,
        max_edits: int | Literal["settings"] | None = "settings",
        saliency: SaliencyMethod | None = None,
        filter_order: FilterOrder | None = None,
        seed: int | None = None,
    ) -> None:
        settings = Settings.load()
        self.settings = SearchSettings(
            positions=positions or settings.positions,
            max_positions=settings.max_positions if max_positions is None else max_positions,
            max_edits=settings.max_edits if max_edits == "settings" else max_edits,
            saliency=saliency or settings.saliency,
            mask_token=settings.mask_token,
            n_wrong_labels=settings.n_wrong_labels,
        )
        self.positions, self.max_positions = self.settings.positions, self.settings.max_positions
        self.max_edits, self.saliency = self.settings.max_edits, self.settings.saliency
        self.filter_order: FilterOrder = filter_order or settings.filter_order
        self.seed = settings.seed if seed is None else seed

    @property
    def is_black_box(self) -> bool:
        """Only class probabilities are needed, but for the gradient saliency."""
        return self.saliency != "gradient"

    def perform_search(self, initial_result: PairGoalFunctionResult) -> PairGoalFunctionResult:
        """Search the pairs of the example that the goal has prepared."""
        goal = self._goal()
        start = time.perf_counter()
        costs = AttackCosts(self._attack, goal)
        best: tuple[Pair, PairSearchResult[HostState]] | None = None
        message = ""
        try:
            for pair in goal.pairs:
                result = self._confirmed(goal, pair, self._search(goal, pair))
                if best is None or result.is_success:
                    best = (pair, result)
                if result.is_success or goal.budget.is_spent:
                    break
        except (VictimCallError, VictimRowError) as error:
            message = str(error)
        if best is None:
            return failed_result(goal, initial_result, message, start, self.seed)
        final, record = self._final(goal, best[0], best[1], initial_result)
        final.message = message
        if message and not best[1].is_success:
            # A search that the victim cut short has not shown that the pair stands.
            record = replace(record, status="error", stop_reason="error")
        seconds = round(time.perf_counter() - start, 4)
        final.record = replace(record, queries=costs.spent(), seconds=seconds, message=message)
        goal.write(final.record)
        return final

    # -- inside ---------------------------------------------------------------------------------------

    def _goal(self) -> PairGoalFunction:
        goal = self.goal_function
        if not isinstance(goal, PairGoalFunction):
            raise UsageError(
                f"DecoupledPairSearch searches pairs: expected a goal such as RobustBiased, "
                f"got {type(goal).__name__}; choose --goal-function rif-robust-biased"
            )
        if goal.targets:
            raise UsageError(
                f"{type(self).__name__} reaches one target, expected a goal such as RobustBiased, got "
                f"{type(goal).__name__} with {len(goal.targets)}; choose --search-method rif-reach"
            )
        return goal

    @property
    def _attack(self) -> Attack:
        # The host hands out bound methods of the attack but not the attack itself.
        return self.get_transformations.__self__

    def _search(self, goal: PairGoalFunction, pair: Pair) -> PairSearchResult[HostState]:
        alignment = align_tokens(pair)
        sides = [
            HostSide(self._attack, pair, side, alignment, goal.pair_source.sensitive_spans(pair.text(side)))
            for side in SIDES
        ]
        goal.reserve_confirmation()
        is_limited = goal.budget.limit is not None
        filter_first = self.filter_order == "filter-first" or (self.filter_order == "auto" and is_limited)
        search = search_pair(
            sides[0],
            sides[1],
            label=goal.ground_truth_output,
            objective=goal.objective,
            settings=replace(self.settings, filter_first=filter_first),
            rng=example_generator(self.seed, goal.example),
            token_saliency=token_saliency_of(goal.model) if self.saliency == "gradient" else None,
        )
        return run_search(search, goal.score_texts)

    @staticmethod
    def _confirmed(
        goal: PairGoalFunction, pair: Pair, result: PairSearchResult[HostState]
    ) -> PairSearchResult[HostState]:
        """The result, or the clean pair when the victim does not repeat its answer."""
        if result.stop_reason != "success" or goal.is_confirmed(_texts(result)):
            return result
        return replace(
            result,
            stop_reason="unconfirmed",
            state=result.clean,
            outcome=result.clean_outcome,
            trajectory=result.trajectory[:1],
        )

    def _final(
        self,
        goal: PairGoalFunction,
        pair: Pair,
        result: PairSearchResult[HostState],
        initial_result: PairGoalFunctionResult,
    ) -> tuple[PairGoalFunctionResult, Record]:
        texts = _texts(result)
        if initial_result.pair != pair:
            # The host prints its initial result beside ours: show the clean pair that was searched.
            show_clean_pair(initial_result, goal, pair, result)
        final = goal.result_for(rewritten(initial_result.attacked_text, texts), _rows(result.state), pair)
        record = searched_record(
            pair,
            result,
            texts=texts,
            edits=(*result.state.original.edits, *result.state.similar.edits),
            example=goal.example,
            label=goal.ground_truth_output,
            target=goal.target,
            seed=self.seed,
        )
        values, scorer = equivalence_of(self._attack, pair, texts)
        return final, replace(record, equivalence=values, scorer=scorer)

    def extra_repr_keys(self) -> list[str]:
        """Fields shown in the host's print of the attack."""
        return ["positions", "max_positions", "max_edits", "saliency", "filter_order"]


def _texts(result: PairSearchResult[HostState]) -> tuple[str, str]:
    return str(result.state.original.attacked_text.text), str(result.state.similar.attacked_text.text)


def _rows(state: PairState[Any]) -> FloatArray:
    return np.stack([state.p, state.p_similar])
