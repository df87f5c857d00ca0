"""What a run leaves in the user's home: its cache, and nothing else of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.audit_world import options, write_world

ROOT = Path(__file__).resolve().parents[2]


def left_at_home(tmp_path: Path, *command: str) -> set[str]:
    """Run in a home that holds nothing; what is there afterwards, without the folders on the way."""
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RIF_", "XDG_")) and name != "MPLCONFIGDIR"
    }
    result = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        cwd=tmp_path,
        env={**environment, "HOME": str(home), "USERPROFILE": str(home)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    found = (path for path in home.rglob("*") if path.is_file() or not any(path.iterdir()))
    return {path.relative_to(home).as_posix() for path in found}


def test_an_audit_with_the_filter_leaves_its_cache(tmp_path: Path) -> None:
    write_world(tmp_path)
    asked = [word for word in options(entailment="embedded", data="data.csv") if word != "--no-cache"]
    left = left_at_home(
        tmp_path, "-m", "rif_plugins.cli.main", "audit", *asked, "--limit", "1", "--out", "out"
    )
    assert left == {".cache/rif-plugins/answers-1.sqlite"}


def test_without_the_cache_nothing_is_left(tmp_path: Path) -> None:
    write_world(tmp_path)
    command = ("-m", "rif_plugins.cli.main", "audit", *options(), "--limit", "1", "--out", "out")
    assert left_at_home(tmp_path, *command) == set()


@pytest.mark.slow
def test_attacks_on_tables_leave_their_files_in_the_cache(tmp_path: Path) -> None:
    code = (
        "from rif_plugins.tabular.host import import_host; import_host()\n"
        "import rif_plugins.tabular.estimators"
    )
    assert all(name.startswith(".cache/") for name in left_at_home(tmp_path, "-c", code))


@pytest.mark.slow
def test_a_folder_of_art_that_is_there_stays_in_force(tmp_path: Path) -> None:
    code = (
        "import json\n"
        "from pathlib import Path\n"
        "folder = Path.home() / '.art'\n"
        "folder.mkdir()\n"
        "(folder / 'config.json').write_text(json.dumps({'ART_DATA_PATH': str(Path.cwd())}))\n"
        "from rif_plugins.tabular.host import import_host; import_host()\n"
        "import art.config; assert art.config.ART_DATA_PATH == str(Path.cwd())\n"
    )
    assert ".art/config.json" in left_at_home(tmp_path, "-c", code)


@pytest.mark.slow
def test_the_host_leaves_its_own_cache(tmp_path: Path) -> None:
    recipes = ROOT / "recipes"
    left = left_at_home(
        tmp_path,
        *("-m", "textattack", "attack", "--recipe", "rifair-robust-biased", "--num-examples", "1"),
        *("--model-from-file", str(recipes / "victims" / "embedded.py")),
        *("--dataset-from-file", str(recipes / "data" / "embedded.py")),
    )
    # What TextAttack and matplotlib keep for themselves; nothing of ours, and no report to anybody.
    known = (".cache/textattack/", ".cache/matplotlib", ".config/matplotlib", ".cache/rif-plugins/")
    assert {name for name in left if not name.startswith(known)} == set()
