"""What all chat models share: counting calls, giving up after failures in a row, threads, rates."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rif_plugins.llm.base import ChatFailure

MOST_FAILURES = 8


class Circuit:
    """Opens after failures in a row, so that a dead server costs a run minutes and not days.

    Args:
        most_failures: Failures in a row, all attempts of a request being one.
    """

    def __init__(self, most_failures: int = MOST_FAILURES) -> None:
        self._most = most_failures
        self._failures = 0
        self._final = ""
        self._lock = threading.Lock()

    @property
    def failure(self) -> ChatFailure | None:
        """Why nothing is asked any more; None while things work."""
        with self._lock:
            if self._final:
                return ChatFailure(self._final, is_final=True)
            if self._failures >= self._most:
                return ChatFailure(f"given up after {self._failures} failures in a row", is_final=True)
            return None

    def note(self, failure: ChatFailure | None) -> None:
        """Count one answer."""
        with self._lock:
            self._failures = 0 if failure is None else self._failures + 1
            if failure is not None and failure.is_final:
                self._final = failure.reason


class Pace:
    """Spaces calls evenly below a rate.

    Args:
        per_minute: Most calls a minute; None does not wait.
        sleep, clock: Replaced in tests.
    """

    def __init__(
        self,
        per_minute: float | None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._sleep = sleep
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Wait for this call's turn."""
        if not self._gap:
            return
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            self._sleep(turn - now)
