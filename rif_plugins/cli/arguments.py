"""The argument parser of all sub-commands: one line for a mistake, no abbreviations."""

from __future__ import annotations

import argparse
from typing import NoReturn

from rif_plugins.errors import UsageError


class CommandParser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises :class:`UsageError` where argparse prints its usage and exits."""

    def __init__(self, *, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Raise the message as the user's mistake."""
        raise UsageError(f"{message}; see `{self.prog} --help`")
