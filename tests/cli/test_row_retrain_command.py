"""`rif retrain` on a folder of `rif tabular`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rif_plugins.cli.main import main

MODEL = """
import pandas as pd
from pathlib import Path
from sklearn.tree import DecisionTreeClassifier
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.pipeline import make_pipeline

frame = pd.read_csv(Path(__file__).parent / "train.csv")
columns = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
model = make_pipeline(columns, DecisionTreeClassifier(max_depth=5, random_state=0))
model.fit(frame[["age", "pay", "sex"]], frame["granted"])
"""


def write(path: Path, n: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": draw.integers(20, 61, n), "pay": draw.integers(0, 51, n)})
    frame["sex"] = draw.choice(["female", "male"], n)
    frame.loc[[0, 1], ["age", "pay"]] = [[20, 0], [60, 50]]
    frame["granted"] = np.where(frame["age"] + 8 * (frame["sex"] == "male") >= 44, "yes", "no")
    frame.to_csv(path, index=False)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline of DataFrames, its training data, and a run from other rows."""
    folder = tmp_path_factory.mktemp("row-retrain")
    write(folder / "train.csv", 200, 1)
    write(folder / "searched.csv", 80, 2)
    write(folder / "test.csv", 60, 3)
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    code = main(
        [
            *("tabular", "--model", str(folder / "model.py"), "--data", str(folder / "searched.csv")),
            *("--sensitive", "sex", "--label-column", "granted", "--attack", "robustfair", "--seeds", "40"),
            *("--global-steps", "2", "--local-steps", "2", "--quiet", "--out", str(folder / "run")),
        ]
    )
    assert code == 0
    return folder


def arguments(world: Path, out: Path, *more: str, model: str = "model.py") -> list[str]:
    start = ["retrain", str(world / "run"), "--data", str(world / "train.csv"), "--out", str(out)]
    return [*start, "--model", str(world / model), "--audited", str(world / "searched.csv"), *more]


def test_a_table_and_files(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--test", str(world / "test.csv"), "--weight", "2", "--targets", "robust_biased")
    assert main(arguments(world, tmp_path, *more)) == 0
    printed = capsys.readouterr()
    assert "seeds that were not taught, searched afresh" in printed.out
    assert "clean rows: 60" in printed.out
    assert "any induced" in printed.out
    assert "clean fairness" in printed.out
    assert "(paired, over seeds) leaves out zero" in printed.out
    assert "; false or biased in whatever way: " in printed.out
    assert "augmented, seed 1 of 1: training on" in printed.err
    files = ["augmentation.csv", "augmentation.jsonl", "augmented-0", "before", "control-0", "retrain.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    lines = (tmp_path / "augmentation.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    known = [json.loads(line)["id"] for line in (world / "run" / "results.jsonl").read_text().splitlines()]
    assert {row["record"] for row in rows} <= set(known)
    assert {row["target"] for row in rows} == {"robust_biased"}
    assert main(arguments(world, tmp_path)) == 2
    assert "holds an earlier retraining: give another folder" in capsys.readouterr().err


def test_rows_that_test_teach_nothing(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(world, tmp_path, "--test", str(world / "searched.csv"))) == 2
    assert "rows are of data that test; --test, where given, needs other data" in capsys.readouterr().err


def test_the_searched_rows_may_be_the_training_data(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ["retrain", str(world / "run"), "--model", str(world / "model.py"), "--no-control"]
    more = ["--data", str(world / "searched.csv"), "--format", "json", "--out", str(tmp_path)]
    assert main([*start, *more]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["n_train"] + data["n_train_left_out"] == 80
    assert data["n_train_left_out"] >= data["n_held_out"]
    assert list(data["frozen"]) == list(data["frozen_any"]) == ["augmented"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--label-map", "x.json"], "--label-map is for texts, and "),
        (["--max-length", "9"], "is a run of rows: leave it out"),
        (["--targets", "fairness_only"], "expected some of robust_biased"),
        (["--min-similarity", "1"], "from 0 to below 1, got 1.0"),
        (["--max-share", "0"], "--max-share must be a number above 0"),
        (["--model", "embedded"], "--model embedded: expected the FILE.py that `rif tabular` had"),
        (["--test", "none.csv"], "no data file 'none.csv'"),
        (["--audited", "none.csv"], "no data file 'none.csv'"),
    ],
)
def test_mistakes_are_one_line(
    world: Path, tmp_path: Path, extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(world, tmp_path, *extra)) == 2
    printed = capsys.readouterr().err.strip().splitlines()
    assert message in printed[-1]
    assert "Traceback" not in "".join(printed)


def test_what_the_folder_does_not_keep(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ["retrain", str(world / "run"), "--data", str(world / "train.csv"), "--out", str(tmp_path)]
    assert main(start) == 2
    assert "name the model's file with --model FILE.py" in capsys.readouterr().err
    assert main([*start, "--model", str(world / "model.py")]) == 2
    assert "the run searched rows of searched.csv: name that file with --audited" in capsys.readouterr().err
