"""What the fields of a record may hold, checked before anything computes with them.

Records come from files, and files from anywhere: a field of another type would end a report in an error that
tells nobody which line to mend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from rif_plugins.errors import DataError

Check = Callable[[Any], bool]
_LARGEST = 2**53  # whole numbers up to here are exact in every reader of JSON


def is_text(value: Any) -> bool:
    """True for a string."""
    return isinstance(value, str)


def is_whole(value: Any) -> bool:
    """True for a whole number that every reader keeps exact; not for truth values."""
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def is_number(value: Any) -> bool:
    """True for a finite number; not for truth values."""
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def or_none(check: Check) -> Check:
    """The check, or null."""
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    """A list of values that pass the check."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def map_of(check: Check) -> Check:
    """An object whose values pass the check."""
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def object_of(needed: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """An object with some fields; unknown ones may hold anything."""

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and is_fine(value[name]) for name, is_fine in needed.items())
            and all(is_fine(value[name]) for name, is_fine in optional.items() if name in value)
        )

    return check


def _is_place(value: Any) -> bool:
    return is_whole(value) and value >= 0


def _is_amount(value: Any) -> bool:
    return is_number(value) and value >= 0


def _are_rows(value: Any) -> bool:
    """Probabilities by text: rows of equal length, one number a class."""
    if not map_of(list_of(is_number))(value):
        return False
    lengths = {len(row) for row in value.values()}
    return len(lengths) <= 1 and 0 not in lengths


_SPAN = {"start": _is_place, "end": _is_place}
_FIELDS: dict[str, tuple[Check, str]] = {
    **dict.fromkeys(
        ("id", "example", "target", "status", "stop_reason", "attribute", "clean_outcome", "outcome"),
        (is_text, "a text"),
    ),
    **dict.fromkeys(
        ("original", "similar", "perturbed_original", "perturbed_similar", "scorer", "message"),
        (is_text, "a text"),
    ),
    **dict.fromkeys(("value_from", "value_to"), (is_text, "a text")),
    "label": (or_none(is_whole), "a whole number or null"),
    **dict.fromkeys(("seed", "n_tried"), (is_whole, "a whole number")),
    **dict.fromkeys(("seconds", "largest_error"), (_is_amount, "a number from 0")),
    "swaps": (list_of(object_of({**_SPAN, "to": is_text}, {"from": is_text})), "a list of swaps"),
    "edits": (
        list_of(object_of({**_SPAN, "side": is_text, "to": is_text}, {"from": is_text, "source": is_text})),
        "a list of edits",
    ),
    "saliency": (
        list_of(object_of({**_SPAN, "side": is_text, "score": is_number}, {})),
        "a list of scored words",
    ),
    "probabilities": (_are_rows, "by text a list of numbers, one a class"),
    "equivalence": (map_of(map_of(is_number)), "by side the numbers forward, backward and score"),
    "trajectory": (list_of(map_of(is_number)), "a list of steps with numbers"),
    **dict.fromkeys(("pii", "pid"), (map_of(list_of(is_number)), "by side a list of numbers")),
    "queries": (map_of(_is_place), "whole numbers from 0 by name"),
    "certificate": (map_of(is_whole), "whole numbers by name"),
    "notes": (list_of(is_text), "a list of texts"),
    "uncertainty": (map_of(map_of(is_number)), "by text numbers by name"),
}


def check_fields(data: Mapping[str, Any]) -> None:
    """Refuse a record with a field of the wrong type.

    Raises:
        DataError: It names the field and what was expected.
    """
    for name, (is_fine, expected) in _FIELDS.items():
        if name in data and not is_fine(data[name]):
            raise DataError(f"record has {name} {shown(data[name])}, expected {expected}")


def shown(value: Any) -> str:
    """A value in a message: short, whatever it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits
        return f"of another type ({type(value).__name__})"
    return text if len(text) <= 60 else text[:57] + "..."
