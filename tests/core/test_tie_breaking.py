from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, World, alone, log_odds, worlds
from fakes.toy import WordVictim
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.example_sweep import SweepPlan, sweep_example
from rif_plugins.core.exhaustive import enumerate_reach
from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pairs import Span
from rif_plugins.core.reach import Reach, ReachSettings, Waypoint, best_ends
from rif_plugins.core.reach_search import search_members
from rif_plugins.core.requests import Judge, drive
from rif_plugins.core.sides import SpanSide
from rif_plugins.core.tie_breaking import settle
from rif_plugins.core.tokens import word_spans


class Scale:
    """``S_eq`` of a text: the product of its words' values; counts what was asked."""

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values
        self.asked: list[str] = []

    def __call__(self, unedited: str, texts: Sequence[str]) -> list[float]:
        self.asked += texts
        return [self.of(text) for text in texts]

    def of(self, text: str) -> float:
        return float(np.prod([self.values.get(word, 1.0) for word in text.split()]))


def side_of(
    words: str,
    candidates: dict[str, Sequence[str]],
    scale: Scale | None,
    judge: Any = None,
    first: str = "he",
) -> SpanSide:
    text = f"{first} {words}"
    spans: dict[int, Span] = dict(enumerate(word_spans(text)[1:]))
    side = "original" if first == "he" else "similar"
    return SpanSide(
        text,
        side,  # type: ignore[arg-type]
        spans,
        lambda t, a, b: candidates.get(t[a:b], ()),
        judge,
        scale,
    )


def point(side: SpanSide, edits: dict[int, str], *p: float) -> tuple[Waypoint[Any], ...]:
    state: Any = side.start
    for position, key in edits.items():
        state = side.combine(state, position, key)
    return (
        Waypoint(side.start, np.array([0.1, 0.9, 0.0][: len(p)]), 0),
        Waypoint(state, np.array(p), len(edits)),
    )


def settled(side: SpanSide, *paths: tuple[Waypoint[Any], ...]) -> Reach[Any]:
    reach = Reach.of(paths[0][0], 1)
    for path in paths:
        reach.note(path, 1)
    drive(settle(side, reach), lambda texts: np.zeros((0, 0)))
    return reach


# -- one text ---------------------------------------------------------------------------------------------


def test_of_equally_short_edits_the_most_equivalent_is_kept_not_the_most_probable() -> None:
    scale = Scale({"x": 0.82, "y": 0.95, "z": 0.85})
    side = side_of("a b c", {}, scale)
    paths = [
        point(side, {0: "x"}, 0.9, 0.1),
        point(side, {1: "y"}, 0.6, 0.4),
        point(side, {2: "z"}, 0.8, 0.2),
    ]
    reach = settled(side, *paths)
    assert reach.paths[0] is paths[1]
    assert reach.equivalence == {0: 0.95}
    assert scale.asked == ["he x b c", "he a y c", "he a b z"]


def test_fewer_edits_come_before_equivalence() -> None:
    scale = Scale({"x": 0.8, "y": 0.99, "z": 0.99})
    side = side_of("a b c", {}, scale)
    short, long = point(side, {0: "x"}, 0.6, 0.4), point(side, {1: "y", 2: "z"}, 0.9, 0.1)
    assert settled(side, long, short).paths[0] is short
    assert scale.asked == []


def test_without_a_measure_the_most_probable_stays() -> None:
    side = side_of("a b", {}, None)
    first, second = point(side, {0: "x"}, 0.6, 0.4), point(side, {1: "y"}, 0.9, 0.1)
    for paths in ((first, second), (second, first)):
        assert settled(side, *paths).paths[0] is second


def test_equivalences_that_only_the_noise_of_batching_parts_are_equal() -> None:
    side = side_of("a b", {}, Scale({"x": 0.9, "y": 0.9 - 1e-9}))
    first, second = point(side, {0: "x"}, 0.6, 0.4), point(side, {1: "y"}, 0.9, 0.1)
    assert settled(side, first, second).paths[0] is second


def test_the_same_text_found_twice_is_no_tie() -> None:
    scale = Scale({})
    side = side_of("a b", {}, scale)
    reach = settled(side, point(side, {0: "x", 1: "y"}, 0.6, 0.4), point(side, {1: "y", 0: "x"}, 0.6, 0.4))
    assert len(reach.ties[0]) == 2
    assert scale.asked == []


def test_a_text_with_one_way_to_each_label_asks_nothing() -> None:
    scale = Scale({})
    side = side_of("a", {}, scale)
    reach = settled(side, point(side, {0: "x"}, 0.6, 0.4))
    assert (scale.asked, reach.equivalence) == ([], {})


def test_an_answer_of_bools_changes_nothing() -> None:
    """Whoever answers graded requests as plain ones gets the rule of a search without a filter."""
    side = side_of("a b", {}, Scale({"x": 0.9, "y": 0.8}))
    first, second = point(side, {0: "x"}, 0.6, 0.4), point(side, {1: "y"}, 0.9, 0.1)
    reach = Reach.of(first[0], 1)
    for path in (first, second):
        reach.note(path, 1)
    coroutine = settle(side, reach)
    request = next(coroutine)
    assert isinstance(request, Judge) and request.is_graded
    with pytest.raises(StopIteration):
        coroutine.send([True, True])
    assert reach.paths[0] is second


# -- searches ---------------------------------------------------------------------------------------------


def test_a_beam_meets_ties_and_keeps_the_most_equivalent() -> None:
    # 2.0: no single edit flips; a1 or a2 with b1 does. A beam of two meets both in the same round.
    weights = {"a": 1.0, "b": 1.0, "a1": -0.6, "a2": -0.5, "b1": -0.2}
    candidates = {"a": ["a1", "a2"], "b": ["b1"]}
    settings_ = ReachSettings(beam=2)
    for values, expected in (({"a1": 0.8, "a2": 0.9}, "he a2 b1"), ({"a1": 0.9, "a2": 0.8}, "he a1 b1")):
        scale, judge = Scale(values), CountingJudge()
        side = side_of("a b", candidates, scale, judge)
        (found,) = alone(search_members([side], 1, settings_), log_odds(weights))
        assert found.reach.paths[0][-1].state.text == expected
        # Only what the filter has admitted is asked about, so its answers are remembered.
        assert set(scale.asked) <= set(judge.known)


def test_the_exhaustive_search_keeps_the_most_equivalent_of_those_judged_together() -> None:
    candidates = {"a": ["a1", "a2", "a3"]}
    weights = {"a": 1.0, "a1": -3.0, "a2": -2.0, "a3": -1.0}
    judge = CountingJudge({"a1"})
    side = side_of("a", candidates, Scale({"a2": 0.8, "a3": 0.9}), judge)
    found = alone(enumerate_reach(side, 1, 1), log_odds(weights))
    assert found.reach.paths[0][-1].state.text == "he a3"
    assert (found.n_judged, judge.rows) == (3, 3)


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_equivalence_changes_which_edits_and_nothing_else(
    world: World, beam: int, filter_first: bool, seed: int
) -> None:
    words = [word for found in world.candidates.values() for word in found]
    values = dict(zip(words, np.random.default_rng(seed).uniform(0.8, 1.0, len(words)), strict=True))
    found = []
    for scale in (None, Scale(values)):
        victim, judge = world.victim(), world.judge
        members = [side_of(" ".join(world.words), world.candidates, scale, judge, f) for f in world.firsts]
        plan = ReachSettings(beam=beam, filter_first=filter_first)
        searches = alone(search_members(members, world.label, plan), victim)
        found.append((searches, victim.rows, judge.rows))
    (plain, *costs), (weighed, *same_costs) = found
    assert costs == same_costs
    scale = Scale(values)
    for before, after in zip(plain, weighed, strict=True):
        assert before.reach.labels == after.reach.labels
        assert before.reach.n_tried == after.reach.n_tried
        for label, path in after.reach.paths.items():
            was = before.reach.paths[label][-1]
            assert (path[-1].n_edits, path[-1].label) == (was.n_edits, label)
            tied = [scale.of(t[-1].state.text) for t in after.reach.ties[label]]
            assert round(scale.of(path[-1].state.text), 6) == round(max(tied), 6)


# -- pairs ------------------------------------------------------------------------------------------------


def reach_of(label: int, **ends: tuple[int, float]) -> Reach[str]:
    """A reach of three classes whose clean label is 0; ``l1=(edits, S_eq)``."""
    found = Reach.of(Waypoint("", np.eye(3)[0], 0), label)
    for name, (n_edits, value) in ends.items():
        reached = int(name[1:])
        found.note((found.clean, Waypoint(name, np.eye(3)[reached], n_edits)), label)
        found.equivalence[reached] = value
    return found


def test_a_pair_takes_the_labels_whose_lower_equivalence_is_the_highest() -> None:
    similar = reach_of(0, l1=(1, 0.81), l2=(1, 0.97))
    ends = best_ends(reach_of(0), similar, 0, Outcome.ROBUST_BIASED)
    assert ends is not None and ends[1][-1].state == "l2"
    # On both sides: min(0.99, 0.81) against min(0.9, 0.97).
    original = reach_of(0, l1=(1, 0.99), l2=(1, 0.9))
    ends = best_ends(original, similar, 0, Outcome.UNROBUST_FAIR)
    assert ends is not None and [end[-1].state for end in ends] == ["l2", "l2"]
    # Fewer edits come first.
    ends = best_ends(reach_of(0), reach_of(0, l1=(1, 0.81), l2=(2, 0.97)), 0, Outcome.ROBUST_BIASED)
    assert ends is not None and ends[1][-1].state == "l1"


def test_all_targets_of_several_classes_use_the_equivalence_of_each_label() -> None:
    # From class 0, x leads to class 1 and y to class 2, each in one edit; y keeps the meaning better.
    weights = {"a": (2.0, 0.0, 0.0), "x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 0.9)}
    scale = Scale({"x": 0.8, "y": 0.95})
    members = [side_of("a", {"a": ["x", "y"]}, scale, first=first) for first in ("he", "she")]
    plan = SweepPlan(targets=("robust_biased", "robustness_only"), exhaustive=1)
    sweep = alone(sweep_example(members, 0, plan), WordVictim(weights, 3))
    biased, flipped = (finding.result for finding in sweep.findings)
    assert biased.state.similar.text == "she y"
    assert flipped.state.original.text == "he y"
    assert classify(0, 0, int(biased.state.p_similar.argmax())) is biased.outcome
    unweighed = [side_of("a", {"a": ["x", "y"]}, None, first=first) for first in ("he", "she")]
    sweep = alone(sweep_example(unweighed, 0, plan), WordVictim(weights, 3))
    assert sweep.findings[0].result.state.similar.text == "she x"
