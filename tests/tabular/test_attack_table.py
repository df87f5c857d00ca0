"""The table of any attack: outcomes row by row, chunks, memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from art.attacks.evasion import FastGradientMethod
from art.estimators.classification import BlackBoxClassifier
from fakes.row_world import mixed_classifier, mixed_rows, mixed_schema, unit_schema

from rif_plugins.core.outcomes import classify
from rif_plugins.errors import DataError
from rif_plugins.metrics.confusion import OUTCOMES
from rif_plugins.tabular.attack_table import compare_attacks, rif_table
from rif_plugins.tabular.seed_selection import KMeansSeeds

SCHEMA = mixed_schema()
X = mixed_rows(200, seed=2)
Y = np.arange(200) % 2


def wide_estimator(d: int = 4) -> Any:
    """A model that costs next to nothing: wrong where x0 > 0.5, biased where x1 > 0.5."""

    def predict(x: np.ndarray) -> np.ndarray:
        label = (x[:, 0] > 0.5) ^ ((x[:, 1] > 0.5) & (x[:, 3] > 0.5))
        return np.column_stack([~label, label]).astype(np.float32)

    return BlackBoxClassifier(predict, (d,), 2)


def test_the_four_counts_by_hand() -> None:
    x = np.array(
        [
            [0.1, 0.1, 0, 0],  # right, fair
            [0.9, 0.1, 0, 1],  # wrong, fair
            [0.1, 0.9, 0, 0],  # right, biased
            [0.9, 0.9, 0, 0],  # wrong, biased
            [0.9, 0.9, 0, 1],  # right, biased
        ]
    )
    table = rif_table(wide_estimator(), x, np.zeros(5), unit_schema(), keep_outcomes=True)
    assert table.outcomes is not None and table.outcomes.tolist() == [0, 2, 1, 3, 1]
    assert table.confusion.counts == (1, 2, 1, 1)
    assert table.by_label[0].counts == (1, 2, 1, 1) and table.by_label[1].total == 0
    assert table.victim_rows == 5 + 2 + 10
    values = table.to_dict()
    assert (values["N_f"], values["N_b"], values["N_f|b"], values["n_rows"]) == (2, 3, 4, 5)
    assert values["rif_rate"]["value"] == 0.2
    assert "robust and fair   20.0%" in str(table)


def test_every_row_is_what_classify_says() -> None:
    estimator = mixed_classifier(n_outputs=3)
    y = np.arange(200) % 3
    table = rif_table(estimator, X, y, SCHEMA, keep_outcomes=True)
    predictions = np.argmax(estimator.predict(X.astype(np.float32)), axis=1)
    rows, mask = SCHEMA.counterparts(X)
    assert table.outcomes is not None
    for i in range(200):
        others = np.argmax(estimator.predict(rows[i][mask[i]].astype(np.float32)), axis=1)
        assert OUTCOMES[table.outcomes[i]] is classify(int(y[i]), int(predictions[i]), others.tolist())


@pytest.mark.parametrize("chunk", [1, 7, 200, 10_000])
def test_chunks_change_nothing(chunk: int) -> None:
    seeds = KMeansSeeds(n_seeds=10).select(X, Y)
    whole = rif_table(mixed_classifier(), X, Y, SCHEMA, original=X, seeds=seeds)
    table = rif_table(mixed_classifier(), X, Y, SCHEMA, original=X, seeds=seeds, chunk_rows=chunk)
    assert table.to_dict() | {"mean_similarity": 0} == whole.to_dict() | {"mean_similarity": 0}
    assert table.mean_similarity == pytest.approx(whole.mean_similarity)


def test_any_attack_of_the_host_is_measured_and_its_damage_named() -> None:
    rows = FastGradientMethod(mixed_classifier(), eps=0.3).generate(X.astype(np.float32), Y)
    table = rif_table(mixed_classifier(), rows, np.eye(2)[Y], SCHEMA, original=X)
    assert table.n_frozen_moved == 200 and table.n_outside == 200 and table.n_changed == 200
    clean = rif_table(mixed_classifier(), X, Y[:, None], SCHEMA, original=X)
    assert (clean.n_frozen_moved, clean.n_outside, clean.n_changed) == (0, 0, 0)
    text = compare_attacks([("clean", clean), ("FGSM", table)])
    assert text.splitlines()[0].split() == ["attack", "N_f", "N_b", "N_f|b", "sum", "R_f", "R_b", "R_f|b"]
    assert len({len(line) for line in text.splitlines()}) == 1


def test_similarity_of_rf_example() -> None:
    from rif_plugins.tabular.seed_selection import SeedSelection

    none = np.zeros(0, dtype=np.int64)
    seeds = SeedSelection(none, none, np.array([[0.3, 0.3, 0, 0], [0.9, 0.1, 0, 0]]), np.array([0.9, 0.0]))
    x = np.array([[0.2, 0.4, 0, 0]])
    assert rif_table(wide_estimator(), x, [1], unit_schema(), seeds=seeds).mean_similarity == pytest.approx(
        0.990867, abs=1e-6
    )


def test_a_lipschitz_bound_forgives_near_counterparts() -> None:
    x = np.array([[0.1, 0.9, 0, 0]])
    # d = 1/4 over four columns: K = 4 is the first that calls differing labels fair
    assert rif_table(wide_estimator(), x, [0], unit_schema(), lipschitz=3.9).confusion.robust_biased == 1
    assert rif_table(wide_estimator(), x, [0], unit_schema(), lipschitz=4.0).confusion.robust_fair == 1


def million(n: int, path: Path) -> None:
    g = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, 4))
    for start in range(0, n, 100_000):
        rows[start : start + 100_000] = np.round(g.random((min(100_000, n - start), 4)))
    rows.flush()


def measured(n: int, path: Path) -> tuple[Any, int]:
    million(n, path)
    rows, labels = np.load(path, mmap_mode="r"), np.zeros(n, dtype=np.int8)
    tracemalloc.start()
    table = rif_table(wide_estimator(), rows, labels, unit_schema(), batch_size=65_536)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return table, peak


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    _, peak_small = measured(150_000, tmp_path / "a.npy")
    large, peak_large = measured(450_000, tmp_path / "b.npy")
    assert large.n_rows == 450_000
    assert peak_large < peak_small * 1.1
    assert large.confusion.robust_fair / large.n_rows == pytest.approx(0.25, abs=0.01)


@pytest.mark.slow
def test_a_million_rows(tmp_path: Path) -> None:
    table, peak = measured(1_000_000, tmp_path / "rows.npy")
    assert sum(table.confusion.counts) == 1_000_000
    assert peak < 120e6


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (X[:0], Y[:0], {}, "x_adv has no row"),
        (X, Y[:5], {}, "y has 5 rows, x_adv has 200"),
        (X, Y, {"original": X[:3]}, "original has 3 rows, x_adv has 200"),
        (X[:, :4], Y, {}, r"x has shape \(200, 4\), expected \(n, 11\)"),
        (np.where(X[0, 1] == X, np.nan, X), Y, {}, "holds nan in row 0, column 'gain'"),
        (X, Y + 1, {}, "y holds the class 2, the model has 2 classes"),
    ],
)
def test_bad_input_is_named(x: Any, y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        rif_table(mixed_classifier(), x, y, SCHEMA, **options)
