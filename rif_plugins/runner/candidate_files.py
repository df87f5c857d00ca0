"""The files of a candidate table while it is written: they survive a kill and tell where to go on.

Rows are appended to ``NAME.part``; after each window of examples the state, with the number of bytes that
are sound, replaces ``NAME.run.json`` in one step. At the end the part gets its name. So a reader never sees
half a table, and what was torn is cut off when the build goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers.asking import DEFAULT_TEMPERATURE
from rif_plugins.reports.output_file import write_whole
from rif_plugins.runner.result_log import claimed_file

SCHEMA = "rif-candidates/1"
KINDS = (".jsonl", ".ndjson")
# The digest says whether the data are the same, wherever they lie.
_FREE = ("data",)
# Fields that tables of older releases lack, or leave empty.
_LATER = ("proposer_version", "lexicon_version")


class CandidateFile:
    """Opens the table that is to be written.

    Args:
        path: The table; its name ends in ``.jsonl`` or ``.ndjson``.
        configuration: Everything that decides the rows, as plain values.
        resume: Go on with what an earlier call has left.
        overwrite: Begin again, whatever is there.

    Attributes:
        done: Examples that are finished.
        counts: What was counted for them.
        n_stops: How often in a row a build has stopped here before the end.
        is_finished: True when nothing is left to do.

    Raises:
        UsageError: The file exists, holds another table, cannot be written, or another process writes it.
        DataError: What an earlier call has left is broken.
    """

    def __init__(
        self,
        path: Path,
        configuration: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        if path.suffix.lower() not in KINDS:
            raise UsageError(
                f"-o {path}: expected a name that ends in .jsonl, got {path.suffix or 'no ending'}"
            )
        self.path = path
        self.part = path.with_name(path.name + ".part")
        self.state_file = state_path(path)
        self.configuration = dict(configuration)
        self.done = 0
        self.counts: dict[str, Any] = {}
        self.is_finished = False
        self.n_stops = 0
        self._created = _now()
        self._file: BinaryIO | None = None
        with ExitStack() as claim:
            claim.enter_context(claimed_file(path))
            size = 0
            if resume:
                size = self._earlier()
            elif not overwrite:
                self._refuse_existing()
            if not self.is_finished:
                self._open(size)
            self._claim = claim.pop_all()

    def write(self, rows: Iterable[Mapping[str, Any]], *, done: int, counts: Mapping[str, Any]) -> None:
        """Append rows, then say that ``done`` examples are finished.

        Raises:
            UsageError: The disk does not take them.
        """
        file = self._opened()
        try:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            raise _cannot_write(self.part, error) from error
        self.done, self.counts, self.n_stops = done, dict(counts), 0
        self._save(size=file.tell(), is_finished=False)

    def note_stop(self) -> None:
        """Say that the build stops here before the end."""
        self.n_stops += 1
        self._save(size=self._opened().tell(), is_finished=False)

    def finish(self) -> None:
        """Give the table its name."""
        if self.is_finished:
            return
        file = self._opened()
        size = file.tell()
        self._close_file()
        try:
            self.part.replace(self.path)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._save(size=size, is_finished=True)
        self.is_finished = True

    def close(self) -> None:
        """Close the file and let others write it; idempotent."""
        self._close_file()
        self._claim.close()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> CandidateFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _opened(self) -> BinaryIO:
        if self._file is None:
            raise UsageError(f"{self.path} is closed: expected an open table")
        return self._file

    def _open(self, size: int) -> None:
        try:
            self._file = self.part.open("r+b" if size else "wb")
            self._file.truncate(size)
            self._file.seek(size)
        except OSError as error:
            raise _cannot_write(self.part, error) from error
        self._save(size=size, is_finished=False)

    def _save(self, *, size: int, is_finished: bool) -> None:
        state = {
            "schema": SCHEMA,
            "created": self._created,
            "finished": _now() if is_finished else None,
            "configuration": self.configuration,
            "examples_done": self.done,
            "bytes": size,
            "stops": self.n_stops,
            "counts": self.counts,
        }
        write_whole(self.state_file, (json.dumps(state, indent=1) + "\n").encode("ascii"))

    def _refuse_existing(self) -> None:
        for path, advice in (
            (self.path, "give another name, or --overwrite"),
            (self.part, "--resume goes on with it, --overwrite begins again"),
        ):
            if path.exists():
                raise UsageError(f"{path} exists: {advice}")

    def _earlier(self) -> int:
        """Read the earlier state; returns how many bytes of the part are sound."""
        if not self.state_file.exists():
            self._refuse_existing()
            return 0
        state = _read_state(self.state_file)
        self._refuse_another(state["configuration"])
        self.done, self.counts = state["examples_done"], state["counts"]
        self._created, self.n_stops = state["created"], state.get("stops", 0)
        size: int = state["bytes"]
        written = self.path if not self.part.exists() else self.part
        if not written.exists() and not size:
            return 0
        found = written.stat().st_size if written.exists() else 0
        is_whole = written == self.path and found == size
        if is_whole:
            self.is_finished = True
            if not state.get("finished"):  # killed between the last two steps
                self._save(size=size, is_finished=True)
        elif written == self.path or found < size:
            raise DataError(
                f"{written} has {found} bytes, expected {size} as {self.state_file.name} says: "
                "begin again with --overwrite"
            )
        elif size and not _ends_a_row(written, size):
            raise DataError(
                f"{written} has no end of a row at byte {size}, where {self.state_file.name} says that it "
                "is sound: begin again with --overwrite"
            )
        return size

    def _refuse_another(self, earlier: Mapping[str, Any]) -> None:
        for name in sorted({*earlier, *self.configuration}):
            before, now = earlier.get(name), self.configuration.get(name)
            if name == "llm_temperature" and name not in earlier:
                before = DEFAULT_TEMPERATURE if now is not None else None  # what older releases drew with
            if before == now or name in _FREE or (name in _LATER and not before):
                continue
            if name in _LATER:
                what = "proposer" if name == "proposer_version" else "lexicon"
                raise UsageError(
                    f"--resume: {self.path} was begun with another {what} of this name ({before}, now "
                    f"{now}): give the same file or model, or another file with -o"
                )
            shown = "" if name == "data_sha256" else f" ({before!r}, now {now!r})"
            raise UsageError(
                f"--resume: {self.path} was begun with another {name}{shown}: "
                "repeat its options, or give another file with -o"
            )


def _ends_a_row(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) == b"\n"


def state_path(table: Path) -> Path:
    """The file that tells how a table was made; no two tables share one.

    >>> [state_path(Path(name)).name for name in ("t.jsonl", "t.ndjson", "t.JSONL")]
    ['t.run.json', 't.run-ndjson.json', 't.run-JSONL.json']
    """
    kind = table.suffix
    return table.with_suffix(".run.json" if kind == KINDS[0] else f".run-{kind[1:]}.json")


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: begin again with --overwrite") from error
    kinds = {"configuration": dict, "examples_done": int, "bytes": int, "counts": dict, "created": str}
    is_sound = isinstance(state, dict) and state.get("schema") == SCHEMA
    is_sound = is_sound and all(isinstance(state.get(name), kind) for name, kind in kinds.items())
    if not is_sound or not all(
        type(state.get(name, 0)) is int and state.get(name, 0) >= 0
        for name in ("examples_done", "bytes", "stops")
    ):
        raise DataError(
            f"{path} is no state of a candidate table ({SCHEMA}): give another name, or --overwrite"
        )
    n_counted = state["counts"].get("examples", state["examples_done"])
    if n_counted != state["examples_done"]:
        raise DataError(
            f"{path} has counts of {str(n_counted)[:20]} examples, expected {state['examples_done']} as it "
            "says: begin again with --overwrite"
        )
    return dict(state)


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(f"cannot write {path}: {error.strerror}; choose a folder that you may write to")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
