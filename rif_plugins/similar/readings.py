"""Choose the grammatical reading of a term that has more than one slot."""

from __future__ import annotations

from rif_plugins.similar.lexicon import Lexicon, Term
from rif_plugins.similar.pronouns import her_slot, his_slot
from rif_plugins.similar.word_classes import word_class
from rif_plugins.similar.word_view import WordView


def choose_slot(view: WordView, first: int, last: int, term: Term, lexicon: Lexicon) -> str:
    """The slot of ``term`` where it stands as the words ``first`` to ``last`` of a text."""
    slots = tuple(reading.slot for reading in term.readings)
    if len(set(slots)) == 1:
        return slots[0]
    if "determiner" in slots:
        return his_slot(view, last) if "possessive" in slots else her_slot(view, last)
    if "title" in slots:
        return "title" if is_name(view, last + 1) and view.link(last) == "space" else _other(slots, "title")
    if "adjective" in slots:
        noun = _other(slots, "adjective")
        return noun if is_noun_use(view, first, last, term, lexicon) else "adjective"
    return slots[0]


def _other(slots: tuple[str, ...], slot: str) -> str:
    return next(other for other in slots if other != slot)


def is_name(view: WordView, index: int) -> bool:
    """True for a capitalised word that is neither a person word nor a function word."""
    if index >= len(view) or not view.is_capital(index):
        return False
    word = view.words[index]
    return not any(word in word_class(name) for name in ("person", "function", "person-adjective", "copula"))


def is_noun_use(view: WordView, first: int, last: int, term: Term, lexicon: Lexicon) -> bool:
    """True for *a devout Muslim who*; false for *Muslim families*, *is Muslim*, *a Muslim or Hindu wife*."""
    last = skip_coordination(view, last, term, lexicon)
    following = view.after(last)
    if following and view.link(last) != "clitic" and following not in word_class("function"):
        return False
    for step in range(1, 4):
        previous = view.before(first, step)
        if previous in word_class("noun-determiner"):
            return True
        if not previous or previous in word_class("function"):
            return False
    return False


def skip_coordination(view: WordView, last: int, term: Term, lexicon: Lexicon) -> int:
    """Index of the last word of *Muslim or Hindu* when ``last`` stands at its first word."""
    while True:
        step = 2 if view.after(last) in ("and", "or") else 1
        if step == 1 and view.link(last) not in ("slash", "comma"):
            return last
        if last + step >= len(view):
            return last
        word = view.words[last + step]
        partners = (other for other in lexicon.terms_at(word) if other.attribute == term.attribute)
        if not any(len(other.key) == 1 for other in partners):
            return last
        last += step
