"""The schema as a TOML file: one ``[[column]]`` a column, in array order."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rif_plugins.errors import DataError, UsageError
from rif_plugins.tables.columns import ColumnSpec

FORMAT = "rif-table/1"
_FIELDS = {field.name: field for field in dataclasses.fields(ColumnSpec)}
_NUMBERS = ("low", "high", "step", "grid")
_FLAGS = ("sensitive", "immutable")
_MAX_BYTES = 16 << 20


def read_columns(path: Path) -> tuple[ColumnSpec, ...]:
    """The columns of a schema file.

    Raises:
        DataError: The file is missing, is no TOML, or does not describe a schema.
    """
    content = _parsed(path)
    if content.get("schema") != FORMAT:
        raise DataError(
            f'{path}: `schema` is {content.get("schema")!r}, expected "{FORMAT}": is it a schema file?'
        )
    unknown = sorted(content.keys() - {"schema", "column"})
    if unknown:
        raise DataError(f"{path}: unknown key `{unknown[0]}`; allowed are schema and column")
    entries = content.get("column")
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path}: no column: add one `[[column]]` for every column of the table")
    return tuple(_column(entry, f"{path}: column {number}") for number, entry in enumerate(entries, start=1))


def _parsed(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise DataError(f"{path} is larger than 16 MB: is it a schema?")
        content: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"no schema file {path}: check the path") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"cannot read the schema {path}: {reason}: check the path") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8: save the file as UTF-8") from None
    except RecursionError:
        raise DataError(f"{path} is no TOML that can be read: its lists are nested too deeply") from None
    except ValueError as error:  # broken TOML, or a number of thousands of digits
        raise DataError(f"{path} is no TOML: {error}: mend the line") from None
    return content


def _column(entry: Any, where: str) -> ColumnSpec:
    if not isinstance(entry, dict):
        raise DataError(f"{where} is no table: write it as `[[column]]`")
    named = f"{where} ({entry['name']})" if isinstance(entry.get("name"), str) else where
    values: dict[str, Any] = {}
    for key, raw in entry.items():
        if key not in _FIELDS:
            raise DataError(f"{named}: unknown key `{key}`; allowed are {', '.join(_FIELDS)}")
        values[key] = _value(key, raw, named)
    for key in ("name", "kind"):
        if key not in values:
            raise DataError(f"{named}: the key `{key}` is missing: add it")
    try:
        return ColumnSpec(**values)
    except UsageError as error:
        raise DataError(f"{where}: {error}") from None


def _value(key: str, raw: Any, where: str) -> Any:
    if key in ("name", "kind") and isinstance(raw, str):
        return raw
    if key in _FLAGS and isinstance(raw, bool):
        return raw
    if key in _NUMBERS and _is_number(raw):
        return _number(key, raw, where)
    if key == "width" and isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if key == "values" and isinstance(raw, list) and all(_is_number(item) for item in raw):
        return tuple(_number(key, item, where) for item in raw)
    if key == "labels" and isinstance(raw, list) and all(isinstance(item, str) for item in raw):
        return tuple(raw)
    kinds = {"values": "a list of numbers", "labels": "a list of strings", "width": "a whole number"}
    simple = "a string" if key in ("name", "kind") else "true or false" if key in _FLAGS else "a number"
    raise DataError(f"{where}: `{key}` is {raw!r}, expected {kinds.get(key, simple)}")


def _number(key: str, raw: int | float, where: str) -> float:
    try:
        return float(raw)
    except OverflowError:
        raise DataError(f"{where}: `{key}` holds a whole number too large to compute with") from None


def _is_number(raw: Any) -> bool:
    return isinstance(raw, (int, float)) and not isinstance(raw, bool)


def write_columns(columns: Iterable[ColumnSpec], relation_names: Iterable[str] = ()) -> str:
    """The columns as TOML text that :func:`read_columns` reads back to equal columns."""
    lines = [f'schema = "{FORMAT}"']
    lines += [
        f"# relation {json.dumps(name)}: a Python function, given beside the file" for name in relation_names
    ]
    for column in columns:
        lines += ["", "[[column]]"]
        for name, field in _FIELDS.items():
            value = getattr(column, name)
            if value != field.default:
                lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON and basic TOML strings agree, but for the escape of DEL and of characters beyond the BMP.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
