from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.predictions import PredictionReader
from rif_plugins.core.victim import Budget, VictimCallError, VictimEngine
from rif_plugins.errors import UsageError, VictimError, VictimRowError


class CountingVictim:
    """P(class 1) grows with the number of letters 'a'; remembers every batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.batches.append(texts)
        p = np.array([min(0.99, 0.1 + 0.1 * text.count("a")) for text in texts])
        return np.column_stack([1 - p, p])

    @property
    def rows(self) -> int:
        return sum(len(batch) for batch in self.batches)


def test_order_duplicates_and_counts() -> None:
    victim = CountingVictim()
    engine = VictimEngine(victim, batch_size=2)
    texts = ["aaa", "b", "aaa", "a", "b"]
    p = engine.probabilities(texts)
    assert p[:, 1] == pytest.approx([0.4, 0.1, 0.4, 0.2, 0.1])
    assert victim.rows == engine.rows == 3
    assert engine.cache_hits == 2
    engine.probabilities(["a", "new"])
    assert victim.rows == engine.rows == 4
    assert engine.cache_hits == 3
    assert engine.n_labels == 2


def test_batches_are_sorted_by_length_and_bounded() -> None:
    victim = CountingVictim()
    VictimEngine(victim, batch_size=2).probabilities(["a" * n for n in (9, 1, 5, 3, 7)])
    assert [[len(text) for text in batch] for batch in victim.batches] == [[1, 3], [5, 7], [9]]


@given(
    st.lists(st.text("ab", max_size=4), max_size=30),
    st.integers(1, 7),
    st.integers(0, 20),
    st.integers(0, 5),
)
def test_budget_is_never_exceeded_and_answers_a_prefix(
    texts: list[str], batch_size: int, limit: int, cache_size: int
) -> None:
    victim = CountingVictim()
    engine = VictimEngine(victim, batch_size=batch_size, cache_size=cache_size)
    budget = Budget(limit)
    p = engine.probabilities(texts, budget=budget)
    assert victim.rows == budget.spent == engine.rows <= limit
    assert len(p) <= len(texts)
    if len(p) < len(texts):
        assert budget.spent == limit
    expected = [min(0.99, 0.1 + 0.1 * text.count("a")) for text in texts[: len(p)]]
    assert [row[1] for row in p.tolist()] == pytest.approx(expected)


def test_reserve_is_kept_back() -> None:
    budget = Budget(10)
    budget.reserved = 4
    engine = VictimEngine(CountingVictim())
    assert len(engine.probabilities([str(i) for i in range(9)], budget=budget)) == 6
    budget.reserved = 0
    assert len(engine.probabilities(["x", "y"], budget=budget)) == 2
    assert not budget.is_spent


def test_fresh_asks_again() -> None:
    victim = CountingVictim()
    engine = VictimEngine(victim)
    engine.probabilities(["a"])
    engine.probabilities(["a"], fresh=True)
    assert victim.rows == 2
    engine.clear()
    engine.probabilities(["a"])
    assert victim.rows == 3


def test_out_of_memory_halves_the_batch_and_keeps_the_smaller_size() -> None:
    inner = CountingVictim()

    def small_memory(texts: list[str]) -> Any:
        if len(texts) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return inner(texts)

    engine = VictimEngine(small_memory, batch_size=16)
    budget = Budget(12)
    p = engine.probabilities([f"a{i}" for i in range(12)], budget=budget)
    assert p.shape == (12, 2)
    assert inner.rows == engine.rows == budget.spent == 12
    engine.probabilities([f"b{i}" for i in range(8)])
    assert [len(batch) for batch in inner.batches] == [3] * 6 + [2]


def test_out_of_memory_at_one_text_is_an_error() -> None:
    def hopeless(texts: list[str]) -> Any:
        raise MemoryError("no room")

    with pytest.raises(VictimCallError, match="the victim raised MemoryError: no room"):
        VictimEngine(hopeless, batch_size=4).probabilities(["a", "b"])


def test_a_raising_victim_is_named_and_earlier_batches_stay_cached() -> None:
    inner = CountingVictim()

    def fragile(texts: list[str]) -> Any:
        if any("bad" in text for text in texts):
            raise ValueError("cannot parse")
        return inner(texts)

    engine = VictimEngine(fragile, batch_size=1)
    budget = Budget(10)
    with pytest.raises(
        VictimCallError, match=r"ValueError: cannot parse \(in a batch of 1 texts starting with 'a bad"
    ):
        engine.probabilities(["x", "a bad one", "longer text"], budget=budget)
    assert budget.spent == 2
    assert engine.probabilities(["x"]).shape == (1, 2)
    assert inner.rows == 1


SIGMOID_OF_ONE = 1 / (1 + np.exp(-1.0))
FORMS: list[tuple[str, Callable[[], Any], list[float]]] = [
    ("probabilities (n, 2)", lambda: [[0.25, 0.75], [1.0, 0.0]], [0.75, 0.0]),
    ("logits (n, 2)", lambda: [[0.0, 1.0], [0.0, -1.0]], [SIGMOID_OF_ONE, 1 - SIGMOID_OF_ONE]),
    ("one sigmoid (n,)", lambda: [0.75, 0.0], [0.75, 0.0]),
    ("one sigmoid (n, 1)", lambda: [[0.75], [0.0]], [0.75, 0.0]),
    ("one logit (n,)", lambda: np.array([1.0, -1.0]), [SIGMOID_OF_ONE, 1 - SIGMOID_OF_ONE]),
    ("float32", lambda: np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32), [0.75, 0.0]),
    ("large logits", lambda: [[0.0, 1e4], [1e4, 0.0]], [1.0, 0.0]),
]


@pytest.mark.parametrize(("name", "make", "expected"), FORMS, ids=[form[0] for form in FORMS])
def test_accepted_forms(name: str, make: Callable[[], Any], expected: list[float]) -> None:
    p = PredictionReader().read(make(), 2)
    assert p.shape == (2, 2)
    assert p[:, 1] == pytest.approx(expected)
    assert p.sum(axis=1) == pytest.approx(1.0)


def test_tensor_like_outputs_need_no_framework() -> None:
    class Tensor:
        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return self

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.array([[0.5, 0.5]], dtype=dtype)

    assert PredictionReader().read(Tensor(), 1).tolist() == [[0.5, 0.5]]


REFUSED: list[tuple[str, Any, int, type[Exception], str]] = [
    ("nan", [[0.5, float("nan")], [0.5, 0.5]], 2, VictimRowError, "NaN or infinity in row 0 of 2"),
    ("infinity", [[0.5, 0.5], [float("inf"), 0.5]], 2, VictimRowError, "NaN or infinity in row 1 of 2"),
    ("too few rows", [[0.5, 0.5]], 2, VictimError, r"shape \(1, 2\) for 2 texts, expected \(2, classes\)"),
    ("three axes", np.zeros((2, 2, 2)), 2, VictimError, r"shape \(2, 2, 2\) for 2 texts"),
    ("no columns", np.zeros((2, 0)), 2, VictimError, r"shape \(2, 0\)"),
    ("words", ["yes", "no"], 2, VictimError, "list that is no numeric array"),
    ("nothing", None, 1, VictimError, r"expected \(1, classes\)|no numeric array|NaN"),
]


@pytest.mark.parametrize(("name", "raw", "n", "error", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused_outputs(name: str, raw: Any, n: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        PredictionReader().read(raw, n)
    assert "\n" not in str(caught.value)


def test_number_of_labels_must_not_change() -> None:
    reader = PredictionReader()
    reader.read([[0.2, 0.8]], 1)
    with pytest.raises(VictimError, match="returned 3 labels, expected 2 as before"):
        reader.read([[0.2, 0.5, 0.3]], 1)
    with pytest.raises(VictimError, match="returned 2 labels, expected 28"):
        PredictionReader(n_labels=28).read([[0.2, 0.8]], 1)


def test_form_must_not_change() -> None:
    reader = PredictionReader()
    reader.read([0.3, 0.9], 2)
    with pytest.raises(VictimError, match="say output='logits'"):
        reader.read([2.5], 1)
    assert PredictionReader(output="logits").read([0.0], 1).tolist() == [[0.5, 0.5]]
    with pytest.raises(VictimError, match="declared"):
        PredictionReader(output="probabilities").read([[2.0, -1.0]], 1)


def test_bad_arguments() -> None:
    with pytest.raises(VictimError, match="the victim is str, expected a callable"):
        VictimEngine("model")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="batch size must be 1 or more, got 0"):
        VictimEngine(CountingVictim(), batch_size=0)
    with pytest.raises(UsageError, match="query budget must be 0 or more, got -1"):
        Budget(-1)
    with pytest.raises(VictimError, match="expected auto, probabilities or logits"):
        PredictionReader(output="scores")  # type: ignore[arg-type]


def test_pickle_drops_the_cache() -> None:
    engine = VictimEngine(CountingVictim())
    engine.probabilities(["a"])
    copy = pickle.loads(pickle.dumps(engine))
    copy.probabilities(["a"])
    assert copy.rows == 2
