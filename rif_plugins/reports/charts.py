"""The charts of a run as PNG and SVG for papers, by matplotlib.

Drawn on figures of their own, without pyplot: no window opens and no global setting is changed. Colours can
be told apart with colour-blind eyes and in grey print; what a colour says, a label says too.
"""

from __future__ import annotations

import heapq
import io
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.optional import require
from rif_plugins.reports import comparison as compared
from rif_plugins.reports import figures, view
from rif_plugins.reports.cells import Quadrants, Value, readable
from rif_plugins.reports.characters import one_line
from rif_plugins.reports.contents import Contents
from rif_plugins.reports.output_file import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "robust_fair": "#8a94a0",
    "robust_biased": "#b8650a",
    "unrobust_fair": "#2376b5",
    "unrobust_biased": "#9c2f6b",
}
_INK, _QUIET, _LINE, _ACCENT = "#1b1f24", "#5a6472", "#d9dde2", "#0b4f8a"
_SIDES = {"original": ("#0b5c9e", "-", "o"), "similar": ("#b04a00", "--", "s")}
FORMATS = ("png", "svg")


def write_charts(run: RunResult, folder: Path | str, *, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write every chart of a run; a chart without data is left out.

    Args:
        run: The run.
        folder: Where to write ``axes``, ``quadrants``, ``n_attack`` and ``trajectories``.
        formats: ``"png"`` (200 dots an inch), ``"svg"``, ``"pdf"``.

    Returns:
        The files written.

    Raises:
        UsageError: An unknown format, or a file that cannot be written.
        MissingDependencyError: matplotlib is not installed.
    """
    drawn = {
        "axes": axes_figure(run),
        "quadrants": quadrants_figure(run),
        "n_attack": n_attack_figure(run),
        "trajectories": trajectories_figure(view.distinct_findings(run)),
    }
    return [
        save_figure(figure, Path(folder) / f"{name}.{kind}")
        for name, figure in drawn.items()
        if figure is not None
        for kind in formats
    ]


def save_figure(figure: Figure, path: Path | str) -> Path:
    """Write one figure; the name's ending says the format. The same figure gives the same bytes.

    Raises:
        UsageError: An unknown format, or a file that cannot be written.
    """
    target = Path(path)
    kind = target.suffix.removeprefix(".").lower()
    metadata: dict[str, Mapping[str, Any]] = {
        "png": {"Software": None},
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
    }
    if kind not in metadata:
        raise UsageError(f"chart format {kind!r} is unknown: expected one of {', '.join(metadata)}")
    data = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph", category=UserWarning)  # rare scripts: a box
        figure.savefig(data, format=kind, dpi=200, bbox_inches="tight", metadata=dict(metadata[kind]))
    write_whole(target, data.getvalue())
    return target


def axes_figure(run: RunResult) -> Figure | None:
    """The share of pairs that stands on each of the three axes, with intervals."""
    lines = [line for line in view.axes(run) if line.value.is_known]
    if not lines:
        return None
    figure, axes = _figure(6.2, 0.5 * len(lines) + 0.75)
    for position, line in enumerate(reversed(lines)):
        _interval(axes, line.value, position, _ACCENT if line.is_strong else _QUIET)
        _text(
            axes,
            1.03,
            position,
            f"{line.value}",
            transform="x",
            weight="bold" if line.is_strong else "normal",
        )
    _names(axes, [line.name for line in reversed(lines)])
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.6, len(lines) - 0.4)
    _percent(axes, "share of pairs that stand")
    return figure


def quadrants_figure(run: RunResult) -> Figure | None:
    """Pairs by final outcome, a small chart for each target."""
    charts = Contents.of(run).quadrants
    if not charts:
        return None
    n_columns = min(3, len(charts))
    n_rows = -(-len(charts) // n_columns)
    figure, grid = _grid(2.75 * n_columns, 2.25 * n_rows, n_rows, n_columns, wspace=0.1, hspace=0.22)
    for axes in grid[len(charts) :]:
        axes.set_axis_off()
    for axes, chart in zip(grid, charts, strict=False):
        _quadrants(axes, chart)
    return figure


def n_attack_figure(run: RunResult) -> Figure | None:
    """How many of the three violations the pairs meet."""
    lines = view.attack_counts(run)
    if not any(line.value.successes for line in lines):
        return None
    figure, axes = _figure(4.4, 2.6)
    counts = [line.value.successes or 0 for line in lines]
    axes.bar(
        range(len(lines)), counts, width=0.62, color=[COLOURS["robust_fair"], *[_ACCENT] * (len(lines) - 1)]
    )
    for position, count in enumerate(counts):
        _text(axes, position, count, f"{count:,}", align="center", lift=3)
    axes.set_xticks(range(len(lines)), [line.name for line in lines], color=_INK, fontsize=9)
    axes.set_yticks([])
    axes.set_xlim(-0.6, len(lines) - 0.4)
    axes.set_ylim(0, max(counts) * 1.12)
    axes.set_xlabel("violations that a pair meets, of three", color=_QUIET, fontsize=9)
    axes.set_title("pairs", loc="left", color=_QUIET, fontsize=9)
    return figure


def trajectories_figure(findings: Iterable[Record], *, limit: int = 6) -> Figure | None:
    """Probability of the right label on both sides, step by step, for the findings with the largest change.

    Args:
        findings: Records to choose from, read once; those without steps are left out.
        limit: How many to draw.
    """
    moved = (record for record in findings if len(record.trajectory) > 1)
    chosen = heapq.nlargest(limit, moved, key=_change)
    if not chosen:
        return None
    n_columns = min(3, len(chosen))
    n_rows = -(-len(chosen) // n_columns)
    figure, grid = _grid(2.9 * n_columns, 2.2 * n_rows, n_rows, n_columns, wspace=0.6, hspace=0.52)
    for axes in grid[len(chosen) :]:
        axes.set_axis_off()
    for axes, record in zip(grid, chosen, strict=False):
        _trajectory(axes, record)
    return figure


def ranks_figure(comparison: Mapping[str, Any]) -> Figure | None:
    """Ranks of the models on the three axes of a comparison (``rif-comparison/1``)."""
    models = compared.models_of(comparison)
    chart = figures.rank_chart(list(compared.AXES.values()), [(m.name, m.ranks) for m in models])
    if not any(line.points for line in chart.lines):
        return None
    figure, axes = _figure(8.4, 0.45 * len(models) + 0.6)
    for line in chart.lines:
        colour = _ACCENT if line.is_changed else COLOURS["robust_fair"]
        xs, ys = [point[0] for point in line.points], [point[1] for point in line.points]
        axes.plot(xs, ys, color=colour, linewidth=1.8, zorder=2)
        axes.plot(
            xs, ys, "o", color="white", markeredgecolor=colour, markeredgewidth=1.6, markersize=15, zorder=3
        )
        for x, y, rank in line.points:
            _text(axes, x, y, str(rank), align="center", middle=True, weight="bold")
        weight = "bold" if line.is_changed else "normal"
        name = one_line(line.name, 24)
        if line.points:
            _text(axes, xs[0] - 22, ys[0], name, align="right", middle=True, weight=weight)
            _text(axes, xs[-1] + 22, ys[-1], name, middle=True, weight=weight)
    for name, x in chart.axes:
        _text(axes, x, 12, name, align="center", middle=True, colour=_QUIET)
    axes.set_xlim(0, chart.width)
    axes.set_ylim(chart.height, 0)
    axes.set_axis_off()
    return figure


def _quadrants(axes: Axes, chart: Quadrants) -> None:
    from matplotlib.patches import Rectangle

    name = one_line(readable(chart.target), 40)
    title = axes.set_title(name, loc="left", fontsize=9.5, fontweight="bold", color=_INK)
    title.set_parse_math(False)
    for box in figures.quadrant_cells(chart):
        frame: dict[str, Any] = {"edgecolor": _INK, "linewidth": 1.2} if box.is_target else {"linewidth": 0}
        size = (figures.CELL_WIDTH, figures.CELL_HEIGHT)
        axes.add_patch(Rectangle((box.x, box.y), *size, facecolor="#f1f3f5", **frame))
        _text(axes, box.x + 9, box.y + 19, f"{box.total:,}", middle=True, weight="bold", size=11)
        told = f"before edits {box.before:,}\nby edits {box.reached:,}" if box.total else ""
        _text(axes, box.x + 9, box.y + 45, told, middle=True, colour=_QUIET, size=7)
        colour = COLOURS[box.outcome]
        hatched: dict[str, Any] = {
            "facecolor": "white",
            "edgecolor": colour,
            "hatch": "/////",
            "linewidth": 0.8,
        }
        if box.before:
            axes.add_patch(Rectangle((box.x + 9, box.y + 68), box.before_width, 13, **hatched))
        left = box.x + 9 + box.before_width
        if box.reached:
            axes.add_patch(Rectangle((left, box.y + 68), box.reached_width, 13, facecolor=colour))
    for index, words in enumerate(("answers alike", "answers differ")):
        x = figures.CELL_LEFT + index * (figures.CELL_WIDTH + figures.CELL_GAP)
        _text(axes, x, 14, words, middle=True, colour=_QUIET, size=7.5)
    for index, words in enumerate(("original\nright", "original\nwrong")):
        y = figures.CELL_TOP + 46 + index * (figures.CELL_HEIGHT + figures.CELL_GAP)
        _text(axes, figures.CELL_LEFT - 6, y, words, align="right", middle=True, colour=_QUIET, size=7.5)
    axes.set_xlim(0, figures.CELL_LEFT + 2 * figures.CELL_WIDTH + figures.CELL_GAP + 2)
    axes.set_ylim(figures.CELL_TOP + 2 * figures.CELL_HEIGHT + figures.CELL_GAP + 2, 0)
    axes.set_axis_off()


def _trajectory(axes: Axes, record: Record) -> None:
    steps = [step["step"] for step in record.trajectory]
    axes.axhline(0.5, color=_QUIET, linewidth=0.8, linestyle=(0, (1, 2)))
    ends = {side: record.trajectory[-1][f"p_{side}"] for side in _SIDES}
    apart = 0.055 if ends["original"] >= ends["similar"] else -0.055
    is_near = abs(ends["original"] - ends["similar"]) < 0.11
    for side, (colour, style, marker) in _SIDES.items():
        values = [step[f"p_{side}"] for step in record.trajectory]
        axes.plot(steps, values, color=colour, linestyle=style, marker=marker, markersize=3.5, linewidth=1.5)
        y = ends[side]
        if is_near:
            y = sum(ends.values()) / 2 + (apart if side == "original" else -apart)
        _text(
            axes,
            steps[-1] + 0.03 * steps[-1],
            y,
            f" {side}",
            middle=True,
            colour=colour,
            size=7.5,
            weight="bold",
        )
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"], fontsize=7.5, color=_QUIET)
    axes.set_xticks(steps[:: max(1, len(steps) // 6)])
    axes.tick_params(axis="x", labelsize=7.5, labelcolor=_QUIET)
    told = f"{readable(record.target)}: {record.value_from or 'original'} → {record.value_to or 'similar'}"
    title = axes.set_title(one_line(told, 44), loc="left", fontsize=8, color=_INK)
    title.set_parse_math(False)
    axes.set_xlabel("edit step", fontsize=7.5, color=_QUIET)
    axes.set_ylabel("p of the right label", fontsize=7.5, color=_QUIET)


def _change(record: Record) -> float:
    first, last = record.trajectory[0], record.trajectory[-1]
    return max(abs(float(last[f"p_{side}"]) - float(first[f"p_{side}"])) for side in _SIDES)


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    figure, grid = _grid(width, height, 1, 1)
    return figure, grid[0]


def _grid(
    width: float, height: float, n_rows: int, n_columns: int, *, wspace: float = 0.0, hspace: float = 0.0
) -> tuple[Figure, list[Axes]]:
    require("matplotlib", purpose="charts as PNG and SVG")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    figure.subplots_adjust(left=0.02, right=0.98, bottom=0.02, top=0.98, wspace=wspace, hspace=hspace)
    grid = [axes for row in figure.subplots(n_rows, n_columns, squeeze=False) for axes in row]
    for axes in grid:
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(_LINE)
        axes.tick_params(length=0, colors=_QUIET)
    return figure, grid


def _interval(axes: Axes, value: Value, position: float, colour: str) -> None:
    axes.hlines(position, 0, 1, color=_LINE, linewidth=0.8, zorder=1)
    if value.low is not None and value.high is not None:
        axes.hlines(position, value.low, value.high, color=colour, linewidth=3, alpha=0.45, zorder=2)
    axes.plot(
        [value.value or 0.0], [position], "o", color=colour, markersize=7, markeredgecolor="white", zorder=3
    )


def _names(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, color=_INK, fontsize=9)


def _percent(axes: Axes, label: str) -> None:
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100%"], fontsize=8)
    axes.set_xlabel(label, color=_QUIET, fontsize=9)


def _text(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    align: str = "left",
    middle: bool = False,
    colour: str = _INK,
    size: float = 9,
    weight: str = "normal",
    lift: float = 0,
    transform: str = "",
) -> None:
    """A label that is text whatever it holds: no formula, no control character."""
    label = axes.annotate(
        text,
        (x, y),
        (0, lift),
        textcoords="offset points",
        xycoords=axes.get_yaxis_transform() if transform == "x" else "data",
        ha=align,
        va="center" if middle or transform else "bottom",
        color=colour,
        fontsize=size,
        fontweight=weight,
        annotation_clip=False,
    )
    label.set_parse_math(False)
