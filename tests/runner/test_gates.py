from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.runner_world import TEXTS, KeywordVictim, examples, sweep_of

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult, write_records
from rif_plugins.errors import DataError, UsageError
from rif_plugins.metrics.summary import summarise_run
from rif_plugins.runner.gates import Gate, read_baseline, standing

RATES = ("accuracy", "individual_fairness_rate", "robustness_rate", "fairness_rate", "rif_rate")


@pytest.fixture(scope="module")
def run() -> RunResult:
    """Natural, induced and shifted findings, failures, skipped examples."""
    batches = sweep_of(KeywordVictim(), targets=(*_targets(), "robustness_only", "fairness_only"))
    records = tuple(record for batch in batches.run(examples(TEXTS)) for record in batch)
    assert {record.status for record in records} == {"natural", "induced", "shifted", "failed", "skipped"}
    return RunResult({}, records, summarise_run(records))


def _targets() -> tuple[str, ...]:
    return "robust_biased", "unrobust_fair", "unrobust_biased"


def unmet(run: RunResult, *conditions: str, accepted: Any = ()) -> list[str]:
    gate = Gate.of(conditions, None)
    return Gate(gate.least, frozenset(accepted)).unmet(run)


def test_a_rate_that_is_reached_is_met(run: RunResult) -> None:
    value = run.summary["accuracy"]["value"]
    assert unmet(run, f"accuracy={value}") == []
    assert unmet(run, "rif_rate=0") == []
    assert unmet(run) == []


def test_a_rate_that_is_not_reached_is_said_with_its_counts(run: RunResult) -> None:
    rate = run.summary["rif_rate"]
    assert 0 <= rate["value"] < 0.99
    (line,) = unmet(run, "rif_rate=0.99", "accuracy=0")
    assert line == (
        f"rif_rate is {rate['value']:.4f} ({rate['successes']} of {rate['total']}), below --fail-under 0.99"
    )


def test_a_rate_without_pairs_cannot_be_met() -> None:
    records = (Record("a-skipped", "a", "", "skipped", "no sensitive token"),)
    run = RunResult({}, records, summarise_run(records))
    assert unmet(run, "rif_rate=0") == ["--fail-under rif_rate=0 cannot be met: no pair was evaluated for it"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("rif=0.9", "expected RATE=X with one of accuracy, .*, rif_rate, got 'rif'"),
        ("rif_violation_rate=0.1", "expected RATE=X with one of"),
        ("rif_rate", "expected a number from 0 to 1, got ''"),
        ("rif_rate=90", "expected a number from 0 to 1, got '90'"),
        ("rif_rate=nan", "expected a number from 0 to 1, got 'nan'"),
        ("rif_rate=-0.1", "expected a number from 0 to 1, got '-0.1'"),
    ],
)
def test_conditions_are_checked(condition: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"--fail-under {condition}: {message}"):
        Gate.of([condition], None)


def test_a_run_that_is_accepted_as_a_whole_stands(run: RunResult, tmp_path: Path) -> None:
    """Natural violations included, which the failed searches of the same pair start from."""
    file = tmp_path / "results.jsonl"
    write_records(file, run.records)
    gate = Gate.of([f"{name}=1" for name in RATES], file)
    assert gate.accepted == {record.id for record in run.findings}
    assert gate.unmet(run) == []


def test_a_new_finding_counts_and_the_message_says_what_was_left_aside(run: RunResult) -> None:
    for new in run.findings:
        if new.target in _targets():
            accepted = {record.id for record in run.findings} - {new.id}
            (line,) = unmet(run, "rif_rate=1", accepted=accepted)
            total = run.summary["rif_rate"]["total"]
            assert f"({total - 1} of {total}, accepted findings aside), below" in line


def test_a_baseline_of_another_run_changes_nothing(run: RunResult) -> None:
    assert (
        unmet(run, "rif_rate=1", accepted={"unknown"})[0].split(" (")[0]
        == unmet(run, "rif_rate=1")[0].split(" (")[0]
    )
    assert list(standing(run, frozenset({"unknown"}))) == list(run.records)


def test_findings_of_the_single_attacks_are_accepted_on_their_own(run: RunResult) -> None:
    accepted = {record.id for record in run.findings if record.target == "robustness_only"}
    assert unmet(run, "robustness_rate=1", accepted=accepted) == []
    assert unmet(run, "rif_rate=1", accepted=accepted)
    assert unmet(run, "fairness_rate=1", accepted=accepted)


def test_a_baseline_may_be_a_list_of_ids(tmp_path: Path, run: RunResult) -> None:
    file = tmp_path / "accepted.txt"
    record = run.findings[0].to_dict()
    lines = ["# known and accepted", "", "0123456789abcdef", "  feedfeedfeedfeed  ", json.dumps(record)]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert read_baseline(file) == {"0123456789abcdef", "feedfeedfeedfeed", record["id"]}


def test_only_findings_of_a_results_file_are_accepted(tmp_path: Path, run: RunResult) -> None:
    file = tmp_path / "results.jsonl"
    write_records(file, [record for record in run.records if not record.is_found])
    assert read_baseline(file) == frozenset()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc\nfree text here\n", "line 2: expected an id, got 'free text here'"),
        ("x" * 101, "line 1: expected an id"),
        ('{"schema": "rif-res', "line 1: expected a record, got broken JSON"),
        ('{"schema": "other/1"}', "line 1: expected a record of schema rif-results/1"),
        ('{"schema": "rif-results/1"}', "line 1: record lacks the field 'id'"),
    ],
)
def test_a_broken_baseline_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "accepted.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_baseline(file)


def test_a_missing_baseline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"--baseline .*nothing.txt cannot be read .* one id a line"):
        read_baseline(tmp_path / "nothing.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read"):
        read_baseline(tmp_path / "binary")
