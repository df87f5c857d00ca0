from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, World, alone, log_odds, members_of, worlds
from fakes.toy import WordVictim
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.example_sweep import ExampleSweep, Finding, SweepPlan, sweep_example
from rif_plugins.core.outcomes import ALL_TARGETS, TARGETS, Outcome, is_in_target
from rif_plugins.core.reach import ReachSettings
from rif_plugins.errors import UsageError

FILM = {"she": -0.9, "good": 2.0, "fine": 0.6, "awful": -4.0}


def sweep(words: str, victim: Any, candidates: dict[str, list[str]], **options: Any) -> ExampleSweep[Any]:
    label, judge = options.pop("label", 1), options.pop("judge", None)
    firsts, budget = options.pop("firsts", ("he", "she")), options.pop("budget", None)
    plan = SweepPlan(**{"targets": ALL_TARGETS, **options})
    return alone(
        sweep_example(members_of(words, candidates, judge, firsts), label, plan), victim, budget=budget
    )


def by_target(found: ExampleSweep[Any], pair: int = 0) -> dict[str, Finding[Any]]:
    return {finding.target: finding for finding in found.findings if finding.pair == pair}


def texts(finding: Finding[Any]) -> tuple[str, str]:
    return finding.result.state.original.text, finding.result.state.similar.text


def test_one_sweep_answers_all_targets_by_hand() -> None:
    # he good 2.0, she good 1.1; fine takes 1.4: he 0.6, she -0.3; awful makes both wrong.
    found = by_target(sweep("good", log_odds(FILM), {"good": ["fine", "awful"]}))
    assert list(found) == list(ALL_TARGETS)
    assert {name: finding.result.stop_reason for name, finding in found.items()} == dict.fromkeys(
        ALL_TARGETS, "success"
    )
    assert texts(found["robust_biased"]) == ("he good", "she awful")
    assert texts(found["unrobust_fair"]) == ("he awful", "she awful")
    assert texts(found["unrobust_biased"]) == ("he awful", "she good")
    assert texts(found["robustness_only"]) == ("he awful", "she good")
    assert texts(found["fairness_only"]) == ("he fine", "she fine")


def test_natural_violations_need_no_edit() -> None:
    found = by_target(sweep("fine", log_odds(FILM), {}))
    assert found["robust_biased"].result.stop_reason == "natural"
    assert found["fairness_only"].result.stop_reason == "natural"
    assert found["unrobust_fair"].result.stop_reason == "no_positions"
    assert found["robustness_only"].result.stop_reason == "no_positions"


def test_what_is_reached_from_another_violation_keeps_its_clean_outcome() -> None:
    found = by_target(sweep("fine", log_odds(FILM), {"fine": ["good", "awful"]}))
    result = found["unrobust_fair"].result
    assert (result.clean_outcome, result.outcome) == (Outcome.ROBUST_BIASED, Outcome.UNROBUST_FAIR)
    assert texts(found["unrobust_fair"]) == ("he awful", "she fine")


def test_three_classes_meet_by_a_directed_search() -> None:
    weights = {
        "a": (3.0, 1.0, 0.0),
        "x": (0.0, 3.0, 0.0),
        "y": (0.0, 0.0, 3.0),
        "she": (0.0, -9.0, 0.0),
    }
    found = by_target(sweep("a", WordVictim(weights, 3), {"a": ["x", "y"]}, label=0))
    assert texts(found["unrobust_fair"]) == ("he y", "she y")
    assert found["unrobust_fair"].result.is_success
    assert texts(found["robust_biased"]) == ("he a", "she y")
    # Two different wrong labels are a cheaper product than none: one edit suffices.
    assert texts(found["unrobust_biased"]) == ("he x", "she a")


def test_pairs_share_the_searches_of_their_texts() -> None:
    victim = log_odds(FILM | {"they": -0.2})
    found = sweep("good", victim, {"good": ["awful"]}, firsts=("he", "she", "they"))
    assert [finding.pair for finding in found.findings] == [0] * 5 + [1] * 5
    # Clean: 3. he awful: 1. she, they awful measured: 2. Again: the 3 edited and the 3 clean ones.
    assert victim.rows == 3 + 1 + 2 + 6


def test_the_saliency_shown_is_the_largest_fall_where_nothing_was_ranked() -> None:
    found = sweep("good", log_odds(FILM), {"good": ["fine", "awful"]})
    assert found.saliency[0] == {0: pytest.approx(6.0)}
    assert found.saliency[1] == {0: pytest.approx(6.0)}
    # Where every candidate raises the label, the fall is negative; an enumeration has no scores.
    assert sweep("fine", log_odds(FILM), {"fine": ["good"]}).saliency[0] == {0: pytest.approx(-1.4)}
    plan = {"targets": tuple(map(str, TARGETS)), "exhaustive": 1}
    assert sweep("good", log_odds(FILM), {"good": ["fine"]}, **plan).saliency == []


def test_a_success_that_the_victim_does_not_repeat_is_dropped() -> None:
    class Moody:
        """Wrong about edited texts the first time only."""

        def __init__(self) -> None:
            self.seen: set[str] = set()

        def __call__(self, asked: list[str]) -> np.ndarray:
            wrong = ["awful" in text and text not in self.seen for text in asked]
            self.seen.update(asked)
            return np.array([[0.9, 0.1] if bad else [0.1, 0.9] for bad in wrong])

    for finding in sweep("good", Moody(), {"good": ["awful"]}).findings:
        if finding.target != "fairness_only":
            assert finding.result.stop_reason == "unconfirmed"
            assert finding.result.outcome is Outcome.ROBUST_FAIR
            assert finding.result.state == finding.result.clean
            assert len(finding.result.trajectory) == 1


def test_what_cannot_be_asked_again_is_no_finding_and_the_budget_is_to_blame() -> None:
    # Rows: he, she, he awful, she awful. Nothing is left to ask again.
    victim = log_odds(FILM)
    rif = tuple(map(str, TARGETS))
    found = by_target(sweep("good", victim, {"good": ["awful"]}, budget=4, targets=rif))
    assert victim.rows == 4
    for finding in found.values():
        assert finding.result.stop_reason == "budget"
        assert not is_in_target(finding.result.outcome, finding.target)
    # Two more rows pay for the first pair, which both the first and the last target end in.
    found = by_target(sweep("good", log_odds(FILM), {"good": ["awful"]}, budget=6))
    assert found["robust_biased"].result.stop_reason == "success"
    assert found["unrobust_fair"].result.stop_reason == "budget"


def test_budget_below_the_clean_texts() -> None:
    with pytest.raises(UsageError, match="does not pay for the clean texts"):
        sweep("good", log_odds(FILM), {}, budget=1)


def test_an_exhaustive_sweep_refuses_too_many_texts() -> None:
    with pytest.raises(UsageError, match="would try 3 texts of one example, expected at most 2"):
        sweep("good fine", log_odds(FILM), {"good": ["a", "b"], "fine": ["c"]}, exhaustive=1, max_texts=2)


def test_the_fairness_attack_runs_beside_an_enumeration() -> None:
    found = by_target(sweep("good", log_odds(FILM), {"good": ["fine", "awful"]}, exhaustive=1))
    assert texts(found["fairness_only"]) == ("he fine", "she fine")
    assert found["fairness_only"].certificate == {}
    assert found["robustness_only"].certificate["max_edits"] == 1


# -- properties -------------------------------------------------------------------------------------------

plans = st.builds(
    ReachSettings,
    beam=st.integers(1, 2),
    max_edits=st.one_of(st.none(), st.integers(0, 3)),
    max_positions=st.integers(1, 5),
    saliency=st.sampled_from(["delete", "mask", "random"]),
    filter_first=st.booleans(),
    shares_probes=st.booleans(),
)


def swept(world: World, plan: SweepPlan, victim: Any, judge: CountingJudge | None = None, **more: Any):
    coroutine = sweep_example(world.members(judge), world.label, plan, rng=np.random.default_rng(0))
    return alone(coroutine, victim, **more)


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), plans)
def test_every_success_is_asked_again_admissible_and_in_its_target(
    world: World, chosen: ReachSettings
) -> None:
    seen: dict[str, int] = {}
    victim, judge = world.victim(), world.judge

    def counting(asked: list[str]) -> np.ndarray:
        for text in asked:
            seen[text] = seen.get(text, 0) + 1
        return victim(asked)

    found = swept(world, SweepPlan(targets=ALL_TARGETS, settings=chosen), counting, judge)
    assert len(found.findings) == len(ALL_TARGETS) * (len(world.firsts) - 1)
    for finding in found.findings:
        result, both = finding.result, texts(finding)
        assert is_in_target(result.outcome, finding.target) == result.is_success
        assert (result.stop_reason == "natural") == is_in_target(result.clean_outcome, finding.target)
        if not result.is_success:
            assert (
                result.state is result.clean
                or result.state.n_edits_original == result.state.n_edits_similar == 0
            )
        if result.stop_reason == "success":
            fresh = world.victim()(list(both)).argmax(axis=1)
            assert [int(result.state.p.argmax()), int(result.state.p_similar.argmax())] == fresh.tolist()
            for text, first in zip(both, (world.firsts[0], world.firsts[finding.pair + 1]), strict=True):
                assert seen[text] >= 2
                assert text in world.admissible(first, chosen.max_edits)
        if finding.target == "robustness_only":
            assert result.state.similar.edits == ()
        for state, number in ((result.state.original, 0), (result.state.similar, finding.pair + 1)):
            assert state.text.split()[0] == world.firsts[number]


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), plans)
def test_orders_and_sharing_give_the_same_findings(world: World, chosen: ReachSettings) -> None:
    # With several classes a label may be met on the way to one that the bound rules out.
    optimism = 1 if world.n_labels == 2 else np.inf

    def summary(**changes: Any) -> list[tuple[Any, ...]]:
        plan = SweepPlan(targets=ALL_TARGETS, settings=replace(chosen, optimism=optimism, **changes))
        return [
            (f.pair, f.target, f.result.is_success, texts(f) if f.result.is_success else None)
            for f in swept(world, plan, world.victim()).findings
        ]

    assert summary(filter_first=True) == summary(filter_first=False)
    assert summary(shares_probes=True) == summary(shares_probes=False)


@settings(max_examples=40, deadline=None)
@given(worlds(n_labels=2))
def test_two_classes_and_single_words_are_answered_exactly(world: World) -> None:
    found = swept(world, SweepPlan(settings=ReachSettings(optimism=1)), world.victim())
    for finding in found.findings:
        exists = finding.target in world.outcomes(world.firsts[finding.pair + 1])
        assert finding.result.is_success == exists


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), plans, st.sampled_from([None, 1, 2]), st.integers(0, 60))
def test_the_budget_is_kept_and_a_stop_by_it_is_said(
    world: World, chosen: ReachSettings, exhaustive: int | None, extra: int
) -> None:
    budget = len(world.firsts) + extra
    plan = SweepPlan(targets=ALL_TARGETS, settings=chosen, exhaustive=exhaustive)
    free, limited = world.victim(), world.victim()
    whole = swept(world, plan, free)
    found = swept(world, plan, limited, budget=budget)
    assert limited.rows <= budget
    lost = 0
    for before, after in zip(whole.findings, found.findings, strict=True):
        if before.result.is_success and not after.result.is_success:
            lost += 1
            assert after.result.stop_reason == "budget"
    if free.rows <= budget:
        assert not lost
        assert [f.result.stop_reason for f in found.findings] == [
            f.result.stop_reason for f in whole.findings
        ]
