"""The report as plain text for a terminal, laid out by `rich`; control characters never reach it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rif_plugins.core.run_result import RunResult
from rif_plugins.optional import require
from rif_plugins.reports import model_tables, view
from rif_plugins.reports.cells import Cell, Table, Value, cell_text
from rif_plugins.reports.characters import one_line
from rif_plugins.reports.contents import Contents
from rif_plugins.reports.controls import controls_sentence

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_WIDTH = 100
_MIN_WIDTH = 40
_BAR_WIDTH = 24
_WIDE = 90
_N_ERRORS = 5


def render_text(run: RunResult, *, width: int | None = None) -> str:
    """The summary of a run as plain text.

    Args:
        run: The run.
        width: Columns of the terminal; no line is longer. Columns too narrow for their content wrap.
    """
    contents = Contents.of(run)
    console = _console(max(_MIN_WIDTH, width or DEFAULT_WIDTH))
    _print(console, "".join(view.headline(run)))
    if view.is_predicted(run):
        _print(console, 'Labels are the model\'s own predictions: "right" means "as before the edits".')
    console.print()
    for name, value in view.facts(run, contents.n_findings):
        _print(console, f"{name + ':':<10}{one_line(value)}")
    _table(console, view.axes_table(run))
    _print(console, view.axes_sentence(run))
    _print(console, view.missed_sentence(run))
    _print(console, controls_sentence(run))
    tables = [view.texts_table(run), *_halves(view.targets_table(run)), view.certificates_table(run)]
    tables.append(view.final_table(run))
    tables += [view.clean_table(run), _attacks(run), view.attack_table(run), *view.groups_tables(run)]
    tables += [*view.movement_tables(run), view.effort_table(run), view.cost_table(run), _times(run)]
    tables += [model_tables.judge_table(run), model_tables.judged_targets_table(run), _lowest_rated(run)]
    tables += [model_tables.language_models_table(run), model_tables.sureness_table(contents)]
    tables += [_checks(run), view.left_out_table(run), _errors(contents), model_tables.notes_table(contents)]
    for table in tables:
        _table(console, table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _halves(table: Table) -> list[Table]:
    """A wide table as two: its counts, then its rates."""
    if not table.rows:
        return []
    is_rate = [isinstance(cell, Value) for cell in table.rows[0]]
    halves = []
    for kind, note in ((False, table.note), (True, "")):
        kept = [index for index, rate in enumerate(is_rate) if index == 0 or rate is kind]
        halves.append(
            Table(
                f"{table.title}, rates" if kind else table.title,
                tuple(table.columns[index] for index in kept),
                tuple(tuple(row[index] for index in kept) for row in table.rows),
                note,
            )
        )
    return halves


def _times(run: RunResult) -> Table:
    rows = tuple((name, f"{seconds:,.1f}") for name, seconds in view.times(run))
    return Table("Where the time went", ("Part", "Seconds"), rows)


def _checks(run: RunResult) -> Table:
    return Table("Checks of the model", ("Check", "Result", ""), tuple(view.checks(run)))


def _errors(contents: Contents) -> Table:
    rows = tuple(
        (one_line(name, 40), one_line(message, 300)) for name, message in contents.errors[:_N_ERRORS]
    )
    return Table("First errors", ("Example", ""), rows)


def _lowest_rated(run: RunResult) -> Table:
    rows = tuple((scores, one_line(f"{a} → {b}", 300)) for scores, a, b in model_tables.lowest_rated(run))
    return Table("Edits that the judges rate lowest", ("Ratings", ""), rows)


def _attacks(run: RunResult) -> Table:
    lines = view.attack_counts(run)
    most = max((line.value.successes or 0 for line in lines), default=0) or 1
    rows = tuple(
        (
            f"{line.name} {line.help}".strip(),
            "█" * round(_BAR_WIDTH * (line.value.successes or 0) / most),
            line.value.successes or 0,
        )
        for line in lines
    )
    return Table("Violations a pair meets, of three", ("Violations", "", "Pairs"), rows)


def _console(width: int) -> Console:
    require("rich", purpose="the text report")
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=False,
        no_color=True,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _print(console: Console, text: str) -> None:
    from rich.text import Text

    if text:
        console.print(Text(text), soft_wrap=False)


def _table(console: Console, table: Table) -> None:
    from rich import box
    from rich.table import Table as Layout
    from rich.text import Text

    if not table.rows:
        return
    console.print()
    _print(console, table.title)
    is_narrow = console.width < _WIDE
    laid: Any = Layout(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(table.columns):
        is_text = index == 0 or not name
        laid.add_column(Text(name), justify="left" if is_text else "right", overflow="fold")
    for row in table.rows:
        laid.add_row(*(Text(_cell(cell, is_narrow)) for cell in row))
    console.print(laid)
    _print(console, table.note)


def _cell(cell: Cell, is_narrow: bool) -> str:
    """One line, except that an interval stands below its value where there is little room."""
    if is_narrow and isinstance(cell, Value) and cell.bracket:
        return f"{cell.short}\n{cell.bracket}"
    return one_line(cell_text(cell))
