"""The results file of a run while it is written: which example's records stand where."""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from rif_plugins.core.result_files import RecordWriter, located_records
from rif_plugins.core.results import Record
from rif_plugins.errors import DataError, UsageError

_LOCK_SECONDS = 2.0
_LOCK_STEP = 0.05


class ResultLog:
    """Appends the records of each example as one block, and keeps 16 bytes an example in memory.

    Args:
        path: The results file.
        examples: Ids of all examples, in the order of the data.
        each: Sees the records of every finished example once, those of an earlier session too.

    Attributes:
        n_finished: Examples whose records the file holds.
    """

    def __init__(self, path: Path, examples: Sequence[str], each: Callable[[Sequence[Record]], None]) -> None:
        self.path = path
        self.n_finished = 0
        self._place = {example: place for place, example in enumerate(examples)}
        self._starts = array("q", [-1]) * len(examples)
        self._ends = array("q", [-1]) * len(examples)
        self._each = each
        self._writer: RecordWriter | None = None

    def __contains__(self, example: str) -> bool:
        """Whether the file holds the records of this example."""
        return self._starts[self._place[example]] >= 0

    def take_up(self, *, is_whole: bool) -> None:
        """Read the file of an earlier session and cut it to the examples that are finished there.

        Only the last example may be torn, by a kill: it is left out. So are examples that ended in an error.

        Args:
            is_whole: Whether the earlier session came to its end, so that its last example is whole too.

        Raises:
            DataError: A line of the file is no record.
            UsageError: The file cannot be cut.
        """
        try:
            for start, end, records in _blocks(self.path, is_whole=is_whole):
                place = self._place.get(records[0].example, -1)
                is_error = any(record.status == "error" for record in records)
                if not is_error and place >= 0 and self._starts[place] < 0:
                    self._add(place, start, end, records)
        except DataError as error:
            raise DataError(f"--resume: {error}: mend it, or give another folder with --out") from error
        in_file = sorted(self._finished_places(), key=self._starts.__getitem__)
        end = self._ends[in_file[-1]] if in_file else 0
        try:
            if sum(self._ends[p] - self._starts[p] for p in in_file) < end:
                self._rewrite(in_file)
            elif end < self.path.stat().st_size:
                os.truncate(self.path, end)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}") from error

    def open(self) -> None:
        """Get ready to append.

        Raises:
            UsageError: The file cannot be written.
        """
        self._writer = RecordWriter(self.path)

    def append(self, records: Sequence[Record]) -> None:
        """Append the records of one example.

        Raises:
            UsageError: They cannot be written; none of them is.
        """
        if self._writer is None:
            raise UsageError(f"{self.path} is not open")
        start, end = self._writer.write_all(records)
        self._add(self._place[records[0].example], start, end, records)

    def put_in_order(self) -> None:
        """Bring the examples into the order of the data, where some were searched later than others.

        Raises:
            UsageError: The file cannot be written anew; the old one stays.
        """
        self.close()
        places = list(self._finished_places())
        if any(self._starts[a] > self._starts[b] for a, b in pairwise(places)):
            try:
                self._rewrite(places)
            except OSError as error:
                raise UsageError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Close the file; idempotent."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _add(self, place: int, start: int, end: int, records: Sequence[Record]) -> None:
        self._starts[place], self._ends[place] = start, end
        self.n_finished += 1
        self._each(records)

    def _finished_places(self) -> Iterator[int]:
        return (place for place, start in enumerate(self._starts) if start >= 0)

    def _rewrite(self, places: Iterable[int]) -> None:
        """Replace the file by the blocks of these examples, in this order."""
        temporary = self.path.with_name(self.path.name + ".new")
        ends: dict[int, tuple[int, int]] = {}
        position = 0
        try:
            with self.path.open("rb") as old, temporary.open("wb") as new:
                for place in places:
                    old.seek(self._starts[place])
                    block = old.read(self._ends[place] - self._starts[place])
                    new.write(block)
                    ends[place] = position, position + len(block)
                    position += len(block)
            temporary.replace(self.path)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        for place, (start, end) in ends.items():
            self._starts[place], self._ends[place] = start, end


def _blocks(path: Path, *, is_whole: bool) -> Iterator[tuple[int, int, list[Record]]]:
    """Offsets and records of each example of a file; without the last one where it may be torn."""
    first, last = 0, 0
    block: list[Record] = []
    for start, end, record in located_records(path):
        if block and record.example != block[0].example:
            yield first, last, block
            block = []
        if not block:
            first = start
        block.append(record)
        last = end
    if block and is_whole:
        yield first, last, block


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep a folder for this process, where the platform can; the claim ends with the process at the latest.

    Raises:
        UsageError: Another process writes there, or the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror}; choose a folder that you may write to"
        ) from error
    taken = f"{folder} is being written by another run: wait for its end, or give another folder with --out"
    deadline = time.monotonic() + _LOCK_SECONDS  # children of a killed run take a moment to end
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # no such locks here
        yield
        return
    try:
        _lock(handle, fcntl, deadline, taken)
        yield
    finally:
        os.close(handle)


@contextmanager
def claimed_file(path: Path) -> Iterator[None]:
    """Keep a file for this process, as :func:`claimed` keeps a folder.

    A file that is replaced in the meantime cannot be locked itself: ``NAME.lock`` beside it is, which goes
    away with the claim. One that a kill has left means nothing.

    Raises:
        UsageError: Another process writes it, or its folder cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}; choose a folder that you may write to"
        ) from error
    taken = f"{path} is being written by another run: wait for its end, or give another file with -o"
    deadline = time.monotonic() + _LOCK_SECONDS
    lock = path.with_name(path.name + ".lock")
    while True:
        try:
            import fcntl

            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except (ImportError, OSError):  # no such locks here
            yield
            return
        try:
            _lock(handle, fcntl, deadline, taken)
            if not _is_open(handle, lock):
                continue  # its owner went between the two steps, and took it along
            try:
                yield
            finally:
                with suppress(OSError):
                    lock.unlink(missing_ok=True)
            return
        finally:
            os.close(handle)


def _lock(handle: int, locks: Any, deadline: float, taken: str) -> None:
    """Wait for a lock until a time of the monotonic clock; ``taken`` tells that it was in vain."""
    while not _is_locked(handle, locks):
        if time.monotonic() > deadline:
            raise UsageError(taken)
        time.sleep(_LOCK_STEP)


def _is_open(handle: int, path: Path) -> bool:
    """Whether ``handle`` is the file that has the name ``path`` now."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def _is_locked(handle: int, locks: Any) -> bool:
    """Try to lock what is open; a file system without locks counts as locked."""
    try:
        locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
