"""Decide whether a term is said of a person where it stands, or names a thing (*white paper*)."""

from __future__ import annotations

from rif_plugins.similar.lexicon import Lexicon, Term
from rif_plugins.similar.lexicon_file import NAME_SLOTS, slot_kind
from rif_plugins.similar.names import is_person_name
from rif_plugins.similar.readings import is_name
from rif_plugins.similar.word_classes import word_class
from rif_plugins.similar.word_view import WordView

_MAX_STEPS = 4


def is_about_person(view: WordView, first: int, last: int, term: Term, slot: str, lexicon: Lexicon) -> bool:
    """True when the guard of ``term`` lets it count as sensitive at the words ``first`` to ``last``."""
    guard = term.guard
    if view.is_protected(first):
        return False
    if guard.not_before and any(_stands_after(view, last, item, first) for item in guard.not_before):
        return False
    if guard.not_after and any(_stands_before(view, first, item) for item in guard.not_after):
        return False
    if slot_kind(slot) in NAME_SLOTS:
        is_sure = guard.needs == "sure-name"
        return is_person_name(view, first, slot_kind(slot), lexicon, must_be_sure=is_sure)
    return not guard.needs or _meets_need(view, first, last, term, slot, lexicon)


def _stands_after(view: WordView, last: int, item: str, first: int) -> bool:
    if item == "@name":
        return view.link(last) == "space" and view.is_capital(first) and is_name(view, last + 1)
    if item.startswith("@"):
        return view.after(last) in word_class(item[1:])
    if item.startswith("-"):
        return view.link(last) == "hyphen" and view.words[last + 1] == item[1:]
    return view.follows(last, item)


def _stands_before(view: WordView, first: int, item: str) -> bool:
    if item == "@name":
        return view.link(first - 1) == "space" and view.is_capital(first) and is_name(view, first - 1)
    if item == "@number":
        return view.before(first).isdigit()
    if item.startswith("@"):
        return view.before(first) in word_class(item[1:])
    return view.precedes(first, item)


def _meets_need(view: WordView, first: int, last: int, term: Term, slot: str, lexicon: Lexicon) -> bool:
    needs = term.guard.needs
    if needs == "name":
        return _has_name(view, last)
    if needs == "capital":
        return view.is_capital(first) and view.link(last) == "space" and is_name(view, last + 1)
    if needs == "capital-person" and not (view.is_lower_case or view.raw(first)[:1].isupper()):
        return False
    if slot != "adjective":
        return True
    return (
        _leads_to_person(view, last, lexicon)
        or _is_said_of_person(view, first, last)
        or _is_coordinated(view, first, last, term, lexicon)
        or (needs == "group" and _is_group(view, first, last))
    )


def _has_name(view: WordView, last: int) -> bool:
    """A title stands before a name: *Mr. Smith*, *mr . smith*, *Mr Smith*."""
    if last + 1 >= len(view) or view.gap(last).strip() not in ("", "."):
        return False
    if view.words[last + 1] in ("and", "or") and view.after(last + 1) in word_class("title"):
        return True
    written, following = view.raw(last), view.raw(last + 1)
    if view.is_lower_case:
        is_unit = view.before(last).isdigit()
        return not is_unit and view.words[last + 1] not in word_class("function")
    if len(written) > 1 and written.isupper():
        return following.isupper()
    return following[:1].isupper()


def _leads_to_person(view: WordView, last: int, lexicon: Lexicon) -> bool:
    """*black woman*, *young and talented actor*, *young, black men*."""
    index = last
    for _ in range(_MAX_STEPS):
        link = view.link(index)
        if link not in ("space", "hyphen", "comma", "slash", "quote"):
            return False
        word = view.words[index + 1]
        if link != "comma" and _is_person_word(word, lexicon):
            return True
        if word in word_class("demonym") and link != "comma" and _ends_phrase(view, index + 1):
            return True
        is_compound = link == "hyphen" and index == last
        if is_compound or not (word in word_class("person-adjective") or word in ("and", "or")):
            return False
        index += 1
    return False


def _is_person_word(word: str, lexicon: Lexicon) -> bool:
    if word in word_class("person") or word in word_class("demonyms"):
        return True
    own = (term for term in lexicon.terms_at(word) if len(term.key) == 1)
    return any(reading.slot in ("noun", "plural") for term in own for reading in term.readings[:1])


def _is_said_of_person(view: WordView, first: int, last: int) -> bool:
    """*she is black*, *my friend was born blind*, *is he gay*; not *the wall is white*."""
    if not _ends_phrase(view, last):
        return False
    index = first
    for _ in range(_MAX_STEPS + 1):
        if view.link(index - 1) in ("break", "comma"):
            return False
        index -= 1
        word = view.words[index]
        if word in word_class("copula"):
            return word == "being" or _has_person_subject(view, index)
        if word in word_class("person-pronoun"):
            return view.before(index) in word_class("copula")
        if word not in ("and", "or") and not any(
            word in word_class(n) for n in ("degree", "person-adjective")
        ):
            return False
    return False


def _has_person_subject(view: WordView, copula: int) -> bool:
    for step in range(1, _MAX_STEPS):
        word = view.before(copula, step)
        if word in word_class("person-pronoun") or word in word_class("person"):
            return True
        if word not in word_class("copula-helper"):
            return False
    return False


def _ends_phrase(view: WordView, last: int) -> bool:
    following = view.after(last)
    return not following or (following in word_class("function") and view.link(last) != "hyphen")


def _is_group(view: WordView, first: int, last: int) -> bool:
    """*the blind*, *the very old*; not *the blind date*."""
    if not _ends_phrase(view, last):
        return False
    previous = view.before(first)
    return previous == "the" or (previous in word_class("degree") and view.before(first, 2) == "the")


def _is_coordinated(view: WordView, first: int, last: int, term: Term, lexicon: Lexicon) -> bool:
    """*gay or straight*: the other term of the attribute needs no evidence."""
    for index, forward in ((last, True), (first, False)):
        if forward:
            step = 2 if view.after(index) in ("and", "or") else 1 if view.link(index) == "slash" else 0
            word = view.after(index, step) if step else ""
        else:
            step = 2 if view.before(index) in ("and", "or") else 1 if view.link(index - 1) == "slash" else 0
            word = view.before(index, step) if step else ""
        partners = (t for t in lexicon.terms_at(word) if len(t.key) == 1 and t.attribute == term.attribute)
        if any(not partner.guard.needs for partner in partners):
            return True
    return False
