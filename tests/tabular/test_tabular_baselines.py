"""The batched searches find the very rows that loops over single rows find."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fakes.row_world import torch_module, wrap

from rif_plugins.tables import ColumnSpec, TableSchema
from rif_plugins.tabular.adf import ADFAttack
from rif_plugins.tabular.eidig import EIDIGAttack

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCHEMA = TableSchema(
    (
        ColumnSpec("age", "integer", low=0, high=20),
        ColumnSpec("work", "categorical", values=(0.0, 1.0, 2.0, 5.0)),
        ColumnSpec("hours", "integer", low=0, high=20),
        ColumnSpec("country", "categorical", values=(0.0, 1.0), immutable=True),
        ColumnSpec("race", "categorical", values=(0.0, 1.0, 2.0), sensitive=True),
        ColumnSpec("sex", "categorical", values=(0.0, 1.0), sensitive=True),
    )
)


@pytest.fixture(autouse=True, scope="module")
def _benchmarks_importable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield
        for name in [name for name in sys.modules if name.partition(".")[0] == "tabular_baselines"]:
            del sys.modules[name]


@pytest.mark.parametrize("name", ["adf", "eidig"])
@pytest.mark.parametrize("one_call", [False, True])
def test_loop_and_batch_find_the_same_rows(name: str, one_call: bool) -> None:
    from tabular_baselines import loops
    from tabular_baselines.one_row import OneRowModel

    scale = np.array([0.05, 0.3, 0.05, 0.5, 0.4, 0.6])
    estimator = wrap(torch_module(6, scale=scale * 2), 6)
    g = np.random.default_rng(3)
    x = np.column_stack([g.choice(c.domain()[:, 0], 8) for c in SCHEMA.columns])
    settings = {"n_global": 4, "n_local": 8}
    loop = getattr(loops, name)(OneRowModel(estimator, SCHEMA, one_call=one_call), x, **settings)
    kind = {"adf": ADFAttack, "eidig": EIDIGAttack}[name]
    pairs = kind(estimator, SCHEMA, **settings).generate_pairs(x)
    biased = pairs.perturbed_original[np.char.endswith(pairs.outcome, "_biased")]
    assert {row.tobytes() for row in biased} == loop.found
    assert len(loop.found) > 10


def test_the_benchmark_says_that_its_data_is_absent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "tabular_speed.py"), "--adult", str(tmp_path / "none")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("not run: data absent")


@pytest.mark.slow
def test_the_benchmark_runs_without_data(tmp_path: Path) -> None:
    out = tmp_path / "speed.json"
    sizes = ["--n-seeds", "12", "--n-local", "5", "--loop-seeds", "4", "--epochs", "1", "--loops", "torch"]
    subprocess.run(
        [sys.executable, str(BENCHMARKS / "tabular_speed.py"), *sizes, "--out", str(out)],
        check=True, capture_output=True, timeout=280,
    )  # fmt: skip
    report = json.loads(out.read_text())
    for technique in report["techniques"].values():
        loop = technique["loop: torch"]
        assert loop["count_difference"] == 0
        assert loop["shared_rows"] == loop["n_found"] > 0
