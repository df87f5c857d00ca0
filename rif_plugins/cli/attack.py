"""`rif attack`: TextAttack's own `attack` with our names registered, start-up file or not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from rif_plugins.cli.arguments import CommandParser
from rif_plugins.errors import UsageError
from rif_plugins.settings import FIELDS, Settings, allowed_values, variable_of

EXIT_SOME_ERRORS = 3
_DESCRIPTION = """\
Run TextAttack's `attack` command with the recipes and components of rif-plugins registered, whether or not
the start-up file is active. The options below set the RIF recipes; every other option goes to TextAttack:
see `textattack attack --help`. Settings can also stand in `rif.toml` or in RIF_* environment variables."""
_EPILOG = """\
example:
  rif attack --recipe rifair-robust-biased --sensitive gender \\
    --model-from-file victim.py --dataset-from-file data.py"""
# TextAttack's options that name a Python file of the user.
_FILE_OPTIONS = ("--model-from-file", "--dataset-from-file", "--attack-from-file")


def main(arguments: Sequence[str]) -> int:
    """Run TextAttack's command line and return its exit code.

    Raises:
        UsageError: A setting, a file or an argument is not usable.
    """
    forwarded = _apply_settings(arguments)
    _check_files(forwarded)
    Settings.load()
    from rif_plugins.text import host

    host.register()
    try:
        code = host.run_command_line(["attack", *forwarded])
        return EXIT_SOME_ERRORS if code == 0 and host.examples_with_errors() else code
    except Exception as error:
        if host.is_argument_error(error) and os.environ.get("RIF_DEBUG") != "1":
            message = " ".join(str(error).split()) or type(error).__name__
            raise UsageError(f"TextAttack: {message} (RIF_DEBUG=1 shows the traceback)") from error
        raise


def _apply_settings(arguments: Sequence[str]) -> list[str]:
    """Put our options into the environment, where recipes and their workers read them; return the rest."""
    parser = CommandParser(prog="rif attack", description=_DESCRIPTION, epilog=_EPILOG)
    group = parser.add_argument_group("RIF settings")
    for key in FIELDS:
        group.add_argument(
            f"--{key.replace('_', '-')}", dest=key, metavar="VALUE", help=f"{allowed_values(key)}"
        )
    known, rest = parser.parse_known_args(list(arguments))
    for key in FIELDS:
        value = getattr(known, key)
        if value is not None:
            os.environ[variable_of(key)] = value
    for value, option in ((known.seed, "--random-seed"), (known.batch_size, "--model-batch-size")):
        if value is not None and not any(word.split("=")[0] == option for word in rest):
            rest += [option, value]
    return rest


def _check_files(arguments: Sequence[str]) -> None:
    """Find a missing file before TextAttack's import takes its 10 to 18 seconds."""
    words = [
        word
        for argument in arguments
        for word in (argument.split("=", 1) if argument.startswith("--") else [argument])
    ]
    for option, value in pairwise(words):
        file = value.split("^")[0]
        if option in _FILE_OPTIONS and not Path(file).is_file():
            raise UsageError(f"{option}: no file {file!r}; give the path of a Python file")
