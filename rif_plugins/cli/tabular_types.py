"""Values of the options of `rif tabular`: names with commas, whole numbers."""

from __future__ import annotations

import argparse
from typing import Any


def names(text: str) -> tuple[str, ...]:
    """An argparse type: names with commas between them."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"expected names with commas between them, got {text!r}")
    return found


def whole(least: int) -> Any:
    """An argparse type: a whole number from ``least`` on."""

    def number_of(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text!r}")
        return number

    return number_of
