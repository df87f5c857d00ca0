"""Does a language model repeat its answers, and how fine are its probabilities? As checks of a victim."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
TOLERANCE = 1e-4  # below it lies what sums in another order change
_WHY = "the first token does not tell the class (no log-probabilities, or names that begin alike)"


@dataclass(frozen=True, slots=True)
class Steadiness:
    """Whether the model repeats its answers.

    Attributes:
        n_texts: Texts that were asked twice.
        change: Largest difference of a probability.
        n_flips: Predictions that changed.
        is_sampled: Whether the answers are samples, which change by their nature.
    """

    n_texts: int
    change: float
    n_flips: int
    is_sampled: bool

    @property
    def is_steady(self) -> bool:
        """True when an answer need not be asked for more than once."""
        return not self.is_sampled and self.change <= TOLERANCE

    @classmethod
    def of(cls, first: FloatArray, second: FloatArray, *, is_sampled: bool) -> Steadiness:
        """Compare two answers to the same texts, ``(n, k)`` each."""
        change = float(np.abs(first - second).max(initial=0.0))
        flips = int((first.argmax(axis=1) != second.argmax(axis=1)).sum())
        return cls(len(first), change, flips, is_sampled)


def repetition_check(steadiness: Steadiness, n_again: int) -> dict[str, str]:
    """The check ``deterministic`` of a victim whose answers are kept, so that asking it again tells nothing.

    Args:
        steadiness: What asking twice has shown.
        n_again: Askings that confirm a finding.
    """
    n = steadiness.n_texts
    if steadiness.is_steady:
        return _check("deterministic", "pass", f"the same {n} texts twice: same answers")
    moves = f"probabilities move by up to {steadiness.change:.2g}, {steadiness.n_flips} predictions change"
    return _check(
        "deterministic",
        "warn",
        f"the same {n} texts twice: {moves}; what is found is confirmed by the majority of {n_again} more "
        "askings",
    )


def probabilities_check(method: str, n_samples: int) -> dict[str, str]:
    """How fine the probabilities are.

    A search follows small changes of a probability. Shares of five answers change in steps of 0.2, one answer
    knows 0 and 1 only: then most edits seem to do nothing, and less is found than there is.
    """
    name = "label_probabilities"
    if method == "first token":
        return _check(name, "pass", "probabilities are those of the first token of the answer")
    if method == "samples":
        return _check(
            name,
            "warn",
            f"{_WHY}: probabilities are shares of {n_samples} answers, with a standard error of up to "
            f"{0.5 / n_samples**0.5:.2g}; raise --llm-samples for finer ones",
        )
    return _check(
        name,
        "warn",
        f"{_WHY}: one answer a text gives coarse probabilities, 0 or 1, which guide no search; raise "
        "--llm-samples",
    )


def _check(name: str, status: str, message: str) -> dict[str, str]:
    return {"name": name, "status": status, "message": message}
