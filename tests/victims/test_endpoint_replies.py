from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.errors import VictimError
from rif_plugins.victims.endpoint_replies import Reply, read_reply

ROWS = [[0.25, 0.75], [0.5, 0.5]]


def scores(**values: float) -> list[dict[str, Any]]:
    return [{"label": name, "score": score} for name, score in values.items()]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"probabilities": ROWS}, Reply(ROWS, "probabilities")),
        ({"logits": ROWS, "seconds": 3}, Reply(ROWS, "logits")),
        ({"probabilities": ROWS, "label_names": ["a", "b"]}, Reply(ROWS, "probabilities", ("a", "b"))),
        ({"logits": [1, -2], "labels": ["a", "b"]}, Reply([[1.0], [-2.0]], "logits", ("a", "b"))),
        (ROWS, Reply(ROWS, "auto")),
        ([0.25, 1], Reply([[0.25], [1.0]], "auto")),
        (
            [scores(POS=0.75, NEG=0.25), scores(NEG=0.5, POS=0.5)],
            Reply(ROWS, "probabilities", ("NEG", "POS")),
        ),
        (
            [scores(toxic=0.25), scores(toxic=1)],
            Reply([[0.25], [1.0]], "probabilities", ("not toxic", "toxic")),
        ),
    ],
)
def test_forms(data: Any, expected: Reply) -> None:
    assert read_reply(data, 2) == expected


def test_labels_are_put_in_the_order_of_the_victim() -> None:
    data = [scores(POS=0.75, NEG=0.25)]
    assert read_reply(data, 1, ("pos", "neg")).rows == [[0.75, 0.25]]
    assert read_reply(scores(POS=0.75, NEG=0.25), 1).rows == [[0.25, 0.75]]  # one text, no outer list


def test_numbers_inside_names_count_by_size() -> None:
    names = [f"LABEL_{number}" for number in (10, 2, 0, 1)]
    row = [{"label": name, "score": 0.25} for name in names]
    assert read_reply([row], 1).label_names == ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_10")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text", r"answered 'text', expected \{\"probabilities\""),
        (None, r"answered None, expected"),
        ({"error": "model is\nloading"}, r"answered the error 'model is\\nloading', expected"),
        ({"scores": ROWS}, r"answered \['scores'\], expected"),
        ({"probabilities": "no"}, r"answered 'no' for the rows"),
        ({"probabilities": [[0.5, 0.5]]}, r"answered 1 rows for 2 texts, expected one row a text"),
        ([], r"answered 0 rows for 2 texts"),
        ([[0.5, 0.5], [1.0]], r"answered rows of \[1, 2\] numbers"),
        ([[], []], r"answered rows of \[0\] numbers"),
        ([[0.5, "x"], [0.5, 0.5]], r"answered 'x' in a row, expected a number"),
        ([[True, False], [0.5, 0.5]], r"answered True in a row"),
        ([[10**400, 1], [0.5, 0.5]], r"a number that is too large"),
        ({"logits": ROWS, "labels": ["a"]}, r"the label names \['a'\], expected one name for each column"),
        ({"logits": ROWS, "labels": [0, 1]}, r"the label names \[0, 1\]"),
        (scores(POS=0.9, NEG=0.8), r"one label for each text, expected the scores of all labels"),
        ([scores(A=1.0)], r"answered 1 lists of scores for 2 texts"),
        (
            [scores(A=0.5, B=0.5), scores(A=0.5, C=0.5)],
            r"answered the labels \['A', 'C'\], expected \['A', 'B",
        ),
        ([scores(A=0.5) * 2, scores(A=0.5) * 2], r"answered the labels \['A'\]"),
    ],
)
def test_anything_else_is_refused(data: Any, message: str) -> None:
    with pytest.raises(VictimError, match=message) as caught:
        read_reply(data, 2)
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["probabilities", "logits", "labels", "label", "score", "error"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.integers(1, 3))
def test_any_json_gives_rows_or_one_line(data: Any, n_texts: int) -> None:
    try:
        reply = read_reply(data, n_texts)
    except VictimError as error:
        assert "\n" not in str(error)
        return
    assert len(reply.rows) == n_texts
    assert len({len(row) for row in reply.rows}) == 1
    assert all(type(number) is float for row in reply.rows for number in row)
