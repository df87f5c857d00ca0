"""Templates that tell a row as text: literal text, one field a column, and words that agree with the person.

``{age}`` is the value of a column, ``a/an {job}`` puts the right article before it. ``[They|I|You|She|He]``
holds the words of the five persons, ``[hold|holds]`` is short for the same verb with *they, I, you* and with
*she, he*. ``{{``, ``}}``, ``[[`` and ``]]`` stand for the characters themselves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rif_plugins.errors import DataError

FORMAT = "rif-template/1"
PERSONS = ("third", "i", "you", "she", "he")
PERSPECTIVES = ("third", "i", "you", "she_he", "she", "he")
ARTICLES = ("an ", "a ")
_TOKEN = re.compile(
    r"\{\{|\}\}|\[\[|\]\]"
    r"|(?P<article>\ba/an )?\{(?P<column>[^{}]*)\}"
    r"|\[(?P<forms>[^\[\]]*)\]"
    r"|(?P<stray>[{}\[\]])"
)
_LINE_END = re.compile(r"\s*\n\s*")
_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Agreement:
    """Words that depend on who is spoken of; ``forms`` in the order of ``PERSONS``."""

    forms: tuple[str, ...]


@dataclass(frozen=True)
class Slot:
    """The place of a column's value, with *a* or *an* before it where ``has_article``."""

    column: str
    has_article: bool = False


Part = str | Agreement | Slot


@dataclass(frozen=True)
class Gender:
    """Which column says who is told as *she* and who as *he*; anybody else is told as the third person.

    Attributes:
        column: Name of the column.
        female, male: Its values, as they stand in the table.
    """

    column: str
    female: tuple[str, ...]
    male: tuple[str, ...]

    def person(self, label: str | None) -> str:
        """``"she"``, ``"he"`` or ``"third"``."""
        return "she" if label in self.female else "he" if label in self.male else "third"


@dataclass(frozen=True)
class Template:
    """A template, checked for everything that does not need a schema.

    Attributes:
        name: Name for messages.
        parts: Texts, agreements and slots in order.
        gender: Needed for the perspective ``she_he``.
        words: By column: from values as they stand in the table to the words that tell them.

    Raises:
        DataError: A column is told twice, two fields have no text between them, or two values of a column
            have the same words.
    """

    name: str
    parts: tuple[Part, ...]
    gender: Gender | None = None
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.columns:
            raise self._error("it has no field: write the name of a column in braces, such as {age}")
        for column in self.columns:
            if self.columns.count(column) > 1:
                raise self._error(f"the column {column!r} is told twice: take one of the two fields out")
        for person in range(len(PERSONS)):
            self._check_gaps(person)
        for column, words in self.words.items():
            if column not in self.columns:
                raise self._error(f"words names the column {column!r}, which no field tells: take it out")
            told = list(words.values())
            for word in told:
                if not word or told.count(word) > 1:
                    raise self._error(
                        f"two values of {column!r} are told as {word!r}, or one as nothing: give each its own"
                    )
        if self.gender is not None and self.gender.column not in self.columns:
            raise self._error(f"gender names the column {self.gender.column!r}, which no field tells")

    def _check_gaps(self, person: int) -> None:
        before, gap = "", "."
        for part in self.parts:
            if isinstance(part, Slot):
                if not gap:
                    raise self._error(
                        f"the fields {before!r} and {part.column!r} have no text between them in the "
                        f"{PERSONS[person]} person: nobody can tell where one ends; write a word or a comma"
                    )
                before, gap = part.column, ""
            else:
                gap += part if isinstance(part, str) else part.forms[person]

    def _error(self, what: str) -> DataError:
        return DataError(f"template {self.name}: {what}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are told, in order."""
        return tuple(part.column for part in self.parts if isinstance(part, Slot))

    @classmethod
    def parse(
        cls,
        text: str,
        name: str = "template",
        *,
        gender: Gender | None = None,
        words: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Template:
        """A template from its text; see the module for what may stand in it.

        Raises:
            DataError: A bracket is left open or empty, or ``Template`` refuses it.
        """
        return cls(name, parse_parts(text, name), gender, dict(words or {}))

    @classmethod
    def load(cls, path: str | Path) -> Template:
        """A template from a file: a text, or TOML with ``text`` and perhaps ``gender`` and ``words``.

        Raises:
            DataError: The file cannot be read or is no template; the message says what to mend.
        """
        file = Path(path)
        text = _read(file)
        if file.suffix.lower() == ".toml":
            return cls.parse(**_from_toml(text, file))
        return cls.parse(_one_line(text), file.name)


def parse_parts(text: str, name: str) -> tuple[Part, ...]:
    """The parts of a template's text.

    Raises:
        DataError: A brace or bracket is left open or empty, or has another number of words than 2 or 5.
    """
    parts: list[Part] = []
    place = 0
    for match in _TOKEN.finditer(text):
        _add(parts, text[place : match.start()])
        place = match.end()
        if match["stray"]:
            raise DataError(
                f"template {name}: {match['stray']!r} at character {match.start() + 1} has no partner: "
                f"close it, or write {match['stray'] * 2} for the character itself"
            )
        if match["column"] is not None:
            column = match["column"].strip()
            if not column:
                raise DataError(f"template {name}: {{}} names no column: write its name, such as {{age}}")
            parts.append(Slot(column, match["article"] is not None))
        elif match["forms"] is not None:
            parts.append(_agreement(match["forms"], name))
        else:
            _add(parts, match[0][0])
    _add(parts, text[place:])
    return tuple(parts)


def _add(parts: list[Part], text: str) -> None:
    if text and parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _agreement(text: str, name: str) -> Agreement:
    forms = tuple(text.split("|"))
    if len(forms) == 2:
        forms = (forms[0],) * 3 + (forms[1],) * 2
    if len(forms) != len(PERSONS):
        raise DataError(
            f"template {name}: [{text}] has {len(forms)} forms, expected 5 (they|I|you|she|he) "
            "or 2 (with they, I, you | with she, he)"
        )
    return Agreement(forms)


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise DataError(f"{file} is larger than 1 MB: is it a template?")
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"no template file {file}: check the path") from None
    except OSError as error:
        raise DataError(f"cannot read the template {file}: {error.strerror}: check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{file} is not UTF-8: save the file as UTF-8") from None


def _one_line(text: str) -> str:
    return _LINE_END.sub(" ", text.strip())


def _from_toml(text: str, file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise DataError(f"{file} is no TOML that can be read: its lists are nested too deeply") from None
    except ValueError as error:
        raise DataError(f"{file} is no TOML: {error}: mend the line") from None
    if content.get("template") != FORMAT:
        raise DataError(f'{file}: `template` is {content.get("template")!r}, expected "{FORMAT}"')
    unknown = sorted(content.keys() - {"template", "text", "gender", "words"})
    if unknown:
        raise DataError(f"{file}: unknown key `{unknown[0]}`; allowed are template, text, gender and words")
    if not isinstance(content.get("text"), str):
        raise DataError(f"{file}: `text` is missing or no string: write the template there")
    words = content.get("words", {})
    is_table = isinstance(words, dict) and all(isinstance(one, dict) for one in words.values())
    if not is_table or not all(isinstance(word, str) for one in words.values() for word in one.values()):
        raise DataError(f'{file}: `words` must be tables [words.COLUMN] of VALUE = "words"')
    gender = None if "gender" not in content else _gender(content["gender"], file)
    return {"text": _one_line(content["text"]), "name": file.name, "gender": gender, "words": words}


def _gender(entry: Any, file: Path) -> Gender:
    def strings(value: Any) -> tuple[str, ...] | None:
        listed: Sequence[Any] = value if isinstance(value, list) else [value]
        is_good = all(isinstance(one, (str, int)) and not isinstance(one, bool) for one in listed)
        return tuple(map(str, listed)) if is_good else None

    if isinstance(entry, dict) and entry.keys() == {"column", "female", "male"}:
        female, male = strings(entry["female"]), strings(entry["male"])
        if isinstance(entry["column"], str) and female and male and not set(female) & set(male):
            return Gender(entry["column"], female, male)
    raise DataError(
        f'{file}: `gender` must be {{ column = "sex", female = ["Female"], male = ["Male"] }}, '
        "with different values"
    )
