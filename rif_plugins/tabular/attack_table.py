"""The output of any ART attack in one table: robust, fair, both, or neither.

Rows are read in chunks, so a million rows (an array, or a memory-mapped file) need no more memory than one
chunk with its counterparts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.core.predictions import OutputKind
from rif_plugins.errors import DataError
from rif_plugins.metrics.confusion import Confusion, mean_square_distances, row_outcomes
from rif_plugins.metrics.rates import Rate
from rif_plugins.metrics.similarity import generative_similarity
from rif_plugins.tables.schema import TableSchema
from rif_plugins.tabular.base import check_labels, check_rows, settle_output
from rif_plugins.tabular.counterparts import SimilarRows
from rif_plugins.tabular.gradients import prediction_source
from rif_plugins.tabular.seed_selection import SeedSelection

_CHUNK_NUMBERS = 1 << 20
_FIRST_ROWS = 256


@dataclass(frozen=True)
class RIFTable:
    """What an attack's rows are, and whether they are rows at all.

    Attributes:
        confusion: Counts of the four outcomes, with the rates and scores of the papers.
        by_label: The same for each right label.
        n_outside: Rows that the schema does not allow.
        n_frozen_moved: Rows whose sensitive or immutable columns moved; None without the original rows.
        n_changed: Rows that differ from their originals; None without them.
        mean_similarity: Mean generative similarity; None without seeds.
        victim_rows: Rows asked of the model.
        outcomes: ``(n,)`` codes of each row, where they were asked for.
    """

    confusion: Confusion
    by_label: dict[int, Confusion]
    n_outside: int
    n_frozen_moved: int | None
    n_changed: int | None
    mean_similarity: float | None
    victim_rows: int
    outcomes: NDArray[np.int8] | None = field(default=None, compare=False)

    @property
    def n_rows(self) -> int:
        """Number of rows measured."""
        return int(self.confusion.total)

    @property
    def rif_rate(self) -> Rate:
        """Share of rows that are robust and fair, with its interval."""
        return Rate(int(self.confusion.robust_fair), self.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, under the names of the papers."""
        return {
            "n_rows": self.n_rows,
            **self.confusion.to_table(),
            "rif_rate": self.rif_rate.to_dict(),
            "n_outside": self.n_outside,
            "n_frozen_moved": self.n_frozen_moved,
            "n_changed": self.n_changed,
            "mean_similarity": self.mean_similarity,
            "victim_rows": self.victim_rows,
            "by_label": {str(label): part.to_table() for label, part in self.by_label.items()},
        }

    def __str__(self) -> str:
        counts = self.confusion
        lines = [
            f"rows              {self.n_rows}",
            f"robust and fair   {self.rif_rate}",
            f"robust, biased    {Rate(int(counts.robust_biased), self.n_rows)}",
            f"wrong, fair       {Rate(int(counts.unrobust_fair), self.n_rows)}",
            f"wrong, biased     {Rate(int(counts.unrobust_biased), self.n_rows)}",
            f"outside of schema {self.n_outside}",
        ]
        if self.n_frozen_moved is not None:
            lines.append(f"frozen moved      {self.n_frozen_moved}")
        if self.mean_similarity is not None:
            lines.append(f"mean similarity   {self.mean_similarity:.3f}")
        return "\n".join(lines)


def rif_table(
    estimator: Any,
    x_adv: ArrayLike,
    y: ArrayLike,
    schema: TableSchema,
    *,
    original: ArrayLike | None = None,
    seeds: SeedSelection | None = None,
    lipschitz: float = 0.0,
    keep_outcomes: bool = False,
    chunk_rows: int | None = None,
    batch_size: int = 4096,
    output: OutputKind = "auto",
) -> RIFTable:
    """Measure the rows of any attack, ours or ART's.

    A row is robust where its prediction is its label, and fair where all of its counterparts get the same
    prediction.

    Args:
        estimator: The ART classifier that was attacked.
        x_adv: Rows ``(n, d)``; sliced chunk by chunk, so a memory-mapped array is never read as a whole.
        y: Right labels ``(n,)``, ``(n, 1)`` or one-hot ``(n, k)``.
        schema: Columns and counterparts.
        original: The rows before the attack ``(n, d)``: adds the counts of moved frozen columns and of rows
            that changed.
        seeds: Centroids of the data: adds the mean generative similarity.
        lipschitz: K of fairness: a different label is fair where ``1 <= K d``; 0 means equality.
        keep_outcomes: Return the outcome of each row too.
        chunk_rows: Rows a chunk; None: by the number of counterparts.
        batch_size: Rows a call of the model.
        output: What the model returns.

    Raises:
        DataError: No row, NaN, lengths that differ, labels that the model does not have.
    """
    rows, labels = _sliceable(x_adv), _sliceable(y)
    n = len(rows)
    before = None if original is None else _sliceable(original)
    for name, other in (("y", labels), ("original", before)):
        if other is not None and len(other) != n:
            raise DataError(f"{name} has {len(other)} rows, x_adv has {n}: expected as many")
    if n == 0:
        raise DataError("x_adv has no row, expected one or more")
    source = prediction_source(estimator, batch_size=batch_size, output=output)
    similar = SimilarRows(schema, source)
    size = chunk_rows or max(1, _CHUNK_NUMBERS // (similar.n_tuples * schema.n_features))
    settle_output(source, schema, check_rows(rows[:_FIRST_ROWS], schema, domain=False))
    tally = _Tally(schema, similar, seeds, lipschitz, keep_outcomes)
    for start in range(0, n, size):
        part = slice(start, start + size)
        chunk = check_rows(rows[part], schema, domain=False)
        label = check_labels(labels[part], len(chunk), source.n_labels)
        tally.add(chunk, label, None if before is None else np.asarray(before[part], dtype=np.float64))
    return tally.table()


class _Tally:
    """Counts over chunks."""

    def __init__(
        self,
        schema: TableSchema,
        similar: SimilarRows,
        seeds: SeedSelection | None,
        lipschitz: float,
        keep_outcomes: bool,
    ) -> None:
        self.schema, self.similar, self.seeds = schema, similar, seeds
        self.lipschitz, self.keep_outcomes = lipschitz, keep_outcomes
        self.counts = np.zeros((similar.source.n_labels, 4), dtype=np.int64)
        self.n_outside = self.n_frozen_moved = self.n_changed = 0
        self.has_original = False
        self.similarity = 0.0
        self.outcomes: list[NDArray[np.int8]] = []

    def add(self, rows: NDArray[Any], label: NDArray[Any], before: NDArray[Any] | None) -> None:
        own, others, allowed = self.similar.outputs(rows)
        distances = None
        if self.lipschitz:
            distances = mean_square_distances(rows, self.schema.counterparts(rows)[0])
        codes = row_outcomes(
            label,
            np.argmax(own, axis=1),
            np.argmax(others, axis=2),
            allowed,
            lipschitz=self.lipschitz,
            distances=distances,
        )
        np.add.at(self.counts, (label, codes), 1)
        outside = self.schema.violations(rows)
        self.n_outside += int(outside.sum())
        if before is not None:
            self.has_original = True
            self.n_frozen_moved += int(self._frozen_moved(rows, before).sum())
            self.n_changed += int((rows != before).any(axis=1).sum())
        if self.seeds is not None:
            values = generative_similarity(rows, label, self.seeds.centroids, self.seeds.centroid_labels)
            self.similarity += float(values.sum())
        if self.keep_outcomes:
            self.outcomes.append(codes)

    def _frozen_moved(self, rows: NDArray[Any], before: NDArray[Any]) -> NDArray[np.bool_]:
        frozen = self.schema.frozen_features
        tolerances = np.repeat(
            [column.tolerance for column in self.schema.columns],
            [column.width for column in self.schema.columns],
        )
        moved = np.abs(rows - before) > tolerances
        return np.asarray(moved[:, frozen].any(axis=1))

    def table(self) -> RIFTable:
        total = int(self.counts.sum())
        return RIFTable(
            confusion=Confusion(*self.counts.sum(axis=0).tolist()),
            by_label={label: Confusion(*part.tolist()) for label, part in enumerate(self.counts)},
            n_outside=self.n_outside,
            n_frozen_moved=self.n_frozen_moved if self.has_original else None,
            n_changed=self.n_changed if self.has_original else None,
            mean_similarity=self.similarity / total if self.seeds is not None else None,
            victim_rows=self.similar.source.victim_rows,
            outcomes=np.concatenate(self.outcomes) if self.keep_outcomes else None,
        )


def _sliceable(values: ArrayLike) -> Any:
    return values if hasattr(values, "shape") else np.asarray(values)


def compare_attacks(tables: Sequence[tuple[str, RIFTable]]) -> str:
    """Several tables side by side, one attack a line, in the shape of RobustFair's table 3."""
    head = ("attack", "N_f", "N_b", "N_f|b", "sum", "R_f", "R_b", "R_f|b")
    lines: list[tuple[str, ...]] = [head]
    for name, table in tables:
        counts, n = table.confusion, max(table.n_rows, 1)
        found = (counts.n_false, counts.n_biased, counts.n_false_or_biased)
        lines.append(
            (name, *(f"{int(k)}" for k in found), f"{table.n_rows}", *(f"{k / n:.3f}" for k in found))
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(line))
        for line in lines
    )
