from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.runner_world import TEXTS, KeywordVictim, audit_options, by_example, found, write_data

from rif_plugins.core.outcomes import TARGETS
from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, RunResult
from rif_plugins.errors import DataError, UsageError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.runner import Audit
from rif_plugins.runner.options import AuditOptions, parse_targets
from rif_plugins.settings import Settings
from rif_plugins.victims.base import Victim


def run(folder: Path, **changes: Any) -> RunResult:
    return Audit.prepare(audit_options(folder, **changes)).run()


def test_the_folder_holds_what_is_returned(tmp_path: Path) -> None:
    result = Audit.prepare(audit_options(tmp_path)).run(tmp_path / "out")
    loaded = RunResult.load(tmp_path / "out")
    assert loaded.records == result.records == tuple(read_records(tmp_path / "out" / RESULTS_FILE))
    assert loaded.configuration == result.configuration
    assert loaded.summary == result.summary
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(
        [RESULTS_FILE, RUN_FILE, SUMMARY_FILE]
    )


def test_the_configuration_says_what_was_done_and_what_it_cost(tmp_path: Path) -> None:
    victim = KeywordVictim()
    options = audit_options(tmp_path, max_edits=2)
    audit = Audit.prepare(options, victim=Victim("keyword", victim))
    before = victim.rows
    configuration = audit.run().configuration
    assert (configuration["model"], configuration["n_examples"]) == ("keyword", len(TEXTS) - 1)
    assert configuration["settings"]["max_edits"] == 2
    assert configuration["labels"] == "given"
    assert configuration["label_names"] == ["0", "1"]
    assert configuration["filter_order"] == "victim-first"
    assert (configuration["scorer"], configuration["cache"]) == ("none", "off")
    assert configuration["cost"]["victim_rows"] == victim.rows - before > 0
    assert configuration["cost"]["entailment_rows"] == 0
    times = configuration["time"]
    assert set(times) == {"victim", "entailment", "proposer", "search"}
    assert sum(times.values()) == pytest.approx(configuration["seconds"], abs=0.01)
    assert {check["status"] for check in configuration["victim_checks"]} <= {"pass", "warn", "fail"}


def test_costs_of_the_records_are_those_of_the_run(tmp_path: Path) -> None:
    victim = KeywordVictim()
    result = Audit.prepare(audit_options(tmp_path, entailment="embedded"), victim=Victim("k", victim)).run()
    cost = result.configuration["cost"]
    for name in ("victim_rows", "entailment_rows", "proposer_calls"):
        assert sum(r.queries.get(name, 0) for r in result.records) == cost[name] > 0


def test_records_stand_in_the_order_of_the_data(tmp_path: Path) -> None:
    audit = Audit.prepare(audit_options(tmp_path))
    order = list(dict.fromkeys(record.example for record in audit.run().records))
    assert order == [example.id for example in audit.examples.examples]


def test_cache_batch_size_and_filter_order_change_no_finding(tmp_path: Path) -> None:
    usual = by_example(run(tmp_path, entailment="embedded", rows=TEXTS[:5]).records)
    changes: list[dict[str, Any]] = [
        {"batch_size": 1},
        {"batch_size": 512},
        {"cache": "on", "cache_dir": tmp_path / "cache"},
        {"cache": "on", "cache_dir": tmp_path / "cache"},
    ]
    for change in changes:
        assert by_example(run(tmp_path, entailment="embedded", rows=TEXTS[:5], **change).records) == usual

    def findings(order: str) -> list[tuple[Any, ...]]:
        records = run(
            tmp_path, entailment="embedded", rows=TEXTS[:5], filter_order=order, filter_first=None
        ).records
        return [(r.id, r.status, r.edits, r.perturbed_original, r.perturbed_similar) for r in records]

    assert findings("filter-first") == findings("victim-first")


def test_the_cache_answers_a_second_run_and_never_for_another_model(tmp_path: Path) -> None:
    options = audit_options(tmp_path, cache="on", cache_dir=tmp_path / "cache")

    def rows(identity: str) -> tuple[int, int, list[dict[str, Any]]]:
        victim = KeywordVictim()
        audit = Audit.prepare(options, victim=Victim("k", victim, identity=identity))
        audit.parts.close()
        before = victim.rows
        result = audit.run()
        cost = result.configuration["cost"]
        return victim.rows - before, cost["stored_hits"], list(map(found, result.records))

    first, hits, records = rows("one")
    assert first > 0 == hits
    again, hits, same = rows("one")
    # What is found is asked again, whatever the cache holds.
    assert 0 < again < first and hits > 0
    assert same == records
    other, hits, _ = rows("two")
    assert (other, hits) == (first, 0)


def test_a_budget_is_the_same_with_a_warm_cache(tmp_path: Path) -> None:
    cache = {"cache": "on", "cache_dir": tmp_path / "cache"}
    cold = run(tmp_path, query_budget=10, **cache)
    run(tmp_path, **cache)
    warm = run(tmp_path, query_budget=10, **cache)
    assert list(map(found, warm.records)) == list(map(found, cold.records))
    assert any(record.stop_reason == "budget" for record in cold.records)


def test_an_enumeration_certifies_what_is_not_there(tmp_path: Path) -> None:
    records = run(tmp_path, exhaustive=1, targets=tuple(map(str, TARGETS))).records
    certified = [record for record in records if record.stop_reason == "certified"]
    assert certified
    for record in certified:
        assert record.status == "failed"
        assert record.certificate["max_edits"] == 1
    greedy = {
        r.id for r in run(tmp_path, max_edits=1, targets=tuple(map(str, TARGETS))).records if r.is_found
    }
    assert greedy <= {record.id for record in records if record.is_found}


def test_ids_are_given_once(tmp_path: Path) -> None:
    twice = ExampleSet.of([Example("a", "He ran.", 1), Example("a", "She ran.", 1)], None, "given")
    with pytest.raises(DataError, match="two examples have the id 'a', expected one id an example"):
        Audit.prepare(audit_options(tmp_path), examples=twice)


def test_a_label_out_of_range_is_refused_before_the_search(tmp_path: Path) -> None:
    bad = ExampleSet.of([Example("a", "He ran.", 1), Example("b", "no pair here", 7)], None, "given")
    with pytest.raises(DataError, match="example b has label 7, expected 0 to 1"):
        Audit.prepare(audit_options(tmp_path), examples=bad)


def test_a_victim_that_gives_no_answer_is_refused(tmp_path: Path) -> None:
    broken = Victim("broken", lambda texts: ["?"] * len(texts))
    with pytest.raises(UsageError, match="the victim broken cannot be audited"):
        Audit.prepare(audit_options(tmp_path), victim=broken)


def test_what_was_written_before_an_interruption_stays(tmp_path: Path) -> None:
    audit = Audit.prepare(audit_options(tmp_path))

    def interrupted(batches: Any, total: int) -> Any:
        assert total == len(TEXTS) - 1
        for number, batch in enumerate(batches):
            if number == 3:
                raise KeyboardInterrupt
            yield batch

    with pytest.raises(KeyboardInterrupt):
        audit.run(tmp_path / "out", progress=interrupted)
    before = list(read_records(tmp_path / "out" / RESULTS_FILE))
    assert len({record.example for record in before}) == 3
    result = audit.run(tmp_path / "out", resume=True)
    assert list(map(found, result.records)) == list(map(found, run(tmp_path).records))


def test_an_example_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    victim = KeywordVictim()
    audit = Audit.prepare(audit_options(tmp_path), victim=Victim("k", victim))
    victim.fail_on = "brother"
    result = audit.run()
    errors = [record for record in result.records if record.status == "error"]
    assert [record.original for record in errors] == ["His brother cooked a meal, an awful meal."]
    assert result.summary["n_errors"] == 1
    assert any(record.is_found for record in result.records)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positions": "coupled"}, "the sweep searches each text alone, got positions 'coupled'"),
        ({"exhaustive": 2, "max_edits": 1}, "search of 2 edits and at most 1 edits contradict"),
    ],
)
def test_settings_that_do_not_go_with_a_sweep(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        AuditOptions("m", "d", Settings().updated(**settings)).plan()


def test_gradient_saliency_needs_gradients(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"saliency gradient needs a white-box victim, got .*victim\.py"):
        Audit.prepare(audit_options(tmp_path, saliency="gradient"))


def test_targets_are_read_in_the_usual_order() -> None:
    assert parse_targets("all") == (*map(str, TARGETS), "robustness_only", "fairness_only")
    assert parse_targets(" unrobust-fair,robust_biased") == ("robust_biased", "unrobust_fair")
    assert parse_targets(["fairness_only"]) == ("fairness_only",)
    for bad, got in (("", "none"), ("all,robust_biased", "'all'"), ("TB", "'TB'"), ((), "none")):
        with pytest.raises(UsageError, match=f"--targets: expected all or some of .*, got {got}"):
            parse_targets(bad)


def test_data_without_a_sensitive_token(tmp_path: Path) -> None:
    result = run(tmp_path, rows=[("The film was good.", 1), ("A dull film.", 0)])
    assert {record.status for record in result.records} == {"skipped"}
    assert write_data(tmp_path).exists()
