"""Many requests in one call, and the store: the answers are those of one request after another."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.victim import Budget, VictimCallError, VictimEngine
from rif_plugins.errors import VictimError

Texts = list[str]


class LetterVictim:
    """P(class 1) from the number of letters; raises at a "!" and remembers its batches."""

    def __init__(self, logits: bool = False) -> None:
        self.batches: list[Texts] = []
        self.logits = logits

    def __call__(self, texts: Texts) -> np.ndarray:
        self.batches.append(texts)
        if any("!" in text for text in texts):
            raise ValueError("cannot read a !")
        p = np.array([0.05 + 0.9 * (text.count("a") + 1) / (len(text) + 2) for text in texts])
        rows = np.column_stack([1 - p, p])
        return np.log(rows) if self.logits else rows

    @property
    def rows(self) -> int:
        return sum(len(batch) for batch in self.batches)


class DictStore:
    """A store in memory that forgets what it is told to."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.asked = 0

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.asked += 1
        return [self.values.get(key) for key in keys]

    def set_many(self, values: Mapping[bytes, bytes]) -> None:
        self.values.update(values)


REQUESTS = st.lists(st.tuples(st.lists(st.text("ab", max_size=3), max_size=8), st.integers(0, 3)), max_size=6)


@given(REQUESTS, st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=4, max_size=4), st.integers(1, 9))
def test_many_requests_answer_as_one_after_another(
    wanted: list[tuple[Texts, int]], limits: list[int | None], batch_size: int
) -> None:
    merged, single = LetterVictim(), LetterVictim()
    together, apart = VictimEngine(merged, batch_size=batch_size), VictimEngine(single, batch_size=batch_size)
    # Requests of one search share their budget.
    budgets, others = [Budget(limit) for limit in limits], [Budget(limit) for limit in limits]
    answers = together.predict_many([(texts, budgets[b]) for texts, b in wanted])
    for answer, (texts, b) in zip(answers, wanted, strict=True):
        expected = apart.probabilities(texts, budget=others[b])
        assert answer.shape[0] == expected.shape[0]
        assert answer.tolist() == expected.tolist()
    assert [(b.spent, b.hits) for b in budgets] == [(b.spent, b.hits) for b in others]
    assert (together.rows, together.cache_hits) == (apart.rows, apart.cache_hits)
    assert merged.rows == single.rows == together.rows
    assert len(merged.batches) == -(-merged.rows // batch_size)


def test_one_pass_for_all_sorted_by_length() -> None:
    victim = LetterVictim()
    engine = VictimEngine(victim, batch_size=3)
    first, second = Budget(), Budget()
    engine.predict_many([(["aaaa", "b"], first), (["b", "aa", "aaa"], second)])
    assert victim.batches == [["b", "aa", "aaa"], ["aaaa"]]
    assert (first.spent, first.hits, second.spent, second.hits) == (2, 0, 2, 1)


def test_no_request_and_empty_requests() -> None:
    engine = VictimEngine(LetterVictim())
    assert engine.predict_many([]) == []
    (answer,) = engine.predict_many([([], Budget())])
    assert answer.shape == (0, 0)
    assert engine.probabilities([]).shape == (0, 0)


def test_a_bad_text_fails_only_the_requests_that_want_it() -> None:
    victim = LetterVictim()
    engine = VictimEngine(victim, batch_size=16)
    budgets = [Budget(9) for _ in range(4)]
    requests = [["a", "b!"], ["a", "aa"], ["bbb"], ["aaa", "b!"]]
    answers = engine.predict_each(list(zip(requests, budgets, strict=True)))
    for bad in (answers[0], answers[3]):
        assert isinstance(bad, VictimCallError)
        assert "ValueError: cannot read a !" in str(bad) and isinstance(bad.__cause__, ValueError)
    assert isinstance(answers[1], np.ndarray) and isinstance(answers[2], np.ndarray)
    fine = VictimEngine(LetterVictim())
    assert answers[1].tolist() == fine.probabilities(["a", "aa"]).tolist()
    assert answers[2].tolist() == fine.probabilities(["bbb"]).tolist()
    assert victim.rows == engine.rows
    assert all(budget.spent <= 9 for budget in budgets)
    # Each of these requests had two new texts, and the merged call that failed is nobody's.
    assert [budget.spent for budget in budgets] == [2, 2, 1, 2]
    with pytest.raises(VictimCallError, match="cannot read a !"):
        engine.predict_many([(["aa"], Budget()), (["b!"], Budget())])


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "aa", "a!", "b!", "ab", "abc"]), max_size=4), max_size=5),
    st.integers(1, 8),
)
def test_errors_do_not_depend_on_the_company(wanted: list[Texts], batch_size: int) -> None:
    engine = VictimEngine(LetterVictim(), batch_size=batch_size)
    budgets = [Budget() for _ in wanted]
    answers = engine.predict_each(list(zip(wanted, budgets, strict=True)))
    for texts, answer in zip(wanted, answers, strict=True):
        if any("!" in text for text in texts):
            assert isinstance(answer, VictimCallError)
        else:
            assert isinstance(answer, np.ndarray)
            assert answer.tolist() == VictimEngine(LetterVictim()).probabilities(texts).tolist()


def test_memory_runs_out_within_a_merged_call() -> None:
    inner = LetterVictim()

    def small(texts: Texts) -> np.ndarray:
        if len(texts) > 2:
            raise MemoryError
        return inner(texts)

    engine = VictimEngine(small, batch_size=8)
    budgets = [Budget(4), Budget(4)]
    answers = engine.predict_many([(["a", "b", "c", "d"], budgets[0]), (["e", "f", "g", "h"], budgets[1])])
    assert [len(answer) for answer in answers] == [4, 4]
    assert [budget.spent for budget in budgets] == [4, 4]
    assert inner.rows == engine.rows == 8


def engine_of(
    victim: LetterVictim, store: DictStore | None, fingerprint: str | None = "v1", **options: object
) -> VictimEngine:
    return VictimEngine(victim, store=store, fingerprint=fingerprint, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("logits", [False, True])
def test_a_second_run_asks_nothing(logits: bool) -> None:
    store = DictStore()
    texts = ["a", "bb", "a", "aba"]
    first = engine_of(LetterVictim(logits), store)
    expected = first.probabilities(texts)
    assert (first.rows, first.cache_hits, first.stored_hits) == (3, 1, 0)
    victim = LetterVictim(logits)
    second, budget = engine_of(victim, store), Budget(0)
    assert second.n_labels is None
    answer = second.probabilities(texts, budget=budget)
    assert answer.tobytes() == expected.tobytes()
    assert (victim.rows, second.rows, second.cache_hits, second.stored_hits) == (0, 0, 1, 3)
    assert (budget.spent, budget.hits, budget.stored_hits, second.n_labels) == (0, 1, 3, 2)
    # From now on the memory answers.
    second.probabilities(texts)
    assert (second.cache_hits, second.stored_hits, store.asked) == (5, 3, 2)
    # What the raw outputs are was decided in the first run.
    assert second.probabilities(["bbbb"]).tobytes() == first.probabilities(["bbbb"]).tobytes()


def test_a_stored_row_is_a_hit_of_the_store_once() -> None:
    store = DictStore()
    engine_of(LetterVictim(), store).probabilities(["a", "b"])
    engine, budgets = engine_of(LetterVictim(), store), [Budget(), Budget(), Budget()]
    engine.predict_many([(["a"], budgets[0]), (["a", "b", "c"], budgets[1]), (["b", "b"], budgets[2])])
    assert [(b.spent, b.hits, b.stored_hits) for b in budgets] == [(0, 0, 1), (1, 1, 1), (0, 2, 0)]


def test_another_victim_gets_no_old_answer() -> None:
    store = DictStore()
    engine_of(LetterVictim(), store).probabilities(["a"])
    for other in (
        engine_of(LetterVictim(), store, "v2"),
        engine_of(LetterVictim(), store, output="probabilities"),
        engine_of(LetterVictim(), store, n_labels=2),
    ):
        other.probabilities(["a"])
        assert (other.rows, other.stored_hits) == (1, 0)


def test_without_a_fingerprint_nothing_is_kept() -> None:
    store = DictStore()
    engine = engine_of(LetterVictim(), store, None)
    engine.probabilities(["a"])
    assert (store.values, store.asked) == ({}, 0)


def test_fresh_passes_the_store_by_and_renews_it() -> None:
    store = DictStore()
    engine_of(LetterVictim(), store).probabilities(["a"])
    victim = LetterVictim()
    engine = engine_of(victim, store)
    store.values = dict.fromkeys(store.values, b"p" + np.array([0.5, 0.5]).tobytes())
    assert engine.probabilities(["a"], fresh=True)[0, 1] == pytest.approx(0.65)
    assert (victim.rows, store.asked) == (1, 1)  # once by the engine of the first line
    assert engine_of(LetterVictim(), store).probabilities(["a"])[0, 1] == pytest.approx(0.65)


@pytest.mark.parametrize(
    "value",
    [b"", b"p", b"q" + bytes(16), b"p" + bytes(15), b"p" + np.array([np.nan, 1.0]).tobytes(), b"\x80\x04N."],
)
def test_a_broken_value_is_a_miss(value: bytes) -> None:
    store = DictStore()
    expected = engine_of(LetterVictim(), store).probabilities(["a"])
    store.values = dict.fromkeys(store.values, value)
    engine = engine_of(LetterVictim(), store)
    assert engine.probabilities(["a"]).tolist() == expected.tolist()
    assert (engine.rows, engine.stored_hits) == (1, 0)


def test_rows_of_another_width_are_a_miss_when_the_width_is_known() -> None:
    store = DictStore()
    engine = engine_of(LetterVictim(), store)
    engine.probabilities(["a"])
    store.values = dict.fromkeys(store.values, b"p" + np.array([0.2, 0.3, 0.5]).tobytes())
    engine.clear()
    assert engine.probabilities(["a"]).shape == (1, 2)
    assert engine.rows == 2


def test_an_error_keeps_what_was_answered_in_the_store() -> None:
    store = DictStore()
    engine = engine_of(LetterVictim(), store, batch_size=1)
    with pytest.raises(VictimCallError):
        engine.probabilities(["a", "bb!"])
    again = engine_of(LetterVictim(), store)
    again.probabilities(["a"])
    assert (again.rows, again.stored_hits) == (0, 1)


def test_a_budget_is_charged_for_rows_alone() -> None:
    store = DictStore()
    engine_of(LetterVictim(), store).probabilities(["a", "aa"])
    engine, budget = engine_of(LetterVictim(), store), Budget(1)
    assert len(engine.probabilities(["a", "b", "aa", "bb", "a"], budget=budget)) == 3
    assert (budget.spent, budget.stored_hits, engine.stored_hits) == (1, 2, 2)


def test_pickle_drops_the_store() -> None:
    store = DictStore()
    engine = engine_of(LetterVictim(), store)
    engine.probabilities(["a"])
    copy = pickle.loads(pickle.dumps(engine))
    copy.probabilities(["a"])
    assert (copy.rows, copy.stored_hits, store.asked) == (2, 0, 1)
    copy.use_store(store, "v1")
    copy.probabilities(["a"])
    assert (copy.rows, copy.stored_hits) == (2, 1)


def test_a_wrong_output_is_named() -> None:
    engine = VictimEngine(lambda texts: [[0.5, 0.5]] * (len(texts) + 1))
    (answer,) = engine.predict_each([(["a"], Budget())])
    assert isinstance(answer, VictimError) and "returned shape (2, 2) for 1 texts" in str(answer)


def test_a_server_that_is_gone_is_not_waited_for_once_for_each_request() -> None:
    calls: list[Texts] = []

    def gone(texts: Texts) -> np.ndarray:
        calls.append(texts)
        raise VictimError("the server is gone")

    engine = VictimEngine(gone, batch_size=2)
    answers = engine.predict_each([([f"text {i}"], Budget()) for i in range(6)])
    assert [str(answer) for answer in answers] == ["the server is gone"] * 6
    assert len(calls) == 1
