"""What a fuzz target is, and when a case has failed: anything but an error of this package escapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from rif_plugins.errors import RIFError

LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class Target:
    """One entrance for data that somebody else wrote.

    Attributes:
        name: ``group.what``.
        check: Uses the value as the program does and looks at what comes out. An error of this package is
            a fine answer; any other exception is a failure.
        quick: Makes a value from a random generator, fast: mostly valid input with something broken.
        values: Makes values for hypothesis, which shrinks them; None takes ``quick``.
        is_slow: A case costs 10 ms or more.
    """

    name: str
    check: Callable[[Any], None]
    quick: Callable[[random.Random], Any]
    values: st.SearchStrategy[Any] | None = None
    is_slow: bool = False

    @property
    def strategy(self) -> st.SearchStrategy[Any]:
        """Values for hypothesis."""
        seeded = st.integers(0, 2**32).map(lambda seed: self.quick(random.Random(seed)))
        return seeded if self.values is None else st.one_of(self.values, seeded)


def run_case(target: Target, value: Any) -> bool:
    """Check one value.

    Returns:
        Whether it was accepted; False where the package refused it with a message.
    """
    try:
        target.check(value)
    except RIFError as error:
        check_message(str(error))
        return False
    return True


def check_message(message: str) -> None:
    """A message is one printable line of bounded length."""
    assert message.strip(), "the error has no message"
    assert message.isprintable(), f"the message is no printable line: {message!r}"
    assert len(message) <= LONGEST_MESSAGE, f"the message has {len(message)} characters"


def shrink(target: Target, value: Any, attempts: int = 400) -> Any:
    """A shorter text or byte string that fails with the same kind of exception; other values stay."""
    if not isinstance(value, (str, bytes)):
        return value
    kind = type(failure_of(target, value))
    size = max(1, len(value) // 2)
    while attempts > 0:
        start, is_shorter = 0, False
        while start < len(value) and attempts > 0:
            smaller = value[:start] + value[start + size :]
            attempts -= 1
            if type(failure_of(target, smaller)) is kind:
                value, is_shorter = smaller, True
            else:
                start += size
        if size == 1 and not is_shorter:
            break
        size = max(1, size // 2)
    return value


def failure_of(target: Target, value: Any) -> Exception | None:
    """The exception that a value leads to, None if the case passes."""
    try:
        run_case(target, value)
    except Exception as error:
        return error
    return None
