"""Append-only JSONL of records: a line is written whole or not at all, and survives a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from rif_plugins.core.results import Record
from rif_plugins.errors import DataError, UsageError

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write \r\n
_BLOCK = 65536

_HEAD = b'{"schema": "rif-results/'


class RecordWriter:
    """Appends records to a file, one line a record, flushed at once.

    A torn last line of an earlier run that was killed is cut off first. A file that holds anything
    else than records is left alone.

    Raises:
        UsageError: The folder or file cannot be written, or the file is no results file.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o644)
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path}: {error.strerror}; choose a folder that you may write to"
            ) from error
        try:
            self._cut_torn_line()
        except BaseException:
            self.close()
            raise

    def write(self, record: Record) -> None:
        """Append one record with a single system call."""
        line = json.dumps(record.to_dict(), ensure_ascii=True, allow_nan=False) + "\n"
        data = line.encode("ascii")
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        os.lseek(self._file, 0, os.SEEK_SET)
        head = os.read(self._file, len(_HEAD))
        if not _HEAD.startswith(head[: len(_HEAD)]):
            raise UsageError(
                f"{self.path} exists and is no results file: expected records of an earlier run or a new "
                "file; choose another name"
            )
        end = size
        while end > 0:
            start = max(0, end - _BLOCK)
            os.lseek(self._file, start, os.SEEK_SET)
            newline = os.read(self._file, end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._file, end)


def read_records(path: Path | str) -> Iterator[Record]:
    """Read records in order; a torn last line is left out.

    Raises:
        DataError: The file is missing, or a line is no record (with its line number).
    """
    source = Path(path)
    if not source.is_file():
        raise DataError(f"results file {source} does not exist: expected a results.jsonl of an earlier run")
    with source.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                data = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{source}, line {number}: expected a JSON object, got broken JSON"
                ) from error
            if not isinstance(data, dict):
                kind = type(data).__name__
                raise DataError(f"{source}, line {number}: expected a JSON object, got {kind}")
            try:
                yield Record.from_dict(data)
            except DataError as error:
                raise DataError(f"{source}, line {number}: {error}") from error
