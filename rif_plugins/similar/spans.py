"""Find the sensitive terms of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rif_plugins.similar.guards import is_about_person
from rif_plugins.similar.lexicon import Lexicon, Term
from rif_plugins.similar.readings import choose_slot
from rif_plugins.similar.word_view import APOSTROPHES, HYPHENS, WordView


@dataclass(frozen=True, slots=True, order=True)
class SensitiveSpan:
    """A sensitive term where it stands in a text.

    Attributes:
        start, end: Character offsets, end exclusive.
        attribute, value: What it says, such as ``"gender"``, ``"female"``.
        term: The lexicon's spelling of it.
        slot: Its grammatical reading, such as ``"noun"``.
    """

    start: int
    end: int
    attribute: str
    value: str
    term: str
    slot: str = "word"


def find_spans(text: str, lexicon: Lexicon, attributes: Sequence[str] | None = None) -> list[SensitiveSpan]:
    """Find every sensitive term that is said of a person.

    Spans of one attribute never overlap (leftmost, then longest); spans of different attributes may, as
    *straight woman* (orientation) and *woman* (gender).

    Args:
        text: Any string.
        lexicon: The terms.
        attributes: Which attributes to look for; all of the lexicon for ``None``.

    Returns:
        The spans in order of position, then of attribute.

    Raises:
        LexiconError: The lexicon lacks one of ``attributes``.
    """
    wanted = lexicon.select(attributes)
    view = WordView(text)
    busy_until: dict[str, int] = {}
    spans: list[SensitiveSpan] = []
    for first, word in enumerate(view.words):
        if not lexicon.has_first_word(word):
            continue
        for term in lexicon.terms_at(word):
            if term.attribute not in wanted or first < busy_until.get(term.attribute, 0):
                continue
            last = _match(view, first, term)
            if last < 0:
                continue
            slot = choose_slot(view, first, last, term, lexicon)
            if not is_about_person(view, first, last, term, slot, lexicon):
                continue
            busy_until[term.attribute] = last + 1
            start, end = view.starts[first], view.ends[last]
            spans.append(SensitiveSpan(start, end, term.attribute, term.value, term.text, slot))
    return sorted(spans)


def _match(view: WordView, first: int, term: Term) -> int:
    """Index of the last word when all words of ``term`` stand at ``first``, else -1."""
    if len(term.key) == 1:
        return first
    last = first + len(term.key) - 1
    if last >= len(view) or tuple(view.words[first : last + 1]) != term.key:
        return -1
    for index in range(first, last):
        gap = view.gap(index)
        joint = gap.strip()
        is_joined = not joint or joint in HYPHENS or (joint in APOSTROPHES and "'" in term.text)
        if not is_joined or len(gap) > 3:
            return -1
    return last
