from __future__ import annotations

import numpy as np
import pytest

from rif_plugins.core.outcomes import TARGETS, Outcome, classify

TWO_CLASSES = [
    (0, 0, 0, "robust_fair"),
    (0, 0, 1, "robust_biased"),
    (0, 1, 1, "unrobust_fair"),
    (0, 1, 0, "unrobust_biased"),
    (1, 1, 1, "robust_fair"),
    (1, 1, 0, "robust_biased"),
    (1, 0, 0, "unrobust_fair"),
    (1, 0, 1, "unrobust_biased"),
]
THREE_CLASSES = [
    (0, 0, 0, "robust_fair"),
    (0, 0, 1, "robust_biased"),
    (0, 0, 2, "robust_biased"),
    (0, 1, 1, "unrobust_fair"),
    (0, 2, 2, "unrobust_fair"),
    (0, 1, 0, "unrobust_biased"),
    (0, 2, 0, "unrobust_biased"),
    # Both wrong but different: biased.
    (0, 1, 2, "unrobust_biased"),
    (0, 2, 1, "unrobust_biased"),
]


@pytest.mark.parametrize(("label", "prediction", "similar", "expected"), TWO_CLASSES + THREE_CLASSES)
def test_truth_table(label: int, prediction: int, similar: int, expected: str) -> None:
    assert classify(label, prediction, similar) == expected
    assert classify(label, np.int64(prediction), np.int64(similar)) == expected
    assert classify(label, prediction, [similar]) == expected


def test_three_classes_are_a_complete_table() -> None:
    seen = {(p, s): classify(0, p, s) for p in range(3) for s in range(3)}
    assert sum(outcome is Outcome.ROBUST_FAIR for outcome in seen.values()) == 1
    assert sum(outcome is Outcome.UNROBUST_BIASED for outcome in seen.values()) == 4


def test_fair_over_several_similar_texts_means_all_of_them() -> None:
    assert classify(1, 1, [1, 1]) is Outcome.ROBUST_FAIR
    assert classify(1, 1, [1, 0]) is Outcome.ROBUST_BIASED
    assert classify(1, 0, [0, 1]) is Outcome.UNROBUST_BIASED


def test_no_similar_text_has_no_outcome() -> None:
    with pytest.raises(ValueError, match="similar_predictions is empty: expected one label or several"):
        classify(1, 1, [])


def test_flags_and_targets() -> None:
    assert [outcome.is_robust for outcome in Outcome] == [True, True, False, False]
    assert [outcome.is_fair for outcome in Outcome] == [True, False, True, False]
    assert [outcome.is_violation for outcome in Outcome] == [False, True, True, True]
    assert [str(target) for target in TARGETS] == ["robust_biased", "unrobust_fair", "unrobust_biased"]
