from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, World, alone, log_odds, members_of, worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.fairness_search import negative_gap, search_difference
from rif_plugins.core.pair_search import PairSearchResult
from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.reach_search import search_members


def both(members: list[Any], label: int, chosen: ReachSettings):
    searches = yield from search_members(members, label, chosen)
    return (yield from search_difference(searches[0], searches[1], label))


def difference(
    words: str,
    weights: dict[str, float],
    candidates: dict[str, list[str]],
    *,
    judge: CountingJudge | None = None,
    budget: int | None = None,
    **options: Any,
) -> PairSearchResult[Any]:
    members = members_of(words, candidates, judge)
    return alone(both(members, 1, ReachSettings(**options)), log_odds(weights), budget=budget)


def edits(result: PairSearchResult[Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    state = result.state
    return tuple([(e.source, e.target) for e in side.edits] for side in (state.original, state.similar))  # type: ignore[return-value]


def test_the_same_edit_on_both_sides_parts_the_predictions() -> None:
    # she -0.9. good 2.0 / 1.1 right on both; fine 0.6 / -0.3 parts them.
    result = difference("good", {"she": -0.9, "good": 2.0, "fine": 0.6}, {"good": ["fine"]})
    assert result.stop_reason == "success"
    assert edits(result) == ([("good", "fine")], [("good", "fine")])
    p = 1 / (1 + np.exp(-np.array([0.6, -0.3])))
    assert result.trajectory[-1].objective == pytest.approx(-(p[0] - p[1]))
    assert (result.state.p[1], result.state.p_similar[1]) == pytest.approx(tuple(p))


def test_several_shared_edits_are_taken_while_the_gap_grows() -> None:
    # 4.5 / 3.6; each edit takes 1.4: after three, 0.3 / -0.6. The gap grows at every step.
    weights = {"she": -0.9} | dict.fromkeys("abc", 1.5) | dict.fromkeys("ABC", 0.1)
    candidates = {word: [word.upper()] for word in "abc"}
    result = difference("a b c", weights, candidates)
    assert result.stop_reason == "success"
    assert result.state.n_edits_original == result.state.n_edits_similar == 3
    values = [step.objective for step in result.trajectory]
    assert values == sorted(values, reverse=True)
    limited = difference("a b c", weights, candidates, max_edits=2)
    assert limited.stop_reason in ("exhausted", "out_of_reach")
    assert limited.state == limited.clean


def test_a_clean_pair_that_differs_is_natural() -> None:
    result = difference("a", {"she": -3.0, "a": 1.0}, {"a": ["A"]})
    assert result.stop_reason == "natural"
    assert result.state == result.clean


def test_an_edit_must_be_admissible_on_both_sides() -> None:
    weights, candidates = {"she": -0.9, "good": 2.0, "fine": 0.6}, {"good": ["fine"]}

    class OneSided(CountingJudge):
        def accepts(self, text: str) -> bool:
            return text != self.bad

    for bad in ("he fine", "she fine"):
        judge = OneSided()
        judge.bad = bad
        result = difference("good", weights, candidates, judge=judge)
        assert not result.is_success
        assert result.state == result.clean


def test_why_it_ended_is_said() -> None:
    weights = {"she": -0.9, "a": 5.0, "A": 4.9}
    assert difference("a", weights, {"a": ["A"]}).stop_reason == "out_of_reach"
    assert difference("a", weights, {}).stop_reason == "no_positions"
    # Rows: two clean ones and one of two candidates; what the other would do is unknown.
    cut = difference("a", {"she": -0.9, "a": 2.0, "A": 2.1, "B": 0.6}, {"a": ["A", "B"]}, budget=3)
    assert cut.stop_reason == "budget"
    # All candidates are known, but the pair of edited texts cannot be paid: "he B" is, "she B" is not.
    cut = difference("a", {"she": -0.9, "a": 2.0, "B": 0.6}, {"a": ["B"]}, budget=3)
    assert cut.stop_reason == "budget"
    assert difference("a", {"she": -0.9, "a": 2.0, "B": 0.6}, {"a": ["B"]}, budget=4).is_success


def test_the_gap_is_that_of_the_right_label() -> None:
    assert negative_gap(np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.1, 0.3]), 1) == pytest.approx(-0.4)
    assert negative_gap(np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.1, 0.3]), 2) == 0.0


@settings(max_examples=40, deadline=None)
@given(worlds(couples=True), st.one_of(st.none(), st.integers(0, 2)))
def test_what_is_found_is_shared_admissible_and_differs(world: World, max_edits: int | None) -> None:
    judge = world.judge
    chosen = ReachSettings(optimism=1, max_edits=max_edits)
    result = alone(both(world.members(judge)[:2], world.label, chosen), world.victim())
    first, second = edits(result)
    assert first == second
    assert max_edits is None or len(first) <= max_edits
    texts = [result.state.original.text, result.state.similar.text]
    fresh = world.victim()(texts).argmax(axis=1)
    assert (result.stop_reason in ("natural", "success")) == (fresh[0] != fresh[1])
    assert not first or all(judge.known[text] for text in texts)


@settings(max_examples=40, deadline=None)
@given(worlds(couples=True))
def test_the_order_of_filter_and_victim_changes_nothing(world: World) -> None:
    found = []
    for filter_first in (True, False):
        chosen = ReachSettings(optimism=1, filter_first=filter_first)
        result = alone(both(world.members()[:2], world.label, chosen), world.victim())
        found.append((result.is_success, edits(result) if result.is_success else None))
    assert found[0] == found[1]
