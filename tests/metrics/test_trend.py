from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.errors import UsageError
from rif_plugins.metrics.similarity import generative_similarity, is_similar_enough
from rif_plugins.metrics.trend import NO_TREND, median_line, median_objective, trend_outcomes


def test_lines_of_the_specification() -> None:
    line = median_line([0.10, 0.12, 0.11, 0.20, 0.18])
    assert line == pytest.approx([0.1, 0.02], abs=1e-5)
    assert median_objective([0.10, 0.12, 0.11, 0.20, 0.18], line) == pytest.approx(0.035, abs=1e-5)
    wild = [0.5, 0.4, 0.3, 0.2, 0.1, 5]
    assert median_line(wild) == pytest.approx([0.5, -0.1], abs=1e-5)
    assert np.polyfit(np.arange(6), wild, 1)[0] == pytest.approx(0.614286, abs=1e-5)
    assert median_line([0.2, 0.2, 0.9, 0.2, 0.2])[1] == pytest.approx(0, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=9))
def test_no_line_through_two_points_is_better(losses: list[float]) -> None:
    # A best median line goes through two of the points, so trying all of them finds the optimum.
    best = median_objective(losses, median_line(losses))
    for i in range(len(losses)):
        for j in range(i + 1, len(losses)):
            slope = (losses[j] - losses[i]) / (j - i)
            assert best <= median_objective(losses, [losses[i] - slope * i, slope]) + 1e-6


def test_small_and_large_losses() -> None:
    for scale in (1e-9, 1e9):
        line = median_line(scale * np.array([[3.0, 2.0, 1.0], [0.0, 0.0, 0.0]]))
        assert line[0] == pytest.approx([3 * scale, -scale])
        assert line[1].tolist() == [0, 0]
    assert median_line(np.zeros((0, 5))).shape == (0, 2)


def test_signs_name_the_outcome() -> None:
    slopes = [-1, -1, 1, 1, 0, 1, 1e-9]
    similar = [-1, 1, 1, -1, 1, 0, -1]
    assert trend_outcomes(slopes, similar).tolist() == [0, 1, 2, 3, *[NO_TREND] * 3]
    assert trend_outcomes(slopes, similar, min_slope=0)[-1] == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: median_line([1.0]), r"losses has shape \(1,\), expected .* two steps or more"),
        (lambda: median_line([1.0, np.nan]), "losses holds NaN"),
        (lambda: trend_outcomes([1], [1, 2]), "differ in shape"),
        (lambda: trend_outcomes([np.nan], [1]), "a slope is NaN"),
        (lambda: trend_outcomes([1], [1], min_slope=-1), "min_slope is -1"),
    ],
)
def test_trend_input_that_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def test_similarities_of_the_specification() -> None:
    centres, labels = [[0.3, 0.3], [0.9, 0.1]], [0.9, 0.0]
    both = [
        generative_similarity([[0.2, 0.4]], [1], [c], [y])[0] for c, y in zip(centres, labels, strict=True)
    ]
    assert both == pytest.approx([0.990867, 0.221781], abs=1e-5)
    s = generative_similarity([[0.2, 0.4], [0.9, 0.1]], [1, 1], centres, labels)
    assert s == pytest.approx([0.990867, 0.893980], abs=1e-5)
    assert is_similar_enough(s, 0.85).tolist() == [True, True]
    assert is_similar_enough(s, 0.9).tolist() == [True, False]
    bare = generative_similarity([[0.2, 0.4]], None, centres[:1], None)
    assert bare == pytest.approx([0.948683], abs=1e-5)


def test_opposite_rows_and_rows_of_zeros_are_not_similar() -> None:
    assert generative_similarity([[-1.0, -1.0], [0.0, 0.0]], None, [[1, 1], [1, 2]], None).tolist() == [0, 0]


def test_the_bound_itself_is_not_kept() -> None:
    assert is_similar_enough([0.85, 0.850001], 0.85).tolist() == [False, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [1], [[1.0]], None), "labels of both"),
        (([[1.0]], [1, 2], [[1.0]], [1]), "the labels of x have shape"),
        (([[1.0]], None, [[1.0, 2]], None), r"centroids has shape \(1, 2\), expected \(clusters, 1\)"),
        (([[1.0]], None, np.zeros((0, 1)), None), "one or more"),
        (([1.0], None, [[1.0]], None), "expected two dimensions"),
        (([[np.nan]], None, [[1.0]], None), "x holds NaN"),
    ],
)
def test_similarity_input_that_does_not_fit(arguments: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generative_similarity(*arguments)
