from __future__ import annotations

import numpy as np
import pytest

from rif_plugins.entailment import EntailmentScorer, equivalence, equivalence_directions


def test_equivalence_is_the_product_of_both_directions(table_scorer):
    scorer = table_scorer({("a", "b"): 0.9, ("b", "a"): 0.8, ("a", "c"): 0.25, ("c", "a"): 1.0})
    pairs = [("a", "b"), ("a", "c")]
    np.testing.assert_allclose(equivalence_directions(scorer, pairs), [[0.9, 0.8], [0.25, 1.0]])
    np.testing.assert_allclose(equivalence(scorer, pairs), [0.72, 0.25])


def test_equivalence_is_symmetric(table_scorer):
    scorer = table_scorer({("a", "b"): 0.9, ("b", "a"): 0.3})
    assert equivalence(scorer, [("a", "b")])[0] == equivalence(scorer, [("b", "a")])[0]


def test_both_directions_go_to_the_scorer_in_one_call(table_scorer):
    scorer = table_scorer()
    equivalence(scorer, [("a", "b"), ("c", "d")])
    assert scorer.calls == [[("a", "b"), ("c", "d"), ("b", "a"), ("d", "c")]]


def test_no_pairs_cost_nothing(table_scorer):
    scorer = table_scorer()
    assert equivalence(scorer, []).shape == (0,)
    assert equivalence_directions(scorer, []).shape == (0, 2)
    assert scorer.calls == []


def test_a_plain_object_can_be_a_scorer(table_scorer):
    assert isinstance(table_scorer(), EntailmentScorer)
    with pytest.raises(TypeError):
        EntailmentScorer()  # type: ignore[misc]
