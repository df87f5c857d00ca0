"""`rif` itself: dispatch, help, exit codes."""

from __future__ import annotations

import sys
import types

import pytest

from rif_plugins import __version__, registry
from rif_plugins.cli.main import main
from rif_plugins.errors import DataError, MissingDependencyError


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A sub-command `fake` whose `main` a test sets."""
    module = types.ModuleType("rif_fake_command")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.COMMANDS, "fake", (module.__name__, "does nothing"))
    return module


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rif-plugins {__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, (_, text) in registry.COMMANDS.items():
        assert f"  {name} " in printed
        assert text in printed


def test_no_command_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: rif COMMAND" in capsys.readouterr().out


def test_an_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attak"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    known = ", ".join(sorted(registry.COMMANDS))
    assert captured.err.startswith(f"rif: unknown command 'attak': expected one of {known}; see")
    assert captured.err.count("\n") == 1


def test_the_arguments_and_the_exit_code_pass_through(command: types.ModuleType) -> None:
    seen: list[list[str]] = []

    def run(arguments: list[str]) -> int:
        seen.append(arguments)
        return 3

    command.main = run  # type: ignore[attr-defined]
    assert main(["fake", "--seed", "1"]) == 3
    assert seen == [["--seed", "1"]]


@pytest.mark.parametrize(
    "error", [DataError("x.csv: no such file"), MissingDependencyError("run `pip install y`")]
)
def test_our_errors_are_one_line(
    command: types.ModuleType, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def run(arguments: list[str]) -> int:
        raise error

    command.main = run  # type: ignore[attr-defined]
    assert main(["fake"]) == 2
    assert capsys.readouterr().err == f"rif: {error}\n"


def test_the_traceback_is_there_on_demand(command: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(arguments: list[str]) -> int:
        raise DataError("x.csv: no such file")

    command.main = run  # type: ignore[attr-defined]
    monkeypatch.setenv("RIF_DEBUG", "1")
    with pytest.raises(DataError, match="no such file"):
        main(["fake"])


def test_an_error_that_is_not_the_users_keeps_its_traceback(command: types.ModuleType) -> None:
    def run(arguments: list[str]) -> int:
        raise ZeroDivisionError

    command.main = run  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError):
        main(["fake"])


def test_an_interruption_has_its_own_code(
    command: types.ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    command.main = run  # type: ignore[attr-defined]
    assert main(["fake"]) == 130
    assert capsys.readouterr().err == "rif: interrupted\n"
