"""A process of our own with a pipe to it: it never outlives its parent, and can be ended at any time."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import connection as pipes
from multiprocessing import get_context, parent_process, util
from typing import Any

from rif_plugins import errors

_PATIENCE = 5.0


class ChildProcess:
    """A running child.

    Args:
        target: Runs in the child; its first argument is the child's end of the pipe. A function of a module.
        arguments: Further arguments; they are pickled under ``"spawn"``.
        start_method: See ``multiprocessing``; ``"fork"`` is for programs without threads.
        environment: Variables for the child where they are not set.

    Attributes:
        connection: Our end of the pipe.
    """

    def __init__(
        self,
        target: Callable[..., None],
        arguments: tuple[Any, ...] = (),
        *,
        start_method: str = "spawn",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        context: Any = get_context(start_method)
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *arguments), daemon=False)
        try:
            with _environment(environment or {}):
                self._process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        # At the end of this process, before multiprocessing waits for its children.
        self._finalizer: Any = util.Finalize(self, _end, (self._process, self.connection), exitpriority=10)

    @property
    def sentinel(self) -> int:
        """Becomes ready when the child ends; for ``multiprocessing.connection.wait``."""
        return int(self._process.sentinel)

    @property
    def is_alive(self) -> bool:
        """Whether the child runs."""
        return bool(self._process.is_alive())

    def has_message(self, seconds: float | None) -> bool:
        """Wait for a message or for the end of the child; False where only time passed."""
        return bool(pipes.wait([self.connection, self._process.sentinel], seconds))

    def ending(self) -> str:
        """How the child ended, in words."""
        self._process.join(_PATIENCE)
        code = self._process.exitcode
        return "still running" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"

    def leave(self) -> None:
        """Let the child end by itself, since it has nothing left to do; end it if it does not."""
        with suppress(OSError):
            self.connection.send(None)
        self._process.join(_PATIENCE)
        self.end()

    def end(self) -> None:
        """End the child, whatever it does; idempotent."""
        self._finalizer()


def _end(process: Any, connection: pipes.Connection[Any, Any]) -> None:
    with suppress(OSError):
        connection.close()
    if process.is_alive():
        process.terminate()
        process.join(_PATIENCE)
    if process.is_alive():
        process.kill()
        process.join(_PATIENCE)
    with suppress(ValueError):
        process.close()


def begin_child() -> None:
    """What a child does first: Ctrl-C is its parent's business, its output is no result, it dies with it."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout = sys.stderr  # what a user's model prints must not stand in the result
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def told(error: BaseException) -> tuple[str, str]:
    """An error as two texts that can travel: its class and its message."""
    if isinstance(error, errors.RIFError):
        return type(error).__name__, str(error)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return "", f"in a worker process: {text}"


def retold(name: str, message: str) -> Exception:
    """The error that ``told`` told; a mistake of this package comes back with its traceback as text."""
    kind = getattr(errors, name, None) if name else RuntimeError
    is_known = isinstance(kind, type) and issubclass(kind, Exception)
    return kind(message) if is_known and kind is not None else errors.UsageError(message)


@contextmanager
def _environment(defaults: Mapping[str, str]) -> Iterator[None]:
    """Variables that processes started meanwhile see; those that are set already stay."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
