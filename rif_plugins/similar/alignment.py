"""Turn two ready texts into a pair by aligning their words."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import accumulate, takewhile

from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.similar.word_view import WORD

_LONG = 2_000
# White space goes with the word behind it: alone it would match everywhere and cost quadratic time.
_PIECE = re.compile(rf"\s*(?:{WORD.pattern}|[^\w\s])|\s+")


def pair_from_texts(original: str, similar: str, attribute: str = "given") -> Pair:
    """Align two texts word by word and record what differs.

    Neighbouring different words are one swap. Where one side has words that the other lacks, that swap has
    an empty side.

    Args:
        original: The text.
        similar: The text of the similar individual.
        attribute: What the pair is said to differ in.

    Returns:
        The pair; no swaps when the texts are equal.
    """
    left, right = _PIECE.findall(original), _PIECE.findall(similar)
    head = _common_prefix(left, right)
    tail = _common_prefix(left[head:][::-1], right[head:][::-1])
    left_starts = list(accumulate(map(len, left), initial=0))
    right_starts = list(accumulate(map(len, right), initial=0))
    a, b = left[head : len(left) - tail], right[head : len(right) - tail]
    # Frequent words cost quadratic time in long texts; leaving them out changes the cut, not its exactness.
    matcher = SequenceMatcher(None, a, b, autojunk=len(b) > _LONG)
    swaps: list[Swap] = []
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "equal":
            start, end = left_starts[head + a1], left_starts[head + a2]
            other_start, other_end = right_starts[head + b1], right_starts[head + b2]
            source, target = original[start:end], similar[other_start:other_end]
            lead = _common_space(source, target)
            swaps.append(Swap(start + lead, end, source[lead:], target[lead:], other_start + lead))
    return Pair(original, similar, tuple(swaps), attribute)


def _common_prefix(left: list[str], right: list[str]) -> int:
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))])


def _common_space(source: str, target: str) -> int:
    pairs = zip(source, target, strict=False)
    return len([*takewhile(lambda pair: pair[0] == pair[1] and pair[0].isspace(), pairs)])
