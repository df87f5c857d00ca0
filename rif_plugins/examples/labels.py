"""From the labels of a data set to the columns of the victim."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rif_plugins.errors import DataError
from rif_plugins.examples.cells import listed, shown

LabelMap = Mapping[str, int | str]
_MAX_BYTES = 16 << 20
_TRUTH = {"true": "1", "false": "0"}


class LabelReader:
    """Reads labels; words are compared without regard to case.

    A label is, in this order: an entry of the label map; a class name; a class number.  Where the victim's
    names are themselves numbers (``1`` to ``5`` stars), a number is a name and never a column's place.

    Args:
        names: The victim's class names; ``None`` if it names none.
        label_map: From labels of the data to class names or numbers.
        own_names: Names that the data gives to its numbers.  Where they are the victim's in another
            order, they decide; where they are other words, the number is taken as it is.

    Raises:
        DataError: The label map names a class that the victim does not have.
    """

    def __init__(
        self,
        names: Sequence[str] | None,
        *,
        label_map: LabelMap | None = None,
        own_names: Sequence[str] | None = None,
    ) -> None:
        self.names = tuple(names or own_names or ()) or None
        self._by_name = {name.strip().casefold(): column for column, name in enumerate(self.names or ())}
        self._has_number_names = any(_integer(name) is not None for name in self._by_name)
        own = [name.strip().casefold() for name in own_names or ()]
        self._own = own if set(own) == set(self._by_name) else []
        self._map: dict[str, int] | None = None
        if label_map is not None:
            self._map = {self._source(key): self._target(key, to) for key, to in label_map.items()}

    def read(self, value: Any, where: str) -> int:
        """The class of one label.

        Args:
            value: The cell.
            where: File and row, for messages.

        Raises:
            DataError: It is no class; the message says what was expected.
        """
        keys = _keys(value)
        if not keys:
            raise DataError(
                f"{where}: the label is empty: fill it in, or take the victim's answers with "
                "--labels predicted"
            )
        if self._map is not None:
            found = next((self._map[key] for key in keys if key in self._map), None)
            if found is None:
                raise DataError(
                    f"{where}: the label {shown(value)} is not in the label map, which has "
                    f"{listed(list(self._map))}: add it"
                )
            return found
        number = _integer(keys[-1])
        if number is not None and 0 <= number < len(self._own):
            return self._by_name[self._own[number]]
        found = self._class_of(keys)
        if found is None:
            raise DataError(f"{where}: the label {shown(value)} {self._expected()}")
        return found

    def _class_of(self, keys: Sequence[str]) -> int | None:
        if keys[0] in self._by_name:
            return self._by_name[keys[0]]
        number = _integer(keys[-1])
        if number is None or number < 0 or self._has_number_names:
            return None
        return number if self.names is None or number < len(self.names) else None

    @staticmethod
    def _source(key: str) -> str:
        keys = _keys(key)
        if not keys:
            raise DataError(f"label map: {shown(key)} is no label: expected the labels of the data")
        return keys[0]

    def _target(self, key: str, to: int | str) -> int:
        keys = _keys(to)
        found = self._class_of(keys) if keys else None
        if found is None:
            raise DataError(f"label map: the class {shown(to)} of {shown(key)} {self._expected()}")
        return found

    def _expected(self) -> str:
        if self.names is None:
            return (
                "is no number from 0, and the victim names no classes: add `label_names` to the "
                'victim\'s file or --label-map FILE, such as {"negative": 0, "positive": 1}'
            )
        numbers = "" if self._has_number_names else f" or 0 to {len(self.names) - 1}"
        return (
            f"is no class of the victim: expected {listed(self.names)}{numbers}; "
            "correct it, or add --label-map FILE that maps it to one of these"
        )


def read_label_map(path: Path | str) -> dict[str, int | str]:
    """Read a label map: one JSON object or TOML table from labels to class names or numbers.

    Raises:
        DataError: The file cannot be read, or holds something else.
    """
    source = Path(path)
    kind = source.suffix.lower()
    if kind not in (".json", ".toml"):
        raise DataError(f"label map {shown(source.name)}: expected a name that ends in .json or .toml")
    try:
        if source.stat().st_size > _MAX_BYTES:
            raise DataError(f"label map {shown(source.name)} is larger than 16 MB: is it a label map?")
        text = source.read_text(encoding="utf-8-sig")
        data = json.loads(text) if kind == ".json" else _toml(text)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot read the label map {shown(source.name)} ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:100]
        raise DataError(f"label map {shown(source.name)}: broken {kind[1:].upper()} ({reason})") from error
    advice = 'expected entries such as {"neg": "negative", "pos": 1}'
    if not isinstance(data, dict) or not data:
        raise DataError(f"label map {shown(source.name)} holds {shown(data)}, {advice}")
    for key, to in data.items():
        if isinstance(to, bool) or not isinstance(to, (int, str)):
            raise DataError(f"label map {shown(source.name)}: {shown(key)} maps to {shown(to)}, {advice}")
    folded = {key.strip().casefold() for key in data}
    if len(folded) != len(data):
        raise DataError(
            f"label map {shown(source.name)}: two labels differ in letter case or spaces only, "
            "and case does not count: leave one"
        )
    return data


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _keys(value: Any) -> tuple[str, ...]:
    """A label as folded text, and as a number where it is true or false; nothing where it is empty.

    Whole floats become integers, because tables turn integers with gaps into floats.
    """
    if isinstance(value, bool) or (isinstance(value, str) and value.strip().casefold() in _TRUTH):
        key = str(value).strip().casefold()
        return key, _TRUTH[key]
    if isinstance(value, float) and not math.isnan(value):
        value = int(value) if value.is_integer() else value
    key = str(value).strip().casefold()
    whole, dot, rest = key.partition(".")
    if dot and rest.strip("0") == "" and _integer(whole) is not None:
        key = whole
    return () if value is None or key in ("", "nan") else (key,)


def _integer(key: str) -> int | None:
    digits = key[1:] if key.startswith("-") else key
    return int(key) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None
