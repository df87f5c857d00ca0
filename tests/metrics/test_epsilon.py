from __future__ import annotations

import pytest
from fakes.run_records import record, skipped

from rif_plugins.metrics import epsilon_by_text, summarise_run

FIRST = {
    "original": [0.1, 0.9],
    "similar": [0.2, 0.8],
    "perturbed_original": [0.3, 0.7],
    "perturbed_similar": [0.6, 0.4],
}
STEPS = [
    {"step": 0, "p_original": 0.9, "p_similar": 0.8, "objective": 0.0},
    {"step": 1, "p_original": 0.9, "p_similar": 0.3, "objective": 0.0},
    {"step": 2, "p_original": 0.7, "p_similar": 0.4, "objective": 0.0},
]


def test_largest_error_over_pairs_edits_and_steps() -> None:
    other = {text: [0.5, 0.5] for text in FIRST}
    records = [
        record("robust_biased", "TF", "TB", probabilities=FIRST, trajectory=STEPS),
        record("robust_biased", "TF", "TF", pair=1, probabilities=other, edits=[{"side": "similar"}]),
        record("robust_biased", "TF", "TF", example="e2", probabilities=other),
        skipped("e3"),
    ]
    found = epsilon_by_text(records)
    assert list(found) == ["e1", "e2"]
    assert found["e1"].epsilon == pytest.approx(0.7)  # met at step 1, not at the end
    assert found["e1"].largest_gap == pytest.approx(0.6)  # sides at step 1; 0.9 - 0.3 over all states too
    assert found["e1"].n_edits == 4  # similar, then both, then one without a trajectory
    assert found["e1"].implied_gap == pytest.approx(1.4)
    assert found["e1"].holds
    assert (found["e2"].epsilon, found["e2"].n_edits) == (0.5, 0)
    entry = summarise_run(records)["epsilon"]
    assert (entry["n_texts"], entry["n_edits"]) == (2, 4)
    assert entry["median"]["value"] == pytest.approx(0.6)
    assert entry["percentile_90"]["value"] == pytest.approx(0.68)
    assert entry["largest"] == pytest.approx(0.7)
    assert entry["implied_fairness"]["largest_gap"] == pytest.approx(0.6)
    assert entry["implied_fairness"]["holds_rate"]["successes"] == 2


def test_the_gap_of_a_pair_is_total_variation_over_all_classes() -> None:
    # p_y is 0.4 on both sides, yet the rest lies on different wrong classes.
    probabilities = {
        "original": [0.4, 0.6, 0.0],
        "similar": [0.4, 0.0, 0.6],
        "perturbed_original": [0.4, 0.6, 0.0],
        "perturbed_similar": [0.4, 0.6, 0.0],
    }
    found = epsilon_by_text([record("unrobust_biased", "FB", "FF", label=0, probabilities=probabilities)])[
        "e1"
    ]
    assert found.largest_gap == pytest.approx(0.6)
    assert found.epsilon == pytest.approx(0.6)
    assert found.holds


def test_numbers_that_are_no_probabilities_break_the_implication() -> None:
    probabilities = {"original": [0.9, 0.0], "similar": [0.9, 1.0]}
    found = epsilon_by_text([record("robust_biased", "TF", "TF", label=0, probabilities=probabilities)])["e1"]
    assert found.epsilon == pytest.approx(0.1)
    assert not found.holds


def test_no_label_no_epsilon() -> None:
    assert epsilon_by_text([record("robust_biased", "TF", "TF", label=None, probabilities=FIRST)]) == {}
    assert epsilon_by_text([record("robust_biased", "TF", "TF")]) == {}
