"""A victim that can be sent to another process, with an answer for every kind of trouble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakes.runner_world import KeywordVictim

from rif_plugins.errors import VictimRowError


class Picky(KeywordVictim):
    """What it does depends on its first text."""

    def __call__(self, texts: Sequence[str]) -> Any:
        first = texts[0]
        if first == "memory" and len(texts) > 2:
            raise MemoryError("no room")
        if first == "raise":
            raise KeyError("two\nlines")
        if first == "ours":
            raise VictimRowError("the server refused a text")
        if first == "shape":
            return [[0.5, 0.5]] * (len(texts) + 1)
        return super().__call__(texts)
