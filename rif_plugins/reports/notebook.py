"""A run as a small HTML fragment, for the output cell of a notebook."""

from __future__ import annotations

from html import escape

from rif_plugins.core.run_result import RunResult
from rif_plugins.reports import view
from rif_plugins.reports.cells import Table
from rif_plugins.reports.characters import well_formed

_TABLE = "border-collapse:collapse;margin:.6em 0"
_CELL = "padding:.15em .9em .15em 0;text-align:{align};border-bottom:1px solid rgba(128,128,128,.35)"


def notebook_html(run: RunResult) -> str:
    """Headline, the three axes and the targets of a run; what ``_repr_html_`` returns.

    No script, no style sheet, nothing to load: it follows the notebook's own colours.
    """
    before, figure, after = (escape(part) for part in view.headline(run))
    parts = ['<div class="rif-run">', f"<p>{before}<strong>{figure}</strong>{after}</p>"]
    if view.is_predicted(run):
        parts.append("<p>Labels are the model's own predictions.</p>")
    for table in (view.axes_table(run), view.targets_table(run)):
        parts.append(_table(table))
    return well_formed("".join([*parts, "</div>"]))


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    head = "".join(_cell("th", 'scope="col"', name, index) for index, name in enumerate(table.columns))
    body = "".join(
        "<tr>"
        + "".join(
            _cell("td" if index else "th", "" if index else 'scope="row"', text, index)
            for index, text in enumerate(row)
        )
        + "</tr>"
        for row in table.texts()
    )
    return (
        f'<table style="{_TABLE}"><caption style="text-align:left">{escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(tag: str, extra: str, text: str, index: int) -> str:
    style = _CELL.format(align="right" if index else "left")
    return f'<{tag} {extra} style="{style}">{escape(text)}</{tag}>'
