"""A scorer that answers from a table, and the packaged one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rif_plugins.entailment import EmbeddedScorer


class TableScorer:
    """P(entailment) from a table of (premise, hypothesis); 0.5 for other pairs. Remembers its calls."""

    name = "table"
    version = "1"

    def __init__(self, table: Mapping[tuple[str, str], float] | None = None) -> None:
        self.table = dict(table or {})
        self.calls: list[list[tuple[str, str]]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        self.calls.append(list(pairs))
        entailed = np.array([self.table.get(pair, 0.5) for pair in pairs])
        return np.stack((entailed, 0.75 * (1 - entailed), 0.25 * (1 - entailed)), axis=1)


@pytest.fixture
def table_scorer() -> Callable[..., TableScorer]:
    return TableScorer


@pytest.fixture(scope="session")
def embedded() -> EmbeddedScorer:
    return EmbeddedScorer()
