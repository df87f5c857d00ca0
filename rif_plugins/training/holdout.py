"""Which examples teach and which test, and the guard that keeps the two apart."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

from rif_plugins.core.results import Record

_TEXTS = ("original", "similar", "perturbed_original", "perturbed_similar")


def normalised(text: str) -> str:
    """A text as the guard compares it: Unicode form, letter case and white space do not tell texts apart.

    >>> normalised("He  ran.") == normalised("he ran. ")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def is_held_out(text: str, share: float, seed: int = 0) -> bool:
    """Whether the example with this original text is one of those that test.

    Equal texts fall on the same side, whatever the other examples are, so that growing data moves no example
    from one side to the other.

    Args:
        text: The unedited text.
        share: Expected share of examples that test, 0 to 1.
        seed: Another seed is another split.
    """
    key = f"{seed}\x1f{normalised(text)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") / 2**64 < share


class HeldOutTexts:
    """The texts that no training row may hold: each held-out example with all its similar and edited texts.

    Args:
        texts: The unedited texts of the held-out examples.
        records: Records of these examples; their similar and perturbed texts are held out too.
    """

    def __init__(self, texts: Iterable[str], records: Iterable[Record] = ()) -> None:
        self._texts = {normalised(text) for text in texts}
        for record in records:
            self._texts |= {normalised(getattr(record, name)) for name in _TEXTS}
        self._texts.discard("")

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and normalised(text) in self._texts

    def __len__(self) -> int:
        """How many distinct texts are held out."""
        return len(self._texts)
