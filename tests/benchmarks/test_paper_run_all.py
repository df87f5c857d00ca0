"""The runner of the studies: what it finds, hands on, reports, and how it fails."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
if str(BENCHMARKS) not in sys.path:
    sys.path.append(str(BENCHMARKS))

from paper_lab.study import Study, parser, seeds  # noqa: E402
from paper_lab.summary import FAILED, NOT_RUN, OK, Outcome, page, read, reason  # noqa: E402

_STUDY = """\
import json, sys
from pathlib import Path

out = Path(sys.argv[sys.argv.index("--out") + 1])
{body}
"""
_WRITES = """\
content = {{
    "source": "a paper", "limits": {limits}, "tables": {tables}, "argv": sys.argv[1:],
    "provenance": {{"time": "2026-11-30T00:00:00", "cpu": "a cpu", "cores": 2, "commit": "abc"}},
    "comparisons": [
        {{"claim": "more | less", "theirs": "2.3", "ours": "2.0", "verdict": "same", "why": "yes"}}
    ],
}}
(out / (Path(sys.argv[0]).stem + ".json")).write_text(json.dumps(content))
"""


@pytest.fixture(scope="module")
def run_all() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_run_all", BENCHMARKS / "paper" / "run_all.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three studies: one that works, one without its data, one that fails; and files that are none."""
    where = tmp_path / "paper"
    where.mkdir()
    bodies = {
        "works": _WRITES.format(limits=[], tables=[{}]),
        "lacks_data": _WRITES.format(limits=["small", "not run: data absent"], tables=[]),
        "fails": "raise SystemExit(3)",
        "silent": "",
    }
    for name, body in bodies.items():
        (where / f"{name}.py").write_text(_STUDY.format(body=body), encoding="utf-8")
    (where / "run_all.py").write_text("raise SystemExit('itself')", encoding="utf-8")
    (where / "_shared.py").write_text("", encoding="utf-8")
    (where / "notes.txt").write_text("", encoding="utf-8")
    return where


def test_studies_are_the_scripts_of_the_folder(run_all: ModuleType, folder: Path) -> None:
    assert run_all.studies(folder) == ["fails", "lacks_data", "silent", "works"]
    found = run_all.studies()
    assert {"model_order", "per_target", "decoupled_coupled", "filters"} <= set(found)
    assert {"text_retraining", "trajectories"} <= set(found) and "run_all" not in found


def test_options_are_handed_on(run_all: ModuleType, tmp_path: Path) -> None:
    words = ["--out", str(tmp_path), "--glove", "g", "--seed", "4", "--full"]
    args = run_all.parse(words, ["a"])
    args.data_dir = None
    handed = run_all.options(args)
    assert handed[handed.index("--glove") + 1] == "g" and handed[handed.index("--seed") + 1] == "4"
    assert "--full" in handed and "--hub" not in handed and "--data-dir" not in handed
    # A study understands every one of them.
    assert parser("").parse_args(handed).full


def test_a_failing_study_fails_the_run_and_the_others_still_run(
    run_all: ModuleType, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    # A result of an earlier run must not stand in for one that is missing now.
    (out / "silent.json").write_text("{}", encoding="utf-8")
    (out / "works_2.png").touch()
    assert run_all.main(["--out", str(out)], folder) == 1
    text = (out / "README.md").read_text(encoding="utf-8")
    assert "| fails | – | failed: exit code 3 |" in text
    assert "| silent | – | failed: it wrote no result |" in text
    assert "| [lacks_data](lacks_data.md) | a paper | not run: data absent |" in text
    assert "| [works](works.md) | a paper | ok |" in text
    assert r"| more \| less | 2.3 | 2.0 | same | yes | [works](works.md) |" in text
    assert "2 same, 0 different, 0 not testable here." in text
    assert not (out / "works_2.png").exists()
    printed = capfd.readouterr().out
    assert "fails: FAILED: exit code 3" in printed and "works: ok" in printed
    handed = json.loads((out / "works.json").read_text(encoding="utf-8"))["argv"]
    assert handed[handed.index("--runs") + 1] == str(out / "runs")


def test_studies_that_lack_their_data_are_no_failure(
    run_all: ModuleType, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    kept = tmp_path / "mine"
    kept.mkdir()
    (kept / "note").touch()
    arguments = ["--out", str(out), "--runs", str(kept), "--only", "works", "lacks_data"]
    assert run_all.main(arguments, folder) == 0
    assert (kept / "note").exists()  # a folder that the user names is not emptied
    assert not (out / "fails.json").exists()


def test_a_study_that_takes_too_long_is_stopped(run_all: ModuleType, tmp_path: Path) -> None:
    where = tmp_path / "paper"
    where.mkdir()
    (where / "slow.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    assert run_all.main(["--out", str(tmp_path / "out"), "--minutes", "0.005"], where) == 1
    assert "stopped after 0.005 minutes" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_unknown_studies_are_refused(
    run_all: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_all.main(["--only", "nothing"], folder)
    assert "invalid choice: 'nothing'" in capsys.readouterr().err


def test_a_page_tells_claims_limits_and_provenance(tmp_path: Path) -> None:
    args = parser("").parse_args(["--out", str(tmp_path)])
    study = Study("one", "A title", "a paper", limits=["few pairs"])
    study.table("Numbers", ["a", "b"], [[1, "x|y"]], "a note")
    study.figure("A figure", lambda figure: figure.subplots().plot([0, 1]))
    study.compare("more", "2.3", "2.0", "same", "it holds")
    study.sizes += ["100 pairs", "100 pairs"]
    assert study.write(args) == 0
    text = (tmp_path / "one.md").read_text(encoding="utf-8")
    # Under every table, so that a table that is copied carries it.
    size = "Small size: 1 seed, 100 pairs; see Limits of one."
    assert f"| 1 | x\\|y |\n\na note\n\n{size}\n" in text
    assert text.count(size) == 2 and text.endswith(f"{size}\n")
    content = read(tmp_path, "one")
    assert content is not None and content["size"] == size
    for part in ("# A title", "* few pairs", "| 1 | x\\|y |", "a note", "![A figure](one.png)", "commit "):
        assert part in text
    assert "| more | 2.3 | 2.0 | same | it holds |" in text
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="verdict 'yes', expected one of same, different"):
        study.compare("more", "2.3", "2.0", "yes", "")


def test_the_size_of_a_full_run() -> None:
    full = parser("").parse_args(["--full"])
    study = Study("one", "A title", "a paper")
    assert study.size(full) == "Full size: 5 seeds; see Limits of one."
    study.n_seeds = 1
    assert study.size(full) == "Full size: 1 seed; see Limits of one."


def test_a_study_without_a_hub_says_so() -> None:
    study = Study("one", "A title", "a paper")
    study.without_hub(parser("").parse_args([]))
    assert not study.limits
    study.without_hub(parser("").parse_args(["--hub"]))
    assert study.limits == ["--hub: this study has no hub part; no model or data of a hub is in it."]


def test_a_study_that_is_not_run_leaves_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = parser("").parse_args(["--out", str(tmp_path)])
    assert Study("one", "A title", "a paper", limits=["before"]).not_run(args, "no hub") == 0
    assert capsys.readouterr().out.startswith("one: not run: no hub\n")
    content = read(tmp_path, "one")
    assert content is not None and reason(content) == "no hub"
    assert reason({"tables": [1], "limits": ["not run: bold"]}) is None
    assert read(tmp_path, "two") is None
    (tmp_path / "three.json").write_text("[", encoding="utf-8")
    assert read(tmp_path, "three") is None
    assert len(seeds(args)) == 1 and len(seeds(parser("").parse_args(["--full"]))) == 5


def test_the_summary_counts_time(tmp_path: Path) -> None:
    rows = [
        Outcome("a", OK, 90.0, 150.0),
        Outcome("b", NOT_RUN, 30.0, 30.0, "no hub"),
        Outcome("c", FAILED, 0, 0, "x"),
    ]
    text = page(rows, tmp_path, "small")
    assert "Size: small. 3 studies, 2.0 minutes of wall time, 3.0 of processor time." in text
    assert "| [b](b.md) | – | not run: no hub | 30 | 30 |" in text
