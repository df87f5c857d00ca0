"""A hundred thousand generated rows, none of them outside of the schema."""

from __future__ import annotations

import numpy as np
from fakes.row_world import mixed_classifier, mixed_rows, mixed_schema

from rif_plugins.tabular.adf import ADFAttack
from rif_plugins.tabular.eidig import EIDIGAttack
from rif_plugins.tabular.robust_fair import RobustFairAttack
from rif_plugins.tabular.schema_attack import SchemaAttack

SCHEMA = mixed_schema()


def test_no_row_is_outside_and_no_frozen_column_moves() -> None:
    estimator = mixed_classifier()
    x = mixed_rows(1500, seed=11).astype(np.float32)
    y = np.arange(1500) % 2
    attacks = [
        RobustFairAttack(estimator, SCHEMA, n_global=8, n_local=8),
        ADFAttack(estimator, SCHEMA, n_local=40),
        EIDIGAttack(estimator, SCHEMA, n_local=40),
        SchemaAttack(estimator, SCHEMA, "pgd", attack_settings={"max_iter": 5}),
    ]
    n_rows = 0
    for attack in attacks:
        pairs = attack.generate_pairs(x, y)
        n_rows += len(pairs)
        for dtype in (np.float64, np.float32):
            moved = pairs.perturbed_original.astype(dtype)
            assert SCHEMA.violations(moved, pairs.original).sum() == 0
            assert SCHEMA.violations(pairs.perturbed_similar.astype(dtype)).sum() == 0
        frozen = SCHEMA.frozen_features
        assert (pairs.perturbed_original[:, frozen] == pairs.original[:, frozen]).all()
    assert n_rows > 100_000
