"""From what a language model says to a class: the words of its answer, or the chances of its first token.

Nothing but the names of the classes counts. Whatever else an answer holds, also what a text to be classified
has talked the model into, is either around a single name or makes the answer name none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]
MIN_MASS = 0.5
MAX_AMBIGUOUS = 0.01
_LONGEST_NAME = 200
_LONGEST_ANSWER = 4000
_NEGATION_REACH = 3
_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_UNENDED_THOUGHT = re.compile(r"\s*<think>", re.IGNORECASE)
_GAPS = re.compile(r"[\s_\-‐‑–]+")
_WORD = re.compile(r"[\w'’]+")
_EDGES = "\"'`*.,;:!?()[]{}<>#|“”‘’«» "
# Marks of tokenizers for a space and for a line's end.
_MARKS = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": " "})
_NEGATIONS = {"not", "no", "never", "neither", "nor", "cannot", "without", "than", "non"}


@dataclass(frozen=True, slots=True)
class TokenReading:
    """What the first token says.

    Attributes:
        probabilities: Of the classes, ``(k,)``; None where the token does not tell.
        mass: Share of the tokens that begin exactly one name.
        ambiguous: Share of those that begin several.
    """

    probabilities: FloatArray | None
    mass: float
    ambiguous: float


class LabelNames:
    """The names of the classes, as a language model writes them: any case, spaces, ``_`` and ``-`` alike.

    Raises:
        UsageError: A name has no letter or digit, is too long, or two names are written alike.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._folded = [_folded(name).strip(_EDGES) for name in names]
        for name, folded in zip(names, self._folded, strict=True):
            if not any(letter.isalnum() for letter in folded) or len(name) > _LONGEST_NAME:
                raise UsageError(
                    f"--labels: {name[:60]!r} cannot be the name of a class: expected a word or a few, "
                    "such as negative,positive"
                )
        if len(set(self._folded)) < len(self._folded):
            raise UsageError(
                f"--labels: two of the names {', '.join(names)} differ by case, spaces or hyphens alone: "
                "rename one, and say in the prompt what each means"
            )
        by_length = sorted(self._folded, key=len, reverse=True)
        alternatives = "|".join(re.escape(name) for name in by_length)
        self._named = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")

    def parse(self, answer: str) -> int | None:
        """The class that an answer names; None where it names none, several, or one it denies.

        >>> names = LabelNames(["negative", "positive", "not sure"])
        >>> [names.parse(a) for a in ("Positive.", "Label: **not_sure**", "not positive", "either one")]
        [1, 2, None, None]
        """
        if _THOUGHT.match(answer):
            answer = _THOUGHT.sub("", answer, count=1)
        elif _UNENDED_THOUGHT.match(answer):
            return None
        text = _folded(answer[:_LONGEST_ANSWER])
        whole = text.strip(_EDGES)
        if whole in self._folded:
            return self._folded.index(whole)
        matches = list(self._named.finditer(text))
        if len({match.group() for match in matches}) != 1:
            return None
        before = text[: matches[0].start()]
        words = _WORD.findall(before)[-_NEGATION_REACH:]
        if any(word in _NEGATIONS or word.endswith(("n't", "n’t")) for word in words):
            return None
        return self._folded.index(matches[0].group())

    def read_tokens(self, tokens: Mapping[str, float]) -> TokenReading:
        """Probabilities of the classes from the chances of the first token.

        A token speaks for a class when it begins its name (in any case, with or without a space before it)
        and no other name. ``P(class)`` is the share of its tokens in those of all classes.

        Args:
            tokens: Natural log-probabilities by token.
        """
        masses = np.zeros(len(self.names))
        ambiguous = 0.0
        for token, logarithm in tokens.items():
            begun = self._begun(token)
            chance = float(np.exp(min(0.0, logarithm))) if np.isfinite(logarithm) else 0.0
            if len(begun) == 1:
                masses[begun[0]] += chance
            elif begun:
                ambiguous += chance
        mass = float(masses.sum())
        is_clear = mass >= MIN_MASS and ambiguous <= MAX_AMBIGUOUS
        return TokenReading(masses / mass if is_clear else None, min(1.0, mass), min(1.0, ambiguous))

    def is_begun(self, answer: str, label: int) -> bool:
        """Whether an answer is the beginning of a name and nothing else."""
        return self._folded[label].startswith(_folded(answer).strip(_EDGES))

    def _begun(self, token: str) -> list[int]:
        """The classes whose names a token begins."""
        start = _folded(token.translate(_MARKS)).strip(_EDGES)
        if not start:
            return []
        return [i for i, name in enumerate(self._folded) if name.startswith(start)]


def _folded(text: str) -> str:
    return _GAPS.sub(" ", unicodedata.normalize("NFKC", text).casefold())
