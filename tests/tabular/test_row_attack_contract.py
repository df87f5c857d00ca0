"""What every row attack owes its caller, as one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from art.attacks import EvasionAttack
from art.estimators.classification import BlackBoxClassifier, SklearnClassifier
from fakes.row_world import mixed_classifier, mixed_rows, mixed_schema
from sklearn.tree import DecisionTreeClassifier

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables import ColumnSpec, Relation, TableSchema
from rif_plugins.tabular.adf import ADFAttack
from rif_plugins.tabular.base import RowAttack
from rif_plugins.tabular.dice import DICEAttack
from rif_plugins.tabular.eidig import EIDIGAttack
from rif_plugins.tabular.rifair_gradient import RIFairGradientAttack
from rif_plugins.tabular.robust_fair import RobustFairAttack
from rif_plugins.tabular.schema_attack import SchemaAttack

SHORT = {"n_global": 3, "n_local": 3}
BRANCHING: dict[str, Any] = {"branching": True, "n_global": 2, "n_local": 1}
FEW = {"max_iter": 3, "nb_random_init": 1}


@dataclass(frozen=True)
class Target:
    """One attack and what holds for it."""

    name: str
    build: Callable[..., RowAttack]
    is_order_free: bool = True
    needs_gradients: bool = False


def host(name: str, options: dict[str, Any]) -> Callable[..., RowAttack]:
    return lambda estimator, schema, **s: SchemaAttack(estimator, schema, name, attack_settings=options, **s)


TARGETS = [
    Target("robust-fair", lambda e, s, **o: RobustFairAttack(e, s, **SHORT, **o)),
    Target("robust-fair-branching", lambda e, s, **o: RobustFairAttack(e, s, **BRANCHING, **o)),
    Target("adf", lambda e, s, **o: ADFAttack(e, s, **SHORT, **o)),
    Target("eidig", lambda e, s, **o: EIDIGAttack(e, s, **SHORT, **o)),
    Target("dice", lambda e, s, **o: DICEAttack(e, s, **SHORT, **o)),
    Target("rifair-gradient", lambda e, s, **o: RIFairGradientAttack(e, s, max_iter=3, **o)),
    Target("fgsm", host("fgsm", {})),
    Target("pgd", host("pgd", {"max_iter": 3})),
    Target("apgd", host("apgd", FEW), is_order_free=False),
    Target("acg", host("acg", FEW), is_order_free=False),
]
every_attack = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
SCHEMA = mixed_schema()
X = mixed_rows(24, seed=9)
Y = np.arange(24) % 2


@every_attack
def test_it_is_an_attack_of_art(target: Target) -> None:
    made = target.build(mixed_classifier(), SCHEMA, seed=4)
    assert isinstance(made, EvasionAttack)
    assert set(RowAttack.attack_params) <= set(made.attack_params)
    assert all(hasattr(made, name) for name in made.attack_params if name != "summary_writer")
    made.set_params(seed=5, batch_size=7)
    assert (made.seed, made.batch_size) == (5, 7)
    with pytest.raises(ValueError, match="cannot be set"):
        made.set_params(unknown=1)
    with pytest.raises(UsageError, match="batch_size must be a whole number of 1 or more, got 0"):
        made.set_params(batch_size=0)


@every_attack
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_generate_keeps_shape_type_and_input(target: Target, dtype: Any) -> None:
    x = X.astype(dtype)
    before = x.copy()
    rows = target.build(mixed_classifier(), SCHEMA).generate(x, Y)
    assert rows.shape == x.shape and rows.dtype == dtype and rows is not x
    assert (x == before).all()
    assert not SCHEMA.violations(rows, x).any()
    assert (rows[:, 8:] == x[:, 8:]).all()


@every_attack
def test_pairs_are_whole(target: Target) -> None:
    pairs = target.build(mixed_classifier(), SCHEMA).generate_pairs(X, Y)
    n = len(pairs)
    assert n > 0
    for name in ("original", "similar", "perturbed_original", "perturbed_similar"):
        assert getattr(pairs, name).shape == (n, 11)
        assert not SCHEMA.violations(getattr(pairs, name)).any()
    sensitive = SCHEMA.sensitive_features
    assert (pairs.original == X[pairs.source]).all()
    assert (pairs.original[:, sensitive] == pairs.perturbed_original[:, sensitive]).all()
    assert (pairs.similar[:, sensitive] == pairs.perturbed_similar[:, sensitive]).all()
    assert (pairs.similar[:, ~sensitive] == pairs.original[:, ~sensitive]).all()
    assert (pairs.perturbed_similar[:, ~sensitive] == pairs.perturbed_original[:, ~sensitive]).all()
    assert (pairs.similar[:, sensitive] != pairs.original[:, sensitive]).any(axis=1).all()
    assert (np.char.endswith(pairs.outcome, "_fair") == (pairs.prediction == pairs.similar_prediction)).all()
    assert (np.char.startswith(pairs.outcome, "robust") == (pairs.prediction == pairs.label)).all()
    assert (np.diff(pairs.source) >= 0).all()
    assert len(pairs.violations()) == pairs.is_violation.sum()


@every_attack
def test_two_runs_are_the_same(target: Target) -> None:
    first = target.build(mixed_classifier(), SCHEMA, seed=1).generate_pairs(X, Y)
    again = target.build(mixed_classifier(), SCHEMA, seed=1).generate_pairs(X, Y)
    assert (first.perturbed_original == again.perturbed_original).all()
    assert (first.outcome == again.outcome).all()


@every_attack
def test_order_and_batch_size_do_not_matter(target: Target) -> None:
    if not target.is_order_free:
        pytest.skip("the host draws its random starts for the batch, not for the row")
    whole = target.build(mixed_classifier(), SCHEMA).generate(X, Y)
    order = np.random.default_rng(0).permutation(24)
    turned = target.build(mixed_classifier(), SCHEMA, batch_size=5).generate(X[order], Y[order])
    assert (turned == whole[order]).all()
    alone = target.build(mixed_classifier(), SCHEMA).generate(X[3:4], Y[3:4])
    assert (alone == whole[3:4]).all()


@every_attack
def test_rows_that_lead_to_the_same_place_each_get_an_answer(target: Target) -> None:
    if not target.is_order_free:
        pytest.skip("the host draws its random starts for the batch, not for the row")
    made = target.build(mixed_classifier(), SCHEMA)
    once = made.generate(X, Y)
    assert (once != X).any()
    assert (made.generate(X.repeat(2, axis=0), Y.repeat(2)) == once.repeat(2, axis=0)).all()


@every_attack
@pytest.mark.parametrize(
    "estimator",
    [
        lambda: mixed_classifier("sigmoid", 1),
        lambda: mixed_classifier("logits", 1),
        lambda: mixed_classifier("logits", 2),
        lambda: mixed_classifier("softmax", 3),
    ],
    ids=["one-probability", "one-logit", "two-logits", "three-classes"],
)
def test_models_of_other_forms(target: Target, estimator: Callable[[], Any]) -> None:
    model = estimator()
    pairs = target.build(model, SCHEMA).generate_pairs(X[:8], Y[:8])
    raw = model.predict(pairs.perturbed_original.astype(np.float32))
    is_logit = raw.min() < 0 or raw.max() > 1
    expected = (raw[:, 0] > (0.0 if is_logit else 0.5)).astype(int) if raw.shape[1] == 1 else raw.argmax(1)
    assert pairs.prediction.tolist() == expected.tolist()


@every_attack
def test_trees_are_attacked_as_black_boxes(target: Target) -> None:
    y = ((X[:, 0] > 50) ^ (X[:, 10] > 0)).astype(int)
    tree = SklearnClassifier(DecisionTreeClassifier(random_state=0).fit(X, y))
    made = target.build(tree, SCHEMA)
    assert made.is_black_box
    rows = made.generate(X[:6], y[:6])
    assert not SCHEMA.violations(rows, X[:6]).any()


@every_attack
def test_a_search_that_finds_nothing_gives_an_empty_batch(target: Target) -> None:
    def predict(x: np.ndarray) -> np.ndarray:
        assert len(x)
        return np.tile([[0.9, 0.1]], (len(x), 1))

    made = target.build(BlackBoxClassifier(predict, (11,), 2), SCHEMA)
    pairs = made.generate_pairs(X, np.zeros(24, dtype=int))
    assert not pairs.is_violation.any()
    assert pairs.perturbed_original.shape == (len(pairs), 11)
    assert not SCHEMA.violations(made.generate(X, np.zeros(24, dtype=int)), X).any()


@every_attack
def test_labels_come_in_any_form_or_from_the_model(target: Target) -> None:
    made = target.build(mixed_classifier(), SCHEMA)
    plain = made.generate(X, Y)
    for y in (np.eye(2)[Y], Y[:, None], Y.astype(float), Y.tolist()):
        assert (made.generate(X, y) == plain).all()
    own = np.argmax(mixed_classifier().predict(X.astype(np.float32)), axis=1)
    assert (made.generate(X) == made.generate(X, own)).all()
    one_class = made.generate(X, np.zeros(24, dtype=int))
    assert not SCHEMA.violations(one_class, X).any()


@every_attack
def test_masked_features_stay(target: Target) -> None:
    mask = np.ones(11)
    mask[[0, 4, 5, 6]] = 0
    pairs = target.build(mixed_classifier(), SCHEMA).generate_pairs(X, Y, mask=mask)
    assert (pairs.perturbed_original[:, mask == 0] == pairs.original[:, mask == 0]).all()
    assert (pairs.perturbed_original != pairs.original).any()


@every_attack
def test_a_constant_column_stays(target: Target) -> None:
    schema = SCHEMA.with_columns({"gain": {"low": 0.5, "high": 0.5}})
    x = X.copy()
    x[:, 1] = 0.5
    pairs = target.build(mixed_classifier(), schema).generate_pairs(x, Y)
    assert (pairs.perturbed_original[:, 1] == 0.5).all()
    assert (pairs.perturbed_original != pairs.original).any()
    assert not schema.violations(pairs.perturbed_original, pairs.original).any()


@every_attack
def test_relations_hold(target: Target) -> None:
    rule = Relation("gain only after 30", lambda x: (x[:, 0] >= 30) | (x[:, 1] == 0), repair=no_gain)
    schema = mixed_schema(relations=(rule,))
    x = schema.project(X, X)
    pairs = target.build(mixed_classifier(), schema).generate_pairs(x, Y)
    assert rule.check(pairs.perturbed_original).all()
    assert not schema.violations(pairs.perturbed_original, pairs.original).any()


def no_gain(x: np.ndarray) -> np.ndarray:
    x[:, 1] = 0
    return x


BAD_ROWS: list[tuple[str, Any, Any, dict[str, Any], str]] = [
    ("nan", np.where(X[2, 1] == X, np.nan, X), Y, {}, "holds nan in row 2, column 'gain', expected finite"),
    ("infinite", np.where(X[2, 1] == X, np.inf, X), Y, {}, "holds inf in row 2, column 'gain'"),
    (
        "outside",
        X + np.eye(11)[0] * 200,
        Y,
        {},
        "24 of 24 rows are outside of the schema; first row 0",
    ),
    ("fraction", X + np.eye(11)[2] * 0.5, Y, {}, "column 'work' holds"),
    ("width", X[:, :5], Y, {}, r"x has shape \(24, 5\), expected \(n, 11\) for the columns age, gain"),
    ("flat", X[0], Y, {}, r"x has shape \(11,\), expected \(n, 11\)"),
    ("text", np.full((2, 11), "a"), Y[:2], {}, "x holds something that is no number"),
    ("empty", X[:0], Y[:0], {}, "x has no row"),
    ("label count", X, Y[:5], {}, r"y has shape \(5,\), expected \(24,\) labels or \(24, 2\) one-hot rows"),
    ("label value", X, Y + 1, {}, "y holds the class 2, the model has 2 classes: expected 0 to 1"),
    ("label fraction", X, Y + 0.5, {}, "y holds something that is no class number"),
    ("mask", X, Y, {"mask": np.ones(5)}, r"mask has shape \(5,\), expected \(11,\) or \(24, 11\)"),
]


@every_attack
@pytest.mark.parametrize(
    ("x", "y", "options", "message"), [case[1:] for case in BAD_ROWS], ids=[case[0] for case in BAD_ROWS]
)
def test_bad_input_is_a_clear_error(
    target: Target, x: Any, y: Any, options: dict[str, Any], message: str
) -> None:
    made = target.build(mixed_classifier(), SCHEMA)
    with pytest.raises(DataError, match=message):
        made.generate(x, y, **options)


@every_attack
def test_schemas_that_do_not_fit(target: Target) -> None:
    with pytest.raises(UsageError, match="schema is str, expected a TableSchema"):
        target.build(mixed_classifier(), "schema.toml")
    numbers = TableSchema(tuple(ColumnSpec(f"x{i}", "numeric") for i in range(11)))
    with pytest.raises(UsageError, match="the schema has no sensitive column"):
        target.build(mixed_classifier(), numbers)
    missing = TableSchema(SCHEMA.columns[1:])
    with pytest.raises(DataError, match=r"takes rows of shape \(11,\), the schema describes \(10,\)"):
        target.build(mixed_classifier(), missing).generate(X[:, 1:], Y)


@every_attack
def test_an_unknown_argument_of_generate_pairs(target: Target) -> None:
    with pytest.raises(UsageError, match="generate has no argument 'masks': expected x, y, mask"):
        target.build(mixed_classifier(), SCHEMA).generate_pairs(X, Y, masks=1)


def test_all_names_resolve_and_looking_at_the_package_loads_no_host(run_python: Any) -> None:
    from rif_plugins import tabular

    for name in tabular.__all__:
        assert getattr(tabular, name).__name__ == name
    assert set(tabular.__all__) <= set(dir(tabular))
    done = run_python("-c", "import rif_plugins.tabular, sys; print('art' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr
