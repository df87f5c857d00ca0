from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.run_records import record, sweep
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.metrics import compare_runs
from rif_plugins.metrics.paired_tests import holm_correction, mcnemar_p_value


def run(robustness: str, fairness: str, rif: str, **fields: Any) -> RunResult:
    """A run of one pair an example; each string says for every pair whether it stands (1) or falls (0)."""
    records: list[Record] = []
    for number, (a, b, c) in enumerate(zip(robustness, fairness, rif, strict=True)):
        name = {"example": f"e{number:02}", **fields}
        for target, stands in (("robustness_only", a), ("fairness_only", b)):
            status = "failed" if stands == "1" else "induced"
            records.append(record(target, "TF", "TF", status=status, **name))
        records += sweep("TF", "TF TF TF" if c == "1" else "TB TF TF", **name)
    return RunResult({}, tuple(records), {})


def test_ranks_and_an_order_change() -> None:
    a = run("1111111100", "1100000000", "1100000000")
    b = run("1111000000", "1111111111", "1110000000")
    found = compare_runs([a, b], ["A", "B"])
    assert (found.n_shared, found.n_shared_examples, found.n_pairs) == (10, 10, {"A": 10, "B": 10})
    ranks = {
        axis: [(row.name, row.rank, row.rate.successes) for row in rows] for axis, rows in found.axes.items()
    }
    assert ranks == {
        "robustness": [("A", 1, 8), ("B", 2, 4)],
        "fairness": [("B", 1, 10), ("A", 2, 2)],
        "rif": [("B", 1, 3), ("A", 2, 2)],
    }
    changes = [(c.better, c.worse, c.axis, c.other_axis, c.is_supported) for c in found.order_changes]
    assert changes == [("A", "B", "robustness", "fairness", False), ("A", "B", "robustness", "rif", False)]
    assert {test.axis for test in found.ties} == {"robustness", "rif"}
    assert [row.rate.successes for row in found.clean["accuracy"]] == [10, 10]


def test_paired_test_by_hand() -> None:
    a = run("1111111100", "1" * 10, "1" * 10)
    b = run("0000000011", "1" * 10, "1" * 10)
    test = compare_runs([a, b], ["A", "B"]).tests[0]
    assert (test.axis, test.only_first, test.only_second) == ("robustness", 8, 2)
    assert test.p_value == pytest.approx(2 * (1 + 10 + 45) / 1024)  # 8 or more heads of 10, both tails
    assert test.p_adjusted == pytest.approx(3 * test.p_value)  # three tests, the smallest
    assert test.difference == pytest.approx(0.6)
    assert test.low is not None and test.high is not None
    assert 0.0 <= test.low < 0.6 < test.high <= 1.0
    assert not test.is_significant


def test_supported_order_change_with_many_pairs() -> None:
    a = run("1" * 40 + "0" * 20, "0" * 60, "1" * 60)
    b = run("1" * 5 + "0" * 55, "1" * 60, "1" * 60)
    found = compare_runs([a, b], ["A", "B"])
    assert [(c.axis, c.other_axis, c.is_supported) for c in found.order_changes] == [
        ("robustness", "fairness", True)
    ]
    text = found.to_text()
    assert "Order change: A is before B on robustness-only and after it on fairness-only" in text
    assert "(the paired tests tell them apart on both axes)" in text


def test_no_order_change_is_said_and_ties_are_said() -> None:
    a, b = run("1110", "1110", "1110"), run("1100", "1100", "1100")
    found = compare_runs([a, b, a], ["A", "B", "C"])
    assert found.order_changes == ()
    assert [row.rank for row in found.axes["rif"]] == [1, 1, 3]
    text = found.to_text()
    assert "No order change between axes: no two models change places" in text
    assert "Tie on RIF: the intervals of A and B overlap." in text
    assert "#3" in text


def test_only_shared_pairs_count() -> None:
    a, b = run("1111", "1111", "1111"), run("00", "00", "00")
    found = compare_runs([a, b], ["A", "B"])
    assert (found.n_shared, found.n_pairs) == (2, {"A": 4, "B": 2})
    assert found.axes["rif"][0].rate.total == 2
    assert "2 shared pairs of 2 examples (pairs a run: 2 to 4)" in found.to_text()


def test_a_natural_violation_falls() -> None:
    a = RunResult({}, tuple(sweep("TB", "TB TB TB")), {})
    b = RunResult({}, tuple(sweep("TF", "TF TF TF")), {})
    found = compare_runs([a, b], ["A", "B"])
    assert [(row.name, row.rate.successes) for row in found.axes["rif"]] == [("B", 1), ("A", 0)]
    assert found.axes["robustness"] == ()
    assert "not run" in found.to_text()
    assert "Only one axis was run for all models" in found.to_text()
    assert found.tests[0].low is None  # one example has no spread


def test_rif_is_over_the_targets_that_all_runs_have() -> None:
    everything = RunResult({}, tuple(sweep("TF", "TF FF TF")), {})
    one = RunResult({}, tuple(sweep("TF", "TF TF TF")[:1]), {})
    found = compare_runs([everything, one], ["A", "B"])
    assert found.rif_targets == ("robust_biased",)
    assert [row.rate.successes for row in found.axes["rif"]] == [1, 1]


def test_labels_that_differ_are_said() -> None:
    found = compare_runs([run("1", "1", "1"), run("1", "1", "1", label=0)], ["A", "B"])
    assert found.n_label_conflicts == 1
    assert "1 shared pairs have other labels in other runs" in found.to_text()


def test_refusals() -> None:
    a = run("11", "11", "11")
    other = RunResult({}, tuple(sweep("TF", "TF TF TF", example="elsewhere")), {})
    with pytest.raises(UsageError, match=r"the runs share 0 pairs \(pairs evaluated: A 2, B 1\)"):
        compare_runs([a, other], ["A", "B"])
    with pytest.raises(UsageError, match="got 1 run to compare, expected two or more"):
        compare_runs([a], ["A"])
    with pytest.raises(UsageError, match="two runs are called 'A'"):
        compare_runs([a, a], ["A", "A"])
    with pytest.raises(UsageError, match="got 1 names for 2 runs"):
        compare_runs([a, a], ["A"])


def test_plain_values_and_markdown() -> None:
    found = compare_runs([run("10", "11", "10"), run("01", "11", "00")], ["a|b<script>", "B\x1b[31m"])
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["axes"]["rif"][0]["rate"]["successes"] == 1
    assert data["tests"][0]["p_value"] == 1.0
    markdown = found.to_markdown()
    assert "<script>" not in markdown
    assert "a\\|b&lt;script&gt;" in markdown
    assert "\x1b" not in found.to_text()
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in table[:4]} == {7}


def test_mcnemar() -> None:
    assert mcnemar_p_value(0, 0) == 1.0
    assert mcnemar_p_value(5, 0) == pytest.approx(2 / 32)
    assert mcnemar_p_value(0, 5) == pytest.approx(2 / 32)


def test_holm_by_hand() -> None:
    assert holm_correction([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm_correction([0.9, 0.8]) == [1.0, 1.0]
    assert holm_correction([]) == []


bits = st.lists(st.sampled_from("01"), min_size=6, max_size=6).map("".join)


@settings(max_examples=15, deadline=None)
@given(bits, bits)
def test_swapping_the_models_swaps_the_signs(first: str, second: str) -> None:
    a, b = run(first, second, first), run(second, first, second)
    one = compare_runs([a, b], ["A", "B"], n_resamples=50)
    two = compare_runs([b, a], ["B", "A"], n_resamples=50)
    for x, y in zip(one.tests, two.tests, strict=True):
        assert x.difference == -y.difference
        assert x.p_value == y.p_value
        assert x.low == pytest.approx(-y.high)  # type: ignore[operator]
    same = compare_runs([a, a], ["A", "B"], n_resamples=50)
    assert all(test.p_value == 1.0 and test.intervals_overlap for test in same.tests)
    assert same.order_changes == ()
