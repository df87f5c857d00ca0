"""The SQLite file of the cache: two tables ``young`` and ``old`` of numbered byte strings.

New answers go into the young table, and so does what was found in the old one. When the young one has half of
the allowed size, the old one is dropped and the young one takes its place, so that what was not used for
longest goes first.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rif_plugins.core.stores import KEY_BYTES
from rif_plugins.errors import UsageError

if TYPE_CHECKING:
    import sqlite3

_CHUNK = 256
_CHECK_BYTES = 4
_ROW_BYTES = 24  # what a row takes beside its value, free room in the pages included
_WAIT_SECONDS = 30.0
_JOURNAL_BYTES = 2**22
_TABLES = "CREATE TABLE IF NOT EXISTS {} (id INTEGER PRIMARY KEY, value BLOB NOT NULL)"


def numbers_of(keys: Sequence[bytes]) -> list[int]:
    """The first eight bytes of each key as a signed number, the fastest key that SQLite has.

    The checksum of a value covers the whole key, so that two keys with one number are told apart.
    """
    joined = b"".join(keys)
    if len(joined) != KEY_BYTES * len(keys) or any(len(key) != KEY_BYTES for key in keys):
        raise UsageError(f"a key of the cache must have {KEY_BYTES} bytes")
    numbers: list[int] = np.frombuffer(joined, dtype="<i8")[:: KEY_BYTES // 8].tolist()
    return numbers


def read(connection: sqlite3.Connection, numbers: list[int]) -> dict[int, tuple[Any, int]]:
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


def written(connection: sqlite3.Connection, values: Mapping[bytes, bytes], max_bytes: int) -> None:
    """Insert or replace values, and keep the file below ``max_bytes``."""
    numbers = numbers_of(list(values))
    rows = [
        (number, _check(key, value) + value)
        for number, (key, value) in zip(numbers, values.items(), strict=True)
    ]
    rows.sort()  # neighbours in the tree are written together
    page = _pragma(connection, "page_size")
    most = max_bytes // page
    coming = sum(len(value) + _ROW_BYTES for _, value in rows) // page + 1
    connection.execute("BEGIN IMMEDIATE")
    is_rotated = _rotated(connection, coming, most)
    connection.executemany("INSERT OR REPLACE INTO young VALUES (?, ?)", rows)
    connection.execute("COMMIT")
    if is_rotated and _pragma(connection, "page_count") > most:
        connection.executescript("PRAGMA incremental_vacuum")  # a plain execute frees one page


def _rotated(connection: sqlite3.Connection, coming: int, most: int) -> bool:
    """Drop the old table where more pages are too much; ``user_version`` remembers its size in pages."""
    is_rotated = False
    for _ in range(2):
        used = _used_pages(connection)
        if used + coming <= most and used - _pragma(connection, "user_version") + coming <= most // 2:
            break
        connection.execute("DROP TABLE old")
        connection.execute("ALTER TABLE young RENAME TO old")
        connection.execute(_TABLES.format("young"))
        connection.execute(f"PRAGMA user_version = {_used_pages(connection):d}")
        is_rotated = True
    return is_rotated


def _check(key: bytes, value: bytes) -> bytes:
    return zlib.crc32(value, zlib.crc32(key)).to_bytes(_CHECK_BYTES, "little")


def checked(key: bytes, stored: Any) -> bytes | None:
    """The value behind its checksum; None for anything else."""
    if not isinstance(stored, bytes) or len(stored) < _CHECK_BYTES:
        return None
    value = stored[_CHECK_BYTES:]
    return value if stored[:_CHECK_BYTES] == _check(key, value) else None


def opened(file: Path) -> sqlite3.Connection:
    """Open or make the file, with its folder.

    Raises:
        OSError, sqlite3.Error: It cannot be.
    """
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
        connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}").fetchall()
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


def _used_pages(connection: sqlite3.Connection) -> int:
    return _pragma(connection, "page_count") - _pragma(connection, "freelist_count")


def is_trouble(error: Exception) -> bool:
    """True for what files, disks and SQLite raise; anything else is a mistake of this module."""
    if isinstance(error, (OSError, ImportError)):
        return True
    import sqlite3

    return isinstance(error, sqlite3.Error)
