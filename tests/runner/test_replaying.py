"""Findings asked again: what counts as holding, labels of other models, errors, costs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.audit_world import write_world

from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.metrics.summary import summarise_run
from rif_plugins.runner.label_matching import LabelMatch
from rif_plugins.runner.replaying import Replay, ReplayResult, replay, replay_options, write_replay
from rif_plugins.settings import Settings

NAMES = ["negative", "positive"]


def finding(
    texts: tuple[str, str, str, str] = ("he is good", "she is good", "he is good", "she is decent"),
    target: str = "robust_biased",
    **fields: Any,
) -> Record:
    """A finding on the victim of the world; its probabilities are of no matter."""
    names = ("original", "similar", "perturbed_original", "perturbed_similar")
    made = Record(
        id="f1",
        example="e1",
        target=target,
        status="induced",
        stop_reason="found",
        label=1,
        attribute="gender",
        clean_outcome="robust_fair",
        outcome=target,
        **dict(zip(names, texts, strict=True)),
        probabilities={name: [0.4, 0.6] for name in names},
        trajectory=[{"step": 0, "p_original": 0.6, "p_similar": 0.6, "objective": 0.0}],
        pii={"original": [0.1], "similar": []},
        largest_error=0.4,
        n_tried=7,
        certificate={"edits": 1},
        seconds=9.0,
    )
    return replace(made, **fields)


def run_of(*records: Record, **configuration: Any) -> RunResult:
    return RunResult(
        {
            "schema": "rif-run/1",
            "label_names": NAMES,
            "labels": "given",
            "victim_fingerprint": "f" * 32,
            "settings": {},
            "options": {"model": "victim.py"},
            **configuration,
        },
        records,
    )


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(write_world(tmp_path))
    return tmp_path


def replayed(*records: Record, model: str | None = None, **configuration: Any) -> ReplayResult:
    run = run_of(*records, **configuration)
    return replay(run, records, replay_options(run, model))


def victim(folder: Path, name: str, source: str) -> str:
    (folder / name).write_text(source, encoding="utf-8")
    return name


def test_a_finding_that_holds(world: Path) -> None:
    result = replayed(finding())
    (one,) = result.replays
    # 2.5, 1.5, 2.5 and -1.5 through a sigmoid
    assert one.after.probabilities["original"] == pytest.approx([0.0758582, 0.9241418])
    assert one.after.probabilities["perturbed_similar"] == pytest.approx([0.8175745, 0.1824255])
    assert (one.after.status, one.after.clean_outcome, one.after.outcome) == (
        "induced",
        "robust_fair",
        "robust_biased",
    )
    assert (one.holds, one.verdict) == (True, "holds")
    assert one.after.id == "f1"
    assert one.after.queries == {"victim_rows": 3, "cache_hits": 1}  # one text of the four comes twice
    assert (result.rate.successes, result.rate.total) == (1, 1)


def test_what_belongs_to_the_search_is_not_kept(world: Path) -> None:
    after = replayed(finding()).replays[0].after
    assert after.stop_reason == "replayed"
    assert (after.trajectory, after.pii, after.saliency, after.certificate) == ([], {}, [], {})
    assert (after.largest_error, after.n_tried) == (0.0, 0)
    assert after.edits == finding().edits


@pytest.mark.parametrize(
    ("texts", "target", "status", "outcome", "verdict"),
    [
        (("he is great",) * 4, "robust_biased", "failed", "robust_fair", "gone"),
        (
            ("he is good", "she is good", "he is decent", "she is decent"),
            "robust_biased",
            "failed",
            "unrobust_fair",
            "now unrobust_fair",
        ),
        # "she is fine" is wrong before any edit, and the edit takes that away.
        (
            ("he is fine", "she is fine", "he is good", "she is good"),
            "robust_biased",
            "natural",
            "robust_fair",
            "holds unedited",
        ),
        (
            ("she is fine", "he is fine", "she is fine", "he is good"),
            "unrobust_biased",
            "natural",
            "unrobust_biased",
            "holds unedited",
        ),
        # From one violation into another.
        (
            ("he is fine", "she is fine", "he is decent", "she is decent"),
            "unrobust_fair",
            "shifted",
            "unrobust_fair",
            "holds",
        ),
        (
            ("he is good", "she is good", "he is decent", "she is good"),
            "robustness_only",
            "induced",
            "unrobust_biased",
            "holds",
        ),
        (
            ("he is good", "she is good", "he is decent", "she is decent"),
            "fairness_only",
            "failed",
            "unrobust_fair",
            "now unrobust_fair",
        ),
    ],
)
def test_status_and_verdict(
    world: Path, texts: tuple[str, str, str, str], target: str, status: str, outcome: str, verdict: str
) -> None:
    (one,) = replayed(finding(texts, target, outcome=target)).replays
    assert (one.after.status, one.after.outcome, one.verdict) == (status, outcome, verdict)
    assert one.holds == verdict.startswith("holds")


def test_a_natural_finding_that_is_natural_still(world: Path) -> None:
    texts = ("he is fine", "she is fine", "he is fine", "she is fine")
    (one,) = replayed(finding(texts, status="natural", clean_outcome="robust_biased")).replays
    assert (one.after.status, one.verdict) == ("natural", "holds")


def test_classes_in_another_order_are_matched_by_name(world: Path) -> None:
    result = replayed(finding(), model="fair.py")
    (one,) = result.replays
    assert one.after.label == 0
    assert one.after.outcome == "robust_biased"  # "decent" is negative for this model too
    assert one.after.probabilities["original"] == pytest.approx([0.880797, 0.119203])
    assert "the model has its classes in another order (positive, negative): matched by name" in result.notes


def test_predicted_labels_are_those_of_now(world: Path) -> None:
    texts = ("she is fine", "she is fine", "she is fine", "he is fine")
    (one,) = replayed(finding(texts), labels="predicted").replays
    assert one.after.label == 0  # the victim takes "she is fine" for negative
    assert one.after.outcome == "robust_biased"


def test_another_number_of_classes_is_refused(world: Path) -> None:
    three = victim(world, "three.py", "def model(texts):\n    return [[0.2, 0.3, 0.5]] * len(texts)\n")
    with pytest.raises(UsageError, match=r"the model has 3 classes, the run's had 2"):
        replayed(finding(), model=three)


def test_a_label_that_is_no_class_is_refused(world: Path) -> None:
    with pytest.raises(UsageError, match=r"finding f1 has label 5, expected 0 to 1"):
        replayed(finding(label=5))


FAILING = """\
label_names = ("negative", "positive")


def model(texts):
    if any("decent" in text for text in texts):
        raise ValueError("no decent words")
    return [[0.1, 0.9]] * len(texts)
"""


def test_a_finding_on_which_the_model_fails_is_an_error_and_the_others_are_asked(world: Path) -> None:
    failing = victim(world, "failing.py", FAILING)
    fine = finding(("he is good", "she is good", "he is fine", "she is fine"), id="f2")
    result = replayed(finding(), fine, model=failing)
    assert [one.after.status for one in result.replays] == ["error", "failed"]
    assert "ValueError: no decent words" in result.replays[0].after.message
    assert (result.n_errors, result.rate.successes, result.rate.total) == (1, 0, 1)
    assert result.to_dict()["findings"][0]["verdict"] == "error"


def test_a_model_that_fails_on_everything_is_refused(world: Path) -> None:
    failing = victim(world, "failing.py", FAILING)
    with pytest.raises(UsageError, match=r"failing\.py failed on every finding, first with: .*decent"):
        replayed(finding(), model=failing)


@pytest.mark.parametrize(
    ("fingerprint", "is_same", "note"),
    [
        (
            "other",
            False,
            r"victim\.py is not the model of the run: fingerprint \w{12}, the run's other",
        ),
        (
            None,
            None,
            r"whether victim\.py is the model of the run is not known: the run has no .*",
        ),
    ],
)
def test_the_fingerprint_is_compared(
    world: Path, fingerprint: str | None, is_same: bool | None, note: str
) -> None:
    result = replayed(finding(), victim_fingerprint=fingerprint)
    assert result.is_same_model is is_same
    assert re.fullmatch(note, result.notes[0])


def test_the_same_model_is_known(world: Path) -> None:
    first = replayed(finding())
    again = replayed(finding(), victim_fingerprint=first.fingerprint)
    assert again.is_same_model is True
    assert again.notes == ("victim.py is the model of the run: its fingerprint is the same",)


def test_options_are_those_of_the_run_and_of_another_model_its_own() -> None:
    run = run_of(
        finding(),
        options={"model": "m", "device": "cpu", "max_length": 64, "label_names": ["a", "b"]},
        settings={"victim_output": "logits", "batch_size": 7, "saliency": "gradient", "entailment": "hf:x"},
    )
    same = replay_options(run)
    assert (same.model, same.device, same.max_length, same.label_names) == ("m", "cpu", 64, ("a", "b"))
    assert same.settings == Settings().updated(
        victim_output="logits", batch_size="7", entailment="none", cache="off"
    )
    other = replay_options(run, "m2")
    assert (other.model, other.device, other.max_length, other.label_names) == ("m2", "cpu", None, None)
    assert (other.settings.victim_output, other.settings.batch_size) == ("auto", 7)
    told = replay_options(run, "m2", device="cuda:1", max_length=9, victim_output="probabilities")
    assert (told.device, told.max_length, told.settings.victim_output) == ("cuda:1", 9, "probabilities")


def test_a_run_without_a_model_needs_one() -> None:
    with pytest.raises(UsageError, match="does not tell which model it audited: name one with --model"):
        replay_options(run_of(finding(), options={}))


def test_a_model_that_has_moved(world: Path) -> None:
    (world / "victim.py").unlink()
    with pytest.raises(UsageError, match=r"no file 'victim\.py'.*where it has moved, name it with --model"):
        replayed(finding())
    with pytest.raises(UsageError, match=r"no file 'gone\.py': expected a Python file .*`model`$"):
        replayed(finding(), model="gone.py")


def test_many_findings_are_asked_in_large_batches(world: Path) -> None:
    source = 'import pathlib\n\n\ndef model(texts):\n    with pathlib.Path("calls").open("a") as file:\n'
    source += '        file.write(f"{len(texts)}\\n")\n    return [[0.1, 0.9]] * len(texts)\n'
    counting = victim(world, "counting.py", source)
    many = [finding((f"he {i}", f"she {i}", f"he {i}!", f"she {i}!"), id=f"f{i}") for i in range(300)]
    result = replayed(*many, model=counting)
    sizes = list(map(int, (world / "calls").read_text(encoding="utf-8").split()))
    assert sum(sizes) <= 1200 + 64  # the probes of the fingerprint
    assert max(sizes) == Settings().batch_size
    assert len(sizes) < 50
    assert sum(one.after.queries["victim_rows"] for one in result.replays) == 1200


def test_records_of_a_replay_are_records_like_others(world: Path, tmp_path: Path) -> None:
    result = replayed(finding(), finding(target="unrobust_fair", id="f2"))
    path = tmp_path / "replay.jsonl"
    write_replay(result, path)
    write_replay(result, path)  # in place of the first, not behind it
    records = list(read_records(path))
    assert records == [one.after for one in result.replays]
    assert summarise_run(records)["by_target"]["robust_biased"]["n_induced"] == 1


def test_rates_by_target_come_in_the_usual_order() -> None:
    def one(target: str, status: str) -> Replay:
        return Replay(finding(target=target), replace(finding(target=target), status=status))

    replays: Sequence[Replay] = [
        one("fairness_only", "failed"),
        one("unrobust_fair", "induced"),
        one("unrobust_fair", "failed"),
        one("robust_biased", "error"),
    ]
    result = ReplayResult(tuple(replays), "m", None, None)
    assert {name: (r.successes, r.total) for name, r in result.by_target().items()} == {
        "robust_biased": (0, 0),
        "unrobust_fair": (1, 2),
        "fairness_only": (0, 1),
    }
    assert list(result.by_target()) == ["robust_biased", "unrobust_fair", "fairness_only"]
    assert (result.rate.successes, result.rate.total) == (1, 3)


@pytest.mark.parametrize(
    ("before", "now", "columns", "n_notes"),
    [
        (["a", "b"], ("a", "b"), None, 0),
        (["A ", "b"], ("a", "B"), None, 0),
        (["a", "b"], None, None, 0),
        ([], ("a", "b"), None, 0),
        (["0", "1"], ("bad", "good"), None, 0),
        (["a", "b", "c"], ("c", "a", "b"), (1, 2, 0), 1),
        (["a", "b"], ("x", "y"), None, 1),
    ],
)
def test_label_names(
    before: list[str], now: tuple[str, ...] | None, columns: tuple[int, ...] | None, n_notes: int
) -> None:
    match = LabelMatch.of({"label_names": before}, now)
    assert match.columns == columns
    assert len(match.notes) == n_notes
