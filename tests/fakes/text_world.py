"""A small TextAttack world: a counting keyword victim, a table of candidates, a scripted scorer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from textattack.models.wrappers import ModelWrapper

from rif_plugins.proposers import Candidate, TokenContext

WEIGHTS = {
    "good": 2.0,
    "fine": 0.6,
    "decent": 1.2,
    "great": 2.5,
    "she": -0.9,
    "her": -0.9,
    "woman": -0.9,
    "meal": 0.1,
    "awful": -3.0,
    "gruesome": -0.2,
}
CANDIDATES = {
    "good": ["fine", "decent", "great"],
    "meal": ["dinner", "supper"],
    "awful": ["terrible", "gruesome"],
    "cooked": ["prepared"],
}


class KeywordWrapper(ModelWrapper):
    """P(class 1) is the sigmoid of summed word weights; counts every row it is given."""

    def __init__(self, weights: dict[str, float] | None = None, fail_on: str | None = None) -> None:
        self.model = self
        self.weights = WEIGHTS if weights is None else weights
        self.fail_on = fail_on
        self.rows = 0
        self.seen: list[str] = []

    def __call__(self, text_input_list: Sequence[str]) -> NDArray[np.float64]:
        self.rows += len(text_input_list)
        self.seen += list(text_input_list)
        if self.fail_on is not None and any(self.fail_on in text for text in text_input_list):
            raise RuntimeError(f"cannot read {self.fail_on}")
        logits = np.array(
            [sum(self.weights.get(w.strip(".,!").lower(), 0.0) for w in t.split()) for t in text_input_list]
        )
        p = 1 / (1 + np.exp(-logits))
        return np.column_stack([1 - p, p])


class TableWords:
    """A proposer over a plain dictionary."""

    name = "toy-table"

    def __init__(self, table: dict[str, list[str]] | None = None) -> None:
        self.table = CANDIDATES if table is None else table

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [
            tuple(Candidate(word, self.name) for word in self.table.get(context.token.lower(), ()))
            for context in contexts
        ]


class ScriptedScorer:
    """Everything entails everything, but for texts that hold a refused word."""

    name = "scripted"
    version = "1"

    def __init__(self, refused: Sequence[str] = ()) -> None:
        self.refused = set(refused)
        self.rows = 0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.rows += len(pairs)
        out = []
        for premise, hypothesis in pairs:
            changed = set(premise.split()) ^ set(hypothesis.split())
            bad = bool({word.strip(".,!").lower() for word in changed} & self.refused)
            out.append([0.05, 0.05, 0.9] if bad else [0.98, 0.01, 0.01])
        return np.array(out).reshape(-1, 3)
