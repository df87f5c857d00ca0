from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fakes.runner_world import KeywordVictim, ScriptedScorer
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.pairs import Span
from rif_plugins.core.requests import Judge, Score
from rif_plugins.core.sides import SpanSide
from rif_plugins.core.victim import VictimCallError, VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.examples.base import Example
from rif_plugins.runner.answering import AnswerDesk
from rif_plugins.runner.task import Allowance, Clock, ExampleTask


def task(name: str, limit: int | None = None, reserved: int = 0) -> ExampleTask:
    return ExampleTask(Example(name, name, 1), [], [], Allowance(limit, reserved))


def desk(victim: Any, refused: Any = None) -> AnswerDesk:
    entailment = None if refused is None else EntailmentFilter(ScriptedScorer(refused), veto=None)
    return AnswerDesk(VictimEngine(victim), entailment, Clock())


def side(text: str, words: tuple[str, ...]) -> tuple[SpanSide, list[Any]]:
    last = text.rindex(" ") + 1
    found = SpanSide(text, "original", {0: Span(last, len(text))}, lambda *_: words)
    return found, [proposal.state for proposal in found.propose(found.start, 0)]


def test_requests_of_many_examples_are_one_call_and_each_gets_its_own_rows() -> None:
    victim = KeywordVictim()
    a, b = task("a"), task("b")
    requests = [
        (a, Score(["good", "awful"])),
        (b, Score(["awful", "fine"])),
        (a, Score([])),
        (a, Score(["x"])),
    ]
    answers = desk(victim).scores(requests)
    assert victim.sizes == [4]
    for (_, request), rows in zip(requests, answers, strict=True):
        assert np.allclose(rows, KeywordVictim()(list(request.texts)).reshape(-1, 2))
    assert (a.budget.spent, b.budget.spent) == (3, 1)
    assert (a.budget.hits, b.budget.hits) == (0, 1)


def test_fresh_requests_ask_again_and_charge_a_shared_text_once() -> None:
    victim = KeywordVictim()
    a, b = task("a"), task("b")
    where = desk(victim)
    where.scores([(a, Score(["good"]))])
    answers = where.scores(
        [
            (a, Score(["good", "fine"], is_fresh=True)),
            (b, Score(["fine"], is_fresh=True)),
            (b, Score(["good"])),
        ]
    )
    assert [len(rows) for rows in answers] == [2, 1, 1]
    assert np.allclose(answers[0][1], answers[1][0])
    assert victim.rows == 1 + 2
    assert (a.budget.spent, b.budget.spent) == (3, 0)


def test_an_error_goes_to_the_examples_that_asked_for_it() -> None:
    victim = KeywordVictim(fail_on="bad")
    a, b = task("a"), task("b")
    for is_fresh in (False, True):
        first, second = desk(victim).scores(
            [(a, Score(["good"], is_fresh=is_fresh)), (b, Score(["fine", "bad"], is_fresh=is_fresh))]
        )
        assert len(first) == 1
        assert isinstance(second, VictimCallError)
        assert "cannot read bad" in str(second)


def test_an_allowance_cuts_requests_to_what_it_pays_for() -> None:
    a, b = task("a", 3), task("b", 1)
    where = desk(KeywordVictim())
    first, second, third = where.scores(
        [(a, Score(["1", "2", "1"])), (b, Score(["1", "2"])), (a, Score(["2", "3", "4"]))]
    )
    assert [len(rows) for rows in (first, second, third)] == [3, 1, 2]
    assert [len(rows) for rows in where.scores([(a, Score(["3", "1"])), (a, Score(["5"]))])] == [2, 0]


def test_reserved_rows_are_for_texts_that_are_asked_again() -> None:
    a = task("a", 4, reserved=2)
    where = desk(KeywordVictim())
    assert len(where.scores([(a, Score(["1", "2", "3"]))])[0]) == 2
    assert len(where.scores([(a, Score(["2", "1", "3"], is_fresh=True))])[0]) == 2
    assert len(where.scores([(a, Score(["4"], is_fresh=True))])[0]) == 0


@given(
    st.integers(0, 6), st.integers(0, 2), st.lists(st.lists(st.sampled_from("abcde"), max_size=4), max_size=6)
)
def test_an_allowance_is_what_distinct_texts_cost(limit: int, reserved: int, asked: list[list[str]]) -> None:
    allowance = Allowance(limit, min(reserved, limit))
    known: set[str] = set()
    for texts in asked:
        paid = allowance.prefix(texts, is_fresh=False)
        assert texts[: len(paid)] == list(paid)
        known |= set(paid)
        assert allowance.spent == len(known) <= limit - allowance.reserved
        if len(paid) < len(texts):
            assert texts[len(paid)] not in known
            assert len(known) == limit - allowance.reserved


def test_states_are_judged_against_their_own_unedited_text() -> None:
    where = desk(KeywordVictim(), refused=("burnt", "raw"))
    a, b = task("a"), task("b")
    (one, states), (two, others) = side("he cooked", ("burnt", "fried")), side("she ate", ("sat", "raw"))
    answers = where.judges([(a, Judge(one, states)), (b, Judge(two, others)), (a, Judge(one, []))])
    assert answers == [[False, True], [True, False], []]
    # Forward rows for all, backward rows for those that are left.
    assert (a.filter_count.rows, b.filter_count.rows) == (3, 3)
    assert where.clock.entailment > 0


def test_without_a_filter_every_state_passes() -> None:
    one, states = side("he cooked", ("burnt", "fried"))
    assert desk(KeywordVictim()).judges([(task("a"), Judge(one, states))]) == [[True, True]]


def test_time_is_shared_by_the_number_of_texts() -> None:
    a, b = task("a"), task("b")
    desk(KeywordVictim()).scores([(a, Score(["1", "2", "3"])), (b, Score(["4"]))])
    assert a.seconds == pytest.approx(3 * b.seconds)
    assert b.seconds > 0
