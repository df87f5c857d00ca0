"""``findings.csv``: one line a finding, safe to open in a spreadsheet.

Spreadsheets run a cell that starts with ``= + - @`` (or their full-width forms), a tab, a carriage return or
a line feed as a formula. Such a text cell gets one apostrophe in front, and so does one that starts with an
apostrophe already: taking one leading apostrophe away gives the text back (``plain``). Cells that are numbers
stay numbers. NUL and lone surrogates, which CSV readers refuse, become U+FFFD and are the one thing that
cannot be undone; ``results.jsonl`` keeps them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.characters import REPLACEMENT, well_formed
from rif_plugins.reports.output_file import whole_file
from rif_plugins.reports.rows import COLUMNS, finding_row
from rif_plugins.reports.view import distinct_findings

_FORMULA = tuple("=+-@＝＋－＠\t\r\n'")


def write_csv(run: RunResult, path: Path | str) -> None:
    """Write the findings of a run, UTF-8, RFC 4180.

    Raises:
        UsageError: The file cannot be written.
    """
    with whole_file(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        writer.writerows(_rows(distinct_findings(run), run.configuration.get("label_names") or []))


def _rows(findings: Iterable[Record], label_names: list[str]) -> Iterator[list[Any]]:
    for record in findings:
        row = finding_row(record, label_names)
        yield [guarded(value) if isinstance(value, str) else value for value in row.values()]


def guarded(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula.

    >>> guarded("=1+1"), guarded("'tis"), guarded("plain")
    ("'=1+1", "''tis", 'plain')
    """
    clean = well_formed(text).replace("\x00", REPLACEMENT)
    return "'" + clean if clean.startswith(_FORMULA) else clean


def plain(cell: str) -> str:
    """The text of a cell that ``guarded`` wrote.

    >>> plain("'=1+1"), plain("''tis"), plain("plain")
    ('=1+1', "'tis", 'plain')
    """
    return cell.removeprefix("'")
