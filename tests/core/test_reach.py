from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import TARGETS, Outcome, classify
from rif_plugins.core.reach import Reach, ReachSettings, Waypoint, best_ends, pair_result, weaker_stop
from rif_plugins.errors import UsageError


def point(label: int, n_edits: int = 0, name: str = "", k: int = 3, p: float = 0.6) -> Waypoint[str]:
    row = np.full(k, (1 - p) / (k - 1))
    row[label] = p
    return Waypoint(name or f"{label}/{n_edits}", row, n_edits)


def reach(clean: int, *others: tuple[int, int], label: int = 0, k: int = 3, stop: str = "exhausted"):
    found = Reach.of(point(clean, k=k), label)
    for reached, n_edits in others:
        found.note((found.clean, point(reached, n_edits, k=k)), label)
    found.stop = stop  # type: ignore[assignment]
    return found


def test_the_cheapest_path_to_a_label_is_kept_and_all_states_are_counted() -> None:
    found = reach(0, (1, 2), (1, 1), (1, 1), (0, 1))
    assert found.labels == {0, 1}
    assert [w.n_edits for w in found.paths[1]] == [0, 1]
    assert found.paths[0] == (found.clean,)
    assert found.n_tried == 5


def test_the_first_of_equally_cheap_paths_stays() -> None:
    found = Reach.of(point(0), 0)
    for name in ("first", "second"):
        found.note((found.clean, point(1, 1, name)), 0)
    assert found.paths[1][-1].state == "first"


def test_the_largest_error_is_that_of_the_right_label() -> None:
    found = Reach.of(point(0, p=0.9), 0)
    assert found.largest_error == pytest.approx(0.1)
    found.note((found.clean, point(1, 1, p=0.8)), 0)
    assert found.largest_error == pytest.approx(0.9)
    found.note((found.clean, point(0, 1, p=0.95)), 0)
    assert found.largest_error == pytest.approx(0.9)


# Label 0 is right. By hand from the premises: which outcomes two reaches have between them.
@pytest.mark.parametrize(
    ("original", "similar", "robust_biased", "unrobust_fair", "unrobust_biased"),
    [
        ([0], [0], False, False, False),
        ([0], [0, 1], True, False, False),
        ([0, 1], [0], False, False, True),
        ([0, 1], [0, 1], True, True, True),
        ([0, 1], [0, 2], True, False, True),
        ([1], [0, 1], False, True, True),
        ([1], [1], False, True, False),
        ([1], [1, 2], False, True, True),
        ([1], [0], False, False, True),
    ],
)
def test_targets_follow_from_the_labels_of_both_sides(
    original: list[int], similar: list[int], robust_biased: bool, unrobust_fair: bool, unrobust_biased: bool
) -> None:
    first, second = (reach(clean, *((b, 1) for b in rest)) for clean, *rest in (original, similar))
    for target, is_there in zip(TARGETS, (robust_biased, unrobust_fair, unrobust_biased), strict=True):
        result = pair_result(first, second, 0, Objective.for_target(target))
        assert result.is_success == is_there, target
        assert (result.outcome is target) == is_there


def test_natural_induced_and_failed_are_told_apart() -> None:
    def result(first, second, target):
        return pair_result(first, second, 0, Objective.for_target(target))

    natural = result(reach(0), reach(1, (0, 1)), "robust_biased")
    assert (natural.stop_reason, natural.state) == ("natural", natural.clean)
    assert len(natural.trajectory) == 1
    induced = result(reach(0), reach(0, (1, 2)), "robust_biased")
    assert (induced.stop_reason, induced.clean_outcome) == ("success", Outcome.ROBUST_FAIR)
    assert (induced.state.n_edits_original, induced.state.n_edits_similar) == (0, 2)
    shifted = result(reach(1), reach(1, (0, 1)), "unrobust_biased")
    assert (shifted.clean_outcome, shifted.outcome) == (Outcome.UNROBUST_FAIR, Outcome.UNROBUST_BIASED)
    failed = result(reach(0), reach(0, stop="out_of_reach"), "unrobust_fair")
    assert (failed.stop_reason, failed.state) == ("out_of_reach", failed.clean)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_cheapest_combination_is_chosen(data: st.DataObject) -> None:
    def draw():
        edits = data.draw(st.dictionaries(st.integers(0, 3), st.integers(1, 4), max_size=4))
        clean = data.draw(st.integers(0, 3))
        return reach(clean, *edits.items(), k=4)

    first, second = draw(), draw()
    target = data.draw(st.sampled_from(TARGETS))
    costs = [
        a[-1].n_edits + b[-1].n_edits
        for (la, a), (lb, b) in itertools.product(first.paths.items(), second.paths.items())
        if classify(0, la, lb) is target
    ]
    ends = best_ends(first, second, 0, target)
    assert (ends is None) == (not costs)
    if ends is not None:
        a, b = ends[0][-1], ends[1][-1]
        assert a.n_edits + b.n_edits == min(costs)
        assert classify(0, a.label, b.label) is target


def test_of_equally_cheap_combinations_the_lower_labels_are_chosen() -> None:
    ends = best_ends(reach(0), reach(0, (2, 1), (1, 1)), 0, Outcome.ROBUST_BIASED)
    assert ends is not None and ends[1][-1].label == 1


def test_the_shorter_side_of_a_trajectory_is_held() -> None:
    first = Reach.of(point(0, p=0.9, k=2), 0)
    second = Reach.of(point(0, p=0.8, k=2), 0)
    steps = (second.clean, point(0, 1, p=0.6, k=2), point(1, 2, p=0.7, k=2))
    second.note(steps, 0)
    objective = Objective.for_target("robust_biased")
    result = pair_result(first, second, 0, objective)
    assert [round(step.p_original, 9) for step in result.trajectory] == [0.9, 0.9, 0.9]
    assert [round(step.p_similar, 9) for step in result.trajectory] == [0.8, 0.6, 0.3]
    assert [(s.n_edits_original, s.n_edits_similar) for s in result.trajectory] == [(0, 0), (0, 1), (0, 2)]
    # J = L(0.9) - L(0.3) - |0.9 - 0.3| at the end.
    expected = -np.log(0.9) + np.log(0.3) - 0.6
    assert result.trajectory[-1].objective == pytest.approx(expected, abs=1e-6)


def test_the_stop_reason_that_says_less_wins() -> None:
    order = ["budget", "out_of_reach", "exhausted", "no_positions", "certified"]
    for i, j in itertools.combinations(range(5), 2):
        assert weaker_stop(order[i], order[j]) == weaker_stop(order[j], order[i]) == order[i]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"saliency": "attention"},
            "saliency 'attention' does not exist: expected delete, mask, gradient or",
        ),
        ({"max_positions": 0}, "max_positions must be 1 or more, got 0"),
        ({"beam": 0}, "beam must be 1 or more, got 0"),
        ({"n_labels": 0}, "n_labels must be 1 or more, got 0"),
        ({"max_edits": -1}, "max_edits must be 0 or more, got -1"),
        ({"optimism": 0.5}, "optimism must be 1 or more, got 0.5"),
        ({"optimism": float("nan")}, "optimism must be 1 or more, got nan"),
    ],
)
def test_settings_are_checked(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ReachSettings(**arguments)
