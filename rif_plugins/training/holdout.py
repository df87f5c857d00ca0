"""Which examples teach and which test, and the guard that keeps the two apart."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Sequence

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


def held_out_originals(records: Sequence[Record], share: float, seed: int = 0) -> frozenset[str]:
    """The original texts, normalised, of the examples that test.

    Examples that are similar to each other fall on the same side: an edit of one would else be taught while
    the other tests. Their group is split by the first of their original texts.

    Args:
        records: All records of a run.
        share: See :func:`is_held_out`.
        seed: See there.
    """
    groups: dict[str, str] = {}  # a text, and one nearer to the first of its group

    def first(text: str) -> str:
        while groups.setdefault(text, text) != text:
            groups[text] = text = groups[groups[text]]
        return text

    originals: dict[str, str] = {}
    for record in records:
        originals.setdefault(normalised(record.original), record.original)
        a, b = sorted(
            (first(normalised(record.original)), first(normalised(record.similar or record.original)))
        )
        groups[b] = a
    keys: dict[str, str] = {}
    for text in sorted(originals):
        keys.setdefault(first(text), text)
    return frozenset(text for text in originals if is_held_out(keys[first(text)], share, seed))


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


class UntaughtTexts(HeldOutTexts):
    """The texts that no *added* row may hold: the held-out ones, the test texts, and all that are similar.

    Args:
        texts: The test texts, among them the held-out examples.
        records: Records of the held-out examples.
        mask: A text with its sensitive tokens masked; texts of one mask are similar to each other.
        audited: All records: their pairs are similar, also where no mask tells so.
    """

    def __init__(
        self,
        texts: Iterable[str],
        records: Iterable[Record] = (),
        *,
        mask: Callable[[str], str],
        audited: Iterable[Record] = (),
    ) -> None:
        tested = list(texts)
        super().__init__(tested, records)
        self._mask = mask
        self._masks = {normalised(mask(text)) for text in tested if text.strip()}
        known = {normalised(text) for text in tested} - {""}
        for record in audited:
            pair = {normalised(record.original), normalised(record.similar)}
            self._texts |= pair if pair & known else set()
        self._texts.discard("")

    def __contains__(self, text: object) -> bool:
        if not isinstance(text, str):
            return False
        return super().__contains__(text) or normalised(self._mask(text)) in self._masks
