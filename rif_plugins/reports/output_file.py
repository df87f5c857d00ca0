"""Writing a file so that a reader never sees half of it."""

from __future__ import annotations

from pathlib import Path

from rif_plugins.errors import UsageError


def write_whole(path: Path | str, data: bytes) -> None:
    """Write a file, its folder too, and replace an older one in one step.

    Raises:
        UsageError: The file cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(target.name + ".new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(target)
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror}; choose a folder that you may write to"
        ) from error
