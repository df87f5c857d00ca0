"""Gradients against hand-computed numbers, against each other, and the traps of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from art.estimators.classification import BlackBoxClassifier, SklearnClassifier
from fakes.row_world import (
    V_SIMILAR,
    V,
    m2_classifier,
    mixed_classifier,
    mixed_rows,
    mixed_schema,
    torch_module,
    unit_schema,
    wrap,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from rif_plugins.errors import UsageError, VictimError
from rif_plugins.tabular.differences import FiniteDifferences, ZeroOrderDifferences
from rif_plugins.tabular.gradients import ArtGradients, TorchGradients, gradient_source
from rif_plugins.tabular.losses import logit_weights, loss_values, one_hot, probability_weights

BOTH = np.concatenate([V, V_SIMILAR])


@pytest.mark.parametrize("kind", [TorchGradients, ArtGradients])
def test_m2_probabilities_losses_and_gradients(kind: Any) -> None:
    source = kind(m2_classifier())
    p = source.probabilities(BOTH)
    assert p[:, 1] == pytest.approx([0.450166, 0.354344], abs=1e-5)
    assert loss_values("mse", p, np.array([1, 1])) == pytest.approx([0.302317, 0.416872], abs=1e-5)
    assert loss_values("mse", p, np.array([0, 0])) == pytest.approx([0.202649, 0.125559], abs=1e-5)
    _, g = source.gradient(BOTH, np.array([1, 1]))
    assert g[0] == pytest.approx([-0.272186, 0.544372, -0.136093, 0.108874], abs=1e-5)
    assert g[1] == pytest.approx([0.295432, 0.590864, 0, 0.118173], abs=1e-5)
    _, g = source.gradient(BOTH, np.array([0, 0]))
    assert g[0] == pytest.approx([0.222847, -0.445694, 0.111424, -0.089139], abs=1e-5)
    assert g[1] == pytest.approx([-0.162137, -0.324273, 0, -0.064855], abs=1e-5)


def linear_softmax() -> Any:
    layer = torch.nn.Linear(4, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -2.0, 0.5, 0.7]]))
        layer.bias.fill_(0.1)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            p = torch.sigmoid(self.layer(x))
            return torch.cat([1 - p, p], dim=1)

    return wrap(Model(), 4, loss=torch.nn.MSELoss())


def test_the_host_divides_by_the_batch_and_ours_does_not() -> None:
    estimator = linear_softmax()
    x = np.array([[0.2, 0.4, 0.6, 0.0], [0.9, 0.1, 0.3, 1.0]])
    y = np.array([1, 0])
    labels = one_hot(y, 2).astype(np.float32)
    host = estimator.loss_gradient(x.astype(np.float32), labels)
    alone = estimator.loss_gradient(x[:1].astype(np.float32), labels[:1])
    assert host[0, 0] == pytest.approx(-0.136093, abs=1e-5)
    assert alone[0, 0] == pytest.approx(-0.272186, abs=1e-5)
    for kind in (TorchGradients, ArtGradients):
        _, g = kind(estimator).gradient(x, y)
        assert g[0, 0] == pytest.approx(-0.272186, abs=1e-5)
        assert g == pytest.approx(host * 2, abs=1e-6)


@pytest.mark.parametrize(
    ("form", "n_outputs"),
    [("softmax", 2), ("softmax", 4), ("logits", 2), ("logits", 3), ("sigmoid", 1), ("logits", 1)],
)
@pytest.mark.parametrize("loss", ["mse", "ce", "class"])
def test_both_white_boxes_agree_with_central_differences(form: str, n_outputs: int, loss: Any) -> None:
    module = torch_module(4, form=form, n_outputs=n_outputs).double()
    estimator = wrap(module, 4, max(n_outputs, 2))
    x = np.random.default_rng(1).normal(size=(7, 4))
    label = np.arange(7) % max(n_outputs, 2)
    ours, p = [], None
    for kind in (TorchGradients, ArtGradients):
        source = kind(estimator, output="logits" if form == "logits" else "probabilities")
        p, g = source.gradient(x, label, loss)
        assert not source.is_black_box
        ours.append(g)
    # ART rounds every prediction to float32
    assert ours[0] == pytest.approx(ours[1], abs=1e-5, rel=1e-4)
    assert p is not None and p.sum(axis=1) == pytest.approx(np.ones(7))
    source = TorchGradients(estimator, output="logits" if form == "logits" else "probabilities")
    for column in range(4):
        h = np.zeros(4)
        h[column] = 1e-5
        upper = loss_values(loss, source.probabilities(x + h), label)
        lower = loss_values(loss, source.probabilities(x - h), label)
        assert ours[0][:, column] == pytest.approx((upper - lower) / 2e-5, abs=1e-4)


def test_a_row_has_the_same_gradient_in_any_batch() -> None:
    x, y = mixed_rows(300), np.arange(300) % 2
    whole = TorchGradients(mixed_classifier()).gradient(x, y)[1]
    small = TorchGradients(mixed_classifier(), batch_size=7).gradient(x, y)[1]
    assert small == pytest.approx(whole, abs=1e-6)


def test_the_model_is_asked_in_evaluation_mode_and_rows_are_counted() -> None:
    module = torch.nn.Sequential(torch.nn.Dropout(0.9), torch_module(4))
    module.train()
    source = TorchGradients(wrap(module, 4), batch_size=3)
    x = np.ones((10, 4))
    assert np.ptp(source.probabilities(x), axis=0) == pytest.approx([0, 0], abs=1e-7)
    module.train()
    source.gradient(x, np.zeros(10, dtype=int))
    assert (source.victim_rows, source.gradient_rows) == (20, 10)


def test_saturated_logits_keep_a_gradient_of_the_cross_entropy() -> None:
    p = np.array([[1.0, 0.0]])
    assert logit_weights("ce", p, np.array([1])).tolist() == [[1.0, -1.0]]
    assert np.isfinite(probability_weights("ce", p, np.array([1]))).all()


def test_preprocessing_goes_through_the_host() -> None:
    plain, shifted = wrap(torch_module(4), 4), wrap(torch_module(4), 4, preprocessing=(0.5, 2.0))
    schema = unit_schema()
    assert isinstance(gradient_source(plain, schema), TorchGradients)
    source = gradient_source(shifted, schema)
    assert isinstance(source, ArtGradients)
    inner = TorchGradients(plain)
    y = np.array([1, 0])
    assert source.probabilities(BOTH) == pytest.approx(inner.probabilities((BOTH - 0.5) / 2), abs=1e-6)
    _, g = inner.gradient((BOTH - 0.5) / 2, y)
    assert source.gradient(BOTH, y)[1] == pytest.approx(g / 2, abs=1e-6)


def fitted(model: Any, n: int = 400) -> Any:
    x = mixed_rows(n, seed=3)
    y = ((x[:, 0] > 50) ^ (x[:, 10] > 0)).astype(int)
    return SklearnClassifier(model.fit(x, y))


def test_logistic_regression_of_scikit_learn_is_a_white_box() -> None:
    estimator = fitted(LogisticRegression(max_iter=5000))
    source = gradient_source(estimator, mixed_schema())
    assert isinstance(source, ArtGradients)
    x, y = mixed_rows(5), np.array([0, 1, 0, 1, 1])
    p, g = source.gradient(x, y, "class")
    weights = estimator.model.coef_[0]
    slope = p[:, 0] * p[:, 1] * np.where(y == 1, 1, -1)
    assert g == pytest.approx(slope[:, None] * weights, abs=1e-6)


def test_trees_are_black_boxes_and_every_row_counts() -> None:
    estimator = fitted(RandomForestClassifier(n_estimators=10, random_state=0))
    source = gradient_source(estimator, mixed_schema())
    assert isinstance(source, FiniteDifferences) and source.is_black_box
    x = mixed_rows(6)
    _, g = source.gradient(x, np.ones(6, dtype=int))
    assert np.abs(g).sum() > 0
    assert source.victim_rows == 6 + 2 * 11 * 6
    with pytest.raises(UsageError, match="has no class gradients, expected a white-box estimator: say"):
        gradient_source(estimator, mixed_schema(), mode="white_box")


def test_finite_differences_find_the_slope_of_a_smooth_model() -> None:
    schema = unit_schema(low=-5, high=5)
    estimator = m2_classifier(double=True)
    black = FiniteDifferences(estimator, schema)
    black._width = np.array([1e-2, 1e-2, 1e-2, 1.0])
    _, g = black.gradient(BOTH, np.array([1, 1]))
    _, exact = TorchGradients(estimator).gradient(BOTH, np.array([1, 1]))
    assert g[:, :3] == pytest.approx(exact[:, :3], abs=1e-4)
    # the code 0 or 1 of a moves within its bounds: one-sided
    p = TorchGradients(estimator).probabilities(BOTH)
    jump = (1 - p[1, 1]) ** 2 - (1 - p[0, 1]) ** 2
    assert g[:, 3] == pytest.approx([jump, jump], abs=1e-6)


def test_differences_of_every_kind_of_column_ask_valid_rows_only() -> None:
    schema = mixed_schema()
    asked = []

    def predict(x: np.ndarray) -> np.ndarray:
        asked.append(x.copy())
        return np.tile([[0.5, 0.5]], (len(x), 1))

    gradient_source(BlackBoxClassifier(predict, (11,), 2), schema).gradient(
        mixed_rows(50), np.zeros(50, dtype=int)
    )
    assert len(np.concatenate(asked)) == 50 * (1 + 2 * 11)
    assert not schema.violations(np.concatenate(asked)).any()


def test_a_one_hot_group_is_asked_category_by_category() -> None:
    schema = mixed_schema()
    asked = []

    def predict(x: np.ndarray) -> np.ndarray:
        asked.append(x.copy())
        p = 0.2 + 0.5 * x[:, 5]
        return np.column_stack([1 - p, p])

    estimator = BlackBoxClassifier(predict, (11,), 2)
    row = mixed_rows(1)
    row[0, 4:7] = [1, 0, 0]
    _, g = gradient_source(estimator, schema).gradient(row, np.array([1]), "class")
    assert g[0, 4:7] == pytest.approx([0, 0.5, 0], abs=1e-6)
    groups = np.concatenate(asked)[:, 4:7]
    assert (np.sort(groups, axis=1) == [0, 0, 1]).all()


def test_zero_order_signs_match_the_slopes_and_draws_belong_to_the_row() -> None:
    schema = unit_schema(low=-5, high=5)
    source = ZeroOrderDifferences(m2_classifier(double=True), schema, n_directions=200)
    _, g = source.gradient(BOTH, np.array([1, 1]))
    assert np.sign(g[0, :3]).tolist() == [-1, 1, -1]
    assert source.victim_rows == 2 + 2 * 200 * 2
    _, turned = source.gradient(BOTH[::-1].copy(), np.array([1, 1]))
    assert turned[::-1] == pytest.approx(g, abs=1e-12)


def test_a_model_that_answers_nan_is_named() -> None:
    estimator = BlackBoxClassifier(lambda x: np.full((len(x), 2), np.nan), (4,), 2)
    with pytest.raises(VictimError, match="NaN or infinity in row 0"):
        gradient_source(estimator, unit_schema()).probabilities(BOTH)
