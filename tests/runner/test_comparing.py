"""Runs of models with their classes in another order are brought to the same names and numbers."""

from __future__ import annotations

from fakes.run_records import record, skipped

from rif_plugins.core.run_result import RunResult
from rif_plugins.runner.comparing import comparable


def run_of(names: list[str], *records: object) -> RunResult:
    return RunResult({"label_names": names}, tuple(records))  # type: ignore[arg-type]


def test_labels_are_numbered_as_in_the_first_run() -> None:
    first = run_of(["bad", "fair", "good"], record("robust_biased", "TF", "TF", label=2))
    second = run_of(["Good", "bad ", "fair"], record("robust_biased", "TF", "TF", label=0))
    others = run_of(["x", "y", "z"], record("robust_biased", "TF", "TF", label=0))
    unnamed = run_of([], record("robust_biased", "TF", "TF", label=1))
    found = comparable([first, second, others, unnamed])
    assert [run.records[0].label for run in found] == [2, 2, 0, 1]


def test_examples_are_named_by_their_text_and_equal_texts_by_their_order() -> None:
    texts = {"a": "he is good", "b": "he is bad", "c": "he is good"}

    def records(prefix: str) -> list[object]:
        return [
            record(target, "TF", "TF", example=prefix + name, id=f"{prefix}{name}{target}")
            for name in texts
            for target in ("robust_biased", "unrobust_fair")
        ]

    runs = []
    for prefix in ("x", "y"):
        kept = [
            type(one)(**{**_fields(one), "original": texts[one.example[1:]]})  # type: ignore[attr-defined]
            for one in records(prefix)
        ]
        runs.append(run_of([], *kept))
    first, second = comparable(runs)
    names = [one.example for one in first.records]
    assert names == [one.example for one in second.records]
    assert [names[i] == names[0] for i in range(6)] == [True, True, False, False, False, False]
    assert len(set(names)) == 3
    assert names[0].split("-")[0] == names[4].split("-")[0]


def test_a_record_without_text_keeps_its_name() -> None:
    (run,) = comparable([run_of([], skipped("s1"))])
    assert run.records[0].example == "s1"


def _fields(one: object) -> dict[str, object]:
    return {name: getattr(one, name) for name in type(one).__slots__}  # type: ignore[attr-defined]
