"""`rif`: finds the sub-command in the registry and runs it; the one place that turns errors into exit codes.

Exit codes: 0 done, 1 a check did not pass, 2 the user's mistake (one line on stderr), 3 done with errors in
some examples, 130 interrupted. ``RIF_DEBUG=1`` shows the traceback behind a line.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from rif_plugins import __version__, registry
from rif_plugins.errors import RIFError, UsageError

EXIT_DONE = 0
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `rif` with the given arguments (default: the process's own) and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    warnings.showwarning = _show_warning(warnings.showwarning)
    try:
        return _dispatch(given)
    except RIFError as error:
        if os.environ.get("RIF_DEBUG") == "1":
            raise
        print(f"rif: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print("rif: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has gone: nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE


def _show_warning(usual: Callable[..., None]) -> Callable[..., None]:
    """Show our own warnings as one line; the others as they are."""

    def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if category.__module__.startswith("rif_plugins."):
            print(f"rif: {message}", file=sys.stderr)
        else:
            usual(message, category, *rest)

    return show


def _dispatch(given: list[str]) -> int:
    if not given or given[0] in ("-h", "--help", "help"):
        print(help_text())
        return EXIT_DONE if given else EXIT_USAGE
    if given[0] in ("-V", "--version"):
        print(f"rif-plugins {__version__}")
        return EXIT_DONE
    name, rest = given[0], given[1:]
    if name not in registry.COMMANDS:
        known = ", ".join(sorted(registry.COMMANDS))
        raise UsageError(f"unknown command {name!r}: expected one of {known}; see `rif --help`")
    code: int = import_module(registry.COMMANDS[name][0]).main(rest)
    return code


def help_text() -> str:
    """The text of `rif --help`."""
    width = max(len(name) for name in registry.COMMANDS)
    commands = "\n".join(
        f"  {name:<{width}}  {summary}" for name, (_, summary) in sorted(registry.COMMANDS.items())
    )
    return (
        "usage: rif COMMAND [OPTIONS]\n\n"
        "Find inputs whose similar individuals a classifier treats differently.\n\n"
        f"commands:\n{commands}\n\n"
        "options:\n"
        "  -h, --help     this text; `rif COMMAND --help` tells more\n"
        "  -V, --version  the version\n"
    )


if __name__ == "__main__":
    sys.exit(main())
