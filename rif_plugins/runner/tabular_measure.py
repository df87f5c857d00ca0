"""Seeds of attacks on rows, and one measure for what the attacks generate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.metrics.confusion import Confusion
from rif_plugins.metrics.rates import Rate
from rif_plugins.metrics.similarity import generative_similarity
from rif_plugins.runner.tabular_attacks import AXES, GeneratedRows, RowTarget
from rif_plugins.tables import TableSchema

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def unit_rows(x: FloatArray, schema: TableSchema) -> FloatArray:
    """Rows ``(n, d)`` with every bounded feature in the unit interval, so that no column outweighs others."""
    from rif_plugins.tabular.differences import feature_bounds

    low, high = feature_bounds(schema)
    is_bounded = np.isfinite(low) & np.isfinite(high)
    offset = np.where(is_bounded, low, 0.0)
    width = np.where(is_bounded & (high > low), high - offset, 1.0)
    return np.asarray((x - offset) / width, dtype=np.float64)


def draw_seeds(
    x: FloatArray, y: IntArray, schema: TableSchema, n_seeds: int, seed: int
) -> tuple[IntArray, Any]:
    """Seeds from K-Means clusters of the data in the unit interval, each row at most once.

    Args:
        x: Rows ``(n, d)``.
        y: Right labels ``(n,)``.
        schema: The columns.
        n_seeds: How many, at most as many as there are rows.
        seed: Seed of the clustering and of the draws.

    Returns:
        Positions ``(n_seeds,)`` in the data, and the ``SeedSelection`` with centroids in unit rows.
    """
    from rif_plugins.tabular import KMeansSeeds

    unit = unit_rows(x, schema)
    n_clusters = min(4, len(np.unique(unit, axis=0)))
    chosen = KMeansSeeds(n_clusters=n_clusters, n_seeds=4 * n_seeds, seed=seed).select(unit, y)
    drawn = list(dict.fromkeys(chosen.index.tolist()))[:n_seeds]
    if len(drawn) < min(n_seeds, len(x)):
        rest = np.setdiff1d(np.arange(len(x)), drawn)
        drawn += np.random.default_rng(seed).permutation(rest)[: n_seeds - len(drawn)].tolist()
    return np.asarray(drawn, dtype=np.int64), chosen


@dataclass(frozen=True)
class MeasuredAttack:
    """The rows of one attack in the terms of robust individual fairness.

    Attributes:
        generated: The rows.
        table: Counts over all of them, a ``RIFTable``; None where the attack generated no row.
        outcomes: ``(n,)`` codes of ``metrics.confusion.OUTCOMES``.
        is_false_seed, is_biased_seed: ``(seeds,)`` whether a false (a biased) row was generated from it.
        similarity: ``(n,)`` generative similarity of each row to the data; None where nobody asked.
    """

    generated: GeneratedRows
    table: Any
    outcomes: NDArray[np.int8]
    is_false_seed: BoolArray
    is_biased_seed: BoolArray
    similarity: FloatArray | None = None

    @property
    def name(self) -> str:
        """The attack."""
        return self.generated.attack

    @property
    def confusion(self) -> Confusion:
        """The four counts."""
        return Confusion(0, 0, 0, 0) if self.table is None else self.table.confusion

    @property
    def is_violation_seed(self) -> BoolArray:
        """``(seeds,)`` whether a false or biased row was generated from it."""
        return np.asarray(self.is_false_seed | self.is_biased_seed)

    @property
    def own_axis(self) -> float:
        """Rows of the kind that the attack looks for: false ones, biased ones, or either."""
        counts, axis = self.confusion, AXES[self.name]
        by_axis = {"both": counts.n_false_or_biased, "robustness": counts.n_false}
        return by_axis.get(axis, counts.n_biased)

    def seed_rate(self, clean: BoolArray) -> Rate:
        """Of the seeds that were robust and fair, ``clean (seeds,)``, those with a false or biased row."""
        return Rate(int((self.is_violation_seed & clean).sum()), int(clean.sum()))

    def to_dict(self, clean: BoolArray) -> dict[str, Any]:
        """Plain values for ``summary.json``."""
        n, counts = len(self.generated), self.confusion
        table = None if self.table is None else self.table.to_dict()
        return {
            "attack": self.name,
            "looks_for": AXES[self.name],
            "n_rows": n,
            "n_false": counts.n_false,
            "n_biased": counts.n_biased,
            "n_false_or_biased": counts.n_false_or_biased,
            "n_own_axis": self.own_axis,
            "false_rate": counts.n_false / n if n else None,
            "biased_rate": counts.n_biased / n if n else None,
            "false_or_biased_rate": counts.n_false_or_biased / n if n else None,
            "outcomes": _outcomes(counts),
            "mean_similarity": None if self.similarity is None or not n else float(self.similarity.mean()),
            "n_valid": 0 if table is None else n - table["n_outside"],
            "n_outside": 0 if table is None else table["n_outside"],
            "n_frozen_moved": 0 if table is None else table["n_frozen_moved"],
            "n_changed": 0 if table is None else table["n_changed"],
            "broken_seed_rate": self.seed_rate(clean).to_dict(),
            "is_black_box": bool(self.generated.cost.get("is_black_box", False)),
            "victim_rows": int(self.generated.cost.get("victim_rows", 0)),
            "gradient_rows": int(self.generated.cost.get("gradient_rows", 0)),
            "measure_rows": 0 if table is None else table["victim_rows"],
            "seconds": round(self.generated.seconds, 3),
            "by_label": {} if table is None else table["by_label"],
        }


def _outcomes(counts: Confusion) -> dict[str, float]:
    names = ("robust_fair", "robust_biased", "unrobust_fair", "unrobust_biased")
    return dict(zip(names, counts.counts, strict=True))


def measure(
    generated: GeneratedRows, target: RowTarget, n_seeds: int, *, seeds: Any = None, batch_size: int = 4096
) -> MeasuredAttack:
    """Put the rows of one attack into the four outcomes, all counterparts looked at.

    Args:
        generated: The rows.
        target: The classifier that was attacked.
        n_seeds: Number of seeds that the attack started from.
        seeds: A ``SeedSelection`` of :func:`draw_seeds`: adds the similarity to the data.
        batch_size: Rows a call of the model.
    """
    from rif_plugins.tabular import rif_table

    table: Any = None
    outcomes = np.zeros(0, dtype=np.int8)
    if len(generated):
        table = rif_table(
            target.estimator,
            generated.rows,
            generated.label,
            target.schema,
            original=generated.original,
            keep_outcomes=True,
            batch_size=batch_size,
        )
        outcomes = np.asarray(table.outcomes)
    is_false, is_biased = np.zeros(n_seeds, dtype=np.bool_), np.zeros(n_seeds, dtype=np.bool_)
    is_false[generated.source[outcomes >= 2]] = True
    is_biased[generated.source[outcomes % 2 == 1]] = True
    similarity = None
    if seeds is not None:
        unit = unit_rows(generated.rows, target.schema)
        similarity = generative_similarity(unit, generated.label, seeds.centroids, seeds.centroid_labels)
    return MeasuredAttack(generated, table, outcomes, is_false, is_biased, similarity)
