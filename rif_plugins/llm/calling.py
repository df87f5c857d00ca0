"""What all chat models share: giving up after failures in a row, and keeping below a rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rif_plugins.llm.base import CallBudget, ChatFailure

MOST_FAILURES = 5
REFUSALS_A_FAILURE = 8


def used_up(budget: CallBudget) -> ChatFailure:
    """The failure of a question for which no call is left."""
    return ChatFailure(f"the {budget.max_calls} calls of the run are used up", is_final=True)


class Circuit:
    """Opens after failures in a row, so that a dead server costs a run minutes and not days.

    A refusal (the model lives and does not take this one question) weighs an eighth of a failure: one text
    that is too long must not end a run, and refusing everything must not go on for ever. Nothing weighs a
    failure that is known to be the question's own (``ChatFailure.is_refusal``).

    Args:
        most_failures: Failures in a row, all attempts of a question being one.
    """

    def __init__(self, most_failures: int = MOST_FAILURES) -> None:
        self._most = most_failures * REFUSALS_A_FAILURE
        self._weight = 0
        self._number = 0
        self._has_answered = False
        self._last = ""
        self._final = ""
        self._lock = threading.Lock()

    @property
    def has_answered(self) -> bool:
        """Whether any question was answered."""
        return self._has_answered

    @property
    def failure(self) -> ChatFailure | None:
        """Why nothing is asked any more; None while things work."""
        with self._lock:
            if self._final:
                return ChatFailure(self._final, is_final=True)
            if self._weight >= self._most:
                reason = f"given up after {self._number} failures in a row, the last: {self._last}"
                return ChatFailure(reason, is_final=True)
            return None

    def note(self, failure: ChatFailure | None, *, is_refusal: bool = False) -> None:
        """Count one answer; None is a good one."""
        with self._lock:
            if failure is None:
                self._weight = self._number = 0
                self._has_answered = True
                return
            if failure.is_final:
                self._final = failure.reason
            if failure.is_refusal:
                return
            self._weight += 1 if is_refusal else REFUSALS_A_FAILURE
            self._number += 1
            self._last = failure.reason


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
        sleep: Callable[[float], object] = time.sleep,
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
