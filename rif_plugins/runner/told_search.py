"""The search of rows told as text: I(v) is exact, edits are edits of fields or of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.examples.base import Example, Naming
from rif_plugins.proposers import Proposer
from rif_plugins.runner.sweep import Sweep
from rif_plugins.tables.telling import Teller
from rif_plugins.tabular.templates import FieldProposer, ToldSource

Predict = Callable[[list[str]], Any]


def search_told(
    predict: Predict,
    teller: Teller,
    rows: Iterable[tuple[Mapping[str, Any], int]],
    *,
    proposer: Proposer | None = None,
    entailment: EntailmentFilter | None = None,
    plan: SweepPlan | None = None,
    counterparts: int | None = None,
    query_budget: int | None = None,
    seed: int = 0,
) -> Iterator[list[Record]]:
    """Search told rows for violations, with exactly I(v) as the similar texts.

    Args:
        predict: From texts to probabilities or logits ``(n, k)``.
        teller: Tells the rows.
        rows: Rows with their right labels.
        proposer: Where edits come from; None: other values of the fields, see :class:`FieldProposer`.
        entailment: The filter; None admits every edit.
        plan: Targets and search settings.
        counterparts: Most similar texts of a row; None: all.
        query_budget: Most victim rows of one row of the table.
        seed: Of everything that is drawn.

    Yields:
        The records of each row: one a similar text and target.
    """
    naming = Naming()
    examples = []
    for row, label in rows:
        text = teller.tell(row).text
        examples.append(Example(naming.name(text, label), text, label))
    sweep = Sweep(
        VictimEngine(predict),
        ToldSource(teller, counterparts, seed),
        proposer or FieldProposer(teller),
        entailment,
        plan,
        seed=seed,
        query_budget=query_budget,
    )
    yield from sweep.run(examples)


def row_victim(teller: Teller, predict_rows: Callable[[list[dict[str, Any]]], Any]) -> Predict:
    """A model of rows as a model of told rows: it reads each text back, so it is the same function.

    Args:
        teller: Told the texts.
        predict_rows: From rows, ``{column: value}`` each, to probabilities or logits ``(n, k)``.
    """

    def predict(texts: list[str]) -> Any:
        return np.asarray(predict_rows([dict(teller.read(text)) for text in texts]))

    return predict
