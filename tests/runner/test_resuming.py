from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.runner_world import TEXTS, KeywordVictim, audit_options, found, write_victim

from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import RESULTS_FILE, RUN_FILE, RunResult
from rif_plugins.errors import DataError, UsageError
from rif_plugins.runner import Audit
from rif_plugins.runner.resuming import earlier_run
from rif_plugins.victims.base import Victim

Whole = tuple[Audit, Path, list[dict[str, Any]]]
ROWS = TEXTS[:6]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """An audit, the folder of its undisturbed run, and its records."""
    folder = tmp_path_factory.mktemp("whole")
    audit = Audit.prepare(audit_options(folder, ROWS))
    result = audit.run(folder / "out")
    return audit, folder / "out", list(map(found, result.records))


def stopped(source: Path, target: Path, size: int) -> None:
    """The folder as a kill would have left it after ``size`` bytes."""
    target.mkdir(exist_ok=True)
    configuration = json.loads((source / RUN_FILE).read_text(encoding="utf-8"))
    configuration["finished"] = None
    (target / RUN_FILE).write_text(json.dumps(configuration), encoding="utf-8")
    (target / RESULTS_FILE).write_bytes((source / RESULTS_FILE).read_bytes()[:size])


def sizes(results: Path) -> list[int]:
    """All ends of lines, one byte around each, and a few random places."""
    data = results.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    near = {size + step for size in (0, *ends) for step in (-1, 0, 1)}
    others = random.Random(0).sample(range(len(data)), 10)
    return sorted(size for size in {*near, *others} if 0 <= size <= len(data))


def test_a_run_that_was_killed_anywhere_goes_on_without_loss_or_repetition(
    whole: Whole, tmp_path: Path
) -> None:
    audit, out, records = whole
    all_sizes = sizes(out / RESULTS_FILE)
    # Every offset is checked on the file; the search itself is run again for a part of them.
    for number, size in enumerate(all_sizes):
        stopped(out, tmp_path / "out", size)
        if number % 6 and size not in (0, all_sizes[-1]):
            continue
        result = audit.run(tmp_path / "out", resume=True)
        assert list(map(found, result.records)) == records, size
        assert list(map(found, read_records(tmp_path / "out" / RESULTS_FILE))) == records, size
        assert RunResult.load(tmp_path / "out").configuration["finished"] is not None


def test_finished_examples_are_not_searched_again(tmp_path: Path) -> None:
    options = audit_options(tmp_path, ROWS)
    audit = Audit.prepare(options, victim=Victim("keyword", KeywordVictim(), identity=options))
    records = list(map(found, audit.run(tmp_path / "whole").records))
    stopped(tmp_path / "whole", tmp_path / "out", (tmp_path / "whole" / RESULTS_FILE).stat().st_size)
    victim = KeywordVictim()
    audit = Audit.prepare(options, victim=Victim("keyword", victim, identity=options))
    victim.seen.clear()
    assert list(map(found, audit.run(tmp_path / "out", resume=True).records)) == records
    # Nobody knows whether the last example of the file is complete: it alone is done again.
    assert victim.seen
    assert all(", and " in text for text in victim.seen)


def test_a_finished_run_is_left_as_it_is(whole: Whole, tmp_path: Path) -> None:
    audit, out, records = whole
    for name in (RUN_FILE, RESULTS_FILE):
        (tmp_path / name).write_bytes((out / name).read_bytes())
    rows = audit.parts.engine.rows
    result = audit.run(tmp_path, resume=True)
    assert audit.parts.engine.rows == rows
    assert list(map(found, result.records)) == records
    assert (tmp_path / RESULTS_FILE).read_bytes() == (out / RESULTS_FILE).read_bytes()


def test_a_folder_without_results_is_begun(whole: Whole, tmp_path: Path) -> None:
    audit, _, records = whole
    assert list(map(found, audit.run(tmp_path / "new", resume=True).records)) == records


def test_an_earlier_run_is_not_overwritten(whole: Whole) -> None:
    audit, out, _ = whole
    before = (out / RESULTS_FILE).read_bytes()
    with pytest.raises(UsageError, match="holds an earlier run: give another folder with --out"):
        audit.run(out)
    assert (out / RESULTS_FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"targets": ("robust_biased",)}, "targets"),
        ({"max_edits": 1}, "max_edits"),
        ({"counterparts": 3}, "counterparts"),
        ({"seed": 1}, "seed"),
        ({"beam": 2}, "beam"),
        ({"exhaustive": 1}, "exhaustive"),
        ({"query_budget": 50}, "query_budget"),
        ({"protect": ("meal",)}, "protect"),
        ({"entailment": "embedded"}, "scorer"),
        ({"rows": ROWS[:3]}, "data_sha256"),
    ],
)
def test_another_configuration_is_refused(
    whole: Whole, tmp_path: Path, change: dict[str, Any], name: str
) -> None:
    _, out, _ = whole
    for file in ("victim.py", "data.csv"):
        (tmp_path / file).write_bytes((out.parent / file).read_bytes())
    stopped(out, tmp_path / "out", 4000)
    before = (tmp_path / "out" / RESULTS_FILE).read_bytes()
    options = audit_options(out.parent, change.pop("rows", ROWS), **change)
    audit = Audit.prepare(options)
    try:
        message = f"another {name} .* repeat its options, or give another"
        if name == "data_sha256":
            message = "holds a run on other data: give the same data, or another folder"
        with pytest.raises(UsageError, match=message):
            audit.run(tmp_path / "out", resume=True)
    finally:
        audit_options(out.parent, ROWS)  # the data file of the other tests
    assert (tmp_path / "out" / RESULTS_FILE).read_bytes() == before


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    first = Audit.prepare(audit_options(tmp_path, ROWS))
    first.run(tmp_path / "out")
    write_victim(tmp_path, good=1.9)
    with pytest.raises(UsageError, match="holds a run of another victim with this name: give the same model"):
        Audit.prepare(audit_options(tmp_path, ROWS)).run(tmp_path / "out", resume=True)


@pytest.mark.parametrize(
    ("file", "swap", "field", "what"),
    [
        ("candidates.csv", ("supper", "dinners"), "proposer_version", "proposer"),
        ("trades.tsv", ("sailor", "pilot"), "lexicon_version", "lexicon"),
    ],
)
def test_another_file_of_the_same_name_is_refused(
    tmp_path: Path, file: str, swap: tuple[str, str], field: str, what: str
) -> None:
    lexicon = tmp_path / "trades.tsv"
    lexicon.write_text("from\tto\nminer\tsailor\n", encoding="utf-8")
    rows = [*ROWS, ("The miner had a good meal.", 1)]

    def options() -> Any:
        return audit_options(tmp_path, rows, lexicon=lexicon)

    whole = Audit.prepare(options())
    records = list(map(found, whole.run(tmp_path / "whole").records))
    told = json.loads((tmp_path / "whole" / RUN_FILE).read_text(encoding="utf-8"))
    assert told[field] and str(tmp_path) not in told[field]
    stopped(tmp_path / "whole", tmp_path / "out", 5000)
    before = (tmp_path / "out" / RESULTS_FILE).read_bytes()
    changed = options()
    held = (tmp_path / file).read_text(encoding="utf-8")
    (tmp_path / file).write_text(held.replace(*swap), encoding="utf-8")
    with pytest.raises(UsageError, match=rf"a run with another {what} of this name \(.*, now .*\): give the"):
        Audit.prepare(changed).run(tmp_path / "out", resume=True)
    assert (tmp_path / "out" / RESULTS_FILE).read_bytes() == before
    # A run of an older release does not say what was behind its names.
    configuration = json.loads((tmp_path / "out" / RUN_FILE).read_text(encoding="utf-8"))
    del configuration[field]
    (tmp_path / "out" / RUN_FILE).write_text(json.dumps(configuration), encoding="utf-8")
    again = Audit.prepare(changed).run(tmp_path / "out", resume=True)
    assert again.configuration[field] != told[field]
    assert [record["id"] for record in map(found, again.records)][:1] == [records[0]["id"]]


@pytest.mark.parametrize("field", ["proposer_version", "lexicon_version"])
@pytest.mark.parametrize("value", [3, ["1"], {"a": "b"}, True])
def test_a_version_that_is_no_text_is_told(whole: Whole, tmp_path: Path, field: str, value: Any) -> None:
    audit, out, _ = whole
    stopped(out, tmp_path, 4000)
    configuration = json.loads((tmp_path / RUN_FILE).read_text(encoding="utf-8"))
    (tmp_path / RUN_FILE).write_text(json.dumps({**configuration, field: value}), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{field} is .*, expected a text"):
        audit.run(tmp_path, resume=True)


def test_another_name_is_told_before_what_is_behind_it(whole: Whole, tmp_path: Path) -> None:
    _, out, _ = whole
    stopped(out, tmp_path / "out", 4000)
    options = audit_options(out.parent, ROWS, proposer="wordnet")
    with pytest.raises(
        UsageError, match=r"another proposer \('table:.*', now 'wordnet'\): repeat its options"
    ):
        Audit.prepare(options).run(tmp_path / "out", resume=True)


def test_what_does_not_decide_records_may_change(whole: Whole, tmp_path: Path) -> None:
    _, out, records = whole
    stopped(out, tmp_path / "out", 5000)
    options = audit_options(out.parent, ROWS, batch_size=1, cache="on", cache_dir=tmp_path / "cache")
    result = Audit.prepare(options).run(tmp_path / "out", resume=True)
    assert list(map(found, result.records)) == records


def test_errors_are_tried_again_and_come_back_into_order(tmp_path: Path) -> None:
    options = audit_options(tmp_path, ROWS)
    victim = KeywordVictim()
    audit = Audit.prepare(options, victim=Victim("keyword", victim, identity=options))
    victim.fail_on = "actress"
    first = audit.run(tmp_path / "out")
    errors = [record.example for record in first.records if record.status == "error"]
    assert len(errors) >= 1
    assert errors[0] != first.records[-1].example
    victim.fail_on = None
    again = audit.run(tmp_path / "out", resume=True)
    assert not any(record.status == "error" for record in again.records)
    undisturbed = audit.run(None)
    assert list(map(found, again.records)) == list(map(found, undisturbed.records))
    assert list(map(found, read_records(tmp_path / "out" / RESULTS_FILE))) == list(map(found, again.records))


@pytest.mark.parametrize(
    ("proposer", "is_another"), [("llm:m", True), ("wordnet,llm:m", True), ("wordnet", False)]
)
def test_the_temperature_counts_where_a_language_model_proposes(
    tmp_path: Path, proposer: str, is_another: bool
) -> None:
    def configuration(**more: Any) -> dict[str, Any]:
        return {"settings": {"proposer": proposer, **more}}

    (tmp_path / RESULTS_FILE).touch()
    write_configuration = {"schema": "rif-run/1", **configuration(llm_temperature=0.7)}
    (tmp_path / RUN_FILE).write_text(json.dumps(write_configuration), encoding="utf-8")
    earlier_run(tmp_path, write_configuration)
    now = {"schema": "rif-run/1", **configuration(llm_temperature=1.5)}
    if not is_another:
        assert earlier_run(tmp_path, now) == write_configuration
        return
    with pytest.raises(UsageError, match=r"another llm_temperature \(0\.7, now 1\.5\): repeat its options"):
        earlier_run(tmp_path, now)
    # Runs of releases that had no such setting drew with 0.7.
    older = {"schema": "rif-run/1", **configuration()}
    (tmp_path / RUN_FILE).write_text(json.dumps(older), encoding="utf-8")
    assert earlier_run(tmp_path, write_configuration) == older
    with pytest.raises(UsageError, match=r"another llm_temperature \(0\.7, now 1\.5\)"):
        earlier_run(tmp_path, now)


def test_a_broken_line_in_the_middle_is_refused(whole: Whole, tmp_path: Path) -> None:
    audit, out, _ = whole
    stopped(out, tmp_path / "out", 5000)
    results = tmp_path / "out" / RESULTS_FILE
    results.write_bytes(results.read_bytes()[:50] + b"\n" + results.read_bytes())
    with pytest.raises(DataError, match="line 1: expected a JSON object, got broken JSON"):
        audit.run(tmp_path / "out", resume=True)


def test_results_without_their_configuration_are_refused(whole: Whole, tmp_path: Path) -> None:
    audit, out, _ = whole
    (tmp_path / RESULTS_FILE).write_bytes((out / RESULTS_FILE).read_bytes())
    with pytest.raises(DataError, match=r"run.json cannot be read"):
        audit.run(tmp_path, resume=True)


def test_a_victim_without_fingerprint_is_told_apart_by_its_answers(tmp_path: Path) -> None:
    from rif_plugins.runner import audit

    class Open:
        """Holds an open file, so that its identity cannot be established."""

        def __init__(self, shift: float) -> None:
            self.shift = shift
            self.file = (tmp_path / "notes").open("w", encoding="utf-8")

        def __call__(self, texts: list[str]) -> list[list[float]]:
            return [[0.5 - self.shift, 0.5 + self.shift] for _ in texts]

    first, second = Open(0.1), Open(0.2)
    rows = [("He cooked.", 1), ("She cooked.", 1)]
    run = audit(first, rows, out=tmp_path / "out", entailment="none", cache="off")
    assert run.configuration["victim_fingerprint"] is None
    with pytest.raises(UsageError, match="another victim with this name"):
        audit(second, rows, out=tmp_path / "out", entailment="none", cache="off", resume=True)
    again = audit(first, rows, out=tmp_path / "out", entailment="none", cache="off", resume=True)
    assert again.records == run.records
    first.file.close()
    second.file.close()


def test_the_filter_order_of_the_earlier_run_is_kept(tmp_path: Path) -> None:
    first = Audit.prepare(audit_options(tmp_path, ROWS))
    first.options = replace(first.options, filter_first=True)
    first.run(tmp_path / "out")
    again = Audit.prepare(audit_options(tmp_path, ROWS))
    again.options = replace(again.options, filter_first=False)  # as if the stopwatch had said otherwise
    result = again.run(tmp_path / "out", resume=True)
    assert result.configuration["filter_order"] == "filter-first"
