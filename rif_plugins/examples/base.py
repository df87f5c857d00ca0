"""The examples of a run: texts with labels, and where there are some, their similar texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rif_plugins.core.seeds import example_id


@dataclass(frozen=True, slots=True)
class Example:
    """One data row.

    Attributes:
        id: Stable name: a digest of text and label, numbered from the second equal row on.
        text: The text.
        label: Its class, the column of the victim's output; ``None`` where the victim's own prediction
            stands in for it.
        similar: A ready similar text, from the data; ``None`` where the lexicon makes them.
    """

    id: str
    text: str
    label: int | None
    similar: str | None = None


@dataclass(frozen=True)
class ExampleSet:
    """What was read.

    Attributes:
        examples: In the order of the data.
        label_names: Names of the classes: the victim's, else the data's; ``None`` if neither names them.
        source: Where the examples come from, for people.
        sha256: Digest of the examples; equal for equal examples, whatever file they came from.
    """

    examples: Sequence[Example]
    label_names: tuple[str, ...] | None
    source: str
    sha256: str

    @classmethod
    def of(cls, examples: Iterable[Example], label_names: tuple[str, ...] | None, source: str) -> ExampleSet:
        """Make the set and its digest."""
        kept = tuple(examples)
        digest = hashlib.sha256()
        for example in kept:
            row = [example.id, example.text, example.label, example.similar]
            digest.update(json.dumps(row).encode("ascii") + b"\n")
        return cls(kept, label_names, source, digest.hexdigest())

    def __len__(self) -> int:
        """How many examples there are."""
        return len(self.examples)


class Naming:
    """Gives examples their ids, in the order of the data."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def name(self, text: str, label: int | None) -> str:
        """The id of the next row: twelve digits of a digest, then ``-2``, ``-3`` for equal rows."""
        digest = example_id(text, label)
        number = self._seen[digest] = self._seen.get(digest, 0) + 1
        return digest if number == 1 else f"{digest}-{number}"
