"""Base forms of inflected English words by WordNet's detachment rules (its manual page morphy).

Only suffixes that lead to a known lemma count, so the rules need a lexicon. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

DETACHMENT_RULES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip


def base_forms(
    word: str, pos: str, exceptions: Mapping[str, tuple[str, ...]], is_known: Callable[[str], bool]
) -> tuple[str, ...]:
    """Known base forms of ``word``: itself, then irregular ones, then those that the rules give.

    Args:
        word: Lower-case word.
        pos: Part of speech, one of ``n v a r``.
        exceptions: Irregular forms of this part of speech and their bases.
        is_known: Tells whether a form is a lemma of this part of speech.
    """
    forms = [word, *exceptions.get(word, ())]
    for suffix, ending in DETACHMENT_RULES[pos]:
        if word.endswith(suffix) and len(word) > len(suffix):
            forms.append(word[: len(word) - len(suffix)] + ending)
    return tuple(form for form in dict.fromkeys(forms) if is_known(form))
