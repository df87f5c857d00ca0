"""A short look at every fuzz target; `make fuzz` looks longer."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
from fuzz.all_targets import TARGETS
from fuzz.engine import LONGEST_MESSAGE, Target, check_message, run_case, shrink
from hypothesis import HealthCheck, given, settings

from rif_plugins.errors import DataError

pytestmark = pytest.mark.fuzz
_N_FAST, _N_SLOW = 25, 3


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_hostile_values_end_in_a_result_or_a_message(target: Target) -> None:
    rng = random.Random(target.name)
    for _ in range(_N_SLOW if target.is_slow else _N_FAST):
        run_case(target, target.quick(rng))


@pytest.mark.parametrize("target", [t for t in TARGETS if t.values is not None], ids=lambda t: t.name)
def test_drawn_values_end_in_a_result_or_a_message(target: Target) -> None:
    assert target.values is not None

    @settings(
        max_examples=2 if target.is_slow else 15,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.values)
    def case(value: Any) -> None:
        run_case(target, value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        case()


def _target(check: Any) -> Target:
    return Target("toy", check, lambda rng: rng.random())


def test_a_message_is_a_fine_answer() -> None:
    def refuse(value: Any) -> None:
        raise DataError(f"no use for {value!r}")

    assert not run_case(_target(refuse), "x")
    assert run_case(_target(lambda value: None), "x")


def test_another_exception_is_a_failure_and_shrinks() -> None:
    def fail(value: Any) -> None:
        assert b"bad" not in value

    with pytest.raises(AssertionError):
        run_case(_target(fail), b"so bad")
    assert shrink(_target(fail), b"something very bad here, really") == b"bad"


@pytest.mark.parametrize("message", ["", "two\nlines", "\x1b[31mred", "x" * (LONGEST_MESSAGE + 1)])
def test_a_message_is_one_printable_line(message: str) -> None:
    with pytest.raises(AssertionError):
        check_message(message)


def test_names_of_targets_are_unique() -> None:
    names = [target.name for target in TARGETS]
    assert len(names) == len(set(names)) > 30
