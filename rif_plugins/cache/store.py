"""The store of answers: a ``PredictionStore`` that writes in batches and survives trouble with its file."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rif_plugins.cache.sqlite_file import checked, is_trouble, numbers_of, opened, read, written

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")
DEFAULT_BYTES = 2**28
FILE_NAME = "answers-1.sqlite"
_PENDING_ROWS = 4096
_PENDING_SECONDS = 5.0


class CacheWarning(UserWarning):
    """The cache cannot be used; the run goes on without it."""


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

    def __init__(self, folder: Path, *, max_bytes: int = DEFAULT_BYTES) -> None:
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
        numbers = numbers_of(keys)
        with self._lock:
            rows = self._attempt(lambda connection: read(connection, numbers)) or {}
            found: list[bytes | None] = []
            for key, number in zip(keys, numbers, strict=True):
                value = self._pending.get(key)
                if value is None and number in rows:
                    stored, is_old = rows[number]
                    value = checked(key, stored)
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
        numbers_of(list(values))
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
        try:  # at the end of a program the modules that a context manager needs may be gone
            self.close()
        except Exception:
            return

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

    def _attempt(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the open file; an error ends the use of the store."""
        self._forget_inherited()
        if self.is_broken:
            return None
        try:
            if self._connection is None:
                self._connection = opened(self.file)
            return action(self._connection)
        except Exception as error:
            if not is_trouble(error):
                raise
            self._give_up(error)
            return None

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
            stacklevel=4,
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
        pending = self._pending
        self._attempt(lambda connection: written(connection, pending, self.max_bytes))
        self._pending = {}


def _close(reference: weakref.ref[SQLiteStore]) -> None:
    store = reference()
    if store is not None:
        store.close()
