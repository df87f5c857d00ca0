"""What the start-up file runs: notice TextAttack's import, then register the names of this package.

`rif_plugins_autoload.pth` calls :func:`install` at every start of Python, so this module imports nothing
but `os` and `sys`, and costs less than two milliseconds. It puts a finder on `sys.meta_path` that lets
every import pass. When `textattack` is imported, two things happen:

* before it runs, NLTK's search path gets one more folder at its end, with the English stopwords without
  which `import textattack` fails on a machine without internet;
* after it has run, :func:`rif_plugins.text.host.register` adds the recipes and components to its tables.

``RIF_PLUGINS_AUTOLOAD=0`` in the environment switches all of it off.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing `typing` would cost more than everything below
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from pathlib import Path
    from types import ModuleType
    from typing import Any

HOST = "textattack"
NLTK = "nltk.data"
NLTK_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nltk_data")  # noqa: PTH118, PTH100, PTH120


class HostFinder:
    """A finder that finds nothing itself: it wraps the loaders of the modules that it waits for."""

    def __init__(self) -> None:
        self.waiting: dict[str, Callable[[], None]] = {HOST: self._host_is_loaded}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders give, with a loader that reports back."""
        after = self.waiting.get(fullname)
        if after is None:
            return None
        spec = self._find_elsewhere(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        if fullname == HOST:
            self._host_is_found()
        spec.loader = _ReportingLoader(spec.loader, after)  # type: ignore[assignment]
        return spec

    def _find_elsewhere(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find_spec(fullname, path, target) if find_spec else None
            if spec is not None:
                return spec
        return None

    def _host_is_found(self) -> None:
        if NLTK in sys.modules:
            offer_nltk_data()
        else:
            self.waiting[NLTK] = offer_nltk_data

    def _host_is_loaded(self) -> None:
        uninstall()
        try:
            from importlib import import_module

            from rif_plugins.registry import HOST_HOOK

            module, _, function = HOST_HOOK.partition(":")
            getattr(import_module(module), function)()
        except Exception as error:
            if os.environ.get("RIF_DEBUG") == "1":
                raise
            report(
                f"its names could not be registered in TextAttack ({type(error).__name__}: {error}); "
                "run `rif doctor`, or set RIF_PLUGINS_AUTOLOAD=0"
            )


class _ReportingLoader:
    """Loads a module as the wrapped loader does, leaves no trace on it, then calls back."""

    def __init__(self, loader: Any, after: Callable[[], None]) -> None:
        self._loader = loader
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._after()


def install() -> None:
    """Put the finder first on `sys.meta_path`, once."""
    if not is_installed():
        sys.meta_path.insert(0, HostFinder())


def uninstall() -> None:
    """Take the finder off `sys.meta_path`."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, HostFinder)]


def is_installed() -> bool:
    """True while the finder waits for TextAttack."""
    return any(isinstance(finder, HostFinder) for finder in sys.meta_path)


def offer_nltk_data() -> None:
    """Add the embedded NLTK folder at the end of `nltk.data.path`, after all places of the user's own."""
    try:
        from importlib import import_module

        # Through sys.modules: while `nltk.data` is being imported, `nltk` does not have it as attribute.
        search_path: list[str] = (sys.modules.get(NLTK) or import_module(NLTK)).path
        folder = NLTK_DATA if is_private(NLTK_DATA) else private_copy(NLTK_DATA)
        if folder not in search_path:
            search_path.append(folder)
    except Exception as error:
        report(f"the embedded NLTK data cannot be used ({type(error).__name__}: {error}); run `rif doctor`")


def is_private(folder: str) -> bool:
    """True when NLTK 3.10 and later accept the folder: nobody but its owner and root can write to it."""
    if os.name != "posix":
        return True
    trusted = (os.geteuid(), 0)
    for place, folders, files in os.walk(folder):
        for name in ("", *folders, *files):
            status = os.stat(os.path.join(place, name))  # noqa: PTH116, PTH118
            if status.st_uid not in trusted or status.st_mode & 0o022:
                return False
    return True


def private_copy(folder: str) -> str:
    """Copy a data folder to where only this user can write, and return the copy.

    NLTK 3.10 refuses data that is writable by a group or owned by another account. That is how files lie
    after an installation under umask 002, or in an environment that somebody else installed.
    """
    import shutil
    import tempfile
    import zlib
    from pathlib import Path

    source = Path(folder)
    files = sorted(path for path in source.rglob("*") if path.is_file())
    check = zlib.crc32(b"".join(str(f.relative_to(source)).encode() + f.read_bytes() for f in files))
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rif-plugins"
        copy = home / f"nltk_data-{check:08x}"
        if is_usable(copy):
            return str(copy)
        home.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=home))
    except (OSError, RuntimeError):  # RuntimeError: the account has no home folder
        import atexit

        fresh = copy = Path(tempfile.mkdtemp(prefix="rif-plugins-"))
        atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    for file in files:
        target = fresh / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    for path in fresh.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    if fresh != copy:
        try:
            if copy.exists() and not is_usable(copy):
                shutil.rmtree(copy)
            fresh.rename(copy)
        except OSError:  # another process was faster: its copy is as good
            shutil.rmtree(fresh, ignore_errors=True)
            if not is_usable(copy):
                raise
    return str(copy)


def is_usable(copy: Path) -> bool:
    """True for a copy that exists and that only this user can write to."""
    try:
        return copy.is_dir() and is_private(str(copy))
    except OSError:  # another process is replacing it
        return False


def report(message: str) -> None:
    """Write one line to stderr; a failure here must not break the program that imports TextAttack."""
    if sys.stderr is not None:
        sys.stderr.write(f"rif-plugins: {message}\n")
