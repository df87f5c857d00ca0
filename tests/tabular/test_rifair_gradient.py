"""The gradient attack as ART users call it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from art.attacks import EvasionAttack
from art.estimators.classification import SklearnClassifier
from fakes.embedding_models import FieldModel, classifier, field_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from rif_plugins.core.outcomes import TARGETS, Outcome
from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables import ColumnSpec, FieldLayout, Relation, TableSchema
from rif_plugins.tabular.embedding_schema import PackedSchema
from rif_plugins.tabular.rifair_gradient import RIFairGradientAttack

SCHEMA = field_schema()
LAYOUT = FieldLayout(SCHEMA)


def table_rows(n: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.stack(
        [generator.integers(0, 3, n), generator.integers(0, 11, n), generator.integers(0, 2, n)], axis=1
    ).astype(float)


def attack(output: str = "two", n_labels: int = 2, schema: TableSchema = SCHEMA, **options):
    return RIFairGradientAttack(classifier(FieldModel(output=output), n_labels=n_labels), schema, **options)


def test_it_is_an_attack_of_art_with_settable_parameters() -> None:
    made = attack(target="robust_biased")
    assert isinstance(made, EvasionAttack)
    made.set_params(target="unrobust_fair", max_iter=3)
    assert made.targets == (Outcome.UNROBUST_FAIR,)
    assert "max_iter=3" in repr(made)
    with pytest.raises(ValueError, match="cannot be set"):
        made.set_params(eps=1)


def test_packed_rows_have_a_schema_of_their_own() -> None:
    packed = PackedSchema.of(SCHEMA)
    rows = LAYOUT.pack(table_rows(50))
    assert not packed.violations(rows).any()
    assert packed.n_features == 6
    assert packed.sensitive_features.tolist() == [False, False, True, False, False, False]
    assert packed.editable_features.tolist() == [True, False, False, False, True, False]
    assert PackedSchema.of(packed) is packed
    similar, mask = packed.counterparts(rows)
    assert mask.sum(axis=1).tolist() == [1] * 50
    assert np.allclose(LAYOUT.unpack(similar[mask])[:, 2], 1 - LAYOUT.unpack(rows)[:, 2])


def test_generate_keeps_the_shape_the_type_and_the_sensitive_column() -> None:
    x = LAYOUT.pack(table_rows(60)).astype(np.float32)
    before = x.copy()
    found = attack().generate(x, None)
    assert found.shape == x.shape
    assert found.dtype == np.float32
    assert (x == before).all()
    assert not PackedSchema.of(SCHEMA).violations(found, x).any()


def test_every_pair_carries_the_same_change_on_both_sides() -> None:
    x = LAYOUT.pack(table_rows(80))
    pairs = attack(fields="ranked", counterparts="all").generate_pairs(x)
    assert len(pairs) > 60
    assert pairs.n_generated > 500
    change = pairs.perturbed_original - pairs.original
    assert np.allclose(change, pairs.perturbed_similar - pairs.similar)
    assert (np.abs(change).sum(axis=1) > 0).any()
    packed = PackedSchema.of(SCHEMA)
    assert not packed.violations(pairs.perturbed_original, pairs.original).any()
    assert not packed.violations(pairs.perturbed_similar, pairs.similar).any()
    # The outcome is that of the returned pair, asked again.
    model = classifier(FieldModel())
    own = model.predict(pairs.perturbed_original.astype(np.float32)).argmax(axis=1)
    other = model.predict(pairs.perturbed_similar.astype(np.float32)).argmax(axis=1)
    assert (own == pairs.prediction).all()
    assert (other == pairs.similar_prediction).all()
    assert set(pairs.direction) == {str(target) for target in TARGETS}
    assert pairs.cost["gradient_rows"] > 0


def test_the_histories_hold_every_step() -> None:
    x = LAYOUT.pack(table_rows(40))
    histories = attack(fields="ranked", max_iter=4).generate_histories(x)
    assert list(histories) == [str(target) for target in TARGETS]
    for history in histories.values():
        assert history.original.shape == (5, 40, 6)
        assert (history.original[0] == x).all()
        assert history.source.tolist() == list(range(40))
        moved = (history.original[1:] != history.original[:-1]).any(axis=2)
        assert (moved == (np.arange(4)[:, None] < history.n_steps)).all()
        # No state of a chain comes twice.
        for chain in range(40):
            states = history.original[: history.n_steps[chain] + 1, chain]
            assert len(np.unique(states, axis=0)) == len(states)
        intensity, direction = history.impact("original")
        assert intensity.shape == (4, 40)
        back = (intensity * history.size)[..., None] * direction
        assert np.allclose(back.sum(axis=0), history.probabilities[-1] - history.probabilities[0], atol=1e-6)
        assert (intensity[~moved] == 0).all()
        steps = history.chosen_steps()
        reached = history.steps_in(history.target, 0).any(axis=0)
        chosen = history.outcomes[steps, np.arange(40)]
        assert (chosen[reached] == list(Outcome).index(history.target)).all()


def test_a_chain_can_stop_at_its_target() -> None:
    x = LAYOUT.pack(table_rows(40))
    full = attack(target="unrobust_biased").generate_histories(x)["unrobust_biased"]
    early = attack(target="unrobust_biased", early_stop=True).generate_histories(x)["unrobust_biased"]
    reached = early.steps_in(Outcome.UNROBUST_BIASED, 0)
    assert reached.any()
    assert (early.n_steps <= full.n_steps).all()
    for chain in np.flatnonzero(reached.any(axis=0)):
        assert early.n_steps[chain] == reached[:, chain].argmax()
        assert early.stop_reasons[chain] == "success"


def test_generate_gives_the_first_row_in_a_target() -> None:
    x = LAYOUT.pack(table_rows(60, 5))
    for target in TARGETS:
        made = attack(target=str(target), fields="ranked")
        history = made.generate_histories(x)[str(target)]
        inside = history.steps_in(target)
        found = made.generate(x)
        for row in range(60):
            steps = np.flatnonzero(inside[:, row])
            expected = history.original[steps[0], row] if len(steps) else x[row]
            assert (found[row] == expected).all()
    assert attack(target="robust_biased").targets == (Outcome.ROBUST_BIASED,)


def test_a_constant_column_a_flat_model_and_one_row() -> None:
    schema = TableSchema(
        (*SCHEMA.columns[:2], ColumnSpec("same", "categorical", values=(4.0,)), SCHEMA.columns[2])
    )

    class Flat(FieldModel):
        def from_embedding(self, embedded, value):
            return super().from_embedding(embedded[:, [0, 1, 3]] * 0, value)

    class Wider(FieldModel):
        """The constant column has slot 5, the sensitive one 6 and 7."""

        def __init__(self) -> None:
            super().__init__()
            rows = [*self.embedding_table[:5].tolist(), [0.0, 0.0], *self.embedding_table[5:].tolist()]
            self.embedding_table = torch.nn.Parameter(torch.tensor(rows))

        def from_embedding(self, embedded, value):
            return super().from_embedding(embedded[:, [0, 1, 3]], value)

    rows = FieldLayout(schema).pack(np.array([[0.0, 2.0, 4.0, 0.0]]))
    for dtype in (np.float32, np.float64):
        made = RIFairGradientAttack(classifier(Wider(), width=8), schema, fields="ranked")
        found = made.generate(rows.astype(dtype), np.array([1]))
        assert found.shape == (1, 8)
        assert found[0, 2] == rows[0, 2]
        assert (found != rows).any()
    flat = Flat()
    flat.embedding_table = torch.nn.Parameter(torch.zeros(8, 2))
    made = RIFairGradientAttack(classifier(flat, width=8), schema)
    histories = made.generate_histories(rows, np.array([1]))
    assert all(history.stop_reasons.tolist() == ["no_candidate"] for history in histories.values())


def test_results_do_not_depend_on_order_or_batch() -> None:
    x = LAYOUT.pack(table_rows(50))
    order = np.random.default_rng(1).permutation(50)
    whole = attack().generate(x)
    assert (attack(batch_size=7).generate(x) == whole).all()
    assert (attack().generate(x[order]) == whole[order]).all()
    assert (attack().generate(x[:1]) == whole[:1]).all()


def test_a_mask_closes_fields() -> None:
    x = LAYOUT.pack(table_rows(40))
    mask = np.ones(6)
    mask[0] = 0
    pairs = attack(fields="ranked").generate_pairs(x, mask=mask)
    assert (pairs.perturbed_original[:, 0] == pairs.original[:, 0]).all()
    assert (pairs.perturbed_original[:, 4] != pairs.original[:, 4]).any()
    nothing = attack().generate_pairs(x, mask=np.zeros(6))
    assert len(nothing) == 0
    assert (attack().generate(x, mask=np.zeros(6)) == x).all()


def test_relations_are_kept_on_both_sides() -> None:
    """The third colour is for sizes up to 5 only; without the rule the attack breaks it."""

    def holds(rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] != 2) | (rows[:, 1] <= 5)

    ruled = TableSchema(SCHEMA.columns, (Relation("third colour is small", holds),))
    rows = table_rows(80)
    rows = LAYOUT.pack(rows[holds(rows)])
    free = attack(fields="ranked").generate_pairs(rows)
    kept = attack(fields="ranked", schema=ruled).generate_pairs(rows)
    assert not holds(LAYOUT.unpack(free.perturbed_original)).all()
    for side in (kept.perturbed_original, kept.perturbed_similar):
        assert holds(LAYOUT.unpack(side)).all()
    assert not PackedSchema.of(ruled).violations(kept.perturbed_original).any()


def test_wrong_labels_of_several_classes() -> None:
    x = LAYOUT.pack(table_rows(30))
    three = {"output": "three", "n_labels": 3, "target": "unrobust_fair", "max_iter": 2}
    y = np.ones(30, dtype=int)
    runner_up = attack(**three).generate_histories(x, y)["unrobust_fair"]
    total = runner_up.probabilities[0] + runner_up.similar_probabilities[0]
    assert (runner_up.wrong_label == np.where(total[:, 0] >= total[:, 2], 0, 2)).all()
    assert set(runner_up.wrong_label) <= {0, 2}
    y_two = attack(**three).generate_histories(x, 2 * y)["unrobust_fair"]
    assert set(y_two.wrong_label) == {0, 1}
    every = attack(**three, y_diff="all").generate_histories(x, y)["unrobust_fair"]
    assert every.wrong_label.tolist() == [0, 2] * 30
    assert every.source.tolist() == np.arange(30).repeat(2).tolist()
    y[:10] = 2
    fixed = attack(**three, y_diff="fixed", fixed_label=2).generate_histories(x, y)["unrobust_fair"]
    assert fixed.source.tolist() == list(range(10, 30))
    assert set(fixed.wrong_label) == {2}


def test_both_wrong_but_different_is_unrobust_biased() -> None:
    from rif_plugins.tabular.pair_batch import OUTCOMES, outcome_codes

    code = outcome_codes(np.array([2]), np.array([0]), np.array([False]))
    assert OUTCOMES[code[0]] is Outcome.UNROBUST_BIASED


PLAIN = TableSchema(
    (
        ColumnSpec("x0", "numeric", low=0.0, high=1.0, step=0.1),
        ColumnSpec("kind", "one_hot", width=3),
        ColumnSpec("grade", "ordinal", values=(0.0, 0.5, 1.0)),
        ColumnSpec("fixed", "numeric", low=0.0, high=1.0, immutable=True),
        ColumnSpec("group", "categorical", values=(0.0, 1.0), sensitive=True),
    )
)
WEIGHTS = torch.tensor([1.0, 0.2, -0.6, 1.0, 2.0, 5.0, 0.0])


class Interaction(torch.nn.Module):
    """``z = w . x - 0.5 - 2 a x0 - 3 a grade``."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        z = x @ WEIGHTS - 0.5 - 2 * x[:, 6] * x[:, 0] - 3 * x[:, 6] * x[:, 4]
        return torch.stack([torch.zeros_like(z), self.scale * z], dim=1)


PLAIN_ROW = np.array([[0.5, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0]])


def test_plain_columns_follow_the_chain_rule() -> None:
    made = RIFairGradientAttack(
        classifier(Interaction(), width=7), PLAIN, target="unrobust_biased", max_iter=1
    )
    assert not made.has_embedding
    history = made.generate_histories(PLAIN_ROW, np.array([1]))["unrobust_biased"]
    p = 1 / (1 + np.exp(-np.array([0.5 + 0.2 + 1.0 - 0.5, 1.2 - 1.0 - 1.5])))
    assert history.probabilities[0, 0, 1] == pytest.approx(p[0], abs=1e-6)
    assert history.similar_probabilities[0, 0, 1] == pytest.approx(p[1], abs=1e-6)
    # L_v = 0, L_v' = 1: dl/dz is p and p' - 1. Rows of G: x0, the one-hot group, grade.
    d = (p[0], p[1] - 1)
    group = (d[0] + d[1]) * np.array([0.2, -0.6, 1.0])
    slopes = {0: d[0] * 1.0 + d[1] * -1.0, 2: d[0] * 2.0 + d[1] * -1.0}
    norms = [abs(slopes[0]), np.linalg.norm(group), abs(slopes[2])]
    assert int(np.argmax(norms)) == 2
    assert history.fields.tolist() == [[2]]
    # The slope is positive, so the lowest code of the domain is best: 0.5 -> 0.
    assert slopes[2] > 0
    assert history.original[1, 0].tolist() == [0.5, 1, 0, 0, 0, 0, 0]


def test_plain_groups_stay_one_hot_and_frozen_columns_stay() -> None:
    generator = np.random.default_rng(3)
    rows = np.zeros((60, 7))
    rows[:, 0] = generator.uniform(0, 1, 60)
    rows[np.arange(60), 1 + generator.integers(0, 3, 60)] = 1
    rows[:, 4] = generator.integers(0, 3, 60) / 2
    rows[:, 6] = generator.integers(0, 2, 60)
    pairs = RIFairGradientAttack(
        classifier(Interaction(), width=7), PLAIN, fields="ranked", counterparts="all"
    ).generate_pairs(rows)
    assert not PLAIN.violations(pairs.perturbed_original, pairs.original).any()
    assert (pairs.perturbed_original[:, 5] == pairs.original[:, 5]).all()
    assert (pairs.perturbed_original[:, 1:4] != pairs.original[:, 1:4]).any()
    assert "unrobust_biased" in pairs.violations().outcome
    assert pairs.cost["is_black_box"] is False


def test_a_model_without_gradients_is_a_counted_black_box() -> None:
    generator = np.random.default_rng(0)
    rows = np.zeros((200, 7))
    rows[:, 0] = generator.uniform(0, 1, 200)
    rows[np.arange(200), 1 + generator.integers(0, 3, 200)] = 1
    rows[:, 4] = generator.integers(0, 3, 200) / 2
    rows[:, 6] = generator.integers(0, 2, 200)
    y = ((rows @ WEIGHTS.numpy() - 0.5 - 2 * rows[:, 6] * rows[:, 0]) > 0.6).astype(int)
    forest = RandomForestClassifier(n_estimators=10, max_depth=4, random_state=0).fit(rows, y)
    made = RIFairGradientAttack(SklearnClassifier(forest), PLAIN, max_iter=3, fields="ranked")
    pairs = made.generate_pairs(rows[:20], y[:20])
    assert pairs.cost["is_black_box"] is True
    assert pairs.cost["victim_rows"] > 20 * 2 * 14
    assert not PLAIN.violations(pairs.perturbed_original, pairs.original).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "fair"}, "target 'fair' does not exist: expected one of all, robust_biased"),
        ({"loss": "hinge"}, "loss 'hinge' does not exist"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"y_diff": "some"}, "y_diff 'some' does not exist: expected runner_up, all, fixed"),
        ({"y_diff": "fixed"}, "fixed_label must be a whole number"),
        ({"counterparts": "none"}, "counterparts 'none' does not exist"),
        ({"fields": "last"}, "fields 'last' does not exist"),
        ({"norm": "max"}, "norm 'max' does not exist"),
        ({"domain": False}, "domain=False is not possible here"),
    ],
)
def test_wrong_settings_are_named(options, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attack(**options)


def test_wrong_rows_and_labels_are_named() -> None:
    x = LAYOUT.pack(table_rows(3))
    broken = x.copy()
    broken[1, 4] = np.nan
    with pytest.raises(DataError, match="holds nan in row 1, column 'size value'"):
        attack().generate(broken)
    foreign = x.copy()
    foreign[0, 0] = 6  # a sensitive slot in another field
    with pytest.raises(DataError, match="column 'colour index' holds 6"):
        attack().generate(foreign)
    with pytest.raises(DataError, match="expected \\(n, 6\\)"):
        attack().generate(table_rows(3))
    with pytest.raises(DataError, match="y holds the class 2"):
        attack().generate(x, np.array([0, 1, 2]))
    with pytest.raises(UsageError, match="fixed_label is 5, expected a class of the model, 0 to 1"):
        attack(y_diff="fixed", fixed_label=5).generate(x)


def test_a_table_smaller_than_the_schema_is_refused() -> None:
    wide = TableSchema((*SCHEMA.columns, ColumnSpec("more", "categorical", values=(0.0, 1.0, 2.0))))
    with pytest.raises(UsageError, match="embedding_table has 7 rows, expected 10 or more"):
        RIFairGradientAttack(classifier(FieldModel(), width=8), wide)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    loss=st.sampled_from(["ce", "mse"]),
    fields=st.sampled_from(["first", "ranked"]),
    needs_descent=st.booleans(),
)
def test_no_row_leaves_the_schema(seed: int, loss: str, fields: str, needs_descent: bool) -> None:
    x = LAYOUT.pack(table_rows(25, seed))
    made = attack(loss=loss, fields=fields, needs_descent=needs_descent, max_iter=5, seed=seed)
    pairs = made.generate_pairs(x)
    packed = PackedSchema.of(SCHEMA)
    assert not packed.violations(pairs.perturbed_original, pairs.original).any()
    assert not packed.violations(pairs.perturbed_similar, pairs.similar).any()


def test_the_model_is_left_as_it_was() -> None:
    model = FieldModel()
    model.train()
    RIFairGradientAttack(classifier(model), SCHEMA).generate_histories(LAYOUT.pack(table_rows(4)))
    assert model.embedding_table.grad is None
