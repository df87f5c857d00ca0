from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from rif_plugins.cli import demo
from rif_plugins.core.result_files import RecordWriter
from rif_plugins.core.results import Record
from rif_plugins.errors import RIFError, UsageError
from rif_plugins.examples import load_examples

INDUCED = Record(
    id="a1",
    example="a",
    target="robust_biased",
    status="induced",
    stop_reason="target",
    label=1,
    attribute="gender",
    clean_outcome="robust_fair",
    outcome="robust_biased",
    original="My brother is a fool.",
    similar="My sister is a fool.",
    perturbed_original="My brother is a fool.",
    perturbed_similar="My sister is a sap.",
    edits=[{"side": "similar", "start": 15, "end": 19, "from": "fool", "to": "sap"}],
    probabilities={
        "original": [0.1, 0.9],
        "similar": [0.2, 0.8],
        "perturbed_original": [0.1, 0.9],
        "perturbed_similar": [0.7, 0.3],
    },
)
FAILED = replace(INDUCED, id="a2", status="failed", outcome="robust_fair", edits=[])


class FakeHost:
    """Stands for TextAttack: notes the commands and writes prepared records where the settings say."""

    def __init__(self, records: list[Record], code: int = 0) -> None:
        self.records = records
        self.code = code
        self.commands: list[list[str]] = []
        self.progress: list[str | None] = []

    def register(self) -> None:
        pass

    def run_command_line(self, command: list[str]) -> int:
        self.commands.append(command)
        self.progress.append(os.environ.get("TQDM_DISABLE"))
        print("chatter of the host")
        logging.getLogger("host").info("loading")
        with RecordWriter(os.environ["RIF_RESULTS"]) as writer:
            for record in self.records:
                writer.write(record)
        return self.code


@pytest.fixture
def host(monkeypatch):
    def install(records: list[Record], code: int = 0) -> FakeHost:
        from rif_plugins.text import host as real

        fake = FakeHost(records, code)
        monkeypatch.setattr(real, "register", fake.register)
        monkeypatch.setattr(real, "run_command_line", fake.run_command_line)
        return fake

    monkeypatch.delenv("RIF_RESULTS", raising=False)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    return install


def test_runs_the_three_recipes_and_says_where_the_results_lie(host, tmp_path, capsys) -> None:
    fake = host([INDUCED, FAILED])
    out = tmp_path / "new" / "folder"
    assert demo.main(["--out", str(out), "--num-examples", "7"]) == 0
    assert [command[2] for command in fake.commands] == [
        "rifair-robust-biased",
        "rifair-unrobust-fair",
        "rifair-unrobust-biased",
    ]
    for command in fake.commands:
        assert command[command.index("--num-examples") + 1] == "7"
        for option in ("--model-from-file", "--dataset-from-file"):
            assert Path(command[command.index(option) + 1]).is_file()
        assert "--silent" not in command
    printed = capsys.readouterr().out
    assert "similar   My sister is a sap.  [not offensive, 0.70]" in printed
    assert "edited: fool -> sap" in printed
    assert str(out / "results.jsonl") in printed
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["robust_biased"]["induced_rate"]["successes"] == 3
    assert summary["robust_biased"]["induced_rate"]["total"] == 6
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["command"] == "rif demo"
    assert run["num_examples"] == 7
    assert run["settings"]["min_equivalence"] == 0.8
    assert "RIF_RESULTS" not in os.environ


def test_quiet_prints_rates_only(host, tmp_path, capsys, caplog) -> None:
    caplog.set_level(logging.INFO)
    fake = host([INDUCED])
    assert demo.main(["--out", str(tmp_path), "--quiet"]) == 0
    assert all("--silent" in command for command in fake.commands)
    assert fake.progress == ["1", "1", "1"]
    assert "TQDM_DISABLE" not in os.environ
    assert not caplog.records
    assert logging.getLogger("host").isEnabledFor(logging.INFO)
    printed = capsys.readouterr().out
    assert "chatter" not in printed
    assert "sister" not in printed
    assert "induced_rate  100.0%" in printed


def test_second_demo_replaces_the_first(host, tmp_path) -> None:
    host([INDUCED])
    demo.main(["--out", str(tmp_path), "--quiet"])
    demo.main(["--out", str(tmp_path), "--quiet"])
    assert len((tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize("run", [None, "{", "[]", '{"command": "rif audit"}'])
def test_results_of_another_run_are_left_alone(host, tmp_path, run: str | None) -> None:
    host([INDUCED])
    results = tmp_path / "results.jsonl"
    results.write_text("precious\n", encoding="utf-8")
    if run is not None:
        (tmp_path / "run.json").write_text(run, encoding="utf-8")
    with pytest.raises(UsageError, match="belongs to another run: give another folder"):
        demo.main(["--out", str(tmp_path)])
    assert results.read_text(encoding="utf-8") == "precious\n"


def test_examples_that_ended_in_an_error_give_exit_code_3(host, tmp_path) -> None:
    error = Record("e", "e", "robust_biased", "error", "error", label=0, message="the victim raised")
    host([INDUCED, error])
    assert demo.main(["--out", str(tmp_path), "--quiet"]) == 3


def test_a_failed_command_is_reported(host, tmp_path) -> None:
    host([], code=2)
    with pytest.raises(RIFError, match="exit code 2 on --recipe rifair-robust-biased"):
        demo.main(["--out", str(tmp_path), "--quiet"])
    assert "RIF_RESULTS" not in os.environ


@pytest.mark.parametrize("number", ["0", "-1", str(len(load_examples()) + 1)])
def test_number_of_examples_outside_the_sentences(number: str, tmp_path) -> None:
    with pytest.raises(UsageError, match=rf"--num-examples: expected 1 to \d+, got {number}"):
        demo.main(["--num-examples", number, "--out", str(tmp_path)])


def test_folder_that_cannot_be_written(tmp_path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--out: cannot write to .*give another folder"):
        demo.main(["--out", str(blocked / "inside")])
