from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, member
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.lockstep import run_lockstep
from rif_plugins.core.requests import Batch, Judge, Score, gather
from rif_plugins.errors import UsageError


class Desk:
    """Answers with text lengths; remembers the rounds; fails for one text."""

    def __init__(self, bad: str = "") -> None:
        self.rounds: list[list[Any]] = []
        self.bad = bad

    def scores(self, asked: Sequence[tuple[Any, Score]]) -> list[Any]:
        self.rounds.append([key for key, _ in asked])
        return [
            ValueError(f"cannot read {self.bad} for {key}")
            if self.bad and self.bad in request.texts
            else np.array([[float(len(text))] for text in request.texts]).reshape(-1, 1)
            for key, request in asked
        ]

    def judges(self, asked: Sequence[tuple[Any, Judge]]) -> list[Any]:
        return [request.side.admissible(request.states) for _, request in asked]


def steps(name: str, n: int):
    total = 0.0
    for number in range(n):
        rows = yield Score([name * (number + 1)])
        total += float(rows[0, 0])
    return name, total


def run(searches, desk: Desk | None = None, window: int = 64) -> list[tuple[Any, Any]]:
    desk = desk or Desk()
    return list(run_lockstep(searches, answer_scores=desk.scores, answer_judges=desk.judges, window=window))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=12), st.integers(1, 9))
def test_results_come_in_the_order_given_whatever_the_window(lengths: list[int], window: int) -> None:
    found = run(((i, steps("x", n)) for i, n in enumerate(lengths)), window=window)
    assert found == [(i, ("x", n * (n + 1) / 2)) for i, n in enumerate(lengths)]


def test_one_round_asks_for_all_open_searches() -> None:
    desk = Desk()
    run([("a", steps("a", 2)), ("b", steps("b", 3)), ("c", steps("c", 1))], desk)
    assert desk.rounds == [["a", "b", "c"], ["a", "b"], ["b"]]


@pytest.mark.parametrize("window", [1, 2, 5])
def test_at_most_window_searches_are_open(window: int) -> None:
    desk, opened = Desk(), 0

    def searches() -> Iterator[tuple[int, Any]]:
        nonlocal opened
        for number in range(20):
            opened += 1
            yield number, steps("x", 3)

    run(searches(), desk, window)
    assert opened == 20
    assert max(map(len, desk.rounds)) == window


def test_a_slow_first_search_does_not_let_results_pile_up() -> None:
    started = 0

    def searches() -> Iterator[tuple[int, Any]]:
        nonlocal started
        for number in range(1000):
            started += 1
            yield number, steps("x", 500 if number == 0 else 1)

    results = run_lockstep(searches(), answer_scores=Desk().scores, answer_judges=Desk().judges, window=4)
    assert next(results)[0] == 0
    # One slow search, and what fits behind it.
    assert started <= 2 * 4
    assert [key for key, _ in results] == list(range(1, 1000))


def test_searches_without_a_request_pass_through_in_order_and_lazily() -> None:
    started = 0

    def nothing():
        return "nothing"
        yield

    def searches() -> Iterator[tuple[int, Any]]:
        nonlocal started
        for number in range(100):
            started += 1
            yield number, nothing() if number % 3 else steps("x", 2)

    results = run_lockstep(searches(), answer_scores=Desk().scores, answer_judges=Desk().judges, window=3)
    assert [next(results)[0] for _ in range(3)] == [0, 1, 2]
    assert started < 12
    assert [key for key, _ in results] == list(range(3, 100))


def test_an_answer_that_is_an_error_is_raised_in_its_search_alone() -> None:
    desk = Desk(bad="bb")
    found = dict(run([("a", steps("a", 3)), ("b", steps("b", 3)), ("c", steps("c", 3))], desk, window=2))
    assert found["a"] == ("a", 6.0)
    assert found["c"] == ("c", 6.0)
    assert isinstance(found["b"], ValueError)
    assert "cannot read bb for b" in str(found["b"])


def test_a_search_may_go_on_after_an_error() -> None:
    def careful():
        try:
            yield Batch((Score(["good"]), Score(["bad"])))
        except ValueError:
            rows = yield Score(["good"])
            return float(rows[0, 0])

    assert run([(0, careful())], Desk(bad="bad")) == [(0, 4.0)]


def test_an_error_reaches_a_search_inside_searches() -> None:
    found = run([(0, gather([steps("a", 2), gather([steps("b", 2)])]))], Desk(bad="bb"))
    assert isinstance(found[0][1], ValueError)


@pytest.mark.parametrize("when", [0, 1])
def test_a_search_that_raises_is_reported_and_the_others_go_on(when: int) -> None:
    def broken():
        for _ in range(when):
            yield Score(["a"])
        raise KeyError("broken")
        yield

    found = run([(0, steps("a", 2)), (1, broken()), (2, steps("b", 1))])
    assert [key for key, _ in found] == [0, 1, 2]
    assert isinstance(found[1][1], KeyError)
    assert found[2][1] == ("b", 1.0)


def test_scores_and_judgements_of_one_round_reach_their_places() -> None:
    judge = CountingJudge({"x"})
    side = member("he a", {"a": ["x", "y"]}, judge)
    states = [proposal.state for proposal in side.propose(side.start, 0)]

    def both(text: str):
        return (yield Batch((Judge(side, states), Score([text]), Judge(side, states[1:]), Score([]))))

    for _, (first, rows, second, none) in run([(0, both("aa")), (1, both("bb"))]):
        assert first == [False, True]
        assert second == [True]
        assert rows.tolist() == [[2.0]]
        assert len(none) == 0


def test_an_error_of_the_source_or_of_the_answers_is_raised() -> None:
    def searches():
        yield 0, steps("a", 1)
        raise OSError("source")

    with pytest.raises(OSError, match="source"):
        run(searches())

    def fails(asked: Any) -> Any:
        raise RuntimeError("the filter is gone")

    with pytest.raises(RuntimeError, match="the filter is gone"):
        list(run_lockstep([(0, steps("a", 1))], answer_scores=fails, answer_judges=fails))


def test_window_is_checked() -> None:
    with pytest.raises(UsageError, match="window must be 1 or more, got 0"):
        run([], window=0)
