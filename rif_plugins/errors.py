"""Every error this package raises on purpose.

A message is one line that tells what happened, what was expected, what was got and what to do.
The command line prints it on stderr and exits with code 2; library users catch :class:`RIFError`.
"""

from __future__ import annotations

_LONGEST = 1500


class RIFError(Exception):
    """Base class of all errors raised by rif-plugins.

    Messages quote what files, servers and users say. Whatever that holds, ``str`` gives one printable line
    of bounded length: nothing in it can write to a terminal or forge a second line.
    """

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) > _LONGEST:
            # Names stand in front, the advice at the end.
            text = f"{text[: _LONGEST - 300]} ... {text[-295:]}"
        return text if text.isprintable() else "".join(map(_printable, text))


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if letter in "\n\r\t\xa0" else ascii(letter)[1:-1]


class UsageError(RIFError, ValueError):
    """The caller's input or configuration is wrong; the message says how to mend it."""


class DataError(UsageError):
    """A data file, column, label or text cannot be used."""


class LexiconError(UsageError):
    """A lexicon file is malformed (the message carries the line number)."""


class ScorerError(UsageError):
    """An entailment scorer cannot be loaded or fails its start-up probe."""


class VictimError(UsageError):
    """A victim cannot be loaded, or it returned something that is not a prediction."""


class VictimRowError(VictimError):
    """The victim answered one text with something unusable, such as NaN; other texts may be fine."""


class MissingDependencyError(RIFError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""
