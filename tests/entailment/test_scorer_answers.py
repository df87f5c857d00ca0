"""The filter for many searches at once, and with a store."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.entailment import EntailmentFilter
from rif_plugins.entailment.answers import FilterCount


class WordScorer:
    """P(entailment) by the share of the hypothesis's words that the premise has; remembers its calls."""

    def __init__(self, name: str = "words", version: str = "1", power: float = 1.0) -> None:
        self.name = name
        self.version = version
        self.power = power
        self.calls: list[list[tuple[str, str]]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.calls.append(list(pairs))
        shares = [len(set(b.split()) & set(a.split())) / max(1, len(set(b.split()))) for a, b in pairs]
        p = np.array(shares, dtype=float) ** self.power
        return np.column_stack([p, 1 - p, 0 * p])

    @property
    def rows(self) -> int:
        return sum(len(call) for call in self.calls)


class DictStore:
    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.values.get(key) for key in keys]

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        self.values.update(values)


TEXTS = [f"{a} {b} {c}" for a in ("one", "two") for b in ("red", "blue") for c in ("car", "bus")]
PAIRS = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), max_size=6)


@given(st.lists(PAIRS, max_size=5), st.sampled_from([0.3, 0.4, 0.7]))
def test_many_searches_get_what_each_alone_gets(requests: list[list[tuple[str, str]]], least: float) -> None:
    together = EntailmentFilter(WordScorer(), min_equivalence=least)
    apart = EntailmentFilter(WordScorer(), min_equivalence=least)
    counts = [FilterCount() for _ in requests]
    assert together.accepts_many(requests, counts) == [apart.accepts(pairs) for pairs in requests]
    assert together.rows == apart.rows == together.scorer.rows
    assert sum(count.rows for count in counts) == together.rows
    assert sum(count.cache_hits for count in counts) == together.cache_hits


def test_a_row_belongs_to_the_first_search_that_wants_it() -> None:
    gate = EntailmentFilter(WordScorer(), min_equivalence=0.4)
    counts = [FilterCount(), FilterCount()]
    same, other = ("one red car", "one red bus"), ("one red car", "two blue bus")
    assert gate.accepts_many([[same], [same, other]], counts) == [[True], [True, False]]
    assert counts == [FilterCount(rows=2), FilterCount(rows=1, cache_hits=2)]


def test_pairs_of_like_length_are_scored_together() -> None:
    scorer = WordScorer()
    pairs = [("a " * n, "b " * n) for n in (9, 1, 8, 2, 7, 3)]
    EntailmentFilter(scorer, batch_size=1).accepts(pairs)
    assert [[len(a.split()) for a, _ in call] for call in scorer.calls] == [[1, 2], [3, 7], [8, 9]]


def pairs_of(n: int) -> list[tuple[str, str]]:
    return [("one red car", f"one red car {i}") for i in range(n)]


def test_a_second_run_asks_nothing() -> None:
    store = DictStore()
    first = EntailmentFilter(WordScorer(), min_equivalence=0.7, store=store)
    expected = first.check_many(pairs_of(5))
    assert (first.rows, first.stored_hits) == (10, 0)
    second = EntailmentFilter(WordScorer(), min_equivalence=0.7, store=store)
    second.scorer.calls.clear()
    assert second.check_many(pairs_of(5)) == expected
    assert (second.rows, second.cache_hits, second.stored_hits, second.scorer.calls) == (0, 0, 10, [])
    counts = [FilterCount()]
    third = EntailmentFilter(WordScorer(), min_equivalence=0.7, store=store)
    assert third.accepts_many([pairs_of(5)], counts) == [[verdict.accepted for verdict in expected]]
    assert counts == [FilterCount(stored_hits=10)]
    # Another limit needs no new rows.
    strict = EntailmentFilter(WordScorer(), min_equivalence=0.8, store=store)
    assert strict.accepts(pairs_of(5)) == [False] * 5
    assert strict.rows == 0


@pytest.mark.parametrize(
    "other",
    [WordScorer(name="other"), WordScorer(version="2"), WordScorer(power=1.01)],
    ids=["name", "version", "answers"],
)
def test_another_scorer_gets_no_old_answer(other: WordScorer) -> None:
    store = DictStore()
    EntailmentFilter(WordScorer(), store=store).check_many(pairs_of(3))
    gate = EntailmentFilter(other, store=store)
    gate.check_many(pairs_of(3))
    assert (gate.rows, gate.stored_hits) == (6, 0)


@pytest.mark.parametrize("version", ["", "unknown"])
def test_a_scorer_without_a_version_is_not_stored(version: str) -> None:
    store = DictStore()
    gate = EntailmentFilter(WordScorer(version=version))
    assert gate.use_store(store) is False
    gate.check_many(pairs_of(2))
    assert (store.values, gate.rows) == ({}, 4)
    assert EntailmentFilter(WordScorer()).use_store(store) is True


def test_directions_are_kept_apart() -> None:
    store = DictStore()
    scorer = WordScorer()
    long, short = "one red car and a bus", "one red car"
    EntailmentFilter(scorer, store=store).check(long, [short])
    (verdict,) = EntailmentFilter(scorer, store=store).check(short, [long])
    assert (verdict.forward, verdict.backward) == (pytest.approx(0.5), pytest.approx(1.0))


@pytest.mark.parametrize(
    "value", [b"", b"e" + np.float64(1.5).tobytes(), b"e" + np.float64("nan").tobytes(), b"x" * 9]
)
def test_a_broken_value_is_a_miss(value: bytes) -> None:
    store = DictStore()
    expected = EntailmentFilter(WordScorer(), store=store).check_many(pairs_of(2))
    store.values = dict.fromkeys(store.values, value)
    gate = EntailmentFilter(WordScorer(), store=store)
    assert gate.check_many(pairs_of(2)) == expected
    assert (gate.rows, gate.stored_hits) == (4, 0)


def test_pickle_drops_the_store() -> None:
    store = DictStore()
    gate = EntailmentFilter(WordScorer(), store=store)
    gate.check_many(pairs_of(2))
    copy = pickle.loads(pickle.dumps(gate))
    copy.check_many(pairs_of(3))
    assert (copy.rows, copy.cache_hits, copy.stored_hits) == (6, 4, 0)
    assert len(store.values) == 4


def test_the_packaged_scorer_is_stored(embedded) -> None:
    store = DictStore()
    pair = ("A good film.", "A great film.")
    first, second = EntailmentFilter(embedded, store=store), EntailmentFilter(embedded, store=store)
    assert first.check_many([pair]) == second.check_many([pair])
    assert (first.rows, second.rows, second.stored_hits) == (2, 0, 2)
