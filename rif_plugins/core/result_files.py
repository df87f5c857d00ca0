"""Append-only JSONL of records: a line is written whole or not at all, and survives a kill."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.results import Record
from rif_plugins.errors import DataError, UsageError

_BINARY = getattr(os, "O_BINARY", 0)  # Windows would write \r\n
_BLOCK = 65536
# A record holds a few texts and a few numbers a step; a longer line is an attack on memory.
_LONGEST_LINE = 2**26
_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False)

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
        """Append one record; see ``write_all``."""
        self.write_all([record])

    def write_all(self, records: Sequence[Record]) -> tuple[int, int]:
        """Append records with a single system call.

        Returns:
            The offsets of their first byte and behind their last one, in bytes.

        Raises:
            UsageError: They cannot be written, for example because the disk is full. No part of them stays.
        """
        data = b"".join([_line(record) for record in records])
        try:
            written = os.write(self._file, data)
            while written < len(data):
                written += self._write_rest(data, written)
            end = os.lseek(self._file, 0, os.SEEK_CUR)  # appending leaves the position behind what it wrote
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path}: {error.strerror}; what stands there already is whole"
            ) from error
        return end - len(data), end

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

    def _write_rest(self, data: bytes, written: int) -> int:
        """Write on behind a first part; where that fails, take the first part away again."""
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        try:
            return os.write(self._file, data[written:])
        except OSError:
            if os.fstat(self._file).st_size == end:  # nobody else has written behind it
                os.ftruncate(self._file, end - written)
            raise

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


def _line(record: Record) -> bytes:
    return (_ENCODER.encode(record.to_dict()) + "\n").encode("ascii")


def read_records(path: Path | str) -> Iterator[Record]:
    """Read records in order; a torn last line is left out.

    Raises:
        DataError: The file is missing, or a line is no record (with its line number).
    """
    for _, _, record in located_records(path):
        yield record


def located_records(path: Path | str) -> Iterator[tuple[int, int, Record]]:
    """Records in order, each with the offsets of its first byte and behind its last; see ``read_records``."""
    source = Path(path)
    if not source.is_file():
        raise DataError(f"results file {source} does not exist: expected a results.jsonl of an earlier run")
    start = number = 0
    with source.open("rb") as lines:
        while line := lines.readline(_LONGEST_LINE + 1):
            number += 1
            if not line.endswith(b"\n") and len(line) <= _LONGEST_LINE:
                return
            end = start + len(line)
            yield start, end, _read(line, f"{source}, line {number}")
            start = end


def _read(line: bytes, place: str) -> Record:
    """The record of one line.

    Raises:
        DataError: It is none.
    """
    if len(line) > _LONGEST_LINE:
        raise DataError(f"{place}: expected a record, got a line of more than {_LONGEST_LINE} bytes")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: expected a JSON object, got broken JSON") from error
    if not isinstance(data, dict):
        raise DataError(f"{place}: expected a JSON object, got {type(data).__name__}")
    try:
        return Record.from_dict(data)
    except DataError as error:
        raise DataError(f"{place}: {error}") from error


class StoredRecords(Sequence[Record]):
    """Records that stay in their file and are read when they are asked for; 8 bytes each in memory.

    The file must not change meanwhile. Equal to any other sequence of the same records.

    Args:
        path: A results file.
        are_distinct: Whether it is known that no id comes twice.
    """

    def __init__(self, path: Path | str, *, are_distinct: bool = False) -> None:
        self.path = Path(path)
        self.are_distinct = are_distinct
        self._offsets: array[int] | None = None
        self._last: dict[str, int] | None = None

    def check(self) -> None:
        """Read every record once: whether it is sound, and which ids come again.

        Raises:
            DataError: The file is missing, or a line is no record (with its line number).
        """
        starts, digests = array("Q"), array("Q")
        for start, _, record in located_records(self.path):
            starts.append(start)
            digests.append(_digest(record.id))
        self._offsets = starts
        self._last = self._repeated(np.frombuffer(digests, dtype=np.uint64))
        self.are_distinct = not self._last

    def distinct(self) -> Iterator[Record]:
        """Every record once, in order; a later one of the same id stands in the place of the earlier one."""
        if not self.are_distinct and self._last is None:
            self.check()
        last = self._last or {}
        seen: set[str] = set()
        for record in self:
            if record.id not in last:
                yield record
            elif record.id not in seen:
                seen.add(record.id)
                yield self[last[record.id]]

    def __iter__(self) -> Iterator[Record]:
        return read_records(self.path)

    def __len__(self) -> int:
        return len(self._starts())

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...

    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        """One record, or several as a tuple."""
        starts = self._starts()
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(starts))))
        start = starts[index]
        with self.path.open("rb") as lines:
            lines.seek(start)
            return _read(lines.readline(_LONGEST_LINE + 1), f"{self.path}, byte {start}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as that of a list: the file may get others

    def __repr__(self) -> str:
        return f"StoredRecords({str(self.path)!r})"

    def _repeated(self, digests: NDArray[np.uint64]) -> dict[str, int]:
        """The ids that come several times, and the number of the last record of each."""
        values, counts = np.unique(digests, return_counts=True)
        if len(values) == len(digests):
            return {}
        places = np.flatnonzero(np.isin(digests, values[counts > 1])).tolist()
        ids = {place: self[place].id for place in places}
        times = Counter(ids.values())  # two ids may share a digest
        return {name: place for place, name in ids.items() if times[name] > 1}

    def _starts(self) -> array[int]:
        """The offset of each line that is whole, found by reading the file once."""
        if self._offsets is None:
            starts, start = array("Q"), 0
            with self.path.open("rb") as lines:
                for line in lines:
                    if line.endswith(b"\n"):
                        starts.append(start)
                    start += len(line)
            self._offsets = starts
        return self._offsets


def count_examples(records: Iterable[Record]) -> int:
    """How many data rows some records are of; 8 bytes each in memory."""
    digests = array("Q", (_digest(record.example) for record in records))
    return len(np.unique(np.frombuffer(digests, dtype=np.uint64)))


def _digest(name: str) -> int:
    """A name in 8 bytes."""
    data = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(data, "little")
