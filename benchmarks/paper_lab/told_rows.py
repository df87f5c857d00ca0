"""Adult as rows and as told rows: a network of rows, a text model, and random edits of fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tabular_lab import data, models

from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.tables.telling import Teller
from rif_plugins.tables.template_library import built_in

ROWS, TRAINING_ROWS, CHECKED_ROWS = 200, 6000, 2000
EDITS, MAX_VALUES = 3, 16
STEPS = MAX_VALUES // 2
"""Most steps that a number moves in one edit: an edit of a told row has as many values in each direction."""


@dataclass
class World:
    """Rows, the model of rows and who tells them.

    Attributes:
        raw, x: The attacked rows as codes and as the model reads them, ``(n, d)``.
        label: Their right labels ``(n,)``.
        rows: The same rows as ``{column: value}``.
        told, test_told: Training rows, and some test rows, as texts, with their labels.
    """

    encoder: TableEncoder
    teller: Teller
    estimator: Any
    accuracy: float
    raw: np.ndarray
    x: np.ndarray
    label: np.ndarray
    rows: list[dict[str, Any]]
    told: list[str]
    told_label: np.ndarray
    test_told: list[str]
    test_label: np.ndarray

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """The network's answers to encoded rows."""
        from rif_plugins.tabular.gradients import prediction_source

        return np.asarray(prediction_source(self.estimator).probabilities(x))

    def of_raw(self, raw: np.ndarray) -> np.ndarray:
        """Predicted labels of rows of codes."""
        return self.probabilities(self.encoder.from_raw(raw)).argmax(axis=1)

    def of_rows(self, rows: list[dict[str, Any]]) -> np.ndarray:
        """The network's answers to rows of values."""
        import pandas

        return self.probabilities(self.encoder.encode(pandas.DataFrame(rows), out_of_range="clip"))


def made(adult: Any, seed: int, *, is_full: bool) -> World:
    """Train the network, choose the rows."""
    sensitive = ("race", "sex") if is_full else ("sex",)
    kept = [c for c in adult.bounded_by(adult.is_train).columns if c.name != "education_num"]
    schema = TableSchema(tuple(kept)).with_columns(
        {c.name: {"sensitive": c.name in sensitive, "immutable": c.name == "race"} for c in kept}
    )
    frame = adult.frame[list(schema.names)]
    encoder = TableEncoder(schema, scaling="min_max", one_hot=True)
    raw = TableEncoder(schema).encode(frame, out_of_range="clip")
    # What lies beyond the bounds of the training rows is clipped once, for both views.
    frame = TableEncoder(schema).decode(raw)
    x = encoder.from_raw(raw)
    train, test = np.flatnonzero(adult.is_train), np.flatnonzero(~adult.is_train)
    split = data.Split("adult", encoder.schema, x[train], adult.label[train], x[test], adult.label[test])
    n_train = None if is_full else TRAINING_ROWS
    network = models.trained("mlp", split, seed=seed, rows=n_train, epochs=10)
    # The text model is trained on the rows that the network saw.
    taught = train[np.random.default_rng(seed).permutation(len(train))[:n_train]]
    rng = np.random.default_rng(seed + 1)
    chosen = test[rng.permutation(len(test))[:ROWS]]
    teller = Teller(built_in("adult", schema), schema, "she_he")

    def told(numbers: np.ndarray) -> list[str]:
        return [teller.tell(row).text for row in frame.iloc[numbers].to_dict("records")]

    checked = test[:CHECKED_ROWS]
    return World(
        encoder=encoder,
        teller=teller,
        estimator=network.target.estimator,
        accuracy=network.accuracy,
        raw=raw[chosen],
        x=x[chosen],
        label=adult.label[chosen],
        rows=frame.iloc[chosen].to_dict("records"),
        told=told(taught),
        told_label=adult.label[taught],
        test_told=told(checked),
        test_label=adult.label[checked],
    )


def text_model(world: World) -> tuple[Callable[[list[str]], np.ndarray], float]:
    """TF-IDF and logistic regression on told rows, and its accuracy."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, token_pattern=r"[\w'-]+")
    model = LogisticRegression(C=4.0, max_iter=500).fit(words.fit_transform(world.told), world.told_label)

    def predict(texts: list[str]) -> np.ndarray:
        return np.asarray(model.predict_proba(words.transform(texts)))

    return predict, float((predict(world.test_told).argmax(axis=1) == world.test_label).mean())


def drawn_edit(schema: TableSchema, row: np.ndarray, rng: np.random.Generator) -> dict[int, float]:
    """Other values of 1 to ``EDITS`` fields, out of those that the told view has: feature to code."""
    free = [c for c in schema.columns if not c.sensitive and not c.immutable]
    edit = {}
    for place in rng.choice(len(free), size=int(rng.integers(1, EDITS + 1)), replace=False):
        column = free[place]
        feature = schema.slice_of(column.name).start
        if column.values is not None:
            edit[feature] = float(rng.choice(column.values))
        else:
            step = int(rng.integers(1, STEPS + 1)) * int(rng.choice((-1, 1)))
            moved = np.array([[row[feature] + step * (column.step or 1.0)]])
            edit[feature] = float(column.nearest(moved)[0, 0])
    return edit
