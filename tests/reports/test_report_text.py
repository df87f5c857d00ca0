from __future__ import annotations

import pytest
from fakes.runs import fake_run

from rif_plugins.reports.text import render_text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("hostile", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, hostile: bool) -> None:
    from rich.cells import cell_len

    lines = render_text(fake_run(20, hostile=hostile), width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_control_characters_do_not_reach_the_terminal() -> None:
    run = fake_run(4)
    configuration = {**run.configuration, "model": "\x1b[2Jm\u202eodel\x07[bold]x[/bold]:smile:"}
    text = render_text(type(run)(configuration, run.records, run.summary))
    assert not [c for c in text if (ord(c) < 32 and c != "\n") or c in "\x7f\x9b\u202e"]
    assert "[U+001B][2Jm[U+202E]odel[U+0007][bold]x[/bold]:smile:" in text.replace("\n", " ")


def test_bars_are_drawn_to_one_scale() -> None:
    run = fake_run(30, seed=1)
    lines = render_text(run).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Violations a pair meets"))
    bars = {int(line[0]): line.count("█") for line in lines[start + 3 : start + 7]}
    counts = {int(n): rate["successes"] for n, rate in run.summary["n_attack"].items()}
    assert bars == {n: round(24 * count / max(counts.values())) for n, count in counts.items()}
    assert max(bars.values()) == 24


def test_checks_and_errors_are_listed() -> None:
    text = render_text(fake_run(4))
    assert "deterministic" in text
    assert "the same text got two answers" in text
    assert "model answered NaN for one text" in text
