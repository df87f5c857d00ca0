"""Every error this package raises on purpose.

A message is one line that tells what happened, what was expected, what was got and what to do.
The command line prints it on stderr and exits with code 2; library users catch :class:`RIFError`.
"""

from __future__ import annotations


class RIFError(Exception):
    """Base class of all errors raised by rif-plugins."""


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
