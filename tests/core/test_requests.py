from __future__ import annotations

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, member

from rif_plugins.core.requests import Batch, Judge, Score, assembled, drive, gather, leaves


def two_texts(*texts: str):
    first = yield Score([texts[0]])
    second = yield Score(list(texts[1:]))
    return [float(row[0]) for row in (*first, *second)]


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([[float(len(text))] for text in texts]).reshape(len(texts), 1)


def test_a_search_gets_the_rows_of_its_own_texts_in_order() -> None:
    assert drive(two_texts("a", "bbb", "cc"), lengths) == [1.0, 3.0, 2.0]


def test_searches_that_advance_together_share_their_calls() -> None:
    calls: list[list[str]] = []

    def score(texts: list[str]) -> np.ndarray:
        calls.append(list(texts))
        return lengths(texts)

    found = drive(gather([two_texts("a", "bb"), two_texts("ccc", "d", "ee")]), score)
    assert found == [[1.0, 2.0], [3.0, 1.0, 2.0]]
    assert calls == [["a", "ccc"], ["bb", "d", "ee"]]


def test_gather_keeps_the_order_of_searches_of_different_length_and_of_none() -> None:
    def nothing():
        return "at once"
        yield

    def nested():
        return (yield from gather([two_texts("a", "b"), nothing()]))

    assert drive(gather([nothing(), two_texts("a", "bb"), nested()]), lengths) == [
        "at once",
        [1.0, 2.0],
        [[1.0, 1.0], "at once"],
    ]
    assert drive(gather([]), lengths) == []


def test_nested_requests_are_taken_apart_and_put_together() -> None:
    side = member("he a", {})
    a, b, c = Score(["a"]), Judge(side, [side.start]), Score(["c"])
    request = Batch((a, Batch((b, Batch(()))), c))
    assert leaves(request) == [a, b, c]
    assert assembled(request, [1, 2, 3]) == [1, [2, []], 3]
    assert assembled(a, [7]) == 7


def test_a_short_answer_reaches_each_part_as_its_own_prefix() -> None:
    def search():
        return (yield Batch((Score(["a", "b"]), Score([]), Score(["c", "d"]), Score(["e"]))))

    answers = drive(search(), lambda texts: lengths(texts[:3]))
    assert [len(answer) for answer in answers] == [2, 0, 1, 0]


def test_states_are_judged_by_their_own_side() -> None:
    judges = CountingJudge({"x"}), CountingJudge({"y"})
    sides = [member("he a", {"a": ["x", "y"]}, judge) for judge in judges]

    def search():
        states = [[proposal.state for proposal in side.propose(side.start, 0)] for side in sides]
        return (yield Batch(tuple(map(Judge, sides, states))))

    assert drive(search(), lengths) == [[False, True], [True, False]]
    assert [judge.rows for judge in judges] == [2, 2]


def test_fresh_texts_go_to_the_second_function_alone() -> None:
    def search():
        return (yield Batch((Score(["a"]), Score(["bb"], is_fresh=True), Score(["ccc"]))))

    usual, again = [], []

    def score(texts: list[str]) -> np.ndarray:
        usual.extend(texts)
        return lengths(texts)

    def score_again(texts: list[str]) -> np.ndarray:
        again.extend(texts)
        return -lengths(texts)

    assert [float(rows[0, 0]) for rows in drive(search(), score, score_again)] == [1.0, -2.0, 3.0]
    assert (usual, again) == (["a", "ccc"], ["bb"])
    assert [float(rows[0, 0]) for rows in drive(search(), score)] == [1.0, 2.0, 3.0]


def test_an_error_of_one_search_ends_the_gathering() -> None:
    def broken():
        yield Score(["a"])
        raise RuntimeError("broken search")

    with pytest.raises(RuntimeError, match="broken search"):
        drive(gather([two_texts("a", "b"), broken()]), lengths)
