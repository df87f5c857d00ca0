"""Files of a run that somebody else wrote: report, comparison, replay, gates, resuming."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fakes.runs import fake_run
from fuzz import hostile
from fuzz.engine import Target
from fuzz.file_targets import place

from rif_plugins.cli import compare, report
from rif_plugins.cli.replay import choose_findings, text_of
from rif_plugins.cli.report import load_run
from rif_plugins.core.result_files import RecordWriter, read_records
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.frames import records_frame
from rif_plugins.reports.html import render_html
from rif_plugins.reports.junit import render_junit
from rif_plugins.reports.notebook import notebook_html
from rif_plugins.reports.text import render_text
from rif_plugins.runner.gates import Gate
from rif_plugins.runner.replaying import replay, replay_options
from rif_plugins.runner.resuming import earlier_run


@dataclass(frozen=True)
class RunFiles:
    """Contents of the three files."""

    run: bytes
    results: bytes
    summary: bytes

    def write(self, name: str = "run") -> Path:
        folder = place(name)
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        for file, data in (
            ("run.json", self.run),
            ("results.jsonl", self.results),
            ("summary.json", self.summary),
        ):
            (folder / file).write_bytes(data)
        return folder


@cache
def _world() -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    run = fake_run(4, n_words=6, hostile=True)
    configuration = {
        **run.configuration,
        "targets": ["robust_biased", "unrobust_fair", "unrobust_biased", "robustness_only", "fairness_only"],
        "options": {"model": "embedded", "max_length": None, "device": None, "label_names": None},
    }
    records = json.loads(json.dumps([record.to_dict() for record in run.records]))
    return configuration, records, dict(run.summary)


@cache
def _whole() -> RunFiles:
    configuration, records, summary = _world()
    return _files(configuration, records, summary)


def _files(configuration: Any, records: list[Any], summary: Any) -> RunFiles:
    lines = "".join(hostile.json_text(record) + "\n" for record in records)
    return RunFiles(
        hostile.json_text(configuration).encode(), lines.encode(), hostile.json_text(summary).encode()
    )


def files(rng: random.Random) -> RunFiles:
    """A run with something broken in one or more of its files."""
    configuration, records, summary = _world()
    what = rng.random()
    if what < 0.1:
        whole = _whole()
        return RunFiles(
            whole.run,
            hostile.broken(rng, [whole.results]),
            hostile.broken(rng, [whole.summary]) if rng.random() < 0.3 else whole.summary,
        )
    if what < 0.15:
        return RunFiles(hostile.broken(rng, [_whole().run]), _whole().results, _whole().summary)
    if what < 0.7:
        records = list(records)
        for _ in range(rng.randint(1, 2)):
            number = rng.randrange(len(records))
            records[number] = _bent(rng, records[number])
    if what > 0.5:
        configuration = hostile.disturbed(rng, configuration)
    if what > 0.9:
        summary = hostile.disturbed(rng, summary)
    return _files(configuration, records, summary)


def _bent(rng: random.Random, record: dict[str, Any]) -> Any:
    """A record with fields of the right types and wrong values, or with anything in them."""
    if rng.random() < 0.5:
        return hostile.disturbed(rng, record)
    changed = dict(record)
    for name in rng.sample(sorted(changed), 2):
        value = changed[name]
        if isinstance(value, str):
            changed[name] = rng.choice(("", "robust_fair", "natural", "skipped", hostile.text(rng, 4)))
        elif isinstance(value, bool) or value is None:
            changed[name] = rng.choice((None, 0, 5, -1))
        elif isinstance(value, (int, float)):
            changed[name] = rng.choice((0, 1, -1, 7, 2**40, 0.5, 1e300))
        elif isinstance(value, (list, dict)):
            changed[name] = type(value)()
    return changed


def _silent(command: Callable[[list[str]], int], *arguments: object) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        assert command(list(map(str, arguments))) == 0
    return printed.getvalue()


def check_load(value: RunFiles) -> None:
    run = load_run(value.write())
    for record in run.records:
        json.dumps(record.to_dict(), allow_nan=False)
        assert type(record).from_dict(json.loads(json.dumps(record.to_dict()))) == record


def check_report(value: RunFiles) -> None:
    folder = value.write()
    json.loads(_silent(report.main, folder, "--format", "json"))
    assert (folder / "report.html").read_text(encoding="utf-8").count("<script") == 2


def check_shown(value: RunFiles) -> None:
    run = load_run(value.write())
    assert "\x1b" not in render_text(run)
    assert render_html(run).count("<script") == 2
    assert notebook_html(run)
    ElementTree.fromstring(render_junit(run))
    write_csv(run, place("findings.csv"))
    assert len(records_frame(run)) == len({record.id for record in run.records})


def check_compare(value: RunFiles) -> None:
    json.loads(_silent(compare.main, value.write("a"), _whole().write("b"), "--format", "json"))


def check_replay(value: RunFiles) -> None:
    run = load_run(value.write())
    result = replay(run, choose_findings(run)[:4], replay_options(run, "embedded"))
    json.dumps(result.to_dict(), allow_nan=False)
    assert text_of(result).replace("\n", "").isprintable()


def check_gates(value: RunFiles) -> None:
    folder = value.write()
    gate = Gate.of(["rif_rate=0.9", "accuracy=0.5"], folder / "results.jsonl")
    assert all(line.isprintable() for line in gate.unmet(load_run(folder)))


def check_resume(value: RunFiles) -> None:
    folder = value.write()
    configuration, _, _ = _world()
    earlier_run(folder, configuration)
    with RecordWriter(folder / "results.jsonl"):
        pass
    for record in read_records(folder / "results.jsonl"):
        json.dumps(record.to_dict(), allow_nan=False)


TARGETS = (
    Target("run.load", check_load, files, is_slow=True),
    Target("run.report", check_report, files, is_slow=True),
    Target("run.shown", check_shown, files, is_slow=True),
    Target("run.compare", check_compare, files, is_slow=True),
    Target("run.replay", check_replay, files, is_slow=True),
    Target("run.gates", check_gates, files, is_slow=True),
    Target("run.resume", check_resume, files, is_slow=True),
)
