"""`rif compare`: ranks, changes of order, files, and runs that cannot be compared."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from fakes.audit_world import options, write_rows, write_world

from rif_plugins.cli.main import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of the unfair victim, the fair one (classes in the other order), and other data."""
    folder = write_world(tmp_path_factory.mktemp("world"))
    write_rows(folder / "other.csv", ("text", "label"), [("he was great there", "positive")])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RIF_CACHE", "off")
        for model, data, out in (
            ("victim.py", "data.csv", "unfair"),
            ("fair.py", "data.csv", "fair"),
            ("victim.py", "other.csv", "other"),
        ):
            assert main(["audit", *options(model=model, data=data), "--out", out, "--quiet"]) == 0
    return folder


@pytest.fixture(autouse=True)
def _folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


def test_ranks_and_changes_of_order_are_those_counted_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "unfair", "fair", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    ranks = {
        axis: [(row["name"], row["rank"], row["rate"]["successes"]) for row in rows]
        for axis, rows in found["axes"].items()
    }
    # Without "he" and "she", 0.0 for "poor" is a tie that falls on the first class, "positive".
    assert ranks == {
        "robustness": [("unfair", 1, 3), ("fair", 2, 2)],
        "fairness": [("fair", 1, 6), ("unfair", 2, 1)],
        "rif": [("fair", 1, 2), ("unfair", 2, 1)],
    }
    assert found["n_shared"] == 6
    assert (
        found["n_label_conflicts"] == 0
    )  # the labels have other numbers in the two runs, and the same names
    changes = {(change["axis"], change["other_axis"]) for change in found["order_changes"]}
    assert changes == {("robustness", "fairness"), ("robustness", "rif")}


def test_files_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "comparison"
    assert main(["compare", "unfair", "fair", "--names", "before, after", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Order change: before is before after on robustness-only and after it on fairness-only" in printed
    assert f"report: {out / 'comparison.html'}" in printed
    assert {path.name for path in out.iterdir()} == {
        "comparison.json",
        "comparison.html",
        "ranks.png",
        "ranks.svg",
    }
    data = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert data["names"] == ["before", "after"]
    page = (out / "comparison.html").read_text(encoding="utf-8")
    for row in data["axes"]["rif"]:
        assert f"{row['rate']['value']:.1%}" in printed
        assert f"{row['rate']['value']:.1%}" in page


def test_without_a_change_of_order_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Path(shutil.copytree("unfair", tmp_path / "copy"))
    assert main(["compare", "unfair", str(copy)]) == 0
    assert "No order change between axes" in capsys.readouterr().out
    assert main(["compare", "unfair", str(copy), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_folders_of_the_same_name_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old", "new"):
        shutil.copytree("unfair", tmp_path / name / "out")
    paths = [str(tmp_path / name / "out") for name in ("old", "new")]
    assert main(["compare", *paths, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == ["old/out", "new/out"]


def test_runs_that_were_made_in_another_way_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree("unfair", tmp_path / "copy"))
    run = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    run["settings"]["min_equivalence"] = 0.5
    run |= {"labels": "predicted", "finished": None}
    (copy / "run.json").write_text(json.dumps(run), encoding="utf-8")
    assert main(["compare", "unfair", str(copy), "--out", str(tmp_path / "c"), "--format", "json"]) == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    assert captured.err.splitlines() == [
        "the runs differ in their source of labels: unfair given, copy predicted",
        "the runs were searched with another min_equivalence (unfair 0.8, copy 0.5): differences may come "
        "from that",
        "the run of copy is not finished",
    ]


def test_a_part_of_the_pairs_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = Path(shutil.copytree("unfair", tmp_path / "copy"))
    lines = (copy / "results.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "results.jsonl").write_bytes(b"".join(lines[:10]))
    assert main(["compare", "unfair", str(copy)]) == 0
    assert capsys.readouterr().err == "2 pairs of at most 6 are shared: only these are compared\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["unfair"], r"got 1 run to compare, expected two or more: give two folders or more"),
        ([], r"the following arguments are required: DIR"),
        (["unfair", "unfair"], r"unfair is given twice"),
        (["unfair", "./fair/../unfair"], r"unfair is given twice"),
        (["unfair", "gone"], r"gone does not exist"),
        (["unfair", "fair", "--names", "a"], r"--names a: expected 2 names, .* got 1"),
        (["unfair", "fair", "--names", "a,,b"], r"--names a,,b: expected 2 names"),
        (["unfair", "fair", "--names", "a,a"], r"two runs are called 'a'"),
        (["unfair", "fair", "--seed", "-1"], r"--seed: expected a whole number from 0, got -1"),
        (["unfair", "other"], r"the runs share 0 pairs \(pairs evaluated: unfair 6, other 1\)"),
        (["unfair", "fair", "--out", "data.csv"], r"cannot write data\.csv/comparison\.json"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(rf"rif: .*{expected}.*", captured.err.splitlines()[-1])
