"""The report page: one file that opens from disk and reaches for nothing.

Everything is escaped by the template engine; data for the script is a JSON block that cannot end itself; a
content security policy forbids the page to load, send or run anything but its own script and style, which it
names by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rif_plugins.core.run_result import RunResult
from rif_plugins.reports import comparison as compared
from rif_plugins.reports import figures, model_tables, view
from rif_plugins.reports.cells import cell_text, readable
from rif_plugins.reports.characters import printable, well_formed
from rif_plugins.reports.contents import MOST_FINDINGS, Contents
from rif_plugins.reports.controls import controls_sentence
from rif_plugins.reports.output_file import write_pieces
from rif_plugins.reports.payload import findings_payload, island

DATA = Path(__file__).parent / "data"


def write_html(run: RunResult, path: Path | str, *, most_findings: int = MOST_FINDINGS) -> None:
    """Write the report of a run.

    Args:
        run: The run; its records are read twice and not kept.
        path: Where to write.
        most_findings: How many findings the page shows; of more, a sample of every target, status and
            attribute. All counts are complete.

    Raises:
        UsageError: The file cannot be written.
    """
    write_pieces(path, (piece.encode() for piece in _report(run, most_findings)))


def render_html(run: RunResult, *, most_findings: int = MOST_FINDINGS) -> str:
    """The report of a run as one HTML page; see ``write_html``."""
    return "".join(_report(run, most_findings))


def _report(run: RunResult, most_findings: int) -> Iterator[str]:
    from markupsafe import Markup

    contents = Contents.of(run, most_findings=most_findings)
    names = [str(name) for name in run.configuration.get("label_names") or []]
    payload = findings_payload(contents.shown_findings(run), names)
    return _render(
        "report.html.j2",
        "report.js",
        run=run,
        view=view,
        contents=contents,
        model_tables=model_tables,
        charts=[(chart, figures.quadrant_cells(chart)) for chart in contents.quadrants],
        payload=map(Markup, island(payload)),  # `island` escapes what could end the block
        controls=controls_sentence(run),
    )


def write_comparison_html(comparison: Mapping[str, Any], path: Path | str) -> None:
    """Write the page that compares models: ranks on the three axes and where the order changes.

    Args:
        comparison: What `rif compare` found, as plain JSON values (``rif-comparison/1``).
        path: Where to write.

    Raises:
        UsageError: The file cannot be written.
    """
    write_pieces(path, [render_comparison_html(comparison).encode()])


def render_comparison_html(comparison: Mapping[str, Any]) -> str:
    """The comparison page."""
    models = compared.models_of(comparison)
    chart = figures.rank_chart(list(compared.AXES.values()), [(model.name, model.ranks) for model in models])
    values = {"comparison": comparison, "compared": compared, "models": models, "chart": chart}
    return "".join(_render("comparison.html.j2", None, **values))


def _render(template: str, script_name: str | None, **values: Any) -> Iterator[str]:
    """A page, piece by piece."""
    from markupsafe import Markup

    style = _source("report.css")
    script = _source(script_name) if script_name else ""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'" if script else "script-src 'none'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    pieces = (
        _environment()
        .get_template(template)
        .generate(
            policy=policy,
            style=Markup(style),  # files of this package
            script=Markup(script),
            **values,
        )
    )
    return map(well_formed, pieces)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(DATA),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(printable=printable, cell=cell_text, readable=readable, track=figures.track)
    environment.globals.update(figures=figures)
    return environment


@cache
def _source(name: str) -> str:
    return "\n" + (DATA / name).read_text(encoding="utf-8").strip() + "\n"


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
