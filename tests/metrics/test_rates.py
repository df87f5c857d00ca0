from __future__ import annotations

import pytest

from rif_plugins.core.results import Record
from rif_plugins.metrics import Rate, summarise, wilson_interval


def record(number: int, status: str, clean: str = "", outcome: str = "", **more: object) -> Record:
    return Record(
        id=str(number),
        example=str(number),
        target="robust_biased",
        status=status,  # type: ignore[arg-type]
        stop_reason=str(more.pop("stop_reason", "x")),
        clean_outcome=clean,
        outcome=outcome,
        **more,  # type: ignore[arg-type]
    )


RECORDS = [
    record(1, "natural", "robust_biased", "robust_biased", queries={"victim_rows": 2, "cache_hits": 1}),
    record(
        2,
        "induced",
        "robust_fair",
        "robust_biased",
        edits=[{"side": "similar"}, {"side": "similar"}],
        equivalence={"original": {"score": 1.0}, "similar": {"score": 0.9}},
        queries={"victim_rows": 10, "entailment_rows": 4},
    ),
    record(3, "failed", "robust_fair", "robust_fair"),
    record(4, "shifted", "unrobust_fair", "robust_biased", edits=[{"side": "original"}]),
    record(5, "failed", "unrobust_biased", "unrobust_biased"),
    record(6, "skipped", stop_reason="no sensitive token"),
    record(7, "error"),
]


def test_counts_rates_and_denominators_by_hand() -> None:
    s = summarise(RECORDS)
    assert (s["n_examples"], s["n_pairs"], s["n_skipped"], s["n_errors"]) == (7, 5, 1, 1)
    assert (s["n_natural"], s["n_induced"], s["n_shifted"], s["n_failed"]) == (1, 1, 1, 2)
    assert s["skip_reasons"] == {"no sensitive token": 1}
    assert s["natural_rate"] == Rate(1, 5)
    assert s["induced_rate"] == Rate(1, 2)  # of clean robust_fair pairs
    assert s["accuracy"] == Rate(3, 5)
    assert s["individual_fairness_rate"] == Rate(3, 5)
    assert s["robustness_rate"] == Rate(4, 5)
    assert s["fairness_rate"] == Rate(1, 5)
    assert s["rif_rate"] == Rate(1, 5)
    assert s["mean_edits"] == 1.5
    assert s["mean_equivalence"] == pytest.approx(0.9)  # the unedited side does not count
    assert (s["victim_rows"], s["cache_hits"], s["entailment_rows"]) == (12, 1, 4)


def test_nothing_evaluated() -> None:
    s = summarise([RECORDS[5]])
    assert s["induced_rate"].value is None
    assert str(s["induced_rate"]) == "no pairs"
    assert s["mean_edits"] is None
    assert summarise([])["n_examples"] == 0


def test_wilson_by_hand() -> None:
    # (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n) for 3 of 10, z = 1.959964
    assert wilson_interval(3, 10) == pytest.approx((0.10779, 0.60322), abs=1e-4)
    assert wilson_interval(0, 0) == (0.0, 1.0)
    low, high = wilson_interval(0, 20)
    assert low == pytest.approx(0.0, abs=1e-12)
    assert 0.15 < high < 0.17


def test_a_rate_prints_value_interval_and_counts() -> None:
    assert str(Rate(3, 10)) == "30.0% [10.8%, 60.3%] (3 of 10)"
    assert Rate(3, 10).to_dict()["value"] == 0.3
