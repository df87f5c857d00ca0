from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fakes.runs import fake_comparison, fake_run

from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.reports.charts import (
    axes_figure,
    n_attack_figure,
    quadrants_figure,
    ranks_figure,
    save_figure,
    trajectories_figure,
    write_charts,
)


def texts(figure: object) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]  # type: ignore[attr-defined]


def test_every_chart_is_written_and_no_global_setting_changes(tmp_path: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    files = write_charts(fake_run(20), tmp_path)
    assert {file.name for file in files} == {
        f"{name}.{kind}"
        for name in ("axes", "quadrants", "n_attack", "trajectories")
        for kind in ("png", "svg")
    }
    for file in files:
        if file.suffix == ".png":
            assert file.read_bytes().startswith(b"\x89PNG")
        else:
            assert ElementTree.parse(file).getroot().tag.endswith("svg")
    assert dict(matplotlib.rcParams) == before


def test_labels_are_the_numbers_of_the_run() -> None:
    run = fake_run(20)
    rate = run.summary["rif_rate"]
    shown = f"{rate['value']:.1%} [{rate['low']:.1%}, {rate['high']:.1%}]"
    assert shown in texts(axes_figure(run))
    counts = [str(rate["successes"]) for rate in run.summary["n_attack"].values()]
    assert [text for text in texts(n_attack_figure(run)) if text in counts][: len(counts)]
    cells = run.summary["by_target"]["robust_biased"]["outcomes"]
    assert texts(quadrants_figure(run)).count(str(cells["robust_biased"])) >= 1


def test_dollar_signs_are_no_formula(tmp_path: Path) -> None:
    run = fake_run(20)
    findings = [replace(record, value_from="$\\frac{", value_to="漢$") for record in run.findings]
    figure = trajectories_figure(findings, limit=1)
    assert figure is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure, tmp_path / "t.png")
    comparison = fake_comparison(3, hostile=True)
    ranks = ranks_figure(comparison)
    assert ranks is not None
    save_figure(ranks, tmp_path / "r.svg")


def test_ranks_name_the_models() -> None:
    comparison = fake_comparison(3)
    shown = texts(ranks_figure(comparison))
    assert [shown.count(name) for name in comparison["names"]] == [2, 2, 2]


def test_trajectories_show_the_largest_changes() -> None:
    run = fake_run(40)
    figure = trajectories_figure(run.findings, limit=4)
    assert figure is not None
    assert len(figure.axes) == 6
    assert sum(axes.axison for axes in figure.axes) == 4


def test_charts_without_data_are_left_out(tmp_path: Path) -> None:
    empty = RunResult({}, (), {})
    assert write_charts(empty, tmp_path) == []
    assert ranks_figure({}) is None


def test_an_unknown_format_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="chart format 'gif' is unknown: expected one of png, svg, pdf"):
        write_charts(fake_run(3), tmp_path, formats=["gif"])
