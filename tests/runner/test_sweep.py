from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from fakes.runner_world import TEXTS, KeywordVictim, by_example, examples, found, sweep_of

from rif_plugins.cache import SQLiteStore
from rif_plugins.core.outcomes import ALL_TARGETS, TARGETS
from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.results import Record
from rif_plugins.errors import DataError, VictimError
from rif_plugins.examples.base import Example
from rif_plugins.similar import PairSource

SIMPLE = examples([("He cooked a good meal.", 1)])


def run(victim: Any = None, rows: list[Example] | None = None, **options: Any) -> list[Record]:
    sweep = sweep_of(victim or KeywordVictim(), **options)
    return [record for batch in sweep.run(rows if rows is not None else examples()) for record in batch]


# -- numbers by hand --------------------------------------------------------------------------------------


def test_the_records_of_one_example_by_hand() -> None:
    # he 2.1; she 1.2. Per side: fine -1.4, supper -0.7: she fine supper -0.9, he fine supper 0.0 -> 0.
    records = run(rows=SIMPLE, source=PairSource(None, ["gender"], 1))
    assert [record.target for record in records] == list(ALL_TARGETS)
    first = records[0]
    assert (first.example, first.label, first.attribute) == (SIMPLE[0].id, 1, "gender")
    assert (first.status, first.clean_outcome, first.outcome) == ("induced", "robust_fair", "robust_biased")
    assert first.original == first.perturbed_original == "He cooked a good meal."
    assert (first.similar, first.perturbed_similar) == ("She cooked a good meal.", "She cooked a fine meal.")
    edit = {"side": "similar", "start": 13, "end": 17, "from": "good", "to": "fine"}
    assert first.edits == [{**edit, "source": "toy-table"}]
    assert first.equivalence["similar"]["score"] == pytest.approx(0.98**2)
    assert first.scorer == "scripted 1"
    # 1.2 -> -0.2 on the similar side.
    assert [round(step["p_similar"], 4) for step in first.trajectory] == [0.7685, 0.4502]


def test_costs_stand_in_the_first_record_and_add_up() -> None:
    victim = KeywordVictim()
    sweep = sweep_of(victim)
    records = [record for batch in sweep.run(examples()) for record in batch]
    assert sum(record.queries.get("victim_rows", 0) for record in records) == victim.rows == sweep.engine.rows
    rows = sum(record.queries.get("entailment_rows", 0) for record in records)
    assert rows == sweep.entailment.rows > 0  # type: ignore[union-attr]
    firsts: dict[str, Record] = {}
    for record in records:
        firsts.setdefault(record.example, record)
    for record in records:
        assert bool(record.queries) == bool(record.target and record is firsts[record.example])


def test_what_cannot_be_searched_is_one_skipped_record() -> None:
    records = run(rows=examples([("The film was good.", 1), (" \t", 0)]))
    assert [(r.status, r.stop_reason, r.target) for r in records] == [
        ("skipped", "no sensitive token", ""),
        ("skipped", "empty text", ""),
    ]


def test_ready_pairs_are_taken_as_they_are() -> None:
    rows = [
        Example("1", "Jo cooked a good meal.", 1, "Bo cooked a good meal."),
        Example("2", "same", 1, "same"),
    ]
    records = run(rows=rows)
    assert {r.similar for r in records if r.example == "1"} == {"Bo cooked a good meal."}
    assert [r.status for r in records if r.example == "2"] == ["skipped"]


def test_a_missing_label_is_the_victims_own_answer() -> None:
    rows = examples([(text, None) for text, _ in TEXTS])
    records = run(rows=rows)
    labels = {record.example: record.label for record in records}
    assert labels[rows[0].id] == 1
    assert labels[rows[4].id] == 0
    assert labels[rows[2].id] == 1  # no pair, but a label all the same
    assert labels[rows[6].id] is None
    assert {r.clean_outcome for r in records if r.target} <= {"robust_fair", "robust_biased"}


def test_missing_labels_are_asked_for_in_batches() -> None:
    victim = KeywordVictim()
    rows = examples([(f"He cooked {n} good meals.", None) for n in range(20)])
    run(victim, rows)
    assert victim.sizes[0] == 20


@pytest.mark.parametrize("label", [2, -1])
def test_a_label_that_is_no_class_is_refused(label: int) -> None:
    with pytest.raises(DataError, match=f"has label {label}, expected 0 to 1, the classes of the victim"):
        run(rows=[Example("x", "He cooked.", label)])


# -- order ------------------------------------------------------------------------------------------------


def variants(tmp_path: Path) -> dict[str, dict[str, Any]]:
    warm = SQLiteStore(tmp_path)
    run(store=warm)
    return {
        "window 1": {"window": 1},
        "window 3": {"window": 3},
        "batch 1": {"batch_size": 1},
        "batch 512": {"batch_size": 512},
        "new cache": {"store": SQLiteStore(tmp_path / "new")},
        "warm cache": {"store": warm},
    }


@pytest.mark.parametrize("budget", [None, 9, 30])
@pytest.mark.parametrize("exhaustive", [None, 1])
def test_records_do_not_depend_on_how_they_are_computed(
    tmp_path: Path, budget: int | None, exhaustive: int | None
) -> None:
    options: dict[str, Any] = {"query_budget": budget, "exhaustive": exhaustive}
    usual = run(**options)
    assert {record.status for record in usual} >= {"induced", "natural", "failed", "skipped"} - (
        {"induced"} if budget == 9 else set()
    )
    for name, change in variants(tmp_path).items():
        assert list(map(found, run(**options, **change))) == list(map(found, usual)), name
    for seed in range(3):
        rows = examples()
        random.Random(seed).shuffle(rows)
        assert by_example(run(rows=rows, **options)) == by_example(usual)


def test_seeds_hang_on_the_example_alone() -> None:
    chosen = ReachSettings(saliency="random", max_positions=1)
    usual = by_example(run(settings=chosen))
    assert by_example(run(settings=chosen, rows=examples()[::-1], window=1)) == usual
    assert by_example(run(settings=chosen, seed=1)) != usual


def test_the_order_of_filter_and_victim_gives_the_same_findings() -> None:
    def findings(**chosen: Any) -> list[tuple[Any, ...]]:
        records = run(settings=ReachSettings(optimism=1, **chosen), refused=("burnt", "supper", "gruesome"))
        return [(r.id, r.status, r.perturbed_original, r.perturbed_similar, r.edits) for r in records]

    assert findings(filter_first=True) == findings(filter_first=False)
    assert findings(shares_probes=False) == findings()


def test_no_edit_touches_or_writes_a_sensitive_word() -> None:
    source = PairSource()
    for record in run():
        for edit in record.edits:
            text = record.original if edit["side"] == "original" else record.similar
            for span in source.sensitive_spans(text):
                assert edit["end"] <= span.start or span.end <= edit["start"]


# -- budgets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8, 13, 21, 40])
@pytest.mark.parametrize("label", [1, None])
def test_the_budget_of_each_example_is_kept(budget: int, label: int | None) -> None:
    for text, _ in TEXTS:
        if not text.strip():
            continue
        victim = KeywordVictim()
        records = run(victim, examples([(text, label)]), query_budget=budget)
        assert victim.rows <= budget
        spent = sum(record.queries.get("victim_rows", 0) for record in records)
        assert records[0].status in ("skipped", "error") or spent == victim.rows


def test_a_budget_below_the_clean_texts_is_an_error_record() -> None:
    records = run(rows=SIMPLE, query_budget=1)
    assert [record.status for record in records] == ["error"]
    assert "the query budget does not pay for the clean texts" in records[0].message


def test_what_others_have_asked_does_not_lengthen_a_budget() -> None:
    alone = run(rows=SIMPLE, query_budget=8)
    assert {record.stop_reason for record in alone} & {"budget"}
    many = examples([("She cooked a good meal.", 1), ("He cooked a good meal.", 1)])
    assert by_example(run(rows=many, query_budget=8, window=1))[many[1].id] == by_example(alone)[SIMPLE[0].id]


# -- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 64])
@pytest.mark.parametrize("batch_size", [1, 32])
def test_a_text_that_the_victim_cannot_read_fails_its_examples_alone(window: int, batch_size: int) -> None:
    usual = by_example(run())
    records = run(KeywordVictim(fail_on="brother"), window=window, batch_size=batch_size)
    grouped = by_example(records)
    assert list(grouped) == list(usual)
    bad = examples()[8].id
    assert [r["status"] for r in grouped[bad]] == ["error"]
    assert "RuntimeError: cannot read brother" in grouped[bad][0]["message"]
    assert {k: v for k, v in grouped.items() if k != bad} == {k: v for k, v in usual.items() if k != bad}


def test_a_text_with_a_broken_row_fails_its_examples_alone() -> None:
    records = run(KeywordVictim(nan_on="brother"))
    errors = [record for record in records if record.status == "error"]
    assert [record.example for record in errors] == [examples()[8].id]
    assert "NaN" in errors[0].message


def test_a_missing_label_of_a_text_that_cannot_be_read_is_an_error_record() -> None:
    rows = examples([("He cooked.", None), ("He met a brother.", None)])
    records = run(KeywordVictim(fail_on="brother"), rows)
    assert [r.status for r in records if r.example == rows[1].id] == ["error"]
    assert all(r.label == 0 for r in records if r.example == rows[0].id)


def test_a_victim_that_is_none_ends_the_run() -> None:
    with pytest.raises(VictimError, match="expected"):
        run(lambda texts: ["no", "numbers"])


def test_a_mistake_of_this_package_is_not_hidden_in_a_record() -> None:
    class Broken(PairSource):
        def sensitive_spans(self, text: str) -> Any:
            raise ZeroDivisionError("a mistake")

    with pytest.raises(ZeroDivisionError, match="a mistake"):
        run(source=Broken())


def test_too_many_texts_to_enumerate_is_an_error_of_that_example_alone() -> None:
    long = " ".join(["good"] * 70)
    rows = examples([("He cooked a good meal.", 1), (f"He cooked {long}.", 1)])
    records = run(rows=rows, exhaustive=2, targets=tuple(map(str, TARGETS)))
    errors = [record for record in records if record.status == "error"]
    assert [record.example for record in errors] == [rows[1].id]
    assert "lower --exhaustive or --max-candidates" in errors[0].message
