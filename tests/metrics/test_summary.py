from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

import numpy as np
import pytest
from fakes.run_records import OUTCOMES, TARGETS, failed_example, record, skipped, sweep
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.results import Record
from rif_plugins.errors import DataError
from rif_plugins.metrics import Confusion, summarise, summarise_run
from rif_plugins.metrics.multi_run import multi_run_rates

GENDER = {"attribute": "gender", "value_from": "male", "value_to": "female"}
RACE = {"attribute": "race", "value_from": "a", "value_to": "b", "label": 0}
BY_HAND: list[Record] = [
    # e1, two pairs: the first stands everywhere, the second falls to TB (induced) and is clean.
    *sweep("TF", "TF TF TF", **GENDER),
    *sweep("TF", "TB TF TF", pair=1, **GENDER),
    # e2: wrong and fair before any edit; TB reached from there (shifted).
    *sweep("FF", "TB FF FF", example="e2", **RACE),
    # e3: falls to two targets.
    *sweep("TF", "TF FF FB", example="e3", **GENDER),
    skipped("e4"),
    failed_example("e5"),
    # The single-axis attacks: robustness falls on e1/1 and e2, fairness on e3 only.
    record("robustness_only", "TF", "TF", status="failed", **GENDER),
    record("robustness_only", "TF", "FB", pair=1, status="induced", **GENDER),
    record("robustness_only", "FF", "FF", example="e2", status="natural", **RACE),
    record("fairness_only", "TF", "TF", status="failed", **GENDER),
    record("fairness_only", "TF", "TF", pair=1, status="failed", **GENDER),
    record("fairness_only", "TF", "TB", example="e3", status="induced", **GENDER),
]


def counts(entry: dict[str, Any]) -> tuple[int, int]:
    return entry["successes"], entry["total"]


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return summarise_run(BY_HAND)


def test_counts(summary: dict[str, Any]) -> None:
    assert [summary[f"n_{name}"] for name in ("examples", "pairs", "skipped", "errors")] == [5, 4, 1, 1]
    assert summary["n_records"] == len(BY_HAND)
    assert summary["n_repeated"] == 0
    assert summary["skip_reasons"] == {"no sensitive token": 1}
    assert summary["targets"] == [*TARGETS, "robustness_only", "fairness_only"]
    assert summary["rif_targets"] == list(TARGETS)


def test_three_axes(summary: dict[str, Any]) -> None:
    assert counts(summary["robustness_rate"]) == (1, 3)
    assert counts(summary["fairness_rate"]) == (2, 3)
    assert counts(summary["rif_rate"]) == (1, 4)
    assert counts(summary["natural_rate"]) == (1, 4)
    assert counts(summary["induced_rate"]) == (2, 3)  # of the three clean robust_fair pairs


def test_clean_partition(summary: dict[str, Any]) -> None:
    assert counts(summary["accuracy"]) == (3, 4)
    assert counts(summary["individual_fairness_rate"]) == (4, 4)
    assert summary["clean_outcomes"] == dict(zip(OUTCOMES, (3, 0, 1, 0), strict=True))
    assert counts(summary["clean"]["unrobust_fair_rate"]) == (1, 4)
    assert summary["fair_f1_score"]["value"] == pytest.approx(6 / 7)


def test_pooled_attack_rates(summary: dict[str, Any]) -> None:
    attack = summary["attack"]
    assert counts(attack["robust_fair_rate"]) == (1, 4)
    assert counts(attack["robust_biased_rate"]) == (2, 4)
    assert counts(attack["unrobust_fair_rate"]) == (2, 4)
    assert counts(attack["unrobust_biased_rate"]) == (1, 4)
    assert counts(attack["robustness_violation_rate"]) == (2, 4)  # e2 and e3
    assert counts(attack["fairness_violation_rate"]) == (3, 4)
    assert counts(attack["rif_violation_rate"]) == (3, 4)
    assert [counts(summary["n_attack"][n]) for n in "0123"] == [(1, 4), (1, 4), (2, 4), (0, 4)]


def test_texts_are_units_of_their_own(summary: dict[str, Any]) -> None:
    texts = summary["texts"]
    assert texts["n_texts"] == 3
    assert counts(texts["accuracy"]) == (2, 3)
    assert counts(texts["rif_rate"]) == (0, 3)  # e1 has a pair that falls
    assert counts(texts["robustness_rate"]) == (0, 2)  # e3 was not tried
    assert counts(texts["fairness_rate"]) == (1, 2)


def test_per_target_denominators(summary: dict[str, Any]) -> None:
    biased = summary["by_target"]["robust_biased"]
    assert [biased[f"n_{name}"] for name in ("pairs", "natural", "induced", "shifted", "failed")] == [
        4,
        0,
        1,
        1,
        2,
    ]
    assert counts(biased["natural_rate"]) == (0, 4)
    assert counts(biased["induced_rate"]) == (1, 3)
    assert counts(biased["resistance_rate"]) == (2, 4)
    assert counts(biased["robustness_rate"]) == (4, 4)
    assert counts(biased["fairness_rate"]) == (2, 4)
    assert counts(biased["rif_rate"]) == (2, 4)
    fair = summary["by_target"]["unrobust_fair"]
    assert counts(fair["natural_rate"]) == (1, 4)
    assert counts(fair["induced_rate"]) == (1, 3)
    assert fair["outcomes"] == dict(zip(OUTCOMES, (2, 0, 2, 0), strict=True))
    assert counts(summary["by_target"]["robustness_only"]["natural_rate"]) == (1, 3)


def test_a_baseline_that_finds_what_rif_missed_is_counted(summary: dict[str, Any]) -> None:
    assert summary["n_missed_by_rif_search"] == 0
    more = [*BY_HAND, *sweep("TF", "TF TF TF", example="e9")]
    more.append(record("robustness_only", "TF", "FB", example="e9", status="induced"))
    assert summarise_run(more)["n_missed_by_rif_search"] == 1


def test_slices_have_the_same_keys(summary: dict[str, Any]) -> None:
    assert list(summary["by_attribute"]) == ["gender", "race"]
    assert list(summary["by_value"]) == ["gender: male -> female", "race: a -> b"]
    assert summary["by_value"]["race: a -> b"]["value_to"] == "b"
    assert list(summary["by_label"]) == ["0", "1"]
    gender, race = summary["by_attribute"]["gender"], summary["by_attribute"]["race"]
    assert counts(gender["rif_rate"]) == (1, 3)
    assert counts(race["rif_rate"]) == (0, 1)
    assert race["fairness_rate"]["value"] is None
    assert summary["by_label"]["0"]["n_skipped"] == 1
    assert set(gender) <= set(summary)
    assert set(gender) == set(race)


def test_label_names_and_times_come_from_the_configuration() -> None:
    configuration = {
        "label_names": ["negative", "positive"],
        "labels": "predicted",
        "time": {"victim": 1.5, "search": 2},
    }
    summary = summarise_run(BY_HAND, configuration)
    assert summary["by_label"]["1"]["name"] == "positive"
    assert summary["labels"] == "predicted"
    assert summary["time"] == {"victim": 1.5, "entailment": None, "proposer": None, "search": 2.0}


def test_nothing_to_divide_by_gives_null() -> None:
    for records in ([], [skipped("a")]):
        summary = summarise_run(records)
        json.dumps(summary, allow_nan=False)
        for name in ("accuracy", "rif_rate", "robustness_rate", "induced_rate", "mean_equivalence"):
            assert summary[name]["value"] is None
        assert summary["epsilon"]["median"]["value"] is None
        assert summary["rif_rate"]["total"] == 0


def test_a_pair_without_one_of_the_targets_has_no_verdict() -> None:
    records = [*sweep("TF", "TF TF TF"), *sweep("TF", "TF TF TF", pair=1)[:2]]
    summary = summarise_run(records)
    assert counts(summary["rif_rate"]) == (1, 1)
    assert summary["n_pairs_without_rif_verdict"] == 1
    assert summary["n_pairs"] == 2


def test_one_target_alone_still_gives_a_rate_over_that_target() -> None:
    summary = summarise_run([r for r in BY_HAND if r.target == "robust_biased"])
    assert summary["rif_targets"] == ["robust_biased"]
    assert counts(summary["rif_rate"]) == (2, 4)  # e1/1 is found; e2 is a violation as it stands, now TB
    assert summary["robustness_rate"]["value"] is None


def test_a_violation_met_on_the_way_to_another_target_falls() -> None:
    summary = summarise_run(sweep("TF", "FB TF TF"))
    assert summary["by_target"]["robust_biased"]["n_failed"] == 1
    assert counts(summary["rif_rate"]) == (0, 1)
    assert counts(summary["attack"]["unrobust_biased_rate"]) == (1, 1)


def test_means_by_hand() -> None:
    edits = [
        {"side": "similar", "from": "in front", "to": "before"},
        {"side": "similar", "from": "a", "to": "b"},
    ]
    found = record(
        "robust_biased",
        "TF",
        "TB",
        edits=edits,
        equivalence={"original": {"score": 1.0}, "similar": {"score": 0.9}},
        queries={"victim_rows": 10, "cache_hits": 3},
        seconds=2.0,
    )
    one = {"side": "original", "from": "x", "to": "y"}
    other = record(
        "robust_biased",
        "TF",
        "TB",
        example="e2",
        edits=[one],
        equivalence={"original": {"score": 0.8}},
        queries={"victim_rows": 5},
    )
    summary = summarise_run([found, other, skipped("e3")])
    assert summary["mean_edits"]["value"] == 1.5
    assert summary["mean_changed_tokens"]["value"] == 2.0
    assert summary["mean_equivalence"]["value"] == pytest.approx(0.85)
    assert summary["victim_rows_per_pair"]["value"] == 7.5
    assert summary["victim_rows_per_pair"]["total"] == 2
    assert (summary["victim_rows"], summary["cache_hits"], summary["seconds"]) == (15, 3, 2.0)
    # Two clusters: a resample holds one of them twice, or both.
    assert (summary["victim_rows_per_pair"]["low"], summary["victim_rows_per_pair"]["high"]) == (5.0, 10.0)


def test_steps_same_direction_different_magnitude() -> None:
    points = [(0.9, 0.9), (0.8, 0.6), (0.7, 0.5), (0.7, 0.6), (0.6, 0.7)]
    trajectory = [
        {"step": i, "p_original": a, "p_similar": b, "objective": 0.0} for i, (a, b) in enumerate(points)
    ]
    steps = summarise_run(
        [record("robust_biased", "TF", "TB", trajectory=trajectory, pii={"original": [0.1, 0.2, 0.0]})]
    )["steps"]
    # Moves: (-.1, -.3) same and different; (-.1, -.1) same; (0, +.1) one side; (-.1, +.1) opposite.
    assert (steps["both_moved_rate"]["value"], steps["both_moved_rate"]["total"]) == (0.75, 4)
    assert steps["same_direction_rate"]["value"] == pytest.approx(2 / 3)
    assert steps["same_direction_different_magnitude_rate"]["value"] == pytest.approx(1 / 3)
    assert steps["opposite_direction_rate"]["value"] == pytest.approx(1 / 3)
    assert steps["magnitude_ratio"]["value"] == pytest.approx(0.4 / 0.2)
    assert steps["mean_pii_original"]["value"] == pytest.approx(0.15)
    assert steps["mean_pii_similar"]["value"] is None
    assert steps["both_moved_rate"]["low"] is None  # one example has no spread


def test_flips_by_hand() -> None:
    probabilities = {
        "original": [0.3, 0.7],
        "similar": [0.45, 0.55],
        "perturbed_original": [0.4, 0.6],
        "perturbed_similar": [0.6, 0.4],
    }
    flips = summarise_run([record("robust_biased", "TF", "TB", probabilities=probabilities)])["flips"]
    assert counts(flips["flip_rate"]) == (1, 2)
    assert counts(flips["flip_within_tolerance_rate"]) == (0, 1)
    assert flips["mean_spent"]["value"] == pytest.approx(0.15)
    assert flips["mean_tolerance"]["value"] == pytest.approx((0.2 + 0.05) / 2)
    assert flips["median_tolerance_similar"]["value"] == pytest.approx(0.05)
    assert counts(flips["nearer_side_flips_rate"]) == (1, 1)


def test_three_classes_two_wrong_labels() -> None:
    probabilities = {
        "original": [0.5, 0.3, 0.2],
        "similar": [0.6, 0.2, 0.2],
        "perturbed_original": [0.2, 0.5, 0.3],
        "perturbed_similar": [0.1, 0.3, 0.6],
    }
    summary = summarise_run(
        [*sweep("TF", "TF TF FB", label=0, probabilities=probabilities)], {"label_names": ["a", "b", "c"]}
    )
    assert counts(summary["attack"]["unrobust_biased_rate"]) == (1, 1)
    assert summary["epsilon"]["largest"] == pytest.approx(0.9)
    assert summary["by_label"]["0"]["name"] == "a"


def test_a_record_that_comes_again_replaces_the_earlier_one() -> None:
    first = record("robust_biased", "TF", "TF", seconds=5.0)
    again = dataclasses.replace(first, status="induced", outcome="robust_biased", seconds=1.0)
    summary = summarise_run([first, again])
    assert (summary["n_records"], summary["n_repeated"], summary["seconds"]) == (1, 1, 1.0)
    assert counts(summary["rif_rate"]) == (0, 1)


def test_a_broken_record_is_named() -> None:
    broken = record("robust_biased", "TF", "TB", id="x7")
    for changes in (
        {"outcome": "odd"},
        {"clean_outcome": ""},
        {"probabilities": {"original": [1.0]}},
        {"trajectory": [{"p_original": 0.5}] * 2},
        {"edits": [{"from": "a"}], "equivalence": {"original": {"score": 1.0}}},
    ):
        with pytest.raises(DataError, match="record 'x7' with status 'induced' cannot be counted"):
            summarise_run([dataclasses.replace(broken, **changes)])


def test_agrees_with_the_counts_of_one_target() -> None:
    records = [r for r in BY_HAND if r.target in ("unrobust_fair", "")]
    short, long = summarise(records), summarise_run(records)
    target = long["by_target"]["unrobust_fair"]
    for name in ("natural_rate", "induced_rate", "robustness_rate", "fairness_rate", "rif_rate"):
        assert short[name].to_dict() == target[name]
    assert short["n_skipped"] == long["n_skipped"]


def test_agrees_with_the_functions_for_rows() -> None:
    generator = random.Random(3)
    letters = ("TF", "TB", "FF", "FB")
    chosen = [[generator.choice(letters) for _ in range(4)] for _ in range(60)]
    records = [
        r
        for number, (clean, *finals) in enumerate(chosen)
        for r in sweep(clean, " ".join(finals), example=f"e{number // 2}", pair=number)
    ]
    summary = summarise_run(records)
    reached = np.array([[code in row for code in letters] for row in chosen])
    expected = multi_run_rates(reached)
    for name in ("robust_biased_rate", "unrobust_fair_rate", "rif_violation_rate", "fairness_violation_rate"):
        assert summary["attack"][name]["value"] == pytest.approx(getattr(expected, name))
    assert [summary["n_attack"][str(n)]["value"] for n in range(4)] == pytest.approx(expected.n_attack)
    confusion = Confusion(*(sum(row[0] == code for row in chosen) for code in letters))
    assert summary["fair_f1_score"]["value"] == pytest.approx(confusion.fair_f1_score)
    assert summary["accuracy"]["value"] == pytest.approx(confusion.accuracy)


@st.composite
def runs(draw: st.DrawFn, prefix: str = "e") -> list[Record]:
    records: list[Record] = []
    letter = st.sampled_from(["TF", "TB", "FF", "FB"])
    for example in range(draw(st.integers(1, 4))):
        name = f"{prefix}{example}"
        for pair in range(draw(st.integers(0, 2))):
            p = draw(st.lists(st.floats(0, 1), min_size=4, max_size=4))
            texts = ("original", "similar", "perturbed_original", "perturbed_similar")
            fields: dict[str, Any] = {
                "example": name,
                "pair": pair,
                "label": draw(st.integers(0, 1)),
                "attribute": draw(st.sampled_from(["gender", "race", ""])),
                "probabilities": {t: [1 - x, x] for t, x in zip(texts, p, strict=True)},
                "queries": {"victim_rows": draw(st.integers(0, 9))},
            }
            records += sweep(draw(letter), " ".join(draw(letter) for _ in range(3)), **fields)
            if draw(st.booleans()):
                status = draw(st.sampled_from(["failed", "induced"]))
                records.append(record("robustness_only", "TF", "TF", status=status, **fields))
        if draw(st.booleans()):
            records.append(draw(st.sampled_from([skipped(name), failed_example(name)])))
    return records


def rates_of(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    found = [value] if {"value", "low", "high"} <= value.keys() else []
    return found + [rate for item in value.values() for rate in rates_of(item)]


@settings(max_examples=6, deadline=None)
@given(runs())
def test_every_share_is_a_share_and_counts_add_up(records: list[Record]) -> None:
    summary = summarise_run(records, n_resamples=20)
    json.dumps(summary, allow_nan=False)
    for rate in rates_of(summary):
        if "successes" in rate:
            assert 0 <= rate["successes"] <= rate["total"]
            if rate["value"] is not None:
                assert 0.0 <= rate["low"] <= rate["value"] <= rate["high"] <= 1.0
    with_verdict = summary["n_pairs"] - summary["n_pairs_without_rif_verdict"]
    assert sum(summary["n_attack"][n]["successes"] for n in "0123") == with_verdict
    assert counts(summary["n_attack"]["0"]) == counts(summary["rif_rate"])
    assert sum(summary["clean_outcomes"].values()) == summary["n_pairs"]
    for entry in summary["by_target"].values():
        assert sum(entry[f"n_{s}"] for s in ("natural", "induced", "shifted", "failed")) == entry["n_pairs"]
    assert sum(part["n_pairs"] for part in summary["by_label"].values()) == summary["n_pairs"]
    assert summary["epsilon"]["implied_fairness"]["holds_rate"]["value"] in (None, 1.0)


@settings(max_examples=6, deadline=None)
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_records_is_irrelevant(records: list[Record], generator: random.Random) -> None:
    shuffled = list(records)
    generator.shuffle(shuffled)
    assert summarise_run(shuffled, n_resamples=20) == summarise_run(iter(records), n_resamples=20)


@settings(max_examples=6, deadline=None)
@given(runs("a"), runs("b"))
def test_merged_runs_add_up(first: list[Record], second: list[Record]) -> None:
    parts = [summarise_run(run, n_resamples=2) for run in (first, second)]
    both = summarise_run([*first, *second], n_resamples=2)
    for name in ("n_examples", "n_pairs", "n_skipped", "n_errors", "victim_rows"):
        assert both[name] == sum(part[name] for part in parts)
    for name in ("accuracy", "rif_rate", "robustness_rate", "natural_rate", "induced_rate"):
        for count in ("successes", "total"):
            assert both[name][count] == sum(part[name][count] for part in parts)
    if any(part["n_pairs"] for part in parts):
        largest = [part["epsilon"]["largest"] for part in parts if part["n_pairs"]]
        assert both["epsilon"]["largest"] == max(largest)
