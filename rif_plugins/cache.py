"""The cache of answers across runs: one SQLite file behind core's ``PredictionStore``.

What lies on disk are digests as keys, and numbers and candidate words as values; texts are never stored in
clear. Nothing is unpickled: a value is bytes with a checksum, and whatever else a file may hold is no answer.
(Who can read the file can still test whether a text that he guesses was asked, and who can write it can
plant answers: the folder is made for its owner alone.)

The library is ``sqlite3`` of Python itself. There are two tables, ``young`` and ``old``. New answers go into
the young one, and so does what was found in the old one. When the young one has half of the allowed size, the
old one is dropped and the young one takes its place, so that what was not used for longest goes first.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import warnings
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rif_plugins.core.stores import KEY_BYTES
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

DEFAULT_SIZE = 256
FILE_NAME = "answers-1.sqlite"
FOLDER_VARIABLE = "RIF_CACHE_DIR"
_MEGABYTE = 2**20
_CHUNK = 256
_CHECK_BYTES = 4
_PENDING_ROWS = 4096
_PENDING_SECONDS = 5.0
_WAIT_SECONDS = 30.0
_TABLES = "CREATE TABLE IF NOT EXISTS {} (id INTEGER PRIMARY KEY, value BLOB NOT NULL)"


class CacheWarning(UserWarning):
    """The cache cannot be used; the run goes on without it."""


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


class SQLiteStore:
    """A ``PredictionStore`` in a folder; threads and processes may share the folder.

    The file is opened at the first use. New values are written in batches and at ``close``, which the end of
    the main process calls (a worker calls it itself); what a killed process had not written is asked again
    another time. Trouble with the file or the disk gives one ``CacheWarning``, and the store is empty from
    then on. A store pickles as its settings.

    Args:
        folder: Made where it does not exist.
        max_bytes: Most bytes of the file; its journal takes a few megabytes more for a time.
    """

    _connection: sqlite3.Connection | None

    def __init__(self, folder: Path, *, max_bytes: int = DEFAULT_SIZE * _MEGABYTE) -> None:
        self.folder = Path(folder)
        self.max_bytes = max_bytes
        self.is_broken = False
        self._start()

    @property
    def file(self) -> Path:
        """The database."""
        return self.folder / FILE_NAME

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key, None where there is none or where it is damaged.

        Raises:
            UsageError: A key does not have ``KEY_BYTES`` bytes.
        """
        numbers = _numbers(keys)
        with self._lock:
            rows: dict[int, tuple[Any, int]] = {}
            with self._guarded() as connection:
                if connection is not None and numbers:
                    rows = _read(connection, numbers)
            found: list[bytes | None] = []
            for key, number in zip(keys, numbers, strict=True):
                value = self._pending.get(key)
                if value is None and number in rows:
                    stored, is_old = rows[number]
                    value = _checked(key, stored)
                    if value is not None and is_old:
                        self._pending[key] = value
                found.append(value)
            self._write_when_due()
        return found

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values.

        Raises:
            UsageError: A key does not have ``KEY_BYTES`` bytes.
        """
        _numbers(list(values))
        with self._lock:
            if not self.is_broken:
                self._forget_inherited()
                self._pending.update(values)
                self._write_when_due()

    def close(self) -> None:
        """Write what is not written yet and close the file; the next use opens it again."""
        with self._lock:
            self._forget_inherited()
            self._write()
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "max_bytes": self.max_bytes, "is_broken": self.is_broken}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    # -- inside ---------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._connection = None
        self._inherited: list[Any] = []
        self._process = os.getpid()
        self._pending: dict[bytes, bytes] = {}
        self._written = time.monotonic()
        atexit.register(_close, weakref.ref(self))

    def _forget_inherited(self) -> None:
        """After a fork the connection and the unwritten values are the parent's."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._inherited.append(self._connection)  # closing it here would harm the parent's locks
            self._connection = None
            self._pending = {}

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection | None]:
        """The open connection, None when there is none; an error inside ends the use of the store."""
        self._forget_inherited()
        if self.is_broken:
            yield None
            return
        try:
            if self._connection is None:
                self._connection = _opened(self.file)
            yield self._connection
        except Exception as error:
            if not _is_trouble(error):
                raise
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        self.is_broken = True
        self._pending = {}
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        warnings.warn(
            f"the cache {self.file} cannot be used ({reason}): the run goes on without it; "
            "delete the file, name another folder with --cache-dir, or use --no-cache",
            CacheWarning,
            stacklevel=5,
        )

    def _write_when_due(self) -> None:
        if self._pending and (
            len(self._pending) >= _PENDING_ROWS or time.monotonic() - self._written > _PENDING_SECONDS
        ):
            self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        if not self._pending:
            return
        with self._guarded() as connection:
            if connection is None:
                return
            keys = list(self._pending)
            rows = [
                (number, zlib.crc32(value, zlib.crc32(key)).to_bytes(_CHECK_BYTES, "little") + value)
                for number, (key, value) in zip(_numbers(keys), self._pending.items(), strict=True)
            ]
            rows.sort()  # neighbours in the tree are written together
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO young VALUES (?, ?)", rows)
            is_rotated = self._rotate(connection)
            connection.execute("COMMIT")
            self._pending = {}
            if is_rotated and _pragma(connection, "page_count") > self._max_pages(connection):
                connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _rotate(self, connection: sqlite3.Connection) -> bool:
        """Drop the old table when there is too much; ``user_version`` remembers its pages."""
        is_rotated = False
        for _ in range(2):
            used = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
            most = self._max_pages(connection)
            if used <= most and used - _pragma(connection, "user_version") <= most // 2:
                break
            connection.execute("DROP TABLE old")
            connection.execute("ALTER TABLE young RENAME TO old")
            connection.execute(_TABLES.format("young"))
            used = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
            connection.execute(f"PRAGMA user_version = {used:d}")
            is_rotated = True
        return is_rotated

    def _max_pages(self, connection: sqlite3.Connection) -> int:
        return self.max_bytes // _pragma(connection, "page_size")


def _close(reference: weakref.ref[SQLiteStore]) -> None:
    store = reference()
    if store is not None:
        store.close()


def _numbers(keys: Sequence[bytes]) -> list[int]:
    """The first eight bytes of each key as a signed number, the fastest key that SQLite has.

    The checksum of a value covers the whole key, so that two keys with one number are told apart.
    """
    joined = b"".join(keys)
    if len(joined) != KEY_BYTES * len(keys) or any(len(key) != KEY_BYTES for key in keys):
        raise UsageError(f"a key of the cache must have {KEY_BYTES} bytes")
    numbers: list[int] = np.frombuffer(joined, dtype="<i8")[:: KEY_BYTES // 8].tolist()
    return numbers


def _read(connection: sqlite3.Connection, numbers: list[int]) -> dict[int, tuple[Any, int]]:
    """``number -> (value, whether it is in the old table)`` of what is there."""
    rows: dict[int, tuple[Any, int]] = {}
    for start in range(0, len(numbers), _CHUNK):
        chunk = numbers[start : start + _CHUNK]
        # Few lengths, so that SQLite finds the statement prepared.
        length = 1 << (len(chunk) - 1).bit_length()
        chunk = chunk + chunk[-1:] * (length - len(chunk))
        found = connection.execute(_statement(length), chunk).fetchall()
        rows.update((number, (value, is_old)) for number, value, is_old in found)
    return rows


def _statement(length: int) -> str:
    places = ",".join(f"?{i}" for i in range(1, length + 1))
    # Young rows come last: where a number is in both tables, they stand.
    return (
        f"SELECT id, value, 1 FROM old WHERE id IN ({places}) "
        f"UNION ALL SELECT id, value, 0 FROM young WHERE id IN ({places})"
    )


def _checked(key: bytes, stored: Any) -> bytes | None:
    """The value behind its checksum; None for anything else."""
    if not isinstance(stored, bytes) or len(stored) < _CHECK_BYTES:
        return None
    value = stored[_CHECK_BYTES:]
    expected = zlib.crc32(value, zlib.crc32(key)).to_bytes(_CHECK_BYTES, "little")
    return value if stored[:_CHECK_BYTES] == expected else None


def _opened(file: Path) -> sqlite3.Connection:
    import sqlite3

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = sqlite3.connect(
        file, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=32
    )
    try:
        # No mmap: a file that another program cuts short would end this process.
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL").fetchall()
        _switch_to_journal(connection)
        connection.execute("PRAGMA synchronous = NORMAL").fetchall()
        connection.execute(f"PRAGMA journal_size_limit = {4 * _MEGABYTE}").fetchall()
        connection.execute("BEGIN IMMEDIATE")
        for table in ("young", "old"):
            connection.execute(_TABLES.format(table))
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _switch_to_journal(connection: sqlite3.Connection) -> None:
    """Write-ahead logging; SQLite does not wait for other processes in this one statement."""
    import sqlite3

    end = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _is_trouble(error: Exception) -> bool:
    """True for what files, disks and SQLite raise; anything else is a mistake of this module."""
    if isinstance(error, (OSError, ImportError)):
        return True
    import sqlite3

    return isinstance(error, sqlite3.Error)
