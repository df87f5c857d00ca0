"""Swaps within a group, beside the audit."""

from __future__ import annotations

import json
from pathlib import Path

from rif_plugins import audit
from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.controls import controls_sentence
from rif_plugins.runner.controls import CONTROLS_FILE, read_controls

ROWS = [("My mom cooked a good meal.", 1), ("He cooked a good meal.", 1), ("Rain fell.", 0)]


def victim(texts: list[str]) -> list[list[float]]:
    """Right, but for one word that says nothing about the group."""
    return [[0.9, 0.1] if "mum" in text or "Rain" in text else [0.2, 0.8] for text in texts]


def test_controls_stand_apart_from_the_pairs(tmp_path: Path) -> None:
    plain = audit(victim, ROWS, entailment="none", cache="off", sensitive=["gender"])
    run = audit(
        victim, ROWS, out=tmp_path, controls=True, entailment="none", cache="off", sensitive=["gender"]
    )
    assert run.records == tuple(
        # the same pairs as without controls: only seconds may differ
        type(r)(**{**{n: getattr(r, n) for n in r.__slots__}, "seconds": mine.seconds})
        for r, mine in zip(plain.records, run.records, strict=True)
    )
    assert "controls" not in plain.summary
    assert controls_sentence(plain) == ""
    records = list(read_records(tmp_path / CONTROLS_FILE))
    assert records
    assert {record.attribute for record in records} == {"control:gender"}
    assert all(record.value_from == record.value_to for record in records)
    controls = run.summary["controls"]
    pairs = {(record.original, record.similar) for record in records}
    assert controls["n_pairs"] == len(pairs)
    differs = {pair for pair in pairs if ("mum" in pair[0]) != ("mum" in pair[1])}
    assert differs
    assert controls["individual_fairness_rate"]["successes"] == len(pairs) - len(differs)
    assert f"{len(pairs)} pairs swapped within the same group" in controls_sentence(run)


def test_a_report_finds_the_controls_again(tmp_path: Path) -> None:
    run = audit(victim, ROWS, out=tmp_path, controls=True, entailment="none", cache="off")
    assert read_controls(tmp_path, run.configuration) == run.summary["controls"]
    assert RunResult.load(tmp_path).summary == json.loads(json.dumps(run.summary))
    assert read_controls(tmp_path / "elsewhere", {}) is None


def test_a_run_without_anything_to_swap_says_so(tmp_path: Path) -> None:
    run = audit(victim, [("He ran.", 1)], controls=True, entailment="none", cache="off", sensitive=["gender"])
    assert run.summary["controls"] == {"n_pairs": 0}
    assert controls_sentence(run) == "Controls: no text has a name or term to swap within its group."
