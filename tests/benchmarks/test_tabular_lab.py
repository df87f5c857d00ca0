"""The parts of the tabular benchmark, on tables that are drawn and numbers that are known."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if str(BENCHMARKS) not in sys.path:
    sys.path.append(str(BENCHMARKS))

from tabular_lab import data as tables  # noqa: E402
from tabular_lab import paper001, paper002  # noqa: E402
from tabular_lab.models import as_target, living  # noqa: E402
from tabular_lab.page import _ranks, page  # noqa: E402
from tabular_models import build  # noqa: E402

from rif_plugins.runner.tabular_attacks import AttackBudget  # noqa: E402
from rif_plugins.tables import TableSchema  # noqa: E402
from rif_plugins.tables.datasets import TableData  # noqa: E402


def table(n: int = 120) -> TableData:
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


def test_rows_are_scaled_by_the_training_rows() -> None:
    rows = tables.split(table())
    assert (len(rows.train_x), len(rows.test_x)) == (96, 24)
    assert rows.schema.n_features == 3
    assert (rows.train_x.min(axis=0), rows.train_x.max(axis=0)) == (
        pytest.approx([0, 0, 0]),
        pytest.approx([1, 1, 1]),
    )
    assert set(np.unique(rows.train_x[:, 1])) == {0.0, 0.5, 1.0}
    assert not rows.schema.violations(rows.test_x).any()
    assert len(rows.schema.sensitive_tuples()) == 2
    assert tables.split(table(), coding="one_hot").schema.n_features == 6
    assert tables.split(table(), coding="categories").schema.column("job").values == (0.0, 1.0, 2.0)
    assert rows.describe()["counterparts"] == 1


def test_absent_data_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in tables.NAMES:
        assert tables.load(name, tmp_path, tmp_path) is None
        assert f"{name}: not run: data absent" in capsys.readouterr().out


def test_mean_interval_by_hand() -> None:
    # t(0.975, 2) = 4.302653; standard deviation of 1, 2, 3 is 1
    found = paper002.mean_interval([1.0, 2.0, math.nan, 3.0])
    assert found["mean"] == 2
    assert found["high"] - 2 == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)
    assert paper002.mean_interval([5.0]) == {"mean": 5.0, "low": None, "high": None, "runs": [5.0]}
    assert paper002.mean_interval([math.nan])["mean"] is None


def test_where_robustfair_is_not_ahead() -> None:
    def figures(own: float, n_fb: float, r_fb: float, broken: float | None) -> dict:
        values = {"own": own, "n_fb": n_fb, "r_fb": r_fb, "broken_seeds": broken, "victim_rows": 100 * own}
        return {key: {"mean": value} for key, value in values.items()}

    found = paper002.not_ahead(
        {
            "pgd": figures(5, 9, 0.9, None),
            "adf": figures(10, 30, 0.2, 0.5),
            "robustfair": figures(10, 20, 0.8, 0.6),
        }
    )
    assert found == {
        "own": ["adf"],
        "n_fb": ["adf"],
        "r_fb": ["pgd"],
        "per_row": ["adf"],
        "broken_seeds": [],
    }
    assert paper002.not_ahead({"pgd": figures(1, 1, 1, 1)}) == {}


@pytest.mark.parametrize("settings", [{}, {"domain": False, "step_size": 0.01, "clip_values": (0.0, 1.0)}])
def test_one_run_of_all_techniques(settings: dict) -> None:
    rows = tables.split(table())
    target = as_target("mlp", build("mlp", rows.schema, seed=3), rows)
    voter = as_target("mlp", build("mlp", rows.schema, seed=4), rows)
    budget = AttackBudget(2, 2)
    found = paper002.run(
        rows, target, [voter], paper002.TECHNIQUES, budget, n_seeds=10, seed=0, settings=settings
    )
    assert tuple(found) == paper002.TECHNIQUES
    for figures in found.values():
        assert set(figures) == set(paper002.FIGURES)
        assert figures["tf"] + figures["n_fb"] == figures["sum"]
        assert figures["n_fb"] == figures["tb"] + figures["ff"] + figures["fb"]
        assert settings or figures["outside"] == 0
    assert found["pgd"]["own"] == found["pgd"]["n_f"]
    assert found["adf"]["own"] == found["adf"]["n_b"]
    pooled = paper002.pooled([found, found])
    assert pooled["pgd"]["sum"]["low"] == pooled["pgd"]["sum"]["high"] == found["pgd"]["sum"]


def test_a_network_that_answers_nothing_is_trained_again() -> None:
    rows = tables.split(table())
    model = living("fcnn", rows, seed=0, tries=2, epochs=1)
    assert model.seed in (0, 1)
    constant = tables.Split("same", rows.schema, rows.train_x * 0, rows.train_y, rows.test_x * 0, rows.test_y)
    again = living("fcnn", constant, seed=5, tries=3, epochs=1)
    assert (again.seed, again.is_constant) == (7, True)


def small_report() -> dict:
    rows = [
        paper001.attacked(
            name, table(), n_train=60, n_rows=8, epochs=1, steps=2, step_size=0.01, eps=0.1, seed=0
        )
        for name in ("mlp", "deepfm")
    ]
    split = tables.split(table())
    target = as_target("mlp", build("mlp", split.schema, seed=3), split)
    budget = AttackBudget(1, 1)
    runs = [
        paper002.run(split, target, [], ("pgd", "robustfair"), budget, n_seeds=5, seed=seed, settings={})
        for seed in range(2)
    ]
    pooled = paper002.pooled(runs)
    settings = {
        "seeds": 5, "runs": 2, "eps": 0.1, "epochs": 1, "voters": 0, "paper_domain": False, "n_global": 1,
        "n_local": 1, "steps": 1, "models_data": "drawn", "models_train": 60, "models_rows": 8,
        "models_epochs": 1, "models_steps": 2, "models_eps": 0.1,
    }  # fmt: skip
    origin = {"time": "2026-01-02T", "cpu": "a", "cores": 1, "python": "3", "versions": {"numpy": "2"},
              "commit": "c", "command": "python benchmarks/tabular.py"}  # fmt: skip
    block = {
        "name": "drawn", "data": split.describe(), "epochs": 1, "accuracy": 0.5, "weights_seed": 0,
        "majority": 0.5, "is_constant": False, "table_3_4": pooled,
        "table_6": {"global": pooled, "local": pooled},
        "robustfair_not_ahead": paper002.not_ahead(pooled),
    }  # fmt: skip
    return {
        "provenance": origin, "settings": settings, "paper_002": [block], "paper_001": rows,
        "not_run": ["bank"],
    }  # fmt: skip


def test_the_page_shows_the_report() -> None:
    report = json.loads(json.dumps(small_report()))
    for row in report["paper_001"]:
        rates = row["RIFair"]
        assert rates["RIF"] == pytest.approx(1 - rates["TFR"])
        assert sum(rates["n_attack"]) == pytest.approx(1)
        assert row["AR_attack"] >= 1 - row["clean"]["ACC"] - 1e-12
        assert row["IF_attack"] >= 1 - row["clean"]["FTA"] - 1e-12
    text = page(report)
    assert "### drawn" in text
    assert "| DeepFM* |" in text
    assert "RobustFair against the techniques of one axis" in text
    assert "Not run, data absent: bank." in text
    widths: set[int] = set()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            widths.add(line.replace(r"\|", "").count("|"))
        else:
            assert len(widths) <= 1
            widths = set()


def test_ranks_share_places() -> None:
    assert _ranks([0.3, 0.1, 0.3, 0.2]) == [3, 1, 3, 2]
