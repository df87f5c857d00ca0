"""A run with its views for notebooks: a data frame, and a summary as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rif_plugins.core.run_result import RunResult

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class AuditResult(RunResult):
    """What :func:`rif_plugins.audit` returns; ``AuditResult.load(folder)`` reads an earlier run."""

    def to_frame(self, *, only_findings: bool = False) -> pandas.DataFrame:
        """One row a record, as a pandas data frame."""
        from rif_plugins.reports.frames import records_frame

        return records_frame(self, only_findings=only_findings)

    def write_report(self, path: Path | str) -> None:
        """Write the HTML report to one file."""
        from rif_plugins.reports.html import write_html

        write_html(self, path)

    def __str__(self) -> str:
        from rif_plugins.reports.text import render_text

        return render_text(self)

    def _repr_html_(self) -> str:
        from rif_plugins.reports.notebook import notebook_html

        return notebook_html(self)
