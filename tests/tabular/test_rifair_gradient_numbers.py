"""Numbers computed by hand for the gradient search over fields."""

from __future__ import annotations

import numpy as np
import pytest
from fakes.embedding_models import TABLE, FieldModel, classifier, field_schema

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.tables import ColumnSpec, FieldLayout, TableSchema
from rif_plugins.tabular.embedding_moves import category_move, number_move
from rif_plugins.tabular.embedding_path import GradientSettings, aimed_labels
from rif_plugins.tabular.embedding_search import GradientSearch
from rif_plugins.tabular.embedding_space import EmbeddingSpace
from rif_plugins.tabular.losses import loss_values

TB, FF, FB = TARGETS[0], TARGETS[1], TARGETS[2]
CLEAN = np.array([[1.0, 4.0, 5.0, 1.0, 2.0, 1.0]])
SIMILAR = np.array([[1.0, 4.0, 6.0, 1.0, 2.0, 1.0]])
Y, WRONG = np.array([1]), np.array([0])


def space(output: str = "two", heads=None, **number) -> EmbeddingSpace:
    # A single logit between 0 and 1 looks like a probability: such a model has to say what it returns.
    declared = "logits" if output == "one" else "auto"
    return EmbeddingSpace(field_schema(**number), FieldModel(heads, output), output=declared)


def summed(target: Outcome, model_space: EmbeddingSpace, loss: str = "ce"):
    """Objective, G and dl/dvalue of the clean pair."""
    first, second = aimed_labels(target, Y, WRONG)
    rows, labels = np.concatenate([CLEAN, SIMILAR]), np.concatenate([first, second])
    found = model_space.gradient(rows, labels, loss)
    losses = loss_values(loss, found.probabilities, labels)
    return losses.sum(), found.gradient.sum(axis=0), found.value_gradient.sum(axis=0)


@pytest.mark.parametrize("output", ["two", "one", "probabilities"])
def test_probabilities_of_the_pair(output: str) -> None:
    found = space(output).probabilities(np.concatenate([CLEAN, SIMILAR]))
    assert found[:, 1] == pytest.approx([0.598688, 0.549834], abs=1e-5)
    assert found.shape == (2, 2)


@pytest.mark.parametrize("output", ["two", "one", "probabilities"])
@pytest.mark.parametrize(
    ("target", "ce", "mse"),
    [(TB, 1.311154, 0.463369), (FB, 1.511154, 0.561076), (FF, 1.711154, 0.660744)],
)
def test_objective_of_each_target(target, ce: float, mse: float, output: str) -> None:
    assert summed(target, space(output))[0] == pytest.approx(ce, abs=1e-5)
    assert summed(target, space(output), "mse")[0] == pytest.approx(mse, abs=1e-5)


@pytest.mark.parametrize("output", ["two", "one", "probabilities"])
def test_gradient_field_and_scores_of_robust_biased(output: str) -> None:
    _, gradient, _ = summed(TB, space(output))
    expected = [[-0.540983, 0.450294], [-0.145673, -0.325475], [0.029704, 0.089113]]
    assert gradient == pytest.approx(np.array(expected), abs=1e-5)
    norms = np.linalg.norm(gradient, axis=1)
    assert norms == pytest.approx([0.703866, 0.356587, 0.093933], abs=1e-5)
    scores = gradient[0] @ (np.array(TABLE)[[2, 3]] - np.array(TABLE)[1]).T
    assert scores == pytest.approx([0.991278, 1.307114], abs=1e-5)
    move = category_move(gradient[None, 0], space().domain_vectors(0), np.array([0]))
    assert move.place[0] == 1
    assert move.score[0] == pytest.approx(0.991278, abs=1e-5)


def run(target: Outcome, **settings):
    editable = np.array([[True, True, False]])
    search = GradientSearch(space(), GradientSettings(**settings))
    return search.run(CLEAN, SIMILAR, Y, WRONG, target, editable)


def test_robust_biased_has_no_improving_category_and_stays() -> None:
    history = run(TB)
    assert history.n_steps.tolist() == [0]
    assert history.stop_reasons.tolist() == ["no_candidate"]
    assert (history.original[:, 0] == CLEAN[0]).all()
    # Without the demand for descent the least bad category is taken, as the paper's code would.
    assert run(TB, needs_descent=False, max_steps=1).original[1, 0, 0] == 2
    # The next field in order of the norm is the number: dl/dvalue = G_1 . E_4 = 0.505277, so down.
    ranked = run(TB, fields="ranked", max_steps=1)
    assert ranked.fields.tolist() == [[1]]
    assert ranked.original[1, 0].tolist() == [1, 4, 5, 1, 1, 1]
    assert ranked.similar[1, 0].tolist() == [1, 4, 6, 1, 1, 1]


def test_unrobust_biased_moves_within_the_own_domain_and_finds_the_outcome() -> None:
    _, gradient, _ = summed(FB, space())
    assert gradient[0] == pytest.approx([0.659017, -0.449706], abs=1e-5)
    assert np.linalg.norm(gradient[0]) == pytest.approx(0.797833, abs=1e-5)
    whole = gradient[0] @ (np.array(TABLE) - np.array(TABLE)[1]).T
    assert whole.argmin() == 6  # a sensitive code: the whole vocabulary is no domain
    assert whole[6] == pytest.approx(-2.636066, abs=1e-5)
    move = category_move(gradient[None, 0], space().domain_vectors(0), np.array([0]))
    assert move.place[0] + 1 == 3
    assert move.score[0] == pytest.approx(-1.542886, abs=1e-5)
    history = run(FB, max_steps=1)
    assert history.original[1, 0].tolist() == [3, 4, 5, 1, 2, 1]
    assert history.similar[1, 0].tolist() == [3, 4, 6, 1, 2, 1]
    assert history.probabilities[1, 0, 1] == pytest.approx(0.205870, abs=1e-5)
    assert history.similar_probabilities[1, 0, 1] == pytest.approx(0.785835, abs=1e-5)
    assert history.objective[:, 0] == pytest.approx([1.511154, 0.471517], abs=1e-5)
    assert history.outcomes[1, 0] == list(Outcome).index(Outcome.UNROBUST_BIASED)
    assert history.stop_reasons.tolist() == ["success"]
    assert history.size[0, 0] == pytest.approx(np.hypot(2, 0.5))  # E_3 - E_1 = (-2, .5)


@pytest.mark.parametrize("output", ["two", "one", "probabilities"])
def test_the_sign_of_a_number_is_that_of_its_own_derivative(output: str) -> None:
    _, gradient, by_value = summed(FB, space(output))
    assert by_value[1] == pytest.approx(-0.494722, abs=1e-5)
    assert gradient[1] @ np.array(TABLE)[4] == pytest.approx(by_value[1], abs=1e-5)
    assert gradient[1].sum() == pytest.approx(0.628852, abs=1e-5)  # the wrong sign
    assert number_move(by_value[[1]], np.array([2.0]), field_schema().columns[1]).value[0] == 3
    derivative = np.array([np.dot([1, -2], [0.5, 0.4])])
    assert derivative[0] == pytest.approx(-0.3)
    assert number_move(derivative, np.array([2.0]), field_schema().columns[1]).value[0] == 3


def test_identical_heads_give_identical_gradients_of_both_biased_targets() -> None:
    heads = {"5": [[0.8, -0.3], [0.5, 0.4], [0.2, 0.6]]}
    heads["6"] = heads["5"]
    same = space(heads=heads)
    first, second = summed(TB, same)[1], summed(FB, same)[1]
    p, p_similar = same.probabilities(np.concatenate([CLEAN, SIMILAR]))[:, 1]
    assert first == pytest.approx(second, abs=1e-5)
    assert first == pytest.approx((p - 1 + p_similar) * np.array(heads["5"]), abs=1e-5)
    # With the probabilities of the model above the factor is .148522.
    assert pytest.approx(0.148522, abs=1e-5) == 0.598688 - 1 + 0.549834


def test_probabilities_are_not_put_through_a_second_softmax() -> None:
    logits = np.array([[2.0, 0.0]])
    p = np.exp(logits) / np.exp(logits).sum()
    assert loss_values("ce", p, np.array([0]))[0] == pytest.approx(0.126928, abs=1e-5)
    twice = np.exp(p) / np.exp(p).sum()
    assert loss_values("ce", twice, np.array([0]))[0] == pytest.approx(0.383166, abs=1e-5)
    assert np.exp(1) / (np.exp(1) + 1) == pytest.approx(0.731059, abs=1e-5)  # the most that twice can say
    extreme = CLEAN.copy()
    extreme[0, 4] = 10  # z = -2.8 + ...: nearly sure, beyond what a second softmax could reach
    for output in ("two", "probabilities"):
        assert space(output).probabilities(extreme).max() > 0.86


def test_a_number_at_its_bound_has_no_candidate() -> None:
    column = ColumnSpec("n", "integer", low=3.0, high=10.0, step=1.0)
    move = number_move(np.array([1.0, 1.0, -1.0]), np.array([3.0, 4.0, 10.0]), column)
    assert move.value.tolist() == [3, 3, 10]
    assert np.isfinite(move.score).tolist() == [False, True, False]
    history = GradientSearch(space(low=2.0), GradientSettings(fields="ranked")).run(
        CLEAN, SIMILAR, Y, WRONG, TB, np.array([[False, True, False]])
    )
    assert history.stop_reasons.tolist() == ["no_candidate"]
    assert history.n_steps.tolist() == [0]


def test_a_number_is_a_number_whatever_its_value() -> None:
    schema = TableSchema(
        (
            ColumnSpec("category", "categorical", values=(0.0, 1.0)),
            ColumnSpec("one", "integer", low=0.0, high=9.0),
            ColumnSpec("five", "integer", low=0.0, high=9.0),
        )
    )
    layout = FieldLayout(schema)
    _, value = layout.split(np.array([[0.0, 1.0, 5.0]]))
    assert value.tolist() == [[1, 1, 5]]
    assert np.flatnonzero(~layout.is_categorical).tolist() == [1, 2]


def test_slots_of_the_fields_never_collide() -> None:
    sizes = [1, 25, 5, 18, 2, 9, 5, 4, 5, 5, 2, 2, 2, 3, 2, 9]
    row = [43, 21, 1, 1, 2, 0, 1, 1, 4, 1, 1, 2, 2, 2, 1, 1]
    starts = [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1]  # first code of each field
    columns = [ColumnSpec("age", "integer", low=0.0, high=99.0)]
    columns += [
        ColumnSpec(f"f{i}", "categorical", values=tuple(float(starts[i] + code) for code in range(sizes[i])))
        for i in range(1, 16)
    ]
    layout = FieldLayout(TableSchema(tuple(columns)))
    index, value = layout.split(np.array([row], dtype=float))
    ends = np.cumsum(sizes)
    assert ends.tolist() == [1, 26, 31, 49, 51, 60, 65, 69, 74, 79, 81, 83, 85, 88, 90, 99]
    published = np.concatenate([[0], ends[:-1]]) + row
    published[0] = 1
    assert published.tolist() == [1, 22, 27, 32, 51, 51, 61, 66, 73, 75, 80, 83, 85, 87, 89, 91]
    assert value[0].tolist() == [43, *[1] * 15]
    assert ((index[0] > ends - sizes) & (index[0] <= ends)).all()
    assert len(set(index[0])) == 16 > len(set(published))


def test_the_gradient_of_a_row_does_not_depend_on_its_batch() -> None:
    rows = np.concatenate([CLEAN, SIMILAR, CLEAN])
    one = EmbeddingSpace(field_schema(), FieldModel(), batch_size=1).gradient(
        rows, np.array([1, 0, 0]), "mse"
    )
    many = space().gradient(rows, np.array([1, 0, 0]), "mse")
    for name in ("probabilities", "gradient", "value_gradient"):
        assert getattr(one, name) == pytest.approx(getattr(many, name), abs=1e-7)


def test_the_classifier_and_the_embedding_agree() -> None:
    model = FieldModel()
    rows = np.concatenate([CLEAN, SIMILAR])
    outputs = classifier(model).predict(rows.astype(np.float32))
    p = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    assert EmbeddingSpace(field_schema(), model).probabilities(rows) == pytest.approx(p, abs=1e-6)
