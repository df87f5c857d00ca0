"""`rif retrain` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.retraining_world import rows, table

from rif_plugins.cli.main import main

MODEL = """
from rif_plugins.victims.tfidf_fitting import fit_tfidf
import csv
label_names = ("bad", "good")


def fit(texts, labels, weights=None):
    return fit_tfidf(texts, labels, weights, label_names=label_names)


with open(__file__.replace("victim.py", "train.csv"), encoding="utf-8") as file:
    data = list(csv.DictReader(file))
model = fit([row["text"] for row in data], [label_names.index(row["label"]) for row in data])
"""


def write(path: Path, data: list[tuple[str, int]]) -> Path:
    lines = [f"{text},{('bad', 'good')[label]}" for text, label in data]
    path.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, its training data, and a run over other data."""
    folder = tmp_path_factory.mktemp("retrain")
    write(folder / "train.csv", rows(200, seed=1))
    write(folder / "audit.csv", rows(60, seed=2, habit=0.5))
    (folder / "table.csv").write_text(table(), encoding="utf-8")
    (folder / "victim.py").write_text(MODEL, encoding="utf-8")
    code = main(
        [
            *("audit", "--model", str(folder / "victim.py"), "--data", str(folder / "audit.csv")),
            *("--proposer", f"table:{folder / 'table.csv'}", "--entailment", "none", "--no-cache", "--quiet"),
            *("--sensitive", "gender", "--out", str(folder / "run")),
        ]
    )
    assert code == 0
    return folder


def test_a_table_and_files(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = world / "retrained"
    arguments = ["retrain", str(world / "run"), "--data", str(world / "train.csv"), "--weight", "5"]
    assert main([*arguments, "--seeds", "2", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "the same against the control, trained on the data alone:" in printed.out
    assert "robust biased induced" in printed.out
    assert "augmented, seed 2 of 2: searching" in printed.err
    assert sorted(path.name for path in out.iterdir()) == [
        *("augmentation.jsonl", "augmented-0", "augmented-1", "control-0", "control-1", "retrain.json"),
    ]
    data = json.loads((out / "retrain.json").read_text(encoding="utf-8"))
    assert data["seeds"] == 2
    assert len(data["changes"][0]["by_seed"]) == 2
    assert main([*arguments, "--out", str(out)]) == 2
    assert "holds an earlier retraining: give another folder" in capsys.readouterr().err


def test_json(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["retrain", str(world / "run"), "--data", str(world / "train.csv"), "--no-control"]
    assert main([*arguments, "--format", "json", "--out", str(tmp_path / "a")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "rif-retrain/1"
    assert data["over_control"] == []
    assert list(data["frozen"]) == ["augmented"]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--targets", "fairness_only"], "expected some of robust_biased"),
        (["--model", "http://127.0.0.1:9/"], "cannot be retrained"),
        (["--held-out", "0"], "--held-out must be above 0 and below 1"),
        (["--seeds", "x"], "invalid int value"),
    ],
)
def test_mistakes_are_one_line(
    world: Path, tmp_path: Path, extra: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["retrain", str(world / "run"), "--data", str(world / "train.csv"), "--out", str(tmp_path)]
    assert main([*arguments, *extra]) == 2
    printed = capsys.readouterr().err.strip().splitlines()
    assert message in printed[-1]
    assert "Traceback" not in "".join(printed)


def test_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retrain", str(tmp_path / "none"), "--data", "embedded"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
