from __future__ import annotations

import pytest
from fakes.runs import fake_run

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports import figures, view
from rif_plugins.reports.cells import Quadrants, Value
from rif_plugins.reports.contents import Contents


def record(number: int, target: str, status: str, clean: str, final: str) -> Record:
    return Record(
        id=f"id{number}",
        example=f"e{number}",
        target=target,
        status=status,  # type: ignore[arg-type]
        stop_reason="found",
        clean_outcome=clean,
        outcome=final,
        label=1,
    )


SMALL = RunResult(
    {"model": "folder/m.py"},
    (
        record(1, "robust_biased", "natural", "robust_biased", "robust_biased"),
        record(2, "robust_biased", "induced", "robust_fair", "robust_biased"),
        record(3, "robust_biased", "shifted", "unrobust_fair", "robust_biased"),
        record(4, "robust_biased", "failed", "robust_fair", "robust_fair"),
        record(5, "robust_biased", "failed", "unrobust_biased", "unrobust_biased"),
    ),
    {"rif_rate": {"value": 0.25, "low": 0.0456, "high": 0.6994, "successes": 1, "total": 4}},
)


def test_headline_is_one_sentence_with_the_interval() -> None:
    assert "".join(view.headline(SMALL)) == (
        "m.py gives the same, right answer to both texts of 25.0% of 4 pairs of similar texts under every "
        "edit tried (95% interval 4.6% to 69.9%)."
    )


def test_quadrants_by_hand() -> None:
    (chart,) = Contents.of(SMALL).quadrants
    assert chart.cells == {
        "robust_fair": (1, 0),
        "robust_biased": (1, 2),
        "unrobust_fair": (0, 0),
        "unrobust_biased": (1, 0),
    }
    assert dict(chart.statuses) == {"natural": 1, "induced": 1, "shifted": 1, "failed": 2}


def test_bars_of_a_quadrant_chart_share_one_scale() -> None:
    (chart,) = Contents.of(SMALL).quadrants
    boxes = {box.outcome: box for box in figures.quadrant_cells(chart)}
    full = 122 - 2 * 9
    assert boxes["robust_biased"].reached_width == pytest.approx(full * 2 / 5, abs=0.01)
    assert sum(b.before_width + b.reached_width for b in boxes.values()) == pytest.approx(full, abs=0.05)
    assert [name for name, box in boxes.items() if box.is_target] == ["robust_biased"]
    assert boxes["robust_fair"].x == boxes["unrobust_fair"].x < boxes["robust_biased"].x
    assert boxes["robust_fair"].y == boxes["robust_biased"].y < boxes["unrobust_fair"].y


@pytest.mark.parametrize(
    ("target", "framed"),
    [
        ("robustness_only", {"unrobust_fair", "unrobust_biased"}),
        ("fairness_only", {"robust_biased", "unrobust_biased"}),
        ("unrobust_fair", {"unrobust_fair"}),
    ],
)
def test_framed_cells_are_what_the_target_looks_for(target: str, framed: set[str]) -> None:
    boxes = figures.quadrant_cells(Quadrants(target, 0))
    assert {box.outcome for box in boxes if box.is_target} == framed
    assert all(box.before_width == box.reached_width == 0 for box in boxes)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"value": 0.5, "low": 0.25, "high": 0.75, "successes": 2, "total": 4}, "50.0% [25.0%, 75.0%]"),
        ({"value": 3.25, "low": 3.0, "high": 3.5, "total": 9}, "3.25 [3, 3.5]"),
        ({"value": 5375.4, "low": 5129.0, "high": 5614.0, "total": 9}, "5,375 [5,129, 5,614]"),
        ({"value": 0.9, "low": None, "high": None, "total": 1}, "0.9"),
        ({"value": None, "low": 0.0, "high": 1.0, "successes": 0, "total": 0}, "–"),
        (None, "–"),
    ],
)
def test_values_as_they_are_printed(data: object, shown: str) -> None:
    assert str(Value.of(data)) == shown


def test_points_and_intervals_stay_inside_the_drawing() -> None:
    assert figures.track(Value(0.25, 0.1, 0.5, 1, 4, True)) == {
        "point": "25.00%",
        "low": "10.00%",
        "high": "50.00%",
    }
    assert figures.percent(1.2) == "100.00%"
    assert figures.percent(None) == "0.00%"


def test_rank_chart_keeps_ties_apart() -> None:
    chart = figures.rank_chart(["a", "b"], [("x", [1, 2]), ("y", [1, 1]), ("z", [3, None])])
    assert [point[1] for line in chart.lines for point in line.points[:1]] == [46.0, 84.0, 122.0]
    assert [line.is_changed for line in chart.lines] == [True, False, False]
    assert len(chart.lines[2].points) == 1
    assert chart.lines[2].points[0][2] == 3


def test_groups_with_one_member_are_left_out() -> None:
    run = fake_run(30, seed=2)
    one = {**run.summary, "by_label": dict(list(run.summary["by_label"].items())[:1])}
    titles = [table.title for table in view.groups_tables(RunResult(run.configuration, run.records, one))]
    assert titles == ["Share of pairs that stand, by attribute", "Share of pairs that stand, by value"]


def test_errors_and_reasons_of_left_out_examples() -> None:
    run = fake_run(20, seed=0)
    assert view.left_out_table(run).rows == (("skipped: no sensitive token", 1), ("error", 1))
    assert Contents.of(run).errors == (("e0000", "model answered NaN for one text"),)


def summarised(**parts: object) -> RunResult:
    return RunResult({}, (), parts)


def share(successes: int, total: int) -> dict[str, float]:
    return {"value": successes / total, "low": 0.0, "high": 1.0, "successes": successes, "total": total}


def test_pairs_that_the_targets_missed_are_told() -> None:
    assert view.missed_sentence(summarised(n_missed_by_rif_search=0)) == ""
    assert view.missed_sentence(summarised(n_missed_by_rif_search=1)).startswith("1 pair stands under")
    assert view.missed_sentence(summarised(n_missed_by_rif_search=1234)).startswith("1,234 pairs stand under")


def test_texts_as_units_only_where_texts_have_several_pairs() -> None:
    names = ("robustness_rate", "fairness_rate", "rif_rate")
    pairs = {name: share(3, 8) for name in names}
    assert view.texts_table(summarised(**pairs, texts=dict(pairs))).rows == ()
    texts = {name: share(1, 4) for name in names}
    assert [str(row[1]) for row in view.texts_table(summarised(**pairs, texts=texts)).rows] == [
        "25.0% [0.0%, 100.0%]"
    ] * 3


def test_figures_that_are_not_there_are_left_out() -> None:
    run = summarised(steps={"same_direction_rate": {"value": 0.8, "low": 0.7, "high": 0.9, "total": 30}})
    (table,) = view.movement_tables(run)
    assert table.texts() == [["of those: in the same direction", "80.0% [70.0%, 90.0%]"]]
    assert view.attack_table(run).rows == ()
    assert view.effort_table(run).rows == ()
