"""`rif tabular` behind its command line: input, attacks at equal budgets, measure, records, files."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from art.estimators.classification import SklearnClassifier
from fakes.embedding_models import FieldModel, field_schema
from fakes.loan_world import FUNCTION, PIPELINE, loans, write
from fakes.row_world import mixed_classifier, mixed_rows, mixed_schema, torch_module
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from rif_plugins.errors import DataError, UsageError, VictimError
from rif_plugins.reports.csv_file import plain
from rif_plugins.runner.tabular import run_tabular
from rif_plugins.runner.tabular_attacks import (
    ATTACK_NAMES,
    AXES,
    AttackBudget,
    GeneratedRows,
    RowTarget,
    build_attack,
    parse_attacks,
    run_attack,
)
from rif_plugins.runner.tabular_files import records_of, write_run
from rif_plugins.runner.tabular_input import TabularInput, TabularOptions
from rif_plugins.runner.tabular_labels import class_names, class_numbers, label_column
from rif_plugins.runner.tabular_measure import draw_seeds, measure, unit_rows
from rif_plugins.runner.tabular_text import render
from rif_plugins.tables import ColumnSpec, TableEncoder, TableSchema
from rif_plugins.tabular.estimators import as_estimator
from rif_plugins.tabular.gradients import gradient_source
from rif_plugins.tabular.row_estimator import RowEstimator

DOCS = Path(__file__).parents[2] / "docs" / "tabular.md"
SMALL = AttackBudget(2, 2)
PAIR = TableSchema(
    (
        ColumnSpec("n", "integer", low=0, high=9),
        ColumnSpec("a", "categorical", values=(0.0, 1.0), sensitive=True),
    )
)


def step_model(x: np.ndarray) -> np.ndarray:
    """Class 1 where ``n + 2 a`` is 5 or more."""
    p = np.where(x[:, 0] + 2 * x[:, 1] >= 5, 0.9, 0.1)
    return np.stack([1 - p, p], axis=1)


def generated(rows: Any, label: Any, source: Any, attack: str = "pgd") -> GeneratedRows:
    n = len(rows)
    names = np.full(n, "")
    return GeneratedRows(
        attack, np.asarray(rows, float), np.asarray(rows, float), np.asarray(label), np.asarray(source),
        names, names, np.ones(n, dtype=int), {"victim_rows": 7}, 0.5,
    )  # fmt: skip


def prepared(folder: Path, program_text: str = FUNCTION, **changes: Any) -> TabularInput:
    program, data = write(folder, program_text)
    options = TabularOptions(
        Path(program), Path(data), sensitive=("sex",), label_column="granted", attacks=("robustfair", "pgd"),
        budget=SMALL, n_seeds=12,
    )  # fmt: skip
    return TabularInput.prepare(dataclasses.replace(options, **changes))


# --- attacks and their budgets


def test_attack_names() -> None:
    assert parse_attacks("all") == ATTACK_NAMES
    assert parse_attacks("PGD, rifair_gradient,adf") == ("rifair-gradient", "adf", "pgd")
    for bad, shown in (("adf,xyz", "'xyz'"), (" ,", "none")):
        with pytest.raises(UsageError, match=rf"--attack: expected all or some of robustfair.*got {shown}"):
            parse_attacks(bad)


def test_budgets() -> None:
    assert AttackBudget(10, 10).steps == 100
    assert (AttackBudget(10, 0).steps, AttackBudget(0, 7).steps) == (10, 7)
    with pytest.raises(UsageError, match="one is 1 or more"):
        AttackBudget(0, 0)
    with pytest.raises(UsageError, match="eps is 0, expected a share"):
        AttackBudget(eps=0)
    target = RowTarget(mixed_classifier("logits"), mixed_schema())
    assert build_attack("pgd", target, SMALL).attack_settings["max_iter"] == 4
    assert build_attack("rifair-gradient", target, SMALL).max_iter == 4
    adf = build_attack("adf", target, SMALL)
    assert (adf.n_global, adf.n_local, adf.stop_when_found) == (2, 2, False)
    with pytest.raises(UsageError, match="attack 'x' does not exist"):
        build_attack("x", target, SMALL)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_every_attack_gives_valid_distinct_rows(name: str) -> None:
    schema, x = mixed_schema(), mixed_rows(12, seed=3)
    target = RowTarget(mixed_classifier("logits"), schema)
    found = run_attack(name, target, x, np.arange(12) % 2, SMALL, seed=1)
    assert len(found)
    assert not schema.violations(found.rows, found.original).any()
    keys = np.concatenate([found.rows, found.label[:, None]], axis=1)
    assert len(np.unique(keys, axis=0)) == len(keys)
    assert (found.original == x[found.source]).all()
    again = run_attack(name, target, x, np.arange(12) % 2, SMALL, seed=1)
    assert (again.rows == found.rows).all()
    measured = measure(found, target, 12)
    assert measured.confusion.total == len(found)
    assert measured.to_dict(np.ones(12, dtype=bool))["looks_for"] == AXES[name]


def test_an_embedding_model_goes_packed_to_the_gradient_attack_only() -> None:
    encoder = TableEncoder(field_schema())
    x = np.array([[0.0, 2, 0], [1, 3, 1], [2, 5, 0], [0, 7, 1]])
    found = as_estimator(FieldModel(), encoder, x)
    assert found.reads == "packed"
    target = RowTarget(found.plain, encoder.schema, found.packed)
    white = run_attack("rifair-gradient", target, x, np.array([1, 0, 1, 0]), SMALL)
    black = run_attack("robustfair", target, x, np.array([1, 0, 1, 0]), SMALL)
    assert white.rows.shape[1] == black.rows.shape[1] == 3
    assert not encoder.schema.violations(white.rows, white.original).any()
    assert (white.cost["is_black_box"], black.cost["is_black_box"]) == (False, True)


# --- measure and seeds


def test_measure_by_hand() -> None:
    target = RowTarget(RowEstimator(step_model, 2, 2), PAIR)
    rows = [[1, 0], [4, 0], [4, 1], [7, 0]]  # TF, TB, FB, FF
    found = measure(generated(rows, [0, 0, 0, 0], [0, 0, 1, 2]), target, 3)
    assert found.outcomes.tolist() == [0, 1, 3, 2]
    assert found.is_false_seed.tolist() == [False, True, True]
    assert found.is_biased_seed.tolist() == [True, True, False]
    assert found.confusion.counts == (1, 1, 1, 1)
    assert (found.own_axis, found.confusion.n_false_or_biased) == (2, 3)
    rate = found.seed_rate(np.array([True, False, True]))
    assert (rate.successes, rate.total) == (2, 2)
    table = found.to_dict(np.ones(3, dtype=bool))
    assert (table["n_valid"], table["n_frozen_moved"], table["victim_rows"]) == (4, 0, 7)
    assert table["mean_similarity"] is None
    by_axis = {name: measure(generated(rows, [0] * 4, [0, 0, 1, 2], name), target, 3) for name in AXES}
    assert by_axis["adf"].own_axis == 2
    assert by_axis["robustfair"].own_axis == 3


def test_measure_of_nothing() -> None:
    target = RowTarget(RowEstimator(step_model, 2, 2), PAIR)
    found = measure(generated(np.zeros((0, 2)), np.zeros(0, int), np.zeros(0, int)), target, 2)
    table = found.to_dict(np.array([True, False]))
    assert (table["n_rows"], table["n_false_or_biased"], table["false_rate"]) == (0, 0, None)
    assert table["broken_seed_rate"]["value"] == 0


def test_seeds_are_distinct_rows_of_the_data() -> None:
    x, y = mixed_rows(50), np.arange(50) % 2
    index, chosen = draw_seeds(x, y, mixed_schema(), 30, seed=1)
    assert len(set(index.tolist())) == 30
    assert (draw_seeds(x, y, mixed_schema(), 30, seed=1)[0] == index).all()
    assert sorted(draw_seeds(x, y, mixed_schema(), 50, seed=2)[0]) == list(range(50))
    assert chosen.centroids.min() >= 0
    assert chosen.centroids.max() <= 1


def test_unit_rows_by_hand() -> None:
    schema = TableSchema(
        (
            ColumnSpec("income", "numeric", low=-10, high=10),
            ColumnSpec("free", "numeric"),
            ColumnSpec("same", "integer", low=3, high=3),
            ColumnSpec("a", "categorical", values=(0.0, 4.0), sensitive=True),
        )
    )
    unit = unit_rows(np.array([[-5.0, 7.0, 3.0, 4.0]]), schema)
    assert unit.tolist() == [[0.25, 7.0, 0.0, 1.0]]


# --- models


def test_logistic_regression_is_a_white_box_with_the_right_gradient() -> None:
    encoder = TableEncoder(mixed_schema())
    x = mixed_rows(40)
    model = LogisticRegression(max_iter=2000).fit(x / x.max(axis=0), np.arange(40) % 2)
    found = as_estimator(model, encoder, x)
    source = gradient_source(found.plain, encoder.schema)
    assert not source.is_black_box
    _, gradient = source.gradient(x[:3], np.array([1, 1, 1]), "class")
    p = model.predict_proba(x[:3])
    assert gradient == pytest.approx((p[:, 0] * p[:, 1])[:, None] * model.coef_, abs=1e-6)


def test_other_classifiers_are_black_boxes() -> None:
    encoder, x = TableEncoder(mixed_schema()), mixed_rows(40)
    forest = RandomForestClassifier(3, random_state=0).fit(x, np.arange(40) % 2 + 1)
    found = as_estimator(forest, encoder, x)
    assert (found.class_names, found.n_labels, found.reads) == (("1", "2"), 2, "array")
    assert gradient_source(found.plain, encoder.schema).is_black_box
    assert (found.plain.predict(x) == forest.predict_proba(x)).all()
    ready = SklearnClassifier(forest)
    assert as_estimator(ready, encoder, x).plain is ready
    assert as_estimator(torch_module(11, form="sigmoid", n_outputs=1), encoder, x).n_labels == 2


def test_a_model_of_data_frames_sees_raw_values_and_nearest_codes() -> None:
    frame = loans().drop(columns="granted")
    encoder = TableEncoder(TableSchema.infer(frame, sensitive=["sex"]))
    seen: list[pd.DataFrame] = []

    def model(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows)
        return np.full((len(rows), 3), 1 / 3)

    found = as_estimator(model, encoder, encoder.encode(frame), reads="frame")
    assert (found.n_labels, found.reads) == (3, "frame")
    found.plain.predict(np.array([[33.4, 0.6, 0.2]]))
    assert seen[-1].to_dict("records") == [{"age": 33, "job": "nurse", "sex": "female"}]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier, "is the class RandomForestClassifier"),
        (object(), "`model` is a object, expected a fitted scikit-learn"),
        (lambda x: x[0] / 0, "the model returned shape|the model raised"),
        (lambda x: {}["gone"], "the model raised KeyError: 'gone'"),
        (lambda x: np.full((len(x), 2), np.nan), "NaN"),
        (RandomForestClassifier(), "not fitted yet.*--reads"),
        (torch_module(7), "the torch model raised RuntimeError.*--one-hot"),
        (
            SklearnClassifier(RandomForestClassifier(2).fit(np.eye(4), [0, 1, 0, 1])),
            "takes rows of shape|X has",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_unusable_models(model: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        as_estimator(model, TableEncoder(mixed_schema()), mixed_rows(10))
    assert "\n" not in str(caught.value)


def test_differences_see_the_threshold_of_a_tree_beyond_one_inferred_step() -> None:
    frame = pd.DataFrame({"n": [0, 50, 99], "r": [0.0, 0.5, 1.0], "a": ["x", "y", "y"]})
    encoder = TableEncoder(TableSchema.infer(frame, sensitive=["a"]))
    assert [column.step for column in encoder.schema.columns[:2]] == [1, 0.01]

    def tree(x: np.ndarray) -> np.ndarray:
        p = 0.2 + 0.5 * (x[:, 0] >= 50) + 0.1 * (x[:, 1] > 0.53)
        return np.stack([1 - p, p], axis=1)

    source = gradient_source(RowEstimator(tree, 3, 2), encoder.schema)
    _, gradient = source.gradient(np.array([[47.0, 0.5, 0.0]]), np.array([1]), "class")
    assert gradient[0] == pytest.approx([0.5 / 10, 0.1 / 0.1, 0.0])


# --- input


def test_a_function_and_its_table(tmp_path: Path) -> None:
    given = prepared(tmp_path)
    assert given.x.shape == (60, 3)
    assert given.y.tolist() == (loans()["granted"] == "yes").astype(int).tolist()
    assert (given.label_names, given.is_inferred, given.reads) == (("no", "yes"), True, "array")
    assert given.numbers[:3].tolist() == [1, 2, 3]


def test_a_pipeline_reads_the_raw_table(tmp_path: Path) -> None:
    given = prepared(tmp_path, PIPELINE)
    assert (given.reads, given.label_names) == ("frame", ("no", "yes"))
    assert (given.target.estimator.predict(given.x).argmax(axis=1) == given.y).mean() > 0.9


def test_labels_may_be_the_models_own(tmp_path: Path) -> None:
    given = prepared(tmp_path, labels="predicted")
    assert given.encoder.raw.names == ("age", "job", "sex")
    assert (given.y == (loans()["granted"] == "yes")).all()


def test_an_encoder_of_the_models_file(tmp_path: Path) -> None:
    model = (
        FUNCTION
        + """
import pandas as pd
from rif_plugins.tables import TableEncoder, TableSchema
inner = model
frame = pd.DataFrame({"age": [20, 60], "job": ["=cook", "nurse"], "sex": ["female", "male"]})
encoder = TableEncoder(TableSchema.infer(frame, sensitive=["sex"]), scaling="min_max")
def model(x):
    return inner(x * [40, 1, 1] + [20, 0, 0])
"""
    )
    given = prepared(tmp_path, model, sensitive=())
    assert given.x[:, 0].max() <= 1
    assert (given.target.estimator.predict(given.x).argmax(axis=1) == given.y).all()
    with pytest.raises(UsageError, match=r"brings its own `encoder`.*leave --schema"):
        prepared(tmp_path, model)
    with pytest.raises(UsageError, match="`encoder` is int, expected a TableEncoder"):
        prepared(tmp_path, FUNCTION + "encoder = 3\n", sensitive=())


def test_marks_of_the_command_line_replace_those_of_the_schema(tmp_path: Path) -> None:
    given = prepared(tmp_path)
    file = tmp_path / "s.toml"
    file.write_text(given.encoder.raw.to_toml(), encoding="utf-8")
    again = prepared(tmp_path, schema=file, sensitive=("job",), immutable=("age",))
    marks = {c.name: (c.sensitive, c.immutable) for c in again.encoder.raw.columns}
    assert marks == {"age": (False, True), "job": (True, False), "sex": (False, False)}
    assert not again.is_inferred
    file.write_text(given.encoder.raw.to_toml().replace("sensitive = true", ""), encoding="utf-8")
    with pytest.raises(DataError, match="no column of the schema is sensitive"):
        prepared(tmp_path, schema=file, sensitive=())


def test_tables_of_several_forms(tmp_path: Path) -> None:
    whole = prepared(tmp_path)
    frame = loans()
    frame.to_parquet(tmp_path / "l.parquet")
    frame.to_csv(tmp_path / "l.tsv", sep="\t", index=False)
    frame.to_csv(tmp_path / "semicolon.csv", sep=";", index=False)
    for name in ("l.parquet", "l.tsv", "semicolon.csv"):
        given = TabularInput.prepare(dataclasses.replace(whole.options, data=tmp_path / name))
        assert (given.x == whole.x).all()
    frame.loc[1, "job"] = None
    frame.to_csv(tmp_path / "gap.csv", index=False)
    options = dataclasses.replace(whole.options, data=tmp_path / "gap.csv")
    with pytest.raises(DataError, match="column 'job' misses"):
        TabularInput.prepare(options)
    given = TabularInput.prepare(dataclasses.replace(options, missing="drop", limit=5))
    assert given.numbers.tolist() == [1, 3, 4, 5, 6]
    assert given.notes == ("1 of 60 rows miss a value and were dropped",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", None, "no data file"),
        ("x.csv", "", "cannot read x.csv as a table"),
        ("x.csv", "age,job,sex,granted\n", "holds no row"),
        ("x.csv", "a,a,sex,granted\n1,2,m,yes\n", "two columns called 'a'"),
        ("x.json", "{}", r"ends in '\.json', expected \.csv"),
        ("x.parquet", "no", "cannot read x.parquet as a table"),
    ],
)
def test_unusable_tables(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    write(tmp_path)
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    options = TabularOptions(tmp_path / "model.py", tmp_path / name, sensitive=("sex",))
    with pytest.raises(UsageError, match=message):
        TabularInput.prepare(options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitive": ()}, "say --sensitive NAME,NAME; the table has age, job, sex, granted"),
        ({"label_column": "no"}, "--label-column no: the table has no such column"),
        ({"label_column": None}, r"which column holds the label\? Say --label-column"),
        ({"label_names": ("a", "b", "c")}, "--label-names: 3 names for 2 classes"),
        ({"label_names": ("a", "b")}, "the label of row 1 is '(yes|no)', expected one of a, b"),
        ({"sensitive": ("height",)}, "sensitive names the column 'height'"),
        ({"schema": Path("gone.toml")}, "no schema file gone.toml"),
        ({"model": Path("gone.py")}, "no file 'gone.py'"),
        ({"reads": "frame"}, "the model raised"),
    ],
)
def test_unusable_requests(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        prepared(tmp_path, **changes)


def test_a_file_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(VictimError, match=r"model\.py sets no variable `model`"):
        prepared(tmp_path, "x = 1\n")


def test_one_class_only_is_told(tmp_path: Path) -> None:
    given = prepared(tmp_path)
    loans()[loans()["granted"] == "no"].to_csv(tmp_path / "no.csv", index=False)
    one = TabularInput.prepare(dataclasses.replace(given.options, data=tmp_path / "no.csv"))
    assert one.notes == (f"all {len(one.y)} rows have the label no: the rates are those of one class",)


def test_labels() -> None:
    numbers = np.array([1, 2, 3])
    assert class_numbers(pd.Series(["b", "a", "b"]), ("a", "b"), 2, numbers).tolist() == [1, 0, 1]
    assert class_numbers(pd.Series([1.0, 0.0, 1.0]), None, 2, numbers).tolist() == [1, 0, 1]
    assert class_numbers(pd.Series([1, 0, 1]), ("no", "yes"), 2, numbers).tolist() == [1, 0, 1]
    assert class_numbers(pd.Series([1, 2, 1]), ("1", "2"), 2, numbers).tolist() == [0, 1, 0]
    with pytest.raises(DataError, match="row 3 is '2', expected one of 0, 1: say --label-names"):
        class_numbers(pd.Series([1, 0, 2]), None, 2, numbers)
    with pytest.raises(DataError, match="the label of row 2 is missing"):
        class_numbers(pd.Series([1, None, 0]), None, 2, numbers)
    frame = pd.DataFrame(columns=["a", "Label", "z"])
    assert label_column("given", None, frame, None) == "Label"
    assert label_column("given", None, frame, ("a", "Label")) == "z"
    assert label_column("predicted", None, frame, None) is None
    with pytest.raises(DataError, match="the schema describes this column as a feature"):
        label_column("given", "a", frame, ("a",))
    found = types.SimpleNamespace(class_names=("x", "y"), n_labels=2)
    assert class_names(None, types.SimpleNamespace(), found) == ("x", "y")
    assert class_names(None, types.SimpleNamespace(label_names=["p", "q"]), found) == ("p", "q")
    assert class_names(("r", "s"), types.SimpleNamespace(label_names=["p", "q"]), found) == ("r", "s")


# --- runs and files


def test_a_run_and_its_files(tmp_path: Path) -> None:
    given = prepared(tmp_path)
    lines: list[str] = []
    run = run_tabular(given, lines.append)
    assert [line.split(":")[0] for line in lines] == ["robustfair", "pgd"]
    out = tmp_path / "out"
    summary = write_run(run, out)
    assert summary == json.loads((out / "summary.json").read_text())
    assert (summary["n_rows"], summary["n_seeds"], summary["n_counterparts"]) == (60, 12, 1)
    assert summary["accuracy"]["value"] == 1.0
    reach = loans()["age"].to_numpy()
    is_biased = (reach >= 30) & (reach < 40) & (loans()["job"] != "=cook").to_numpy()
    assert summary["individual_fairness_rate"]["successes"] == int((~is_biased).sum())
    assert summary["clean_outcomes"]["robust_biased"] == int(is_biased[run.seeds].sum())
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    found = sum(table["n_false_or_biased"] for table in summary["attacks"])
    assert len(records) == found > 0
    check_records(records)
    rows = list(csv.DictReader(io.StringIO((out / "findings.csv").read_text())))
    assert [row["id"] for row in rows] == [record["id"] for record in records]
    for row, record in zip(rows, records, strict=True):
        assert plain(row["job"]) == record["perturbed_original"]["job"]
        assert not row["job"].startswith("=")
    configuration = json.loads((out / "run.json").read_text())
    assert configuration["seed_rows"] == (run.seeds + 1).tolist()
    assert configuration["options"]["data"] == "loans.csv"
    assert TableSchema.from_toml(out / "schema.toml") == given.encoder.raw
    text = render(summary)
    assert "Black box, gradients by differences of outputs (counted in model rows): robustfair, pgd." in text
    assert "robustfair" in text


def check_records(records: list[dict[str, Any]]) -> None:
    """Every record agrees with the rule of the model, and with itself."""
    for record in records:
        sides = [record[name] for name in ("perturbed_original", "perturbed_similar")]
        granted = [s["age"] + 10 * (s["sex"] == "male") >= 40 and s["job"] != "=cook" for s in sides]
        names = ["yes" if one else "no" for one in granted]
        assert names == [record["prediction"], record["similar_prediction"]]
        is_robust, is_fair = names[0] == record["label"], names[0] == names[1]
        outcome = f"{'robust' if is_robust else 'unrobust'}_{'fair' if is_fair else 'biased'}"
        assert outcome == record["outcome"] != "robust_fair"
        assert record["differs"] == ["sex"]
        assert record["original"]["sex"] == record["perturbed_original"]["sex"]
        assert set(record["changed"]) <= {"age", "job"}
        assert record["is_valid"]
        seed = loans().iloc[record["row"] - 1]
        assert record["original"] == {"age": seed["age"], "job": seed["job"], "sex": seed["sex"]}


def test_records_are_spread_over_the_seeds(tmp_path: Path) -> None:
    given = prepared(tmp_path, attacks=("robustfair",), max_records=5)
    run = run_tabular(given)
    measured = run.attacks[0]
    violating = measured.generated.source[measured.outcomes > 0]
    records = list(records_of(run, measured))
    assert len(violating) > 5
    assert len(records) == 5
    rows = {record["row"] for record in records}
    assert len(rows) == min(5, len(set(violating.tolist())))


def test_all_rows_as_seeds(tmp_path: Path) -> None:
    run = run_tabular(prepared(tmp_path, n_seeds=None, attacks=("fgsm",)))
    assert run.seeds.tolist() == list(range(60))
    assert len(run.attacks[0].generated) == len(np.unique(run.given.x, axis=0))


def test_an_attack_on_a_model_that_fails_is_an_error_of_its_own(tmp_path: Path) -> None:
    refusal = """def model(x):
    if np.abs(x[:, 0] - np.rint(x[:, 0])).max() > 1e-3:
        raise MemoryError("only whole years")
"""
    model = FUNCTION.replace("def model(x):\n", refusal)
    run = run_tabular(prepared(tmp_path, model, attacks=("pgd", "robustfair"), n_seeds=5))
    assert [measured.name for measured in run.attacks] == ["robustfair"]
    assert run.errors == {
        "pgd": "the model raised MemoryError: only whole years: it must answer every batch of rows"
    }
    assert "pgd: error: the model raised" in render(run.summary())


def test_the_folder_of_another_command_is_left_alone(tmp_path: Path) -> None:
    run = run_tabular(prepared(tmp_path, attacks=("fgsm",)))
    out = tmp_path / "out"
    write_run(run, out)
    write_run(run, out)  # its own results may be replaced
    (out / "results.jsonl").write_text('{"schema": "rif-results/1"}\n')
    with pytest.raises(UsageError, match="holds the results of another command"):
        write_run(run, out)


# --- the page


def test_the_quick_start_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    code = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert len(code.strip().splitlines()) <= 15
    loans(80).to_csv(tmp_path / "loans.csv", index=False)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    assert "robust and fair" in capsys.readouterr().out
    assert not names["encoder"].schema.violations(names["pairs"].perturbed_original).any()


def test_the_schema_of_the_page_is_one(tmp_path: Path) -> None:
    page = DOCS.read_text(encoding="utf-8")
    file = tmp_path / "s.toml"
    file.write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0], encoding="utf-8")
    schema = TableSchema.from_toml(file)
    assert schema.names == ("age", "job", "sex")
    assert len(schema.sensitive_tuples()) == 2
