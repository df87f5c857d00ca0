"""Retraining of classifiers of rows: who teaches, who tests, what the trained model is given."""

from __future__ import annotations

import csv
import dataclasses
import json
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rif_plugins.errors import DataError, UsageError
from rif_plugins.runner.row_fitting import (
    ModuleFitter,
    RowEstimatorFitter,
    RowFunctionFitter,
    TrainingTable,
    load_row_fitter,
)
from rif_plugins.runner.row_retraining import RowPlan, RowTrial, retrain_rows
from rif_plugins.runner.row_runs import RowRun, encoded_table, load_row_run, read_row_records
from rif_plugins.runner.row_testing import clean_counts, seed_counts
from rif_plugins.runner.tabular import run_tabular
from rif_plugins.runner.tabular_attacks import AttackBudget
from rif_plugins.runner.tabular_files import raw_rows, write_run
from rif_plugins.runner.tabular_input import TabularInput, TabularOptions
from rif_plugins.tables import TableEncoder, TableSchema
from rif_plugins.training.rows import RowAugmentation, RowSelection, row_key

# The label is the age; a model of both columns gives women less.
MODEL = """
import numpy as np
from sklearn.linear_model import LogisticRegression

label_names = ["no", "yes"]


def fit(x, y, weights=None, seed=0):
    return LogisticRegression(C=100.0).fit(x, y, sample_weight=weights)


draw = np.random.default_rng(5)
x = np.stack([draw.integers(low, high, 400) for low, high in ((20, 61), (0, 2), (0, 51), (0, 2))], 1)
model = fit(x, (x[:, 0] + 8 * x[:, 3] >= 44).astype(int))
"""


def table(n: int, seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": draw.integers(20, 61, n),
            "job": draw.choice(["cook", "nurse"], n),
            "pay": draw.integers(0, 51, n),
            "sex": draw.choice(["female", "male"], n),
        }
    )
    for name, low, high in (("age", 20, 60), ("pay", 0, 50)):
        frame.loc[0, name], frame.loc[1, name] = low, high
    frame["granted"] = np.where(frame["age"] >= 40, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with its model and tables."""
    where = tmp_path_factory.mktemp("rows")
    (where / "model.py").write_text(MODEL, encoding="utf-8")
    table(120, 1).to_csv(where / "searched.csv", index=False)
    table(300, 2).to_csv(where / "train.csv", index=False)
    options = TabularOptions(
        where / "model.py", where / "searched.csv", sensitive=("sex",), label_column="granted",
        attacks=("robustfair", "fgsm"), budget=AttackBudget(3, 2), n_seeds=60,
    )  # fmt: skip
    write_run(run_tabular(TabularInput.prepare(options)), where / "run")
    return where


def loaded(folder: Path) -> tuple[RowRun, types.ModuleType]:
    return load_row_run(folder / "run", folder / "model.py", folder / "searched.csv")


@pytest.fixture(scope="module")
def run(folder: Path) -> RowRun:
    return loaded(folder)[0]


@pytest.fixture(scope="module")
def train(run: RowRun, folder: Path) -> tuple[Any, Any]:
    return encoded_table(run.given, folder / "train.csv")[:2]


def test_the_run_is_what_was_searched(run: RowRun) -> None:
    assert len(run.seeds) == 60
    assert run.given.numbers[run.seeds].tolist() == run.configuration["seed_rows"]
    assert run.sensitive == ("sex",)
    assert run.given.options.budget == AttackBudget(3, 2)
    assert run.given.label_names == ("no", "yes")
    assert run.given.options.label_column == "granted"


def test_what_the_training_data_say_otherwise_is_not_taught(run: RowRun, train: tuple[Any, Any]) -> None:
    x, y = train
    trial = RowTrial.prepare(run, x, y)
    free = trial.augmentation(RowSelection())
    taught = free.rows[0]
    (encoded,) = run.given.encoder.encode(pd.DataFrame([taught.values]), out_of_range="keep")
    other = 1 - taught.label

    def rows(*labels: int, estimated: bool = False) -> list[str]:
        more = np.vstack([x, *[encoded] * len(labels)]), np.concatenate([y, labels]).astype(y.dtype)
        found = RowTrial.prepare(run, *more).augmentation(RowSelection(), estimated=estimated).rows
        return [row_key(row.values) for row in found]

    key = row_key(taught.values)
    assert key in rows() and key in rows(taught.label)
    assert key not in rows(other)
    # Data that contradict themselves say nothing, and the publication's way does not ask them.
    assert key in rows(taught.label, other)
    assert (key in rows(estimated=True)) == (key in rows(other, estimated=True))


def test_before_and_after_on_seeds_that_were_not_taught(
    run: RowRun, train: tuple[Any, Any], folder: Path, tmp_path: Path
) -> None:
    fitter = load_row_fitter(loaded(folder)[1], "model.py")
    told: list[str] = []
    result = retrain_rows(run, train, fitter, RowPlan(seeds=2), out=tmp_path, tell=told.append)
    found = {change.name: change for change in result.changes}
    assert tuple(found)[-3:] == ("clean_accuracy", "clean_fairness", "clean_both")
    # Only the model as it is was trained with a label that depends on the sex.
    change = found["robust_biased.found_rate"]
    assert change.is_clear and change.difference is not None and change.difference < -0.1
    assert found["clean_fairness"].is_clear
    assert change.n_before == result.configuration["n_held_out"]
    assert result.frozen_any["augmented"][0].successes <= result.frozen_any["augmented"][0].total
    assert told[0].startswith("before: searching ")
    assert told[-1].startswith("control, seed 2 of 2: searching ")
    written = json.loads((tmp_path / "retrain.json").read_text(encoding="utf-8"))
    assert written["unit"] == "seeds"
    assert written["augmentation"]["n_rows"] == len(result.augmentation)
    arms = ("augmented-0", "augmented-1", "before", "control-0", "control-1")
    assert tuple(sorted(path.name for path in tmp_path.iterdir() if path.is_dir())) == arms
    again = json.loads((tmp_path / "before" / "run.json").read_text(encoding="utf-8"))
    assert len(again["seed_rows"]) == result.configuration["n_held_out"]
    with (tmp_path / "augmentation.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result.augmentation)
    assert {row["granted"] for row in rows} <= {"no", "yes"}
    # A row in the form of the training data is read like one.
    _, y, _ = encoded_table(run.given, tmp_path / "augmentation.csv")
    assert y.tolist() == [row.label for row in result.augmentation.rows]


def test_nobody_who_tests_is_trained_on(run: RowRun) -> None:
    # The searched table itself as the training data: its held-out individuals are taken out.
    given = run.given
    trial = RowTrial.prepare(run, given.x, given.y)
    rows = trial.augmentation(RowSelection())
    assert len(rows) > 10
    tested = given.x[trial.held_out]
    keys = {tuple(row[:3]) for row in tested}
    assert not keys & {tuple(row[:3]) for row in trial.x}
    assert not keys & {tuple(given.encoder.encode(pd.DataFrame([row.values]))[0, :3]) for row in rows.rows}
    numbers = set(given.numbers[trial.held_out].tolist())
    assert not {row.row for row in rows.rows} & numbers
    assert {record["row"] for record in trial.testing} <= numbers
    assert len(trial.x) + trial.n_left_out == len(given.x)
    # Clean rows are those that test and are not trained on.
    known = {row_key({str(i): v for i, v in enumerate(row)}) for row in trial.x.tolist()}
    assert not known & {row_key({str(i): v for i, v in enumerate(row)}) for row in trial.test_x.tolist()}


def test_nobody_of_the_test_rows_is_taught(run: RowRun, train: tuple[Any, Any]) -> None:
    free = RowTrial.prepare(run, *train)
    rows = free.augmentation(RowSelection()).rows
    # The same individual with another sex stands in the test rows.
    values = [{**row.values, "sex": "male"} for row in rows if row.values["sex"] == "female"][:3]
    tested = run.given.encoder.encode(pd.DataFrame(values), out_of_range="keep")
    labels = np.zeros(len(tested), dtype=np.int64)
    more = np.vstack([train[0], tested]), np.concatenate([train[1], labels])
    trial = RowTrial.prepare(run, *more, test=(tested, labels))
    result = trial.augmentation(RowSelection(), estimated=True)
    people = {row_key(value, ["sex"]) for value in values}
    assert people and result.rows
    assert not people & {row_key(row.values, ["sex"]) for row in result.rows}
    gone = [row for row in rows if row_key(row.values, ["sex"]) in people]
    assert result.left_out["held out"] >= len(gone) >= len(people)
    # The training data keep them: equal people are common there.
    assert len(trial.x) == len(free.x) + len(tested)


def test_rows_of_the_searched_table_that_test_are_not_taught(run: RowRun, train: tuple[Any, Any]) -> None:
    trial = RowTrial.prepare(run, *train)
    assert all(row in trial.untaught for row in raw_rows(trial.test_x, run.given.encoder))
    assert len(trial.untaught) > len(trial.closed)


def test_labels_of_the_data_or_of_the_attack(run: RowRun, train: tuple[Any, Any]) -> None:
    records = tuple({**r, "label": "no" if r["label"] == "yes" else "yes"} for r in run.records)
    trial = RowTrial.prepare(dataclasses.replace(run, records=records), *train)
    by_row = dict(zip(run.given.numbers.tolist(), run.given.y.tolist(), strict=True))
    for row in trial.augmentation(RowSelection()).rows:
        assert row.label == by_row[row.row]
    label = {record["id"]: record["label"] for record in records}
    for row in trial.augmentation(RowSelection(), estimated=True).rows:
        assert ("no", "yes")[row.label] == label[row.record]


def test_the_model_gets_the_data_and_then_the_added_rows(run: RowRun, train: tuple[Any, Any]) -> None:
    seen: list[TrainingTable] = []

    class Spy:
        name = "spy"

        def fit(self, rows: TrainingTable, seed: int) -> Any:
            seen.append(rows)
            return LogisticRegression().fit(rows.x, rows.y)

    trial = RowTrial.prepare(run, *train)
    extra = trial.augmentation(RowSelection(weight=3.0))
    trial.train(Spy(), extra, 0)
    table = seen[0]
    assert table.n_augmented == len(extra)
    assert set(table.weights[: -len(extra)]) == {1.0}
    assert set(table.weights[-len(extra) :]) == {3.0}
    assert table.x[-1, 0] == extra.rows[-1].values["age"]
    one_class = dataclasses.replace(trial, y=np.zeros_like(trial.y))
    with pytest.raises(UsageError, match="no training row has the label 'yes'"):
        one_class.train(Spy(), RowAugmentation(), 0)


def test_old_findings_hold_on_the_model_that_had_them(run: RowRun, train: tuple[Any, Any]) -> None:
    trial = RowTrial.prepare(run, *train)
    tested = trial.test(run.given.target)
    assert tested.holds.successes == tested.holds.total == len(trial.testing) > 0
    assert tested.holds_any.successes == tested.holds.total


def test_counts_by_hand(run: RowRun) -> None:
    def attack(source: list[int], outcomes: list[int]) -> Any:
        return types.SimpleNamespace(
            generated=types.SimpleNamespace(source=np.array(source)), outcomes=np.array(outcomes)
        )

    made: Any = types.SimpleNamespace(
        seeds=np.array([0, 1, 2]),
        clean=np.array([0, 0, 1], dtype=np.int8),
        given=types.SimpleNamespace(numbers=np.array([7, 8, 9])),
        attacks=(attack([0, 0, 1], [1, 0, 0]), attack([2, 2], [2, 3])),
    )
    counts = seed_counts(made)
    assert counts["robust_biased.induced_rate"] == {"7": (1, 1), "8": (0, 1), "9": (0, 0)}
    assert counts["robust_biased.natural_rate"] == {"7": (0, 1), "8": (0, 1), "9": (1, 1)}
    assert counts["robust_biased.found_rate"] == {"7": (1, 1), "8": (0, 1), "9": (1, 1)}
    assert counts["unrobust_fair.induced_rate"] == {"7": (0, 1), "8": (0, 1), "9": (0, 0)}
    assert counts["unrobust_fair.found_rate"]["9"] == (1, 1)
    assert counts["any.induced_rate"] == counts["robust_biased.induced_rate"]
    # Ages 20 and 60 are far from where the sex decides; 41 is not.
    x = np.array([[20.0, 0, 9, 0], [60.0, 0, 9, 0], [41.0, 0, 9, 0]])
    clean = clean_counts(run.given.target, x, np.array([0, 0, 0]))
    assert [clean["clean_accuracy"][k][0] for k in "012"] == [1, 0, 1]
    assert [clean["clean_fairness"][k][0] for k in "012"] == [1, 1, 0]
    assert [clean["clean_both"][k][0] for k in "012"] == [1, 0, 0]


def test_nothing_to_teach_or_to_test(run: RowRun, train: tuple[Any, Any]) -> None:
    fitter = RowFunctionFitter("f", lambda x, y: None)
    with pytest.raises(UsageError, match="have no finding to learn from: search more seeds"):
        retrain_rows(run, train, fitter, RowPlan(min_similarity=0.9999999))
    with pytest.raises(UsageError, match="none of the 60 seeds is held out"):
        RowTrial.prepare(run, *train, share=1e-9)
    with pytest.raises(UsageError, match="no training row is left"):
        RowTrial.prepare(run, run.given.x[run.seeds], run.given.y[run.seeds], share=1.0)
    with pytest.raises(UsageError, match="--held-out must be above 0"):
        RowPlan(held_out=0.0)


# --- the folder of a run


def test_another_table_is_refused(folder: Path, tmp_path: Path) -> None:
    frame = table(120, 1)
    frame["age"] = frame["age"].to_numpy()[::-1]
    for name, part in (("other.csv", frame), ("short.csv", table(120, 1)[:20])):
        part.to_csv(tmp_path / name, index=False)
        with pytest.raises(DataError, match=r"name the table that was searched with --audited"):
            load_row_run(folder / "run", folder / "model.py", tmp_path / name)


def test_broken_folders(folder: Path, tmp_path: Path) -> None:
    text = (folder / "run" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(text[0])
    for bad, message in (
        ("{", "line 1: expected a record of schema 'rif-rows/1'"),
        (json.dumps({"schema": "rif-rows/1"}), "a record without 'id'"),
        (json.dumps({**record, "similar": 3}), "a record with a row that is no object"),
    ):
        (tmp_path / "results.jsonl").write_text(bad + "\n", encoding="utf-8")
        with pytest.raises(DataError, match=message):
            list(read_row_records(tmp_path / "results.jsonl"))
    with pytest.raises(DataError, match="does not exist: expected the folder of a `rif tabular`"):
        list(read_row_records(tmp_path / "none"))
    stored = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    for change, kind, message in (
        ({"options": {}}, DataError, "does not tell the options of its run"),
        ({"options": {**stored["options"], "labels": "predicted"}}, UsageError, "with --labels given"),
    ):
        (tmp_path / "run.json").write_text(json.dumps({**stored, **change}), encoding="utf-8")
        with pytest.raises(kind, match=message):
            load_row_run(tmp_path, folder / "model.py", folder / "searched.csv")
    (tmp_path / "empty.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"empty\.py sets no variable `model`"):
        load_row_run(folder / "run", tmp_path / "empty.py", folder / "searched.csv")


def test_training_rows_beyond_the_schema_are_told(run: RowRun, tmp_path: Path) -> None:
    frame = table(10, 3)
    frame.loc[2, "age"] = 99
    frame.to_csv(tmp_path / "t.csv", index=False)
    x, _, notes = encoded_table(run.given, tmp_path / "t.csv")
    assert x[2, 0] == 60
    assert notes == ["t.csv: 1 rows hold numbers beyond the schema, put on its bounds"]
    assert len(encoded_table(run.given, tmp_path / "t.csv", limit=4)[0]) == 4
    frame.drop(columns="granted").to_csv(tmp_path / "bare.csv", index=False)
    with pytest.raises(DataError, match=r"bare\.csv has no column 'granted'"):
        encoded_table(run.given, tmp_path / "bare.csv")


# --- fitters


def small(weights: tuple[float, ...] = (1.0,) * 6, reads: str = "array") -> TrainingTable:
    frame = table(6, 1)
    encoder = TableEncoder(TableSchema.infer(frame, sensitive=["sex"], label="granted"))
    y = (frame["granted"] == "yes").to_numpy().astype(np.int64)
    return TrainingTable(encoder.encode(frame), y, np.array(weights), encoder, reads)


def test_a_function_gets_what_it_asks_for() -> None:
    seen: dict[str, Any] = {}

    def fit(x: Any, y: Any, seed: int) -> str:
        seen.update(x=x, y=y, seed=seed)
        return "model"

    assert RowFunctionFitter("f.py", fit).fit(small(reads="frame"), 7) == "model"
    assert list(seen["x"].columns) == ["age", "job", "pay", "sex"]
    assert seen["seed"] == 7
    everything: dict[str, Any] = {}
    RowFunctionFitter("f.py", lambda x, y, **more: everything.update(more) or 1).fit(small(), 3)
    assert sorted(everything) == ["seed", "weights"]
    with pytest.raises(UsageError, match=r"f\.py: fit returned None, expected the trained model"):
        RowFunctionFitter("f.py", lambda x, y: None).fit(small(), 0)
    with pytest.raises(UsageError, match=r"f\.py: fit raised ZeroDivisionError: .*: mend the function"):
        RowFunctionFitter("f.py", lambda x, y: 1 / 0).fit(small(), 0)


def test_an_estimator_is_cloned_weighted_and_seeded() -> None:
    base = make_pipeline(StandardScaler(), LogisticRegression(random_state=1))
    rows = small((1.0, 1.0, 1.0, 1.0, 1.0, 50.0))
    model = RowEstimatorFitter("m.py", base).fit(rows, 9)
    assert model is not base and not hasattr(base[-1], "coef_")
    assert model[-1].random_state == 9
    plain = RowEstimatorFitter("m.py", base).fit(small(), 9)
    assert not np.allclose(plain[-1].coef_, model[-1].coef_)
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(UsageError, match=r"m\.py: the estimator cannot be fitted \(.*sample_weight"):
        RowEstimatorFitter("m.py", KNeighborsClassifier(1)).fit(rows, 0)


def test_a_torch_module_is_trained_from_fresh_weights() -> None:
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 2))
    before = [weight.detach().clone() for weight in module.parameters()]
    fitter = ModuleFitter("m.py", module, epochs=2)
    state = torch.random.get_rng_state()
    first, second, other = (fitter.fit(small(), seed) for seed in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    assert not first.training
    weights = [list(model.parameters()) for model in (first, second, other)]
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not torch.equal(weights[0][0], weights[2][0])
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))


def test_torch_modules_that_cannot_be_trained() -> None:
    import torch

    class Own(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(4))
            self.out = torch.nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return self.out(x * self.scale)

    with pytest.raises(UsageError, match="the weights 'scale' cannot be drawn again"):
        ModuleFitter("m.py", Own()).fit(small(), 0)
    with pytest.raises(UsageError, match=r"returns shape \(6, 1\), expected logits with a column a class"):
        ModuleFitter("m.py", torch.nn.Linear(4, 1)).fit(small(), 0)


def test_what_a_file_can_be_trained_by() -> None:
    import torch

    def file(**names: Any) -> Any:
        return types.SimpleNamespace(**names)

    assert isinstance(load_row_fitter(file(fit=len, model=1), "m.py"), RowFunctionFitter)
    assert isinstance(load_row_fitter(file(model=LogisticRegression()), "m.py"), RowEstimatorFitter)
    linear = load_row_fitter(file(model=torch.nn.Linear(4, 2)), "m.py", epochs=4, batch_size=8)
    assert isinstance(linear, ModuleFitter)
    assert (linear.epochs, linear.learning_rate, linear.batch_size) == (4, 1e-3, 8)
    for model in (len, torch.nn.ReLU()):
        with pytest.raises(
            UsageError, match=r"m\.py has no function `fit\(x, y\)`, and its `model` is neither"
        ):
            load_row_fitter(file(model=model), "m.py")


def test_packed_rows_for_models_with_an_embedding() -> None:
    assert small(reads="packed").inputs().shape == (6, 8)
