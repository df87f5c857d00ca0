"""Whatever runs share a cache and whatever it forgets, the answers are those of a run without it."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rif_plugins.cache import SQLiteStore
from rif_plugins.core.victim import Budget, VictimEngine
from rif_plugins.victims.fingerprint import victim_fingerprint


class Letters:
    """P(class 1) by a weight for each letter."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.rows = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.rows += len(texts)
        margins = np.array([self.weight * (text.count("a") - text.count("b")) for text in texts], dtype=float)
        positive = 1 / (1 + np.exp(-margins))
        return np.column_stack([1 - positive, positive])

    @property
    def fingerprint(self) -> str:
        return f"letters {self.weight}"


VICTIMS = [Letters(0.5), Letters(0.75)]
FINGERPRINTS = [victim_fingerprint(victim).value for victim in VICTIMS]

TEXTS = st.lists(st.text("ab", max_size=2), max_size=6)
SOME = [["", "a", "b"], ["b", "aa", "bb", "ab"]]
ASK = st.tuples(st.just("ask"), st.integers(0, 3), st.lists(TEXTS, max_size=3))
RESTART = st.tuples(st.just("restart"), st.integers(0, 3), st.none())
FORGET = st.tuples(st.sampled_from(["evict", "rotate", "damage", "delete"]), st.integers(0, 5), st.none())


def forget(store: SQLiteStore, how: str, n: int) -> None:
    """Lose part of what is stored, behind the back of the running engines."""
    store.close()
    if how == "delete":
        for file in store.folder.iterdir():
            file.unlink()
    if not store.file.exists():
        return
    connection = sqlite3.connect(store.file)
    with connection:
        if how == "evict":
            connection.execute("DELETE FROM young WHERE id IN (SELECT id FROM young LIMIT ?)", (n,))
        elif how == "rotate":
            connection.execute("DROP TABLE old")
            connection.execute("ALTER TABLE young RENAME TO old")
            connection.execute("CREATE TABLE young (id INTEGER PRIMARY KEY, value BLOB NOT NULL)")
        elif how == "damage":
            mixed_up = "UPDATE young SET value = (SELECT value FROM young LIMIT 1) WHERE abs(id) % 2 = ?"
            connection.execute(mixed_up, (n % 2,))
    connection.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(ASK, ASK, RESTART, FORGET), min_size=3, max_size=12))
@example([("ask", 0, SOME), ("damage", 0, None), ("ask", 2, SOME)])
@example([("ask", 0, SOME), ("damage", 1, None), ("ask", 2, SOME)])
@example([("ask", 0, SOME), ("rotate", 0, None), ("ask", 2, SOME), ("rotate", 0, None), ("ask", 0, SOME)])
def test_answers_are_those_without_a_cache(steps: list[tuple[str, int, list[list[str]] | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Two runs of each of two victims, each run with a store of its own on the same file.
        stores = [SQLiteStore(Path(folder), max_bytes=2**16) for _ in range(4)]
        runs: list[VictimEngine] = []

        def start(number: int) -> VictimEngine:
            return VictimEngine(
                VICTIMS[number % 2],
                cache_size=(8, 1000)[number // 2],
                store=stores[number],
                fingerprint=FINGERPRINTS[number % 2],
            )

        runs = [start(number) for number in range(4)]
        for what, number, requests in steps:
            if what == "ask":
                answers = runs[number].predict_many([(texts, Budget()) for texts in requests or []])
                for texts, answer in zip(requests or [], answers, strict=True):
                    plain = VictimEngine(VICTIMS[number % 2]).probabilities(texts)
                    assert answer.tolist() == plain.tolist()
            elif what == "restart":
                stores[number].close()
                runs[number] = start(number)
            else:
                for store in stores:
                    store.close()
                forget(stores[0], what, number)
        for store in stores:
            store.close()
            assert not store.is_broken


@settings(max_examples=30, deadline=None)
@given(st.lists(TEXTS, max_size=5), st.integers(1, 9), st.integers(1, 9))
def test_a_second_run_costs_no_row(wanted: list[list[str]], first_batch: int, second_batch: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        answers = []
        for batch_size in (first_batch, second_batch):
            victim = Letters(0.5)
            with SQLiteStore(Path(folder)) as store:
                engine = VictimEngine(victim, batch_size=batch_size, store=store, fingerprint="the same")
                answers.append(
                    [rows.tobytes() for rows in engine.predict_many([(t, Budget()) for t in wanted])]
                )
                n_distinct = len({text for texts in wanted for text in texts})
                assert engine.rows + engine.stored_hits == n_distinct
                assert engine.cache_hits == sum(map(len, wanted)) - n_distinct
        assert answers[0] == answers[1]
        assert victim.rows == 0
