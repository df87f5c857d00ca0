"""Tell whether a capitalised word is a person's name where it stands, or a word, a place, a title.

First names and last names are looked for with a capital only; in text without capitals they are invisible.
The rules look at a few words on each side; what they get wrong is listed in ``docs/similar.md``.
"""

from __future__ import annotations

from rif_plugins.similar.lexicon import Lexicon
from rif_plugins.similar.lexicon_file import slot_kind
from rif_plugins.similar.readings import is_name
from rif_plugins.similar.word_classes import word_class
from rif_plugins.similar.word_view import WordView

_MAX_NAME_WORDS = 4


def is_person_name(
    view: WordView, index: int, kind: str, lexicon: Lexicon, *, must_be_sure: bool = False
) -> bool:
    """True when the word at ``index`` is the name of a person.

    Args:
        view: The text.
        index: The word.
        kind: ``"given"`` or ``"surname"``.
        lexicon: Knows other first names.
        must_be_sure: The word is also a word of the language (*Mark*, *Will*): ask for evidence.
    """
    if not view.raw(index)[:1].isupper() or "hyphen" in (view.link(index - 1), view.link(index)):
        return False
    if _is_blocked(view, index) or _is_numbered(view, index):
        return False
    if kind == "surname":
        return _is_surname(view, index, lexicon, must_be_sure)
    if _has_title(view, index):
        return _name_follows(view, index)
    if _name_precedes(view, index):
        return _is_given(view, index - 1, lexicon) and _name_follows(view, index)
    return not must_be_sure or _has_evidence(view, index, lexicon)


def _name_precedes(view: WordView, index: int) -> bool:
    """*Dylan Thomas*; not *Suddenly Mary*."""
    return (
        view.link(index - 1) == "space" and is_name(view, index - 1) and not _opens_sentence(view, index - 1)
    )


def _opens_sentence(view: WordView, index: int) -> bool:
    return view.starts_sentence(index) and view.words[index].endswith("ly")


def _name_follows(view: WordView, index: int) -> bool:
    """*Mary Smith*, *John F. Smith*."""
    if view.link(index) == "space" and is_name(view, index + 1):
        return True
    return view.link(index) == "space" and _is_initial(view, index + 1)


def _is_initial(view: WordView, index: int) -> bool:
    return len(view.words[index]) == 1 and view.raw(index).isupper() and view.words[index] not in ("i", "a")


def _is_given(view: WordView, index: int, lexicon: Lexicon) -> bool:
    terms = lexicon.terms_at(view.words[index])
    return any(slot_kind(reading.slot) == "given" for term in terms for reading in term.readings)


def _has_title(view: WordView, index: int) -> bool:
    """*Mr. Thomas*, *Dr Thomas*: a last name, unless another name follows."""
    if index == 0 or view.gap(index - 1).strip() not in ("", "."):
        return False
    return view.words[index - 1] in word_class("name-title") and view.raw(index - 1)[:1].isupper()


def _is_blocked(view: WordView, index: int) -> bool:
    """Saints, kings, places and institutions: *San Jose*, *St. Mary*, *King Henry*, *Mary Lee Hospital*."""
    if index > 0 and view.gap(index - 1).strip() in ("", "."):
        previous = view.words[index - 1]
        if previous in word_class("name-blocker") and view.raw(index - 1)[:1].isupper():
            return True
    for step in range(index, min(index + _MAX_NAME_WORDS, len(view) - 1)):
        if view.gap(step).strip() not in ("", ".") and view.link(step) != "clitic":
            return False
        following = view.words[step + 1]
        if view.raw(step + 1)[:1].isupper() and following in word_class("name-place"):
            return True
        if not (view.raw(step + 1)[:1].isupper() or following == "s"):
            return False
    return False


def _is_numbered(view: WordView, index: int) -> bool:
    """*Henry VIII*, *Mark 3*."""
    if view.link(index) != "space":
        return False
    following = view.raw(index + 1)
    return following[:1].isdigit() or (len(following) > 1 and not set(following) - set("IVX"))


def _is_surname(view: WordView, index: int, lexicon: Lexicon, must_be_sure: bool) -> bool:
    """Behind a title or a name, here or elsewhere in the text: *Emily Walsh came. Walsh said*."""
    if view.link(index) == "space" and is_name(view, index + 1):
        return False
    same = [i for i, word in enumerate(view.words) if word == view.words[index]]
    return any(
        _has_title(view, i) or _stands_behind_name(view, i, lexicon, must_be_sure)
        for i in same
        if i == index or not _is_blocked(view, i)
    )


def _stands_behind_name(view: WordView, index: int, lexicon: Lexicon, must_be_sure: bool) -> bool:
    """*Emily Walsh*, *met Kofi Walsh*, *Emily J. Walsh*; not *Visit Washington*."""
    before = index - 1
    if before >= 1 and view.gap(before).strip() in ("", ".") and _is_initial(view, before):
        before -= 1
    elif before >= 0 and view.link(before) != "space":
        return False
    if before < 0 or view.raw(index)[:1].islower():
        return False
    if not view.is_capital(before) or view.words[before] in word_class("name-blocker"):
        return False
    if _is_given(view, before, lexicon):
        return True
    return is_name(view, before) and not (must_be_sure and view.starts_sentence(before))


def _has_evidence(view: WordView, index: int, lexicon: Lexicon) -> bool:
    """Words beside *Mark* or *Will* that only a name has: *Mark said*, *met Will*, *Will's*, *Will will*."""
    link, following = view.link(index), view.after(index)
    if not view.is_capital(index):
        return False
    if view.starts_sentence(index):
        if link == "clitic":
            return True
        if link == "space" and is_name(view, index + 1):
            return not _is_given(view, index + 1, lexicon)
        return following in word_class("name-predicate") or following.endswith("ed")
    return view.before(index) not in word_class("before-common-noun")
