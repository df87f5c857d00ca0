"""A victim in a process of its own, ended when a call takes too long and started again for the next one.

A call that hangs inside a thread of this process could not be ended: the process behind the call can. Used
only where a time limit is asked for, because texts and answers travel through a pipe (some tenths of a
millisecond a call), and loading the victim again after a time-out takes as long as the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rif_plugins.core.predictions import as_matrix
from rif_plugins.core.victim import VictimCallError, is_out_of_memory_error
from rif_plugins.errors import RIFError, UsageError, VictimError, VictimRowError
from rif_plugins.runner.building import Parts, build_parts, load_victim_of
from rif_plugins.runner.child_process import ChildProcess, begin_child, retold, told
from rif_plugins.runner.options import AuditOptions
from rif_plugins.victims.base import Victim, one_line
from rif_plugins.victims.fingerprint import Fingerprint, victim_fingerprint

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a child tells about its victim once it has loaded it."""

    name: str
    output: Any
    label_names: tuple[str, ...] | None
    max_length: int | None
    has_gradients: bool
    has_seen: bool


class GuardedVictim:
    """Calls a victim in a child process; each call has a time limit, loading has none.

    Args:
        options: Name the victim.
        seconds: Longest time of one call.
        victim: A loaded victim in place of the one that is named; it must be such that it can be pickled.

    Raises:
        UsageError: The victim cannot be loaded, or cannot be sent to another process.
    """

    def __init__(self, options: AuditOptions, seconds: float, victim: Victim | None = None) -> None:
        # A fingerprint looks at this instead of looking into processes and pipes.
        self.fingerprint = f"guarded {options.model}"
        self.seconds = seconds
        self._options = options
        self._victim = victim
        self._child: ChildProcess | None = None
        self._is_sound = False
        self.facts = self._start()

    def __call__(self, texts: list[str]) -> Any:
        """What the victim returns for the texts, ``(n, classes)``.

        Raises:
            VictimCallError: No answer in time, or the process ended.
            RIFError: The answer is no prediction.
        """
        first = texts[0] if texts else ""
        first = first if len(first) <= _SHOWN else first[: _SHOWN - 3] + "..."
        return self._asked("predict", (texts,), f"for a batch of {len(texts)} texts starting with {first!r}")

    def token_saliency(self, texts: Sequence[str], label: int, spans: Any) -> Any:
        """See the victim's own ``token_gradients``."""
        return self._asked(
            "token_saliency", (list(texts), label, spans), f"for gradients of {len(texts)} texts"
        )

    def tokens_seen(self, text: str) -> int | None:
        """See ``Victim.tokens_seen``."""
        found: int | None = self._asked("tokens_seen", (text,), "for the length of a text")
        return found

    def identify(self) -> Fingerprint:
        """The fingerprint of the victim inside."""
        try:
            value, reason = self._asked("fingerprint", (), "for the probe sentences")
        except VictimCallError as error:
            return Fingerprint(None, one_line(error))
        return Fingerprint(value, reason)

    def victim(self) -> Victim:
        """This as the victim of a run."""
        facts = self.facts
        return Victim(
            name=facts.name,
            predict=self,
            output=facts.output,
            label_names=facts.label_names,
            token_gradients=self if facts.has_gradients else None,
            max_length=facts.max_length,
            seen=self.tokens_seen if facts.has_seen else None,
        )

    def close(self) -> None:
        """End the process; the next call starts one again."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _start(self) -> _Facts:
        try:
            child = ChildProcess(_serve, (self._options, self._victim))
        except Exception as error:
            raise UsageError(
                f"a time limit runs the victim in a process of its own, where {self._options.model} cannot "
                f"be sent ({type(error).__name__}: {one_line(error)}): put the model into a file.py"
            ) from error
        try:
            kind, value = child.connection.recv()
        except (EOFError, OSError):
            ending = child.ending()
            child.end()
            raise UsageError(
                f"the process of the victim {self._options.model} ended while it was loaded ({ending}), "
                "perhaps for lack of memory: try it without --victim-timeout"
            ) from None
        except BaseException:
            child.end()
            raise
        if kind == "error":
            child.end()
            raise retold(*value)
        self._child = child
        facts: _Facts = value
        return facts

    def _asked(self, what: str, arguments: tuple[Any, ...], purpose: str) -> Any:
        if self._child is None:
            self._start()
        child = self._child
        if child is None:  # for type checkers
            raise UsageError("the process of the victim is not running")
        try:
            child.connection.send((what, arguments))
            is_told = child.has_message(self.seconds)
            if is_told:
                kind, value = child.connection.recv()
        except (EOFError, OSError):
            ending = child.ending()
            self.close()
            raise VictimCallError(
                f"the process of the victim ended ({ending}) when it was asked {purpose}"
            ) from None
        except BaseException:
            self.close()  # an answer that nobody waits for must not become that of the next call
            raise
        if not is_told:
            self.close()
            raise VictimCallError(
                f"the victim gave no answer within {self.seconds:g} s {purpose}: raise --victim-timeout, or "
                "mend the victim on that text"
            )
        if kind == "done":
            self._is_sound = self._is_sound or what == "predict"
            return value
        if kind == "form":
            raise VictimRowError(value) if self._is_sound else VictimError(value)
        raise _error_of(kind, value)


def _error_of(kind: str, value: Any) -> Exception:
    """The error that a call raised in the child, as if it had been raised here."""
    if kind == "error":
        return retold(*value)
    name, message, is_out_of_memory = value
    if is_out_of_memory:
        return MemoryError(message)
    error: Exception = type(name, (Exception,), {})(message)
    return error


def _serve(connection: Any, options: AuditOptions, victim: Victim | None) -> None:
    """The life of the process of a victim."""
    begin_child()
    try:
        loaded = victim or load_victim_of(options)
    except Exception as error:
        connection.send(("error", told(error)))
        return
    facts = _Facts(
        loaded.name,
        loaded.output,
        loaded.label_names,
        loaded.max_length,
        loaded.token_gradients is not None,
        loaded.seen is not None,
    )
    connection.send(("ready", facts))
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            return
        if message is None:
            return
        connection.send(_answered(loaded, *message))


def _answered(victim: Victim, what: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """The answer to a message, or what went wrong."""
    try:
        found = _answer(victim, what, arguments)
    except RIFError as error:
        return "error", told(error)
    except Exception as error:
        line = str(error).splitlines()[0] if str(error) else ""
        return "raised", (type(error).__name__, line, is_out_of_memory_error(error))
    if what != "predict":
        return "done", found
    try:
        return "done", as_matrix(found, len(arguments[0]))
    except VictimError as error:
        return "form", str(error)


def _answer(victim: Victim, what: str, arguments: tuple[Any, ...]) -> Any:
    if what == "predict":
        return victim.predict(*arguments)
    if what == "token_saliency":
        rows = victim.token_gradients.token_saliency(*arguments)
        return [np.asarray(row, dtype=np.float64).tolist() for row in rows]
    if what == "tokens_seen":
        return victim.tokens_seen(*arguments)
    found = victim_fingerprint(victim.predict if victim.identity is None else victim.identity, victim.predict)
    return found.value, found.reason


def build_guarded_parts(options: AuditOptions, victim: Victim | None = None) -> Parts:
    """``build_parts``, with the victim in a process of its own where the options give a time limit.

    Raises:
        UsageError: Something cannot be loaded.
    """
    if options.victim_timeout is None:
        return build_parts(options, victim)
    guarded = GuardedVictim(options, options.victim_timeout, victim)
    try:
        parts = build_parts(options, guarded.victim())
        # Its own fingerprint, so that a run may be taken up with or without a time limit.
        fingerprint = guarded.identify()
        parts.engine.use_store(parts.store, fingerprint.value)
    except BaseException:
        guarded.close()
        raise
    return replace(parts, fingerprint=fingerprint)


def close_parts(parts: Parts) -> None:
    """Write what the cache still holds, and end the process of a guarded victim."""
    parts.close()
    if isinstance(parts.victim.predict, GuardedVictim):
        parts.victim.predict.close()
