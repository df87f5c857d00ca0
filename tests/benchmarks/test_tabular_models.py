"""The torch models of the benchmarks: shapes, the embedding protocol, seeds, and that they learn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rif_plugins.tables import FieldLayout, TableEncoder, TableSchema

torch = pytest.importorskip("torch")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = ("fcnn", "mlp", "tabtransformer", "wide_and_deep", "deepfm", "autoint")
EMBEDDING = NAMES[3:]


@pytest.fixture(scope="module")
def models() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import tabular_models

        yield tabular_models
        for name in [name for name in sys.modules if name.partition(".")[0] == "tabular_models"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def table() -> tuple[TableSchema, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["cook", "nurse", "pilot"], n),
            "sex": rng.choice(["f", "m"], n),
            "pay": rng.uniform(0, 1, n),
        }
    )
    score = (frame.age > 45).astype(int) + (frame.job == "pilot") * 2 - (frame.pay > 0.6)
    encoder = TableEncoder(TableSchema.infer(frame, sensitive=["sex"]), scaling="min_max")
    return encoder.schema, encoder.encode(frame), (score > 0).to_numpy().astype(np.int64)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_learns_returns_logits_and_repeats(name: str, models: Any, table: Any) -> None:
    schema, x, y = table
    inputs = models.model_inputs(name, schema, x)
    before = torch.get_rng_state()
    runs = []
    for _ in range(2):
        model = models.build(name, schema, seed=3)
        log = models.train(model, inputs, y, epochs=5, batch_size=20, learning_rate=1e-2, seed=4)
        runs.append(models.predict(model, inputs))
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(runs[0], runs[1])
    assert log.losses[-1] < log.losses[0]
    assert models.accuracy(model, inputs, y) > max(y.mean(), 1 - y.mean()) + 0.02
    logits = model(torch.as_tensor(inputs[:5]))
    assert logits.shape == (5, 2)
    assert not torch.allclose(logits.sum(dim=1), torch.ones(5))
    other = models.build(name, schema, seed=5)
    assert not np.allclose(models.predict(other, inputs), models.predict(models.build(name, schema), inputs))


@pytest.mark.parametrize("name", NAMES)
def test_three_classes_and_a_batch_of_one(name: str, models: Any, table: Any) -> None:
    schema, x, _ = table
    model = models.build(name, schema, n_classes=3)
    p = models.predict(model, models.model_inputs(name, schema, x[:1]))
    assert p.shape == (1, 3)
    assert p.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", EMBEDDING)
def test_the_embedding_protocol(name: str, models: Any, table: Any) -> None:
    schema, x, _ = table
    layout = FieldLayout(schema)
    model = models.build(name, schema, seed=1)
    index, value = (torch.as_tensor(part) for part in layout.split(x[:7]))
    value = value.float()
    e = model.embed(index, value)
    assert model.embedding_table.shape == (layout.vocabulary_size, e.shape[-1])
    assert torch.allclose(e, value[..., None] * model.embedding_table[index])
    packed = torch.as_tensor(models.model_inputs(name, schema, x[:7]))
    assert torch.allclose(model.from_embedding(e, value), model(packed))
    packed.requires_grad_(True)
    model(packed)[:, 1].sum().backward()
    assert (packed.grad[:, : layout.n_fields] == 0).all()
    assert (packed.grad[:, layout.n_fields] != 0).any()


def test_what_a_category_does_goes_through_its_vector(models: Any, table: Any) -> None:
    # Else the gradient at e would miss a part of what another category changes.
    schema, x, _ = table
    layout = FieldLayout(schema)
    for name in EMBEDDING:
        model = models.build(name, schema, seed=1)
        index, value = (torch.as_tensor(part) for part in layout.split(x[:7]))
        other = index.clone()
        other[:, 1] = layout.offsets[1] + (other[:, 1] - layout.offsets[1] + 1) % 3
        e = model.embed(index, value.float())
        e[:, 1] = model.embedding_table[other[:, 1]]
        assert torch.allclose(
            model.from_embedding(e, value.float()), model(torch.cat([other, value], 1).float())
        )


def test_wide_and_deep_as_published_keeps_numbers_out_of_the_deep_part(models: Any) -> None:
    model = models.WideAndDeep(2, 4, value_in_deep=False)
    index, value = torch.tensor([[1, 2]]), torch.tensor([[5.0, 1.0]])
    assert torch.equal(model.embed(index, value), model.embedding_table[index])


def test_deepfm_by_hand(models: Any) -> None:
    model = models.DeepFM(2, 3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.out.weight.copy_(torch.tensor([[0.0], [1.0]]))
        model.embedding.weight[1, [0, 1, 8]] = torch.tensor([1.0, 2.0, 0.5])
        model.embedding.weight[2, [0, 1, 8]] = torch.tensor([3.0, -1.0, 0.25])
    # Values 2 and 1: first order 2 * .5 + .25, second order (2, 4) . (3, -1) = 2.
    assert model(torch.tensor([[1.0, 2.0, 2.0, 1.0]])).tolist() == [[0, pytest.approx(3.25)]]


def test_the_bottleneck_can_switch_every_gradient_off(models: Any) -> None:
    model = models.FCNN(3)
    with torch.no_grad():
        model.hidden[-2].bias.fill_(-1e3)
    x = torch.ones(1, 3, requires_grad=True)
    model(x)[0, 1].backward()
    assert (x.grad == 0).all()


def test_the_best_epoch_is_kept(models: Any, table: Any) -> None:
    schema, x, y = table
    model = models.build("fcnn", schema, seed=2)
    log = models.train(model, x, y, loss="mse", epochs=4, learning_rate=0.05, keep="best_loss", seed=2)
    assert log.losses[log.kept_epoch] == min(log.losses)
    one_class = models.build("mlp", schema)
    models.train(one_class, x, np.zeros_like(y), epochs=1)
    assert models.accuracy(one_class, x, np.zeros_like(y)) == 1


def test_a_model_that_does_not_exist(models: Any, table: Any) -> None:
    with pytest.raises(ValueError, match="model 'tree' does not exist: expected one of fcnn, mlp"):
        models.build("tree", table[0])
