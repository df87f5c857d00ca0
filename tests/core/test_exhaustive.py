from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, World, alone, log_odds, member, members_of, worlds
from fakes.toy import WordVictim, pair_of
from fakes.toy import search as search_toy
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.example_sweep import SweepPlan, sweep_example
from rif_plugins.core.exhaustive import Enumeration, count_texts, enumerate_reach
from rif_plugins.core.outcomes import TARGETS
from rif_plugins.core.pair_search import SearchSettings
from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.reach_search import search_members
from rif_plugins.errors import UsageError


def enumerated(side: Any, victim: Any, label: int, k: int, **options: Any) -> Enumeration[Any]:
    return alone(enumerate_reach(side, label, k), victim, **options)


def test_texts_are_counted_by_hand() -> None:
    # Candidates a tokens: 2, 3, 1. One edit: 6. Two edits: 2*3 + 2*1 + 3*1 = 11. Three: 6.
    side = member("he a b c d", {"a": ["1", "2"], "b": ["3", "4", "5"], "c": ["6"]})
    assert [count_texts(side, k) for k in (1, 2, 3, 4)] == [6, 17, 23, 23]


def test_the_known_edit_of_a_first_letter_classifier_is_found() -> None:
    """Class 1 where the word behind the sensitive one starts with a vowel: one edit of one word matters."""

    def first_letter(texts: list[str]) -> np.ndarray:
        is_vowel = [text.split()[1][0] in "aeiou" for text in texts]
        return np.array([[0.0, 1.0] if vowel else [1.0, 0.0] for vowel in is_vowel])

    candidates = {"apt": ["able", "fit"], "person": ["human", "adult"]}
    for k in (1, 2):
        he, she = members_of("apt person", candidates)
        found = enumerated(he, first_letter, 1, k)
        assert found.reach.labels == {0, 1}
        assert found.reach.paths[0][-1].state.text == "he fit person"
        assert found.reach.paths[0][-1].n_edits == 1
        sweep = alone(sweep_example([he, she], 1, SweepPlan(exhaustive=k)), first_letter)
        texts = {
            finding.target: (finding.result.state.original.text, finding.result.state.similar.text)
            for finding in sweep.findings
        }
        assert all(finding.result.stop_reason == "success" for finding in sweep.findings)
        assert texts == {
            "robust_biased": ("he apt person", "she fit person"),
            "unrobust_fair": ("he fit person", "she fit person"),
            "unrobust_biased": ("he fit person", "she apt person"),
        }
    refused = members_of("apt person", candidates, CountingJudge({"fit"}))
    sweep = alone(sweep_example(refused, 1, SweepPlan(exhaustive=2)), first_letter)
    assert {finding.result.stop_reason for finding in sweep.findings} == {"certified"}


@settings(max_examples=30, deadline=None)
@given(worlds(), st.integers(1, 2))
def test_the_certificate_of_a_constant_classifier_is_none_for_all_targets(world: World, k: int) -> None:
    constant = WordVictim({}, world.n_labels)
    plan = SweepPlan(exhaustive=k)
    # All labels are equal there, and label 0 is the one predicted.
    sweep = alone(sweep_example(world.members(), 0, plan), constant)
    assert len(sweep.findings) == 3 * (len(world.firsts) - 1)
    sizes = [len(world.candidates[word]) for word in world.words]
    n_texts = sum(sizes) + (sum(a * b for a, b in itertools.combinations(sizes, 2)) if k == 2 else 0)
    for finding in sweep.findings:
        assert finding.result.stop_reason == "certified"
        assert finding.result.state == finding.result.clean
        assert finding.certificate == {
            "max_edits": k,
            "texts_original": n_texts,
            "texts_similar": n_texts,
            "judged": 0,
        }
    assert constant.rows == len(world.firsts) * (1 + n_texts)


@settings(max_examples=60, deadline=None)
@given(worlds(couples=True), st.integers(1, 2))
def test_the_reach_is_that_of_brute_force(world: World, k: int) -> None:
    for side, first in zip(world.members(), world.firsts, strict=True):
        found = enumerated(side, world.victim(), world.label, k)
        assert found.reach.stop == "certified"
        assert found.reach.labels == world.labels(first, k)
        for label, path in found.reach.paths.items():
            end = path[-1]
            assert end.label == label
            # The cheapest: no admissible text with fewer edits has this label.
            assert end.n_edits == 0 or label not in world.labels(first, end.n_edits - 1)
            assert end.state.text in world.admissible(first, k)


@settings(max_examples=40, deadline=None)
@given(worlds(couples=True), st.integers(1, 2))
def test_all_targets_are_those_of_brute_force(world: World, k: int) -> None:
    sweep = alone(sweep_example(world.members(), world.label, SweepPlan(exhaustive=k)), world.victim())
    for finding in sweep.findings:
        exists = finding.target in world.outcomes(world.firsts[finding.pair + 1], k)
        assert finding.result.is_success == exists
        if not exists:
            assert finding.result.stop_reason == "certified"
            assert finding.certificate["max_edits"] == k


@settings(max_examples=40, deadline=None)
@given(worlds(couples=True), st.integers(1, 2), st.integers(1, 3), st.booleans())
def test_it_finds_whatever_the_sweep_finds(world: World, k: int, beam: int, filter_first: bool) -> None:
    chosen = ReachSettings(max_edits=k, beam=beam, filter_first=filter_first)
    greedy = alone(search_members(world.members(), world.label, chosen), world.victim())
    for side, searched in zip(world.members(), greedy, strict=True):
        exact = enumerated(side, world.victim(), world.label, k)
        assert searched.reach.labels <= exact.reach.labels
        for label, path in searched.reach.paths.items():
            assert exact.reach.paths[label][-1].n_edits <= path[-1].n_edits


@settings(max_examples=40, deadline=None)
@given(
    worlds(couples=True),
    st.integers(1, 2),
    st.sampled_from(["shared", "independent", "coupled"]),
    st.sampled_from(list(map(str, TARGETS))),
)
def test_it_finds_whatever_the_search_of_pairs_finds(world: World, k: int, mode: Any, target: str) -> None:
    found = search_toy(
        pair_of(" ".join(world.words)),
        world.victim(),
        dict(world.candidates),
        target=target,
        label=world.label,
        settings=SearchSettings(positions=mode, max_edits=k),
        judge=world.judge,
    )
    plan = SweepPlan(targets=(target,), exhaustive=k)
    sweep = alone(sweep_example(world.members()[:2], world.label, plan), world.victim())
    assert sweep.findings[0].result.is_success or not found.is_success


def test_the_filter_sees_only_texts_with_a_new_label_and_stops_at_the_first_that_passes() -> None:
    # a1 to a20 flip the label, the most confident first; a20 and a19 are refused. b1 to b9 do not flip.
    candidates = {"a": [f"a{i}" for i in range(1, 21)], "b": [f"b{i}" for i in range(1, 10)]}
    weights = {"a": 1.0} | {f"a{i}": -float(i) for i in range(1, 21)} | {f"b{i}": 0.5 for i in range(1, 10)}
    judge = CountingJudge({"a20", "a19"})
    found = enumerated(member("he a b", candidates, judge), log_odds(weights), 1, 1)
    assert found.reach.paths[0][-1].state.text == "he a18 b"
    assert found.n_judged == judge.rows == 8
    assert not any("b1" in text for text in judge.known)


def test_too_many_texts_are_refused_with_the_count() -> None:
    side = member("he a b", {"a": ["1", "2"], "b": ["3", "4"]})
    victim = log_odds({})
    with pytest.raises(UsageError, match=r"2 edits would try 8 texts .* at most 7: lower"):
        alone(enumerate_reach(side, 1, 2, limit=7), victim)
    assert victim.rows == 0
    assert alone(enumerate_reach(side, 1, 2, limit=8), victim).n_texts == 8
    with pytest.raises(UsageError, match="needs 1 edit or more, got 0"):
        alone(enumerate_reach(side, 1, 0), victim)


@settings(max_examples=40, deadline=None)
@given(worlds(), st.integers(1, 2), st.integers(0, 40))
def test_the_budget_is_kept_and_nothing_is_certified_without_all_rows(
    world: World, k: int, budget: int
) -> None:
    side, victim = world.members()[0], world.victim()
    n_texts = count_texts(side, k)
    if not budget:
        with pytest.raises(UsageError, match="does not pay for the clean text"):
            enumerated(side, victim, world.label, k, budget=0)
        return
    found = enumerated(side, victim, world.label, k, budget=budget)
    assert victim.rows == min(budget, 1 + n_texts)
    assert found.reach.labels <= world.labels(world.firsts[0], k)
    assert found.reach.stop == ("certified" if budget > n_texts else "budget")


def test_a_pair_without_all_rows_has_no_certificate() -> None:
    members = members_of("a", {"a": ["x", "y"]})
    for budget, is_complete in ((6, True), (5, False)):
        victim = log_odds({"a": 2.0, "x": 1.0, "y": 1.0})
        sweep = alone(sweep_example(members, 1, SweepPlan(exhaustive=1)), victim, budget=budget)
        for finding in sweep.findings:
            assert bool(finding.certificate) == is_complete
            if finding.target == "unrobust_fair":
                assert not finding.result.is_success or is_complete


# -- the largest prediction error -------------------------------------------------------------------------


def test_the_largest_error_by_hand_with_and_without_a_filter() -> None:
    # Log odds of class 1: clean 2; a1 -1, a2 -2, a3 1, a4 0.5. The filter refuses a2 and is not asked
    # about a3 and a4, which keep the label.
    weights = {"a": 2.0, "a1": -1.0, "a2": -2.0, "a3": 1.0, "a4": 0.5}
    candidates = {"a": ["a1", "a2", "a3", "a4"]}
    odds = {name: 1 / (1 + np.exp(value)) for name, value in weights.items()}
    filtered = enumerated(member("he a", candidates, CountingJudge({"a2"})), log_odds(weights), 1, 1)
    assert (filtered.reach.n_tried, filtered.reach.largest_error) == (2, pytest.approx(odds["a1"]))
    free = alone(enumerate_reach(member("he a", candidates), 1, 1, admits_all=True), log_odds(weights))
    assert (free.reach.n_tried, free.reach.largest_error) == (5, pytest.approx(odds["a2"]))
    # Nothing reaches another label: the filter judges nothing, and only the clean text is known.
    calm = {**weights, "a1": 1.5, "a2": 0.1}
    filtered = enumerated(member("he a", candidates, CountingJudge()), log_odds(calm), 1, 1)
    assert (filtered.n_judged, filtered.reach.n_tried) == (0, 1)
    assert filtered.reach.largest_error == pytest.approx(odds["a"])
    free = alone(enumerate_reach(member("he a", candidates), 1, 1, admits_all=True), log_odds(calm))
    assert free.reach.largest_error == pytest.approx(1 / (1 + np.exp(0.1)))


@settings(max_examples=60, deadline=None)
@given(worlds(couples=True), st.integers(1, 2))
def test_the_largest_error_is_from_below_with_a_filter_and_exact_without(world: World, k: int) -> None:
    free = replace(world, refused=frozenset(), couples=())
    for some, admits_all in ((world, False), (free, True)):
        plan = SweepPlan(exhaustive=k, admits_all=admits_all)
        sweep = alone(sweep_example(some.members(), some.label, plan), some.victim())
        for first, reach in zip(some.firsts, sweep.reaches, strict=True):
            errors = 1 - some.victim()(some.admissible(first, k))[:, some.label]
            met = [1 - path[-1].p[some.label] for path in reach.paths.values()]
            assert max(met) - 1e-12 <= reach.largest_error <= errors.max() + 1e-12
            assert len(reach.paths) <= reach.n_tried <= len(errors)
            if admits_all:
                assert reach.largest_error == pytest.approx(errors.max())
                assert reach.n_tried == len(errors)


def test_an_enumeration_that_the_budget_cut_has_the_error_of_what_was_seen() -> None:
    weights = {"a": 2.0, "a1": -1.0, "a2": -2.0}
    side = member("he a", {"a": ["a1", "a2"]})
    cut = alone(enumerate_reach(side, 1, 1, admits_all=True), log_odds(weights), budget=2)
    assert (cut.reach.stop, cut.reach.n_tried) == ("budget", 2)
    assert cut.reach.largest_error == pytest.approx(1 / (1 + np.exp(-1.0)))
