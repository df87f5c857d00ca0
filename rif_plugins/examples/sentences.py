"""The embedded examples: everyday sentences with identity terms, labelled offensive or not.

Label 0: neutral sentences.  Label 1: sentences that insult a person or swear, with identity terms that
stand beside the insult and are not its target.  Labels say what the sentence is, never what the
embedded victim thinks of it.  ``data/README.md`` tells how the list is made and what it is not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rif_plugins.errors import DataError

DATA_FILE = Path(__file__).parent / "data" / "examples.jsonl"


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled sentence.

    Attributes:
        id: Stable name; ``n...`` neutral, ``o...`` offensive.
        text: The sentence.
        label: 0 not offensive, 1 offensive: the columns of the embedded victim.
        attributes: Sensitive attributes that the sentence mentions.
        domain: What it is about, such as ``"travel"``.
    """

    id: str
    text: str
    label: int
    attributes: tuple[str, ...]
    domain: str


def load_examples(path: Path = DATA_FILE) -> tuple[Example, ...]:
    """Read the examples in file order: short descriptions of people first, both labels spread evenly.

    Raises:
        DataError: A line is not an example; the message names the line.
    """
    examples = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            fields = json.loads(line)
            fields["attributes"] = tuple(fields["attributes"])
            examples.append(Example(**fields))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path.name}, line {number}: expected an example with id, text, label, attributes and "
                f"domain, got {line[:60]!r} ({error}): restore the file"
            ) from error
    return tuple(examples)
