"""ART's attacks under a schema: what the host does by itself, and what we make of it."""

from __future__ import annotations

from typing import Any

import art.attacks.evasion.auto_projected_gradient_descent as apgd_module
import numpy as np
import pytest
import torch
from art.attacks.evasion import (
    AutoConjugateGradient,
    AutoProjectedGradientDescent,
    DeepFool,
    FastGradientMethod,
    ProjectedGradientDescent,
)
from art.estimators.classification import SklearnClassifier
from fakes.row_world import mixed_classifier, mixed_rows, mixed_schema, torch_module, unit_schema, wrap
from sklearn.tree import DecisionTreeClassifier

from rif_plugins.errors import UsageError
from rif_plugins.tabular.gradients import TorchGradients
from rif_plugins.tabular.scaled_estimator import ScaledEstimator
from rif_plugins.tabular.schema_attack import SchemaAttack

SCHEMA = mixed_schema()
X = mixed_rows(60, seed=5)
Y = np.arange(60) % 2
FEW = {"max_iter": 4, "nb_random_init": 1}
SETTINGS: dict[str, dict[str, Any]] = {
    "fgsm": {},
    "pgd": {"max_iter": 4},
    "apgd": FEW,
    "acg": FEW,
    "hopskipjump": {"max_iter": 1, "max_eval": 20, "init_eval": 5, "init_size": 10},
}
NAMES = sorted(SETTINGS)


def attack(name: Any, estimator: Any = None, **settings: Any) -> SchemaAttack:
    options = {"attack_settings": SETTINGS.get(name) if isinstance(name, str) else None, **settings}
    return SchemaAttack(estimator or mixed_classifier(), SCHEMA, name, **options)


@pytest.mark.parametrize("kind", [AutoProjectedGradientDescent, AutoConjugateGradient])
def test_the_host_refuses_probabilities_and_moves_masked_columns(kind: Any) -> None:
    with pytest.raises(ValueError, match="expecting logits"):
        kind(mixed_classifier(), verbose=False)
    estimator = mixed_classifier("logits")
    mask = SCHEMA.editable_features.astype(np.float32)
    rows = kind(estimator, eps=0.3, **FEW, verbose=False).generate(X.astype(np.float32), Y, mask=mask)
    assert (rows[:, 8:] != X[:, 8:].astype(np.float32)).any()


def test_the_host_keeps_masks_of_attacks_without_random_start() -> None:
    mask = SCHEMA.editable_features.astype(np.float32)
    for kind in (FastGradientMethod, ProjectedGradientDescent):
        rows = kind(mixed_classifier("logits"), eps=0.3).generate(X.astype(np.float32), Y, mask=mask)
        assert (rows[:, 8:] == X[:, 8:].astype(np.float32)).all()


def test_checkpoints_of_the_host_s_apgd(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Recorder:
        @staticmethod
        def ceil(value: float) -> int:
            asked.append(int(np.ceil(value)))
            return asked[-1]

    monkeypatch.setattr(apgd_module, "math", Recorder)
    attack("apgd", attack_settings={"max_iter": 100, "nb_random_init": 1}).generate(X[:2], Y[:2])
    assert asked[:9] == [0, 22, 41, 58, 70, 80, 87, 93, 99]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["softmax", "logits"])
def test_frozen_columns_stay_and_rows_are_valid(name: str, form: str) -> None:
    n = 4 if name == "hopskipjump" else 60
    rows = attack(name, mixed_classifier(form)).generate(X[:n], Y[:n])
    assert rows.shape == (n, 11) and rows.dtype == np.float64
    assert (rows[:, 8:] == X[:n, 8:]).all()
    if name != "hopskipjump":  # takes its start from the system's randomness, and may find nothing
        assert (rows[:, :8] != X[:n, :8]).any()
    assert not SCHEMA.violations(rows, X[:n]).any()


@pytest.mark.parametrize("name", ["fgsm", "pgd", "apgd", "acg"])
def test_a_mask_holds_features_row_by_row(name: str) -> None:
    mask = np.ones((60, 11))
    mask[::2, 0] = 0
    mask[1::2, [2, 3]] = 0
    rows = attack(name).generate(X, Y, mask=mask)
    assert (rows[mask == 0] == X[mask == 0]).all()
    assert (rows != X).any()


@pytest.mark.parametrize("name", ["apgd", "acg"])
def test_rows_that_resist_come_back_as_they_were(name: str) -> None:
    estimator = mixed_classifier()
    y = TorchGradients(estimator).probabilities(X).argmax(1)
    rows = attack(name, estimator).generate(X, y)
    resists = TorchGradients(estimator).probabilities(rows).argmax(1) == y
    assert resists.any() and (~resists).any()
    assert (rows[resists] == X[resists]).all()
    noise = attack(name, estimator, keep_resisting=True).generate(X, y)
    assert (noise[resists] != X[resists]).any()
    assert not SCHEMA.violations(noise, X).any()


def test_the_search_sees_the_frozen_columns_of_the_row() -> None:
    # A model of sensitive columns alone: noise there would flip it, and nothing else can.
    module = torch_module(11, seed=1)
    with torch.no_grad():
        module[0].weight[:, :9] = 0
    estimator = wrap(module, 11)
    y = TorchGradients(estimator).probabilities(X).argmax(1)
    pairs = attack("apgd", estimator, attack_settings={"eps": 0.9, **FEW}).generate_pairs(X, y)
    assert (pairs.prediction == pairs.label).all()


def test_eps_is_a_share_of_each_column_s_range() -> None:
    rows = attack("fgsm", attack_settings={"eps": 0.1}).generate(X, Y)
    assert np.abs(rows[:, 0] - X[:, 0]).max() <= np.ceil(0.1 * 73)
    assert np.abs(rows[:, 1] - X[:, 1]).max() == pytest.approx(0.1, abs=1e-6)


def test_scaled_inputs_go_there_and_back() -> None:
    source = TorchGradients(mixed_classifier())
    scaled = ScaledEstimator(source, SCHEMA, 2)
    z = scaled.to_scaled(X)
    assert z[:, :8].min() >= 0 and z[:, :8].max() <= 1
    assert scaled.to_rows(z) == pytest.approx(X, abs=1e-4)
    # noise of a whole range in every input moves a frozen column by a millionth
    moved = scaled.to_rows(z + np.float32(1.0)) - X
    assert np.abs(moved[:, 8:]).max() < 3e-6
    assert np.exp(scaled.predict(z)) == pytest.approx(source.probabilities(X), abs=1e-5)
    loss = scaled.compute_loss(z, np.eye(2)[Y])
    assert scaled.compute_loss(z, Y, reduction="mean") == pytest.approx(loss.mean())
    assert scaled.compute_loss(z, Y, reduction="sum") == pytest.approx(loss.sum())
    g = scaled.loss_gradient(z, np.eye(2)[Y])
    assert -scaled.class_gradient(z)[np.arange(60), Y] == pytest.approx(g, abs=1e-6)
    assert scaled.class_gradient(z, label=1).shape == (60, 1, 11)
    with pytest.raises(UsageError, match="cannot be trained"):
        scaled.fit(z, Y)


def test_any_evasion_attack_of_the_host_can_be_run() -> None:
    rows = attack(DeepFool, attack_settings={"max_iter": 3}).generate(X[:10], Y[:10])
    assert not SCHEMA.violations(rows, X[:10]).any()


def test_a_tree_is_attacked_through_differences() -> None:
    y = ((X[:, 0] > 50) ^ (X[:, 10] > 0)).astype(int)
    tree = SklearnClassifier(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y))
    made = attack("pgd", tree)
    assert made.is_black_box
    pairs = made.generate_pairs(X[:10], y[:10])
    assert pairs.cost["is_black_box"]
    assert not SCHEMA.violations(pairs.perturbed_original, pairs.original).any()


def test_runs_repeat_and_the_global_generator_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr]
    first = attack("apgd", seed=3).generate(X, Y)
    assert (np.random.get_state()[1] == before).all()
    assert (attack("apgd", seed=3).generate(X, Y) == first).all()
    assert (attack("apgd", seed=4).generate(X, Y) != first).any()


def test_without_a_domain_rows_only_keep_their_frozen_columns() -> None:
    made = SchemaAttack(mixed_classifier(), SCHEMA, "fgsm", domain=False, clip_values=(0.0, 60.0))
    rows = made.generate(X, Y)
    assert (rows[:, 8:] == X[:, 8:]).all()
    assert rows[:, :8].max() == 60.0 and SCHEMA.violations(rows).any()


def test_constant_and_unbounded_columns() -> None:
    from rif_plugins.tables import ColumnSpec, TableSchema

    schema = TableSchema(
        (
            ColumnSpec("c", "numeric", low=2, high=2),
            ColumnSpec("u", "numeric"),
            ColumnSpec("n", "numeric", low=0, high=1),
            ColumnSpec("a", "categorical", values=(0.0, 1.0), sensitive=True),
        )
    )
    x = np.column_stack([np.full(8, 2.0), np.linspace(-3, 3, 8), np.linspace(0, 1, 8), np.arange(8) % 2])
    for name in ("fgsm", "apgd"):
        made = SchemaAttack(wrap(torch_module(4), 4), schema, name, attack_settings=SETTINGS[name])
        rows = made.generate(x, np.arange(8) % 2)
        assert not schema.violations(rows, x).any()
        assert (rows[:, 0] == 2).all()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("cw", {}, "attack 'cw' does not exist: expected fgsm, pgd, apgd, acg, hopskipjump"),
        (dict, {}, "expected a name or a subclass of art.attacks.EvasionAttack"),
        ("pgd", {"attack_settings": {"epsilon": 1}}, "has no setting 'epsilon': it takes norm, eps"),
    ],
)
def test_settings_are_checked(name: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SchemaAttack(wrap(torch_module(4), 4), unit_schema(), name, **settings)
