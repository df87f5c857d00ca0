"""One search a text, all pairs and targets, as a TextAttack search method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from textattack.search_methods import SearchMethod

from rif_plugins.core.example_sweep import ExampleSweep, Finding, SweepPlan, sweep_example
from rif_plugins.core.members import member_spans
from rif_plugins.core.pairs import Pair
from rif_plugins.core.reach import ReachSettings, optimism_for
from rif_plugins.core.requests import drive
from rif_plugins.core.results import Record, searched_record
from rif_plugins.core.seeds import example_generator
from rif_plugins.core.victim import VictimCallError
from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.settings import Settings
from rif_plugins.text.goal_result import PairGoalFunctionResult
from rif_plugins.text.host_side import HostMember, HostState
from rif_plugins.text.pairing import rewritten
from rif_plugins.text.search_costs import AttackCosts, equivalence_of, failed_result, show_clean_pair
from rif_plugins.text.sweep_goals import SweepGoal
from rif_plugins.text.token_gradients import token_saliency_of


class ReachSearch(SearchMethod):
    """Searches every text of I(v) once and answers all targets of a sweep goal.

    Needs a goal such as ``AnyViolation``; takes any transformation and constraints of the host, which it
    applies to each text alone. The attack's result shows one pair of the example, the worst; the records
    hold all pairs and targets.

    Args:
        max_positions, max_edits, beam, saliency, exhaustive, filter_order, seed: As in the settings.

    Arguments that are None are read from the settings.
    """

    def __init__(
        self,
        max_positions: int | None = None,
        max_edits: int | Literal["settings"] | None = "settings",
        beam: int | None = None,
        saliency: Literal["delete", "mask", "gradient", "random"] | None = None,
        exhaustive: int | Literal["settings"] | None = "settings",
        filter_order: Literal["auto", "filter-first", "victim-first"] | None = None,
        seed: int | None = None,
    ) -> None:
        settings = Settings.load()
        self.settings = ReachSettings(
            max_positions=settings.max_positions if max_positions is None else max_positions,
            max_edits=settings.max_edits if max_edits == "settings" else max_edits,
            beam=settings.beam if beam is None else beam,
            saliency=saliency or settings.saliency,
            mask_token=settings.mask_token,
            n_labels=settings.n_wrong_labels,
            optimism=optimism_for(settings.entailment),
        )
        self.max_positions, self.max_edits = self.settings.max_positions, self.settings.max_edits
        self.beam, self.saliency = self.settings.beam, self.settings.saliency
        self.exhaustive = settings.exhaustive if exhaustive == "settings" else exhaustive
        self.filter_order = filter_order or settings.filter_order
        self.seed = settings.seed if seed is None else seed

    @property
    def is_black_box(self) -> bool:
        """Only class probabilities are needed, but for the gradient saliency."""
        return self.saliency != "gradient"

    def perform_search(self, initial_result: PairGoalFunctionResult) -> PairGoalFunctionResult:
        """Search the pairs of the example that the goal has prepared."""
        goal, start = self._goal(), time.perf_counter()
        costs = AttackCosts(self._attack, goal)
        pairs = list(goal.pairs)
        try:
            sweep = self._sweep(goal, pairs)
        except (VictimCallError, UsageError) as error:
            if isinstance(error, VictimError) and not isinstance(error, VictimRowError):
                raise  # no prediction at all: this concerns the whole run
            return failed_result(goal, initial_result, str(error), start, self.seed)
        records = [self._record(goal, pairs, finding) for finding in sweep.findings]
        seconds = round(time.perf_counter() - start, 4)
        records[0] = replace(records[0], queries=costs.spent(), seconds=seconds)
        worst = min(range(len(records)), key=lambda i: (_RANK[records[i].status], i))
        final = self._final(goal, pairs, sweep.findings[worst], initial_result)
        final.record = records[worst]
        final.records = tuple(records)
        for record in records:
            goal.write(record)
        return final

    # -- inside ---------------------------------------------------------------------------------------

    def _goal(self) -> SweepGoal:
        goal = self.goal_function
        if not isinstance(goal, SweepGoal):
            raise UsageError(
                f"ReachSearch answers several targets at once: expected a goal such as AnyViolation, "
                f"got {type(goal).__name__}; choose --goal-function rif-any-violation"
            )
        return goal

    @property
    def _attack(self) -> Any:
        # The host hands out bound methods of the attack but not the attack itself.
        return self.get_transformations.__self__

    def _sweep(self, goal: SweepGoal, pairs: Sequence[Pair]) -> ExampleSweep[HostState]:
        original = pairs[0].original
        spans = member_spans(original, pairs, goal.pair_source.sensitive_spans)
        texts = [original, *(pair.similar for pair in pairs)]
        members = [
            HostMember(self._attack, text, "similar" if number else "original", found)
            for number, (text, found) in enumerate(zip(texts, spans, strict=True))
        ]
        limit = goal.budget.limit
        filter_first = self.filter_order == "filter-first" or (
            self.filter_order == "auto" and limit is not None
        )
        plan = SweepPlan(
            targets=goal.targets,
            settings=replace(self.settings, filter_first=filter_first),
            exhaustive=self.exhaustive,
        )
        if limit is not None:
            goal.budget.reserved = min(2 * len(pairs), limit // 4)
        saliency = token_saliency_of(goal.model) if self.saliency == "gradient" else None
        search = sweep_example(
            members,
            goal.label,
            plan,
            rng=example_generator(self.seed, goal.example),
            token_saliency=saliency,
        )
        return drive(search, goal.score_texts, goal.score_again)

    def _record(self, goal: SweepGoal, pairs: Sequence[Pair], finding: Finding[HostState]) -> Record:
        pair, state = pairs[finding.pair], finding.result.state
        texts = _texts(finding)
        record = searched_record(
            pair,
            finding.result,
            texts=texts,
            edits=(*state.original.edits, *state.similar.edits),
            example=goal.example,
            label=goal.label,
            target=finding.target,
            seed=self.seed,
        )
        values, scorer = equivalence_of(self._attack, pair, texts)
        return replace(record, equivalence=values, scorer=scorer, certificate=finding.certificate)

    def _final(
        self,
        goal: SweepGoal,
        pairs: Sequence[Pair],
        finding: Finding[HostState],
        initial_result: PairGoalFunctionResult,
    ) -> PairGoalFunctionResult:
        pair, result = pairs[finding.pair], finding.result
        if initial_result.pair != pair:
            # The host prints its initial result beside ours: show the clean pair that was searched.
            show_clean_pair(initial_result, goal, pair, result)
        rows = np.stack([result.state.p, result.state.p_similar])
        return goal.result_for(rewritten(initial_result.attacked_text, _texts(finding)), rows, pair)

    def extra_repr_keys(self) -> list[str]:
        """Fields shown in the host's print of the attack."""
        return ["max_positions", "max_edits", "beam", "saliency", "exhaustive", "filter_order"]


# Which finding stands for the example where the host shows only one.
_RANK = {"induced": 0, "natural": 1, "shifted": 2, "failed": 3}


def _texts(finding: Finding[HostState]) -> tuple[str, str]:
    state = finding.result.state
    return str(state.original.attacked_text.text), str(state.similar.attacked_text.text)
