"""What an edited text changed: hunks, the words they touch, and the sentences that hold them.

All offsets are character offsets, end exclusive.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from rif_plugins.core.sentences import sentence_spans

SHORT_TEXT_WORDS = 40
LONG_UNIT_WORDS = 80
_WINDOW_WORDS = 30
_CHARACTERS_A_WORD = 8
_TOKEN = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One changed stretch: ``original[start:end]`` became ``edited[edited_start:edited_end]``."""

    start: int
    end: int
    edited_start: int
    edited_end: int


def hunks(original: str, edited: str) -> tuple[Hunk, ...]:
    """Changed stretches of whole words, in order; empty for identical texts."""
    if original == edited:
        return ()
    prefix, suffix = _common_ends(original, edited)
    middle, edited_middle = original[prefix : len(original) - suffix], edited[prefix : len(edited) - suffix]
    if len(_TOKEN.findall(middle)) <= 1 and len(_TOKEN.findall(edited_middle)) <= 1:
        return (Hunk(prefix, len(original) - suffix, prefix, len(edited) - suffix),)
    here = [(m.start() + prefix, m.end() + prefix) for m in _TOKEN.finditer(middle)]
    there = [(m.start() + prefix, m.end() + prefix) for m in _TOKEN.finditer(edited_middle)]
    matcher = difflib.SequenceMatcher(
        None, [original[a:b] for a, b in here], [edited[a:b] for a, b in there], autojunk=False
    )
    end_here, end_there = len(original) - suffix, len(edited) - suffix
    found = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if i2 - i1 == j2 - j1:  # as many words as before: replaced one by one
            found += [Hunk(*a, *b) for a, b in zip(here[i1:i2], there[j1:j2], strict=True)]
        else:
            found.append(Hunk(*_stretch(here, i1, i2, end_here), *_stretch(there, j1, j2, end_there)))
    # Only white space differs when there is no hunk.
    return tuple(found) or (Hunk(prefix, end_here, prefix, end_there),)


def _stretch(tokens: list[tuple[int, int]], first: int, last: int, end: int) -> tuple[int, int]:
    if first < last:
        return tokens[first][0], tokens[last - 1][1]
    place = tokens[first][0] if first < len(tokens) else end
    return place, place


def _common_ends(a: str, b: str) -> tuple[int, int]:
    """Lengths of the common prefix and suffix, both cut back to where a word starts or ends."""
    limit = min(len(a), len(b))
    prefix = next((i for i in range(limit) if a[i] != b[i]), limit)
    suffix = next((i for i in range(limit - prefix) if a[-1 - i] != b[-1 - i]), limit - prefix)
    while prefix and not (a[prefix - 1].isspace()):
        prefix -= 1
    while suffix and not (a[len(a) - suffix].isspace()):
        suffix -= 1
    return prefix, suffix


def units(original: str, edited: str, scope: str) -> tuple[tuple[str, str], ...]:
    """The pairs of texts to compare so that every change is seen.

    Args:
        original: The whole unedited text.
        edited: The whole edited text.
        scope: ``"sentence"``: the sentences that hold the changes, the whole text when it has at most
            40 words; changes that lie far apart (more than 80 words together) give one pair for each place.
            ``"word"``: the bare changed words.

    Returns:
        Pairs (piece of ``original``, piece of ``edited``) that differ, white space aside.
    """
    changes = hunks(original, edited)
    if not changes:
        return ()
    if scope == "word":
        pieces = [(original[h.start : h.end], edited[h.edited_start : h.edited_end]) for h in changes]
        pieces = [piece for piece in pieces if not _is_article_change(*piece)] or pieces
    elif _words(original) <= SHORT_TEXT_WORDS and _words(edited) <= 2 * SHORT_TEXT_WORDS:
        pieces = [(original, edited)]
    else:
        pieces = _sentences(original, edited, changes)
    tidy = ((" ".join(a.split()), " ".join(b.split())) for a, b in pieces)
    return tuple(dict.fromkeys((a, b) for a, b in tidy if a != b))


def _sentences(original: str, edited: str, changes: tuple[Hunk, ...]) -> list[tuple[str, str]]:
    spans = sentence_spans(original)
    whole = _widened(changes, spans)
    if _words(original[whole[0] : whole[1]]) <= LONG_UNIT_WORDS:
        return [_cut(original, edited, changes, *whole)]
    pieces = []
    groups = _groups(changes, spans)
    for number, group in enumerate(groups):
        start, end = _widened(group, spans)
        if _words(original[start:end]) > LONG_UNIT_WORDS:
            # A window may not cut through the change of a neighbour.
            left = max(start, groups[number - 1][-1].end if number else 0)
            right = min(end, groups[number + 1][0].start if number + 1 < len(groups) else len(original))
            start = _step(original, group[0].start, left, backward=True)
            end = _step(original, group[-1].end, right, backward=False)
        pieces.append(_cut(original, edited, changes, start, end))
    return pieces


def _groups(changes: tuple[Hunk, ...], spans: list[tuple[int, int]]) -> list[tuple[Hunk, ...]]:
    """Hunks whose sentences are the same, split where more than a window lies between two of them."""
    groups: list[list[Hunk]] = []
    for hunk in changes:
        span = _widened((hunk,), spans)
        last = groups[-1] if groups else None
        if (
            last
            and _widened(tuple(last), spans)[1] > span[0]
            and hunk.start - last[0].start < 6 * _WINDOW_WORDS
        ):
            last.append(hunk)
        else:
            groups.append([hunk])
    return [tuple(group) for group in groups]


def _widened(changes: tuple[Hunk, ...], spans: list[tuple[int, int]]) -> tuple[int, int]:
    first, last = changes[0].start, max(changes[-1].end, changes[-1].start + 1)
    start = max((a for a, _ in spans if a <= first), default=0)
    end = min((b for _, b in spans if b >= last), default=spans[-1][1] if spans else 0)
    return start, end


def _cut(original: str, edited: str, changes: tuple[Hunk, ...], start: int, end: int) -> tuple[str, str]:
    """Both texts between two places of the original that lie outside all changes."""
    shift_start = sum(
        (h.edited_end - h.edited_start) - (h.end - h.start)
        for h in changes
        if h.end <= start and h.start < start
    )
    shift_end = sum((h.edited_end - h.edited_start) - (h.end - h.start) for h in changes if h.end <= end)
    return original[start:end], edited[start + shift_start : end + shift_end]


def _step(text: str, place: int, limit: int, *, backward: bool) -> int:
    """About 30 words away from ``place``, not beyond ``limit``."""
    tokens = list(_TOKEN.finditer(text, limit, place) if backward else _TOKEN.finditer(text, place, limit))
    if len(tokens) <= _WINDOW_WORDS:
        return limit
    return tokens[-_WINDOW_WORDS].start() if backward else tokens[_WINDOW_WORDS - 1].end()


def _is_article_change(source: str, target: str) -> bool:
    return {source.lower(), target.lower()} == {"a", "an"}


def _words(text: str) -> int:
    # Words joined by slashes or hyphens, and scripts without spaces, are many tokens to a model.
    return max(len(text.split()), len(text) // _CHARACTERS_A_WORD)
