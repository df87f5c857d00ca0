"""Writing a file so that a reader never sees half of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rif_plugins.errors import UsageError


def write_whole(path: Path | str, data: bytes) -> None:
    """Write a file, its folder too, and replace an older one in one step.

    Raises:
        UsageError: The file cannot be written.
    """
    write_pieces(path, [data])


def write_pieces(path: Path | str, pieces: Iterable[bytes]) -> None:
    """The same, piece by piece as they come.

    Raises:
        UsageError: The file cannot be written.
    """
    with whole_file(path) as file:
        for piece in pieces:
            file.write(piece)


@contextmanager
def whole_file(path: Path | str, *, makes_folder: bool = True) -> Iterator[BinaryIO]:
    """A file to write into, which takes its name once the block has ended well; else nothing is left of it.

    Args:
        path: Where to write.
        makes_folder: Make a folder that is not there.

    Raises:
        UsageError: The file cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(target.name + ".new")
    try:
        if makes_folder:
            target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
        temporary.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise UsageError(
            f"cannot write {target}: {error.strerror}; choose a folder that you may write to"
        ) from error
