"""ADF, EIDIG and DICE: directions, momentum, bins, the local walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from art.estimators.classification import BlackBoxClassifier, SklearnClassifier
from fakes.row_world import mixed_classifier, mixed_rows, mixed_schema, unit_schema
from sklearn.tree import DecisionTreeClassifier

from rif_plugins.errors import UsageError
from rif_plugins.tabular.adf import ADFAttack
from rif_plugins.tabular.dice import DICEAttack, draw_pair, in_largest_bin, output_bins
from rif_plugins.tabular.discrimination_search import local_weights
from rif_plugins.tabular.eidig import EIDIGAttack, with_momentum
from rif_plugins.tabular.labelling import ensemble_labels, with_counterparts
from rif_plugins.tabular.pair_batch import PairBatch
from rif_plugins.tabular.row_random import RowRandom

BASELINES = [ADFAttack, EIDIGAttack, DICEAttack]
X = mixed_rows(80)
SCHEMA = mixed_schema()


def run(kind: Any, x: np.ndarray = X, estimator: Any = None, **settings: Any) -> PairBatch:
    return kind(estimator or mixed_classifier(), SCHEMA, **settings).generate_pairs(x)


def is_biased(pairs: PairBatch) -> np.ndarray:
    return np.char.endswith(pairs.outcome, "_biased")


def test_momentum_of_eidig() -> None:
    memory = np.zeros(3)
    for gradient in ([1, -1, 0.2], [-0.4, -1, 0.2]):
        memory = with_momentum(memory, np.array(gradient), 0.5)
    assert memory == pytest.approx([0.1, -1.5, 0.3])


def test_local_weights_fall_with_the_gradients() -> None:
    editable = np.array([[True, True, False]])
    weights = local_weights(np.array([[0.3, -0.25, 0.4]]), np.array([[-0.2, 0.0, 0.6]]), editable)
    assert weights[0] == pytest.approx([0.333334, 0.666666, 0], abs=1e-6)
    assert local_weights(np.ones((1, 3)), np.ones((1, 3)), ~editable & editable)[0].tolist() == [0, 0, 0]


def test_bins_of_dice() -> None:
    bins = output_bins(np.array([[0.101, 0.105, 0.109, 0.333, 0.339, 0.5]]), 0.01)
    assert bins[0].tolist() == [10, 10, 10, 33, 33, 50]
    assert in_largest_bin(bins)[0].tolist() == [True, True, True, False, False, False]
    assert output_bins(np.array([0.29, 0.57, 1.0, 0.0]), 0.01).tolist() == [29, 57, 100, 0]
    assert in_largest_bin(np.array([[3, 3, 1, 1]]))[0].tolist() == [False, False, True, True]


def test_a_pair_of_dice_comes_from_the_largest_bin() -> None:
    allowed = np.tile([[True, False, True, True, False], [False, True, False, False, False]], (300, 1))
    random = RowRandom(0, np.arange(600.0)[:, None])
    first, second = draw_pair(allowed, random, 1)
    assert (first != second).all()
    assert set(first[::2].tolist()) | set(second[::2].tolist()) == {0, 2, 3}
    assert set(first[1::2].tolist()) == {0, 1, 2, 3, 4}  # one member makes no pair


def linear_estimator(weights: list[float], offset: float = 0.0) -> Any:
    def predict(x: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-(x @ np.array(weights) + offset)))
        return np.column_stack([1 - p, p])

    return BlackBoxClassifier(predict, (4,), 2)


def first_step(kind: Any, estimator: Any, row: list[float], **settings: Any) -> list[float]:
    attack = kind(estimator, unit_schema(), domain=False, step_size=0.1, n_global=1, n_local=0, **settings)
    pairs = attack.generate_pairs(np.array([row]))
    return (pairs.perturbed_original[pairs.phase == "global"][0] - row).round(6).tolist()


def test_adf_lowers_the_confidence_of_both_sides() -> None:
    # P(1) < 1/2 on both sides: the loss of label 0 grows with P(1), so x0 goes up and x1 down.
    estimator = linear_estimator([1.0, -2.0, 0.0, 0.2], offset=-3)
    assert first_step(ADFAttack, estimator, [0.5, 0.5, 0.5, 0.0]) == [0.1, -0.1, 0, 0]
    assert first_step(ADFAttack, estimator, [0.5, 0.5, 0.5, 0.0], loss="mse") == [0.1, -0.1, 0, 0]
    flipped = linear_estimator([1.0, -2.0, 0.0, 0.2], offset=3)
    assert first_step(ADFAttack, flipped, [0.5, 0.5, 0.5, 0.0]) == [-0.1, 0.1, 0, 0]


def test_eidig_lowers_the_confidence_of_both_sides() -> None:
    estimator = linear_estimator([1.0, -2.0, 0.0, 0.2], offset=-3)
    assert first_step(EIDIGAttack, estimator, [0.5, 0.5, 0.5, 0.0]) == [0.1, -0.1, 0, 0]
    flipped = linear_estimator([1.0, -2.0, 0.0, 0.2], offset=3)
    assert first_step(EIDIGAttack, flipped, [0.5, 0.5, 0.5, 0.0]) == [-0.1, 0.1, 0, 0]


def test_dice_follows_the_last_class_where_both_agree() -> None:
    estimator = linear_estimator([1.0, -2.0, 0.0, 0.2], offset=-3)
    assert first_step(DICEAttack, estimator, [0.5, 0.5, 0.5, 0.0]) == [0.1, -0.1, 0, 0]


@pytest.mark.parametrize("kind", BASELINES)
def test_without_an_agreeing_sign_one_feature_is_drawn(kind: Any) -> None:
    estimator = linear_estimator([0.0, 0.0, 0.0, 1.0], offset=-3)
    steps = [first_step(kind, estimator, [0.5, 0.5, 0.5, 0.0], seed=seed) for seed in range(12)]
    assert all(sum(value != 0 for value in step) == 1 and step[3] == 0 for step in steps)
    assert len({tuple(step) for step in steps}) > 3


@pytest.mark.parametrize("kind", BASELINES)
def test_a_found_seed_leaves_the_global_phase(kind: Any) -> None:
    pairs = run(kind, n_local=0)
    biased = is_biased(pairs)
    natural = set(pairs.source[pairs.phase == "seed"].tolist())
    assert natural and biased[pairs.phase == "seed"].all()
    moved = pairs.take(pairs.phase == "global")
    assert natural.isdisjoint(moved.source.tolist())
    for source in set(moved.source.tolist()):
        part = is_biased(moved)[moved.source == source]
        assert not part[:-1].any()
    longer = run(kind, n_local=0, stop_when_found=False)
    assert len(longer) > len(pairs)


@pytest.mark.parametrize("kind", BASELINES)
def test_local_rows_walk_from_discriminatory_bases_one_feature_a_step(kind: Any) -> None:
    pairs = run(kind, n_global=1, n_local=1)
    bases = pairs.take((pairs.phase != "local") & is_biased(pairs))
    rows = {row.tobytes(): row for row in bases.perturbed_original}
    local = pairs.take(pairs.phase == "local")
    assert len(local)
    columns = [SCHEMA.slice_of(name) for name in SCHEMA.names]
    for source, row in zip(local.source, local.perturbed_original, strict=True):
        mine = bases.perturbed_original[bases.source == source]
        n_changed = [sum((row[c] != base[c]).any() for c in columns) for base in mine]
        assert 1 in n_changed
    assert len(rows) == len(bases)


def test_a_walk_starts_again_where_it_stops_discriminating() -> None:
    # Biased only while gain is within one step of 0.5; every other feature is immutable.
    from rif_plugins.tables import ColumnSpec, TableSchema

    schema = TableSchema(
        (
            ColumnSpec("gain", "integer", low=0, high=100),
            ColumnSpec("a", "categorical", values=(0.0, 1.0), sensitive=True),
        )
    )

    def predict(x: np.ndarray) -> np.ndarray:
        p = np.where((np.abs(x[:, 0] - 50) <= 1) & (x[:, 1] == 1), 0.9, 0.1)
        return np.column_stack([1 - p, p])

    attack = ADFAttack(BlackBoxClassifier(predict, (2,), 2), schema, n_global=1, n_local=60)
    pairs = attack.generate_pairs(np.array([[50.0, 0.0]]))
    local = pairs.take(pairs.phase == "local")
    assert sorted(set(local.perturbed_original[:, 0].tolist())) == [48, 49, 51, 52]
    assert pairs.n_generated == 1 + 60
    kept = ADFAttack(
        BlackBoxClassifier(predict, (2,), 2), schema, n_global=1, n_local=60, keep="biased"
    ).generate_pairs(np.array([[50.0, 0.0]]))
    assert sorted(kept.perturbed_original[:, 0].tolist()) == [49, 50, 51]


def test_refresh_saves_gradients_and_keeps_the_walk_random() -> None:
    every, once = run(EIDIGAttack, refresh=1), run(EIDIGAttack, refresh=1000)
    assert once.cost["gradient_rows"] < every.cost["gradient_rows"]
    assert abs(len(once) - len(every)) < 0.3 * len(every)


@pytest.mark.parametrize("kind", BASELINES)
def test_only_biased_rows_are_kept_on_demand(kind: Any) -> None:
    whole, some = run(kind), run(kind, keep="biased")
    expected = {row.tobytes() for row in whole.perturbed_original[is_biased(whole)]}
    assert is_biased(some).all()
    assert {row.tobytes() for row in some.perturbed_original} == expected


@pytest.mark.parametrize("kind", BASELINES)
def test_without_global_steps_the_seeds_themselves_are_bases(kind: Any) -> None:
    pairs = run(kind, n_global=0, n_local=2)
    natural = set(pairs.source[pairs.phase == "seed"].tolist())
    local = set(pairs.source[pairs.phase == "local"].tolist())
    assert len(local - natural) > 20 and len(local & natural) > 20
    assert "global" not in pairs.phase


@pytest.mark.parametrize("kind", BASELINES)
def test_a_tree_is_searched_as_a_black_box(kind: Any) -> None:
    y = ((X[:, 0] > 50) ^ (X[:, 10] > 0)).astype(int)
    tree = SklearnClassifier(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y))
    attack = kind(tree, SCHEMA, n_global=3, n_local=3)
    assert attack.is_black_box
    pairs = attack.generate_pairs(X[:20], y[:20])
    assert pairs.cost["is_black_box"] and pairs.cost["victim_rows"] > pairs.cost["gradient_rows"]
    assert is_biased(pairs).any()
    assert not SCHEMA.violations(pairs.perturbed_original, pairs.original).any()


def test_labels_by_a_vote_of_models() -> None:
    models = [mixed_classifier(seed=seed) for seed in (1, 2, 3)]
    votes = np.array([np.argmax(m.predict(X.astype(np.float32)), axis=1) for m in models])
    assert ensemble_labels(models, X).tolist() == (votes.sum(axis=0) >= 2).astype(int).tolist()
    pairs = run(ADFAttack, label_estimators=models)
    assert pairs.label.tolist() == ensemble_labels(models, pairs.perturbed_original).tolist()
    assert set(pairs.outcome.tolist()) == set(run(ADFAttack).outcome.tolist()) | {"unrobust_fair"}
    assert ensemble_labels(models[:2], X).tolist() == votes[:2].min(axis=0).tolist()
    with pytest.raises(UsageError, match="label_estimators is empty"):
        ensemble_labels([], X)


def test_clean_labels_without_a_vote() -> None:
    y = np.arange(len(X)) % 2
    pairs = ADFAttack(mixed_classifier(), SCHEMA).generate_pairs(X, y)
    assert pairs.label.tolist() == y[pairs.source].tolist()


def test_counterparts_are_added_for_robustness_baselines() -> None:
    rows, labels, source = with_counterparts(X[:5], np.arange(5), SCHEMA)
    assert rows.shape == (30, 11)
    assert labels.tolist() == source.tolist() == np.repeat(np.arange(5), 6).tolist()
    assert (rows[::6] == X[:5]).all()
    assert len(np.unique(rows[:6, 9:], axis=0)) == 6 and (rows[:6, :9] == X[0, :9]).all()


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (ADFAttack, {"loss": "hinge"}, "loss 'hinge' does not exist: expected ce or mse"),
        (EIDIGAttack, {"decay": 1.0}, r"decay must lie in \[0, 1\), got 1.0"),
        (DICEAttack, {"bin_width": 0}, r"bin_width must lie in \(0, 1\], got 0"),
        (ADFAttack, {"refresh": 0}, "refresh must be a whole number of 1 or more, got 0"),
        (ADFAttack, {"keep": "none"}, "keep 'none' does not exist: expected all or biased"),
    ],
)
def test_settings_are_checked(kind: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kind(mixed_classifier(), SCHEMA, **settings)
