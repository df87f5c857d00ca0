"""The prompt that turns a language model into a classifier: a file with a place for the text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rif_plugins.errors import UsageError
from rif_plugins.llm import Message

TEXT, LABELS = "{text}", "{labels}"
_PLACES = re.compile(r"(\{text\}|\{labels\})")
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is asked about a text.

    Attributes:
        template: Holds ``{text}`` once, and ``{labels}`` where the names of the classes should stand.
        origin: Where it comes from, for messages.

    Raises:
        UsageError: ``{text}`` is missing or stands there more than once, or the prompt is too long.
    """

    template: str
    origin: str = "the prompt"

    def __post_init__(self) -> None:
        """Refuse a prompt without a place for the text."""
        n = self.template.count(TEXT)
        if n != 1:
            got = "none" if n == 0 else f"{n} of them"
            raise UsageError(
                f"{self.origin}: expected {TEXT} exactly once, where the text to classify goes, got {got}: "
                f"write for instance <text>{TEXT}</text>"
            )
        if len(self.template) > _LONGEST:
            raise UsageError(f"{self.origin}: expected at most {_LONGEST} characters: shorten the prompt")

    @classmethod
    def read(cls, path: str | Path) -> Prompt:
        """Read a prompt file, UTF-8; empty lines at its end do not count.

        Raises:
            UsageError: It cannot be read, or is no prompt.
        """
        file = Path(path).expanduser()
        origin = f"--prompt {file}"
        try:
            template = file.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise UsageError(f"{origin} cannot be read ({error.strerror}): give a text file") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{origin} is not UTF-8: save it as UTF-8") from error
        return cls(template.rstrip(), origin)

    def messages(self, text: str, labels: Sequence[str]) -> tuple[Message, ...]:
        """The question about ``text``.

        What is put in is put in as it is: braces and placeholders inside ``text`` are data.

        >>> Prompt("{labels}? <{text}>").messages("a {labels} b", ["x", "y"])[0].content
        'x, y? <a {labels} b>'
        """
        values = {TEXT: text, LABELS: ", ".join(labels)}
        content = "".join(values.get(part, part) for part in _PLACES.split(self.template))
        return (Message("user", content),)

    @property
    def digest(self) -> str:
        """Tells this prompt from others, 32 hex digits."""
        return hashlib.blake2b(self.template.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
