from __future__ import annotations

import sys

import pytest
from fakes.run_records import record, skipped, sweep

from rif_plugins.core.results import Record
from rif_plugins.errors import MissingDependencyError, UsageError
from rif_plugins.metrics import RIFFrame, summarise_run
from rif_plugins.metrics.frame import METRICS

GENDER = {"attribute": "gender", "value_from": "male", "value_to": "female"}
RACE = {"attribute": "race", "value_from": "a", "value_to": "b", "label": 2}


def many() -> list[Record]:
    """Gender: 1 of 10 pairs falls; race: 8 of 10; one example each."""
    records: list[Record] = [skipped("s")]
    for number in range(10):
        finals = "TB TF TF" if number < 1 else "TF TF TF"
        records += sweep("TF", finals, example=f"g{number}", **GENDER)
        finals = "TF FF TF" if number < 8 else "TF TF TF"
        records += sweep("TF", finals, example=f"r{number}", **RACE)
    return records


@pytest.fixture(scope="module")
def frame() -> RIFFrame:
    return RIFFrame(many())


def test_overall_agrees_with_the_summary(frame: RIFFrame) -> None:
    summary = summarise_run(many())
    assert set(frame.overall) == set(METRICS)
    for name, estimate in frame.overall.items():
        assert estimate.value == summary[name]["value"], name
    assert frame.overall["rif_rate"].value == 11 / 20
    assert frame.overall["robustness_rate"].value is None


def test_by_group(frame: RIFFrame) -> None:
    groups = frame.by_group("attribute")
    assert list(groups) == ["gender", "race"]
    assert groups["gender"]["rif_rate"].value == 0.9
    assert groups["race"]["rif_rate"].value == pytest.approx(0.2)
    low, high = groups["race"]["rif_rate"].low, groups["race"]["rif_rate"].high
    assert low is not None and high is not None and 0.0 <= low < 0.2 < high < 0.6
    assert list(frame.by_group("value")) == ["gender: male -> female", "race: a -> b"]
    assert list(frame.by_group("label")) == [1, 2]


def test_by_target_describes_that_search(frame: RIFFrame) -> None:
    groups = frame.by_group("target")
    assert list(groups) == ["robust_biased", "unrobust_biased", "unrobust_fair"]
    assert groups["robust_biased"]["fairness_rate"].value == 19 / 20
    assert groups["unrobust_fair"]["robustness_rate"].value == 12 / 20
    assert groups["unrobust_fair"]["induced_rate"].value == 8 / 20
    assert groups["unrobust_fair"]["fair_f1_score"].value == 1.0  # of the clean pairs


def test_by_any_function(frame: RIFFrame) -> None:
    groups = frame.by_group(lambda r: int(r.example[1:]) % 2 if r.example != "s" else None)
    assert list(groups) == [0, 1]
    assert groups[0]["rif_rate"].value == pytest.approx(5 / 10)  # g0 falls, r0 r2 r4 r6 fall
    assert groups[1]["rif_rate"].value == pytest.approx(6 / 10)
    assert frame.by_group(lambda r: None) == {}


def test_difference_and_ratio(frame: RIFFrame) -> None:
    gap = frame.difference("attribute")["rif_rate"]
    assert gap.value == pytest.approx(0.7)
    assert (gap.highest, gap.lowest) == ("gender", "race")
    assert gap.low is not None and gap.high is not None
    assert 0.2 < gap.low < 0.7 < gap.high <= 1.0
    ratio = frame.ratio("attribute")["rif_rate"]
    assert ratio.value == pytest.approx(2 / 9)
    assert ratio.low is not None and 0.0 <= ratio.low < 2 / 9
    equal = frame.difference("attribute")["accuracy"]
    assert (equal.value, equal.low, equal.high) == (0.0, 0.0, 0.0)
    assert frame.difference("attribute")["robustness_rate"].value is None
    assert frame.ratio("attribute")["natural_rate"].value is None  # 0 of 0


def test_a_share_of_one_is_not_certain(frame: RIFFrame) -> None:
    accuracy = frame.by_group("attribute")["gender"]["accuracy"]
    assert (accuracy.value, accuracy.high) == (1.0, 1.0)
    assert accuracy.low == pytest.approx(0.722, abs=1e-3)  # Wilson, 10 of 10


def test_a_clustered_interval_is_wider_than_one_over_pairs() -> None:
    alone, together = [], []
    for number in range(40):
        finals = "TB TF TF" if number % 4 < 2 else "TF TF TF"
        alone += sweep("TF", finals, example=f"e{number}", **GENDER)
        together += sweep("TF", finals, example=f"e{number % 4}", pair=number, **GENDER)
    wide, narrow = (RIFFrame(records).overall["rif_rate"] for records in (together, alone))
    assert wide.value == narrow.value == 0.5
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)  # type: ignore[operator]


def test_repeated_records_keep_their_group() -> None:
    first = record("robust_biased", "TF", "TF", **GENDER)
    again = record("robust_biased", "TF", "TB", **RACE)
    frame = RIFFrame([first, again])
    assert list(frame.by_group("attribute")) == ["race"]


def test_to_pandas(frame: RIFFrame) -> None:
    table = frame.to_frame("attribute")
    assert table.loc["race", ("rif_rate", "value")] == pytest.approx(0.2)
    assert list(frame.to_frame().index) == ["overall"]
    assert table.columns.names == ["metric", "part"]


def test_without_pandas(frame: RIFFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="run `pip install pandas`"):
        frame.to_frame()


def test_html_is_escaped() -> None:
    page = RIFFrame(sweep("TF", "TF TF TF", attribute="<script>alert(1)</script>"))._repr_html_()
    assert "<script>" not in page
    assert "attribute &lt;script&gt;" in page
    assert "1.000" in page and "none" in page


def test_unknown_group(frame: RIFFrame) -> None:
    with pytest.raises(
        UsageError, match="cannot group by 'colour': expected attribute, value, label, target"
    ):
        frame.by_group("colour")  # type: ignore[arg-type]
