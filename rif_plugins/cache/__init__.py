"""The cache of answers across runs: one SQLite file behind core's ``PredictionStore``.

What lies on disk are digests as keys; values are numbers, candidate words, and the answers of language
models in clear, which may quote what they were asked. Texts that were asked are stored as digests only.
Nothing is unpickled: a value is bytes with a checksum, and whatever else a file may hold is no answer.
(Who can read the file can still test whether a text that he guesses was asked, and who can write it can
plant answers: the folder is made for its owner alone.)

The library is ``sqlite3`` of Python itself.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from rif_plugins.cache.store import DEFAULT_BYTES, CacheWarning, SQLiteStore
from rif_plugins.errors import UsageError

__all__ = ["DEFAULT_SIZE", "CacheWarning", "SQLiteStore", "default_folder", "open_store"]

_MEGABYTE = 2**20
DEFAULT_SIZE = DEFAULT_BYTES // _MEGABYTE
FOLDER_VARIABLE = "RIF_CACHE_DIR"


def default_folder(environment: Mapping[str, str] | None = None) -> Path:
    """``$RIF_CACHE_DIR``, else the folder that the platform has for caches.

    Raises:
        UsageError: There is no home folder.
    """
    variables = os.environ if environment is None else environment
    if variables.get(FOLDER_VARIABLE, "").strip():
        return Path(variables[FOLDER_VARIABLE]).expanduser()
    base = Path(variables.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # a relative one is to be ignored, says its specification
        try:
            home = Path(variables["HOME"]) if variables.get("HOME") else Path.home()
        except RuntimeError:
            raise UsageError(
                f"there is no home folder for the cache: set {FOLDER_VARIABLE} or use --no-cache"
            ) from None
        base = home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        if sys.platform == "win32":
            base = Path(variables.get("LOCALAPPDATA") or home / "AppData/Local")
    return base / "rif-plugins"


def open_store(
    *, cache: str = "on", folder: Path | None = None, size: int = DEFAULT_SIZE
) -> SQLiteStore | None:
    """The store that the settings ask for.

    Args:
        cache: ``"on"`` or ``"off"``.
        folder: Where it lies; None is ``default_folder()``.
        size: Most megabytes.

    Returns:
        The store, None when it is off or, after a warning, when there is no place for it.

    Raises:
        UsageError: ``cache`` is something else, or ``size`` is below 1.
    """
    if cache not in ("on", "off"):
        raise UsageError(f"cache must be on or off, got {cache!r}")
    if size < 1:
        raise UsageError(f"cache_size must be 1 megabyte or more, got {size}: use --no-cache for no cache")
    if cache == "off":
        return None
    try:
        return SQLiteStore(folder or default_folder(), max_bytes=size * _MEGABYTE)
    except UsageError as error:
        warnings.warn(f"{error}; the run goes on without a cache", CacheWarning, stacklevel=2)
        return None
