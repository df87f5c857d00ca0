"""Columns and cells: which columns hold text and label, and what a text may hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rif_plugins.errors import DataError

MAX_CHARACTERS = 10_000_000
_TEXT_NAMES = ("text", "sentence", "review", "comment", "comment_text", "tweet", "content", "message", "body")
_LABEL_NAMES = ("label", "labels", "class", "category", "target", "sentiment")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Columns:
    """Which columns to read; ``None`` where there is none to read."""

    text: str
    label: str | None
    similar: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(name for name in (self.text, self.label, self.similar) if name is not None)


def shown(value: Any, limit: int = 60) -> str:
    """User content in a message: one line, quoted, not long."""
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(names: Sequence[str]) -> str:
    """Column names in a message."""
    first = ", ".join(shown(name, 40) for name in names[:12])
    return f"{first}, ... ({len(names)} in all)" if len(names) > 12 else first or "none"


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse columns that cannot be told apart; nameless ones may repeat, nobody can ask for them.

    Raises:
        DataError: Two columns have one name.
    """
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise DataError(f"{source}: two columns are called {shown(name)}: give each a name of its own")
        seen.add(name)


def choose_columns(
    names: Sequence[str],
    source: str,
    *,
    text: str | None,
    label: str | None,
    similar: str | None,
    needs_label: bool,
) -> Columns:
    """The columns asked for, or those with the usual names.

    Raises:
        DataError: A column is not there, or none has a usual name; the message lists what there is.
    """
    for option, name in (("--text-column", text), ("--label-column", label), ("--similar-column", similar)):
        if name is not None and name not in names:
            raise DataError(f"{source}: no column {shown(name)} for {option}; it has {listed(names)}")
    found_text = text or _usual(names, _TEXT_NAMES)
    if found_text is None:
        hint = ""
        if len(names) == 1 and ";" in names[0]:
            hint = " (the cells seem to be separated by semicolons: save the file with commas)"
        raise DataError(
            f"{source}: no column is called {', '.join(_TEXT_NAMES[:3])} or alike; it has {listed(names)}"
            f"{hint}: name one with --text-column"
        )
    found_label = None
    if needs_label:
        found_label = label or _usual([name for name in names if name != found_text], _LABEL_NAMES)
        if found_label is None:
            raise DataError(
                f"{source}: no column is called {' or '.join(_LABEL_NAMES[:2])}; it has {listed(names)}: "
                "name one with --label-column, or take the victim's own answers with --labels predicted"
            )
    return Columns(found_text, found_label, similar)


def _usual(names: Sequence[str], usual: Sequence[str]) -> str | None:
    by_fold: dict[str, str] = {}
    for name in names:
        by_fold.setdefault(name.casefold(), name)
    return next((by_fold[name] for name in usual if name in by_fold), None)


def checked_text(value: Any, where: str, column: str) -> str:
    """A cell as text.

    Args:
        value: The cell.
        where: File and row, for messages.
        column: The column's name.

    Raises:
        DataError: It is no text, too long, or holds NUL or half of a surrogate pair.
    """
    name = shown(column)
    if value is None:
        raise DataError(f"{where}: column {name} is empty, expected a text: fill it in or take the row out")
    if not isinstance(value, str):
        raise DataError(
            f"{where}: column {name} holds {shown(value)} ({type(value).__name__}), expected a text: "
            "name another column or correct the row"
        )
    if len(value) > MAX_CHARACTERS:
        raise DataError(
            f"{where}: column {name} holds {len(value)} characters, expected {MAX_CHARACTERS} at most: "
            "shorten the text"
        )
    if "\0" in value:
        raise DataError(f"{where}: column {name} holds a NUL character, expected plain text: take it out")
    if found := _SURROGATE.search(value):
        raise DataError(
            f"{where}: column {name} holds U+{ord(found[0]):04X}, half of a surrogate pair and no character: "
            "take it out"
        )
    return value
