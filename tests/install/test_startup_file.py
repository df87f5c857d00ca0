"""The start-up file: what it loads, what it does to TextAttack, and how it fails."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rif_plugins import autoload, registry

ROOT = Path(__file__).resolve().parent.parent.parent
STARTUP_FILE = "rif_plugins_autoload.pth"
OWN = {"rif_plugins", "rif_plugins.autoload", "rif_plugins.version"}
RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
LOADED = "import sys, json; print(json.dumps(sorted(sys.modules)))"


@pytest.fixture
def finder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A `sys.meta_path` with the finder of a fresh start, whatever happened in this process before."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    autoload.uninstall()
    autoload.install()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("textattack", "nltk")]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("textattack", "nltk")]:
        del sys.modules[name]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small packages `nltk` and `textattack` that come first on the path."""
    (tmp_path / "nltk").mkdir()
    (tmp_path / "nltk" / "__init__.py").write_text("from nltk import data\n")
    (tmp_path / "nltk" / "data.py").write_text("path = ['/own']\n")
    (tmp_path / "textattack").mkdir()
    (tmp_path / "textattack" / "__init__.py").write_text(
        "import nltk\nseen = list(nltk.data.path)\nloader = __spec__.loader\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Calls of the registration, in place of the real one."""
    calls: list[str] = []
    module = types.ModuleType("rif_fake_hook")
    module.register = lambda: calls.append("registered")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "HOST_HOOK", f"{module.__name__}:register")
    return calls


def modules_of(output: str) -> set[str]:
    return set(json.loads(output))


def test_the_file_is_one_line() -> None:
    text = (ROOT / STARTUP_FILE).read_text(encoding="utf-8")
    assert text.startswith("import ")
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_it_loads_the_standard_library_only(run_python: RunPython) -> None:
    without = modules_of(run_python("-c", LOADED, RIF_PLUGINS_AUTOLOAD="0").stdout)
    with_it = modules_of(run_python("-c", LOADED, RIF_PLUGINS_AUTOLOAD=None).stdout)
    added = with_it - without
    assert added >= OWN
    assert added - OWN <= {"__future__"}


def test_importing_the_package_loads_the_standard_library_only(run_python: RunPython) -> None:
    base = modules_of(run_python("-c", LOADED, RIF_PLUGINS_AUTOLOAD="0").stdout)
    code = f"import rif_plugins; rif_plugins.__version__; dir(rif_plugins); {LOADED}"
    added = modules_of(run_python("-c", code, RIF_PLUGINS_AUTOLOAD="0").stdout) - base
    assert {name.partition(".")[0] for name in added} - {"rif_plugins"} <= set(sys.stdlib_module_names)
    assert added & {"rif_plugins.core", "rif_plugins.autoload"} == set()


@pytest.mark.parametrize(("value", "expected"), [(None, True), ("1", True), ("0", False)])
def test_it_can_be_switched_off(run_python: RunPython, value: str | None, expected: bool) -> None:
    code = "import sys; print(any(type(f).__name__ == 'HostFinder' for f in sys.meta_path))"
    assert run_python("-c", code, RIF_PLUGINS_AUTOLOAD=value).stdout == f"{expected}\n"


def test_a_failure_is_one_line_and_python_starts(tmp_path: Path, run_python: RunPython) -> None:
    """The package is gone and the file stayed, as after moving the folder of an editable install."""
    broken = tmp_path / "broken" / "rif_plugins"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("")
    line = (ROOT / STARTUP_FILE).read_text(encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(broken.parent)!r}); exec({line!r}); print('started')"
    result = run_python("-c", code, RIF_PLUGINS_AUTOLOAD="1", PYTHONPATH=str(broken.parent))
    assert result.returncode == 0
    assert result.stdout == "started\n"
    lines = result.stderr.splitlines()
    assert set(lines) == {
        f"rif-plugins: the start-up file {STARTUP_FILE} failed (ModuleNotFoundError: No module named "
        "'rif_plugins.autoload'); reinstall rif-plugins, or set RIF_PLUGINS_AUTOLOAD=0"
    }


def test_installing_twice_adds_one_finder(finder: None) -> None:
    autoload.install()
    assert sum(isinstance(f, autoload.HostFinder) for f in sys.meta_path) == 1
    assert autoload.is_installed()
    autoload.uninstall()
    assert not autoload.is_installed()


@pytest.mark.usefixtures("finder", "packages")
def test_importing_textattack_offers_data_before_and_registers_after(hook: list[str]) -> None:
    textattack = importlib.import_module("textattack")
    assert textattack.seen == ["/own", autoload.NLTK_DATA]
    assert hook == ["registered"]
    assert not autoload.is_installed()


@pytest.mark.usefixtures("finder", "packages")
def test_nltk_may_come_first(hook: list[str]) -> None:
    nltk = importlib.import_module("nltk")
    assert nltk.data.path == ["/own"]
    assert importlib.import_module("textattack").seen == ["/own", autoload.NLTK_DATA]
    assert hook == ["registered"]


@pytest.mark.usefixtures("finder", "packages")
def test_nltk_alone_is_left_alone(hook: list[str]) -> None:
    assert importlib.import_module("nltk.data").path == ["/own"]
    assert hook == []
    assert autoload.is_installed()


@pytest.mark.usefixtures("finder", "packages")
def test_the_import_leaves_no_trace_on_the_module(hook: list[str]) -> None:
    textattack = importlib.import_module("textattack")
    source_loader = importlib.machinery.SourceFileLoader
    assert type(textattack.loader) is source_loader
    assert type(textattack.__spec__.loader) is source_loader
    assert type(textattack.__loader__) is source_loader


@pytest.mark.usefixtures("finder", "packages")
def test_looking_for_textattack_does_not_register(hook: list[str]) -> None:
    spec = importlib.util.find_spec("textattack")
    assert spec is not None
    assert spec.loader is not None
    assert spec.loader.is_package("textattack")  # type: ignore[attr-defined]
    assert hook == []
    assert autoload.is_installed()


@pytest.mark.usefixtures("finder")
def test_other_imports_pass() -> None:
    assert autoload.HostFinder().find_spec("json") is None
    assert importlib.import_module("colorsys").__name__ == "colorsys"


@pytest.mark.usefixtures("finder")
def test_without_textattack_its_import_fails_as_always(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="No module named 'textattack'"):
        importlib.import_module("textattack")


@pytest.mark.usefixtures("finder", "packages")
def test_a_failed_registration_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "HOST_HOOK", "rif_no_such_module:register")
    assert importlib.import_module("textattack").seen
    captured = capsys.readouterr()
    assert captured.err == (
        "rif-plugins: its names could not be registered in TextAttack (ModuleNotFoundError: No module named "
        "'rif_no_such_module'); run `rif doctor`, or set RIF_PLUGINS_AUTOLOAD=0\n"
    )


@pytest.mark.usefixtures("finder", "packages")
def test_a_textattack_that_fails_can_be_imported_again(packages: Path, hook: list[str]) -> None:
    module = packages / "textattack" / "__init__.py"
    good = module.read_text()
    module.write_text("raise RuntimeError('half installed')\n")
    with pytest.raises(RuntimeError, match="half installed"):
        importlib.import_module("textattack")
    module.write_text(good + "# mended\n")
    importlib.invalidate_caches()
    importlib.import_module("textattack")
    assert hook == ["registered"]


def private_folder(folder: Path) -> Path:
    (folder / "corpora").mkdir(parents=True)
    (folder / "corpora" / "words").write_text("the\n")
    folder.chmod(0o755)
    (folder / "corpora").chmod(0o755)
    (folder / "corpora" / "words").chmod(0o644)
    return folder


needs_modes = pytest.mark.skipif(os.name != "posix", reason="file modes mean nothing elsewhere")


@needs_modes
@pytest.mark.parametrize("place", [".", "corpora", "corpora/words"])
@pytest.mark.parametrize("bit", [0o020, 0o002])
def test_data_that_others_can_write_is_not_private(tmp_path: Path, place: str, bit: int) -> None:
    folder = private_folder(tmp_path / "data")
    assert autoload.is_private(str(folder))
    target = folder / place
    target.chmod(target.stat().st_mode | bit)
    assert not autoload.is_private(str(folder))


@needs_modes
def test_a_private_copy_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = private_folder(tmp_path / "data")
    (folder / "corpora" / "words").chmod(0o664)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = Path(autoload.private_copy(str(folder)))
    assert copy.parent == tmp_path / "cache" / "rif-plugins"
    assert (copy / "corpora" / "words").read_text() == "the\n"
    assert autoload.is_private(str(copy))
    stamp = (copy / "corpora" / "words").stat().st_mtime_ns
    assert autoload.private_copy(str(folder)) == str(copy)
    assert (copy / "corpora" / "words").stat().st_mtime_ns == stamp
    (copy / "corpora").chmod(0o777)
    assert autoload.private_copy(str(folder)) == str(copy)
    assert autoload.is_private(str(copy))
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]


@needs_modes
def test_without_a_cache_folder_the_copy_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = private_folder(tmp_path / "data")
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    copy = Path(autoload.private_copy(str(folder)))
    assert (copy / "corpora" / "words").read_text() == "the\n"
    assert autoload.is_private(str(copy))


@needs_modes
def test_an_account_without_a_home_gets_a_temporary_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home(*_: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    copy = Path(autoload.private_copy(str(private_folder(tmp_path / "data"))))
    assert (copy / "corpora" / "words").read_text() == "the\n"
    assert autoload.is_private(str(copy))


@needs_modes
@pytest.mark.parametrize("when", ["before the check", "after the check"])
def test_the_copy_of_a_faster_process_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Another process finishes the same copy while this one writes its own."""
    folder = private_folder(tmp_path / "data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = Path(autoload.private_copy(str(folder)))
    stamp = (copy / "corpora" / "words").stat().st_ino
    answers = {"before the check": [False], "after the check": [False, False]}[when]
    check = autoload.is_usable
    monkeypatch.setattr(autoload, "is_usable", lambda path: answers.pop() if answers else check(path))
    if when == "after the check":  # the folder is there only when it is to be put in place
        monkeypatch.setattr(shutil, "rmtree", lambda path, **_: None)
    assert autoload.private_copy(str(folder)) == str(copy)
    assert (copy / "corpora" / "words").stat().st_ino == stamp
    if when == "before the check":
        assert [path.name for path in copy.parent.iterdir()] == [copy.name]


@needs_modes
def test_a_copy_that_cannot_be_put_in_place_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Path:
        raise OSError("Directory not empty")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OSError, match="Directory not empty"):
        autoload.private_copy(str(private_folder(tmp_path / "data")))


def test_the_embedded_stopwords_are_lower_case_words() -> None:
    folder = Path(autoload.NLTK_DATA) / "corpora" / "stopwords"
    words = (folder / "english").read_text(encoding="utf-8").splitlines()
    assert len(words) == len(set(words)) > 200
    assert all(word == word.lower().strip() and word for word in words)
    assert {"the", "not", "himself", "don't", "between"} <= set(words)
    assert {"good", "doctor", "man", "woman"} & set(words) == set()
    assert {path.name for path in folder.iterdir()} == {"english", "README"}


@needs_modes
def test_nltk_reads_the_embedded_stopwords_whatever_the_umask(tmp_path: Path, run_python: RunPython) -> None:
    """As they lie after an installation under umask 002: NLTK itself would refuse them with a warning."""
    folder = tmp_path / "nltk_data"
    shutil.copytree(autoload.NLTK_DATA, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o775 if path.is_dir() else 0o664)
    code = (
        f"import nltk, rif_plugins.autoload as a; nltk.data.path.clear(); a.NLTK_DATA = {str(folder)!r}\n"
        "a.offer_nltk_data(); from nltk.corpus import stopwords; print(len(stopwords.words('english')))"
    )
    result = run_python("-W", "error", "-c", code, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert result.stderr == ""
    words = (Path(autoload.NLTK_DATA) / "corpora" / "stopwords" / "english").read_text().split()
    assert result.stdout == f"{len(words)}\n"
