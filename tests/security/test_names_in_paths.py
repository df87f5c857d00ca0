"""Names that look like paths lead no file out of its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.audit_world import options, write_rows, write_world
from fakes.runs import fake_run

from rif_plugins.cli.main import main
from rif_plugins.cli.report import write_report
from rif_plugins.core.run_result import RunResult

UPWARDS = (
    "../../../escaped",
    "/tmp/escaped",
    "..\\..\\escaped",
    "a/b/escaped",
    "con:escaped",
    "~/escaped",
    ".",
)


def files_under(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", UPWARDS)
def test_a_report_writes_the_same_files_whatever_a_run_is_called(tmp_path: Path, name: str) -> None:
    run = fake_run(3, n_words=5)
    records = tuple(
        replace(r, id=f"{name}{i}", example=name, attribute=name, value_from=name, value_to=name, scorer=name)
        for i, r in enumerate(run.records)
    )
    configuration = {**run.configuration, "model": name, "data": name, "label_names": [name, f"{name}2"]}
    out = tmp_path / "a" / "b" / "out"
    write_report(RunResult(configuration, records, run.summary), out, charts=False, parquet=True)
    assert files_under(tmp_path) == {"a/b/out/findings.csv", "a/b/out/report.html", "a/b/out/records.parquet"}


@pytest.mark.slow
def test_charts_have_fixed_names(tmp_path: Path) -> None:
    run = fake_run(3, n_words=5)
    records = tuple(replace(r, target=f"../{r.target}") if r.target else r for r in run.records)
    write_report(RunResult(run.configuration, records, run.summary), tmp_path / "a" / "out", charts=True)
    assert {Path(file).parts[:2] for file in files_under(tmp_path)} == {("a", "out")}


@pytest.mark.parametrize("label", UPWARDS[:3])
def test_an_audit_writes_into_its_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    world = write_world(tmp_path / "world")
    monkeypatch.chdir(world)
    victim = (world / "victim.py").read_text(encoding="utf-8")
    (world / "victim.py").write_text(
        victim.replace('"negative", "positive"', f'{label!r}, "positive"'), "utf-8"
    )
    write_rows(world / "data.csv", ("text", "label"), (("he is good", label), ("she is good", "positive")))
    before = files_under(tmp_path)
    assert main(["audit", *options(), "--out", "out", "--quiet"]) == 0
    new = {file for file in files_under(tmp_path) - before if "__pycache__" not in file}
    assert {str(Path(file).parent) for file in new} == {"world/out"}
