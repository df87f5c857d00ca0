"""Every command of docs/tutorial.md works, in the order of the page, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the tutorial's victim is a scikit-learn pipeline")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
_FILE = re.compile(r"`([\w.]+\.(?:csv|py))`(?:,[^`]*)?:\n\n```(?:csv|python)\n(.*?)```", re.DOTALL)
_FILE_IN_TEXT = re.compile(r"`(second\.py)`[^`]*:\n\n```python\n(.*?)```", re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PYTHON = re.compile(r"## 7\. From Python\n\n```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("tutorial")
    text = PAGE.read_text(encoding="utf-8")
    files = dict(_FILE.findall(text)) | dict(_FILE_IN_TEXT.findall(text))
    assert files.keys() == {"reviews.csv", "victim.py", "second.py"}
    for name, content in files.items():
        (where / name).write_text(content, encoding="utf-8")
    return where


def run(arguments: list[str], folder: Path) -> str:
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("RIF_")},
        "HOME": str(folder),
        "RIF_CACHE_DIR": str(folder / "cache"),
        "PYTHONPATH": str(folder),
    }
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_commands_work_in_their_order(folder: Path) -> None:
    commands = [
        line
        for block in _SHELL.findall(PAGE.read_text(encoding="utf-8"))
        for line in block.strip().splitlines()
    ]
    assert len(commands) == 8
    printed = {}
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "rif"
        printed[command] = run(["-m", "rif_plugins.cli.main", *arguments], folder)
    first = next(text for command, text in printed.items() if command.endswith("--out out"))
    assert "no sensitive token" in first
    assert "Robust individual fairness" in first
    compared = next(text for command, text in printed.items() if "compare" in command)
    assert "first" in compared and "second" in compared
    for name in ("out/report.html", "out/findings.csv", "ci/rif.xml", "ci2/summary.json"):
        assert (folder / name).is_file(), name


def test_the_python_of_the_page_works(folder: Path) -> None:
    (code,) = _PYTHON.findall(PAGE.read_text(encoding="utf-8"))
    (folder / "notebook.py").write_text(code, encoding="utf-8")
    assert "robust_biased" in run(["notebook.py"], folder)
