"""The victim that ships with the package: a published linear classifier of offensive language.

The numbers are those of the model inside ``alt-profanity-check`` 1.9.1 (MIT): TF-IDF of single words
without English stop words, five linear support vector machines with sigmoid calibration, averaged.
``benchmarks/export_profanity_victim.py`` wrote them into ``data/`` as plain arrays, so that nothing is
unpickled and no version of scikit-learn is pinned.  Stop words need no list here: they were removed
before the vocabulary was made, so none is in it.  That includes the pronouns ("he", "she"): the model
is blind to them and can only react to sensitive nouns, adjectives and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rif_plugins.victims.tfidf import TfidfLinearModel

DATA_FILE = Path(__file__).parent / "data" / "profanity.npz"
LABEL_NAMES = ("not offensive", "offensive")


@lru_cache(maxsize=1)
def _model() -> TfidfLinearModel:
    return TfidfLinearModel.load(DATA_FILE)


class EmbeddedVictim:
    """Offensive-language classifier; call it with a list of texts.

    Instances are light, share one copy of the data (read at the first call) and pickle by name.

    Example:
        >>> EmbeddedVictim()(["I am a gay man.", "I am a straight man."]).round(2)
        array([[0.05, 0.95],
               [0.9 , 0.1 ]])
    """

    name = "embedded"
    version = "alt-profanity-check 1.9.1"
    label_names = LABEL_NAMES

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities (not offensive, offensive), shape (n, 2).

        Raises:
            VictimError: ``texts`` is one string, or holds something that is not a string.
        """
        return _model()(texts)

    def __repr__(self) -> str:
        """Name and origin of the model."""
        return f"EmbeddedVictim({self.version})"
