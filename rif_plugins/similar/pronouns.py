"""Tell the readings of ``his`` and ``her`` apart by the words around them.

``her`` is a determiner (*her book*, male: *his*) or an object (*I saw her*, male: *him*); ``his`` is a
determiner (*his book*, female: *her*) or a possessive pronoun (*the book is his*, female: *hers*).
There is no tagger: the rules look at two words on each side. Their known failures are in
``docs/similar.md``.
"""

from __future__ import annotations

from rif_plugins.similar.word_classes import word_class
from rif_plugins.similar.word_view import WordView

DETERMINER = "determiner"
OBJECT = "object"
POSSESSIVE = "possessive"


def his_slot(view: WordView, index: int) -> str:
    """``determiner`` or ``possessive`` for the word ``his`` at ``index``."""
    link, following = view.link(index), view.after(index)
    if link in ("hyphen", "quote") or _opens_compound(view, index):
        return DETERMINER
    if following in ("and", "or", "nor") or link == "slash":
        return _joined_slot(view, index, POSSESSIVE)
    stands_alone = view.before(index) in word_class("before-possessive")
    if link in ("paren", "comma"):
        return POSSESSIVE if stands_alone else DETERMINER
    if not following or link == "clitic":
        return POSSESSIVE
    return POSSESSIVE if following in word_class("function") else DETERMINER


def her_slot(view: WordView, index: int) -> str:
    """``determiner`` or ``object`` for the word ``her`` at ``index``."""
    link, following, previous = view.link(index), view.after(index), view.before(index)
    if link == "hyphen" or following == "own" or _opens_compound(view, index):
        return DETERMINER
    if link == "quote":
        is_clause = previous in word_class("say") or following in word_class("function")
        return OBJECT if is_clause else DETERMINER
    if following in ("and", "or", "nor") or link == "slash":
        return _joined_slot(view, index, OBJECT)
    if not following or link in ("paren", "clitic"):
        return OBJECT
    if following == "all":
        return OBJECT if view.after(index, 2) in word_class("after-all") else DETERMINER
    if following == "every":
        return OBJECT if view.after(index, 2) in word_class("time") else DETERMINER
    if following == "one" and view.after(index, 2) == "of":
        return OBJECT
    if following in word_class("two-way"):
        return _two_way_slot(view, index)
    if following == "will":
        is_noun = previous in word_class("function") or previous in {"against", "change", "changed", "wrote"}
        return DETERMINER if is_noun else OBJECT
    if following in word_class("function"):
        return OBJECT
    return OBJECT if _is_object_by_verb(view, index) else DETERMINER


def _opens_compound(view: WordView, index: int) -> bool:
    """True before a compound adjective whose first word is a function word: *her on screen charm*."""
    following = view.after(index)
    if following not in word_class("function"):
        return False
    phrases = word_class("phrase-adjective")
    return any(phrase.startswith(following) and view.follows(index, phrase) for phrase in phrases)


def _joined_slot(view: WordView, index: int, alone: str) -> str:
    """``his or her book`` shares a noun, ``him and her`` and ``his and hers`` do not."""
    step = 1 if view.link(index) == "slash" else 2
    partner = view.after(index, step)
    if partner not in word_class("possessive"):
        return alone
    behind = view.after(index, step + 1)
    if not behind or behind in word_class("function"):
        return alone
    is_object = alone == OBJECT and step == 2 and view.after(index) == "and"
    if partner == "his" and view.before(index) not in word_class("position"):
        is_object = False
    return OBJECT if is_object else DETERMINER


def _ends_clause(view: WordView, index: int) -> bool:
    """True when nothing, punctuation, or a function word comes after the word at ``index``."""
    following = view.after(index)
    return not following or following in word_class("function")


def _two_way_slot(view: WordView, index: int) -> str:
    """Words such as *more*, *back*, *last* may end the clause (object) or lead to a noun (determiner)."""
    previous, following = view.before(index), view.after(index)
    if following in ("back", "home", "right", "best", "last", "first", "next"):
        if following in ("last", "first", "next") and view.after(index, 2) in word_class("time"):
            return DETERMINER if previous in word_class("function") else OBJECT
        if following == "home":
            return OBJECT if previous in word_class("fetch") else DETERMINER
        if following == "back" and (previous in word_class("back-own") or previous in word_class("function")):
            return DETERMINER
        if following == "best" and previous in {*word_class("adverbial-verb"), *word_class("function")}:
            return DETERMINER
        if following == "right" and (view.after(index, 2) == "to" or previous in {"on", "to", "at", "by"}):
            return DETERMINER
    if following == "very":
        return OBJECT if view.after(index, 2) in {"much", "well", "often"} else DETERMINER
    takes_amount = previous in word_class("state") or previous in word_class("give")
    if takes_amount and following in ("more", "less", "most", "even", "much", "little", "enough"):
        return OBJECT
    if following in word_class("qualifier") and view.after(index, 2) in ("and", "but"):
        return DETERMINER
    return OBJECT if _ends_clause(view, index + 1) else DETERMINER


def _is_object_by_verb(view: WordView, index: int) -> bool:
    """Verbs that take an object and a second complement: *let her go*, *made her sad*, *gave her money*."""
    previous, following = view.before(index), view.after(index)
    if following.endswith("ly") and following not in word_class("ly-adjective"):
        return _ends_clause(view, index + 1)
    if _is_verb_like(view, index + 1, previous):
        return True
    if previous in word_class("let"):
        return following not in word_class("let-own")
    if previous in word_class("name-verb") and view.is_capital(index + 1) and not view.is_lower_case:
        return True
    if previous in word_class("elect"):
        return _ends_clause(view, index + 1)
    if previous in word_class("help"):
        owned = word_class("help-own") | word_class("let-own") | word_class("person")
        return following not in owned
    if previous.startswith("mak") and following in word_class("make-own"):
        return False
    if previous in word_class("cause") and following in word_class("base-verb"):
        return view.after(index, 2) not in {"of", "is", "was", "s"}
    if previous in word_class("keep") and following.endswith("ing"):
        return following not in word_class("ing-noun")
    if previous in word_class("wish"):
        return following in {"happy", "merry", "good", "luck", "joy", "success"}
    if previous in word_class("say"):
        named = word_class("told-own") | word_class("person")
        return following not in named and previous not in {"asking", "telling"}
    if previous in word_class("give") and (following in word_class("given") or following.isdigit()):
        return True
    if previous in word_class("state") and following in word_class("state-adjective"):
        return _ends_clause(view, index + 1)
    takes_state = previous in word_class("keep") or previous in word_class("state")
    return takes_state and following.endswith("ed") and _ends_clause(view, index + 1)


def _is_verb_like(view: WordView, index: int, previous: str) -> bool:
    """True when the word after ``her`` has an object: *next to her holds a book*, *film her climbing the*."""
    word = view.words[index]
    if view.after(index) not in word_class("noun-opener") or word in word_class("person"):
        return False
    if word.endswith("ing"):
        return word not in word_class("ing-noun")
    if previous in word_class("position"):
        return word.endswith("s") and not word.endswith("ss")
    return previous in word_class("perceive") and word not in word_class("let-own")
