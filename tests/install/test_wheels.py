"""What a regular and an editable wheel contain, and (slow) what installing and removing them does."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
STARTUP_FILE = "rif_plugins_autoload.pth"
BUILD = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is built from: building leaves folders behind."""
    copy = tmp_path_factory.mktemp("project")
    for pattern in ("pyproject.toml", "setup.*", "MANIFEST.in", "LICENSE", "README.md", STARTUP_FILE):
        for file in ROOT.glob(pattern):
            shutil.copy(file, copy)
    shutil.copytree(
        ROOT / "rif_plugins", copy / "rif_plugins", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    return copy


def build(project: Path, kind: str, out: Path) -> Path:
    result = subprocess.run(
        [sys.executable, "-c", BUILD, kind, str(out)], cwd=project, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return out / result.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(project, "build_wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def editable_wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(project, "build_editable", tmp_path_factory.mktemp("editable"))


def check_record(path: Path) -> None:
    """RECORD lists every file of the wheel once, with its hash and size."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
        assert sorted(rows) == sorted(names)
        for name in set(names) - {record}:
            content = archive.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert rows[name] == [f"sha256={digest}", str(len(content))], name


def test_the_wheel_carries_the_startup_file(wheel: Path) -> None:
    check_record(wheel)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(STARTUP_FILE) == (ROOT / STARTUP_FILE).read_bytes()


def test_the_editable_wheel_carries_the_startup_file(editable_wheel: Path, project: Path) -> None:
    check_record(editable_wheel)
    with zipfile.ZipFile(editable_wheel) as archive:
        assert archive.read(STARTUP_FILE) == (ROOT / STARTUP_FILE).read_bytes()
        (path_file,) = [name for name in archive.namelist() if name.startswith("__editable__")]
        # A path line, read before the start-up file; a generated finder would cost time at every start.
        assert path_file.endswith(".pth")
        assert path_file < STARTUP_FILE
        assert Path(archive.read(path_file).decode().strip()).resolve() == project.resolve()


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path, project: Path) -> None:
    package = project / "rif_plugins"
    expected = {path.relative_to(project).as_posix() for path in package.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected | {STARTUP_FILE}


def test_the_source_archive_has_what_the_wheel_is_built_from(project: Path, tmp_path: Path) -> None:
    archive = build(project, "build_sdist", tmp_path)
    with tarfile.open(archive) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {STARTUP_FILE, "setup.py", "setup.cfg", "pyproject.toml", "LICENSE"} <= names
    assert {"rif_plugins/py.typed", "rif_plugins/nltk_data/corpora/stopwords/english"} <= names


def test_the_metadata_names_the_command_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (points,) = [name for name in names if name.endswith("entry_points.txt")]
        (about,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        assert "rif = rif_plugins.cli.main:main" in archive.read(points).decode()
        metadata = archive.read(about).decode()
    assert "License-Expression: MIT" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert "Requires-Dist: transformers<5,>=4.50" in metadata
    assert any(name.endswith("licenses/LICENSE") for name in names)


def installed(environment: Path) -> set[str]:
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    return {path.name for path in site.iterdir() if "rif" in path.name}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "editable_wheel"])
def test_installing_registers_and_removing_leaves_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """In an environment of its own that sees the other packages of this one through a path line."""
    package: Path = request.getfixturevalue(kind)
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    (site / "zz_other_packages.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(*command: str) -> str:
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert result.returncode == 0, result.stderr
        return result.stdout

    pip = (sys.executable, "-m", "pip", "--python", str(python), "--quiet")
    run(*pip, "install", "--no-deps", "--no-index", str(package))
    assert STARTUP_FILE in installed(folder)
    listing = run(str(python), "-m", "textattack", "list", "attack-recipes", "--plain")
    assert listing.count("\nrifair-") >= 3
    assert run(str(folder / "bin" / "rif"), "--version").startswith("rif-plugins ")
    run(*pip, "uninstall", "--yes", "rif-plugins")
    assert installed(folder) == set()
    assert run(str(python), "-c", "import sys; print('rif_plugins' in sys.modules)") == "False\n"
