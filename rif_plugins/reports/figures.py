"""Geometry of the page's static charts: numbers only, drawn by the templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.run_result import FAIRNESS_ONLY, ROBUSTNESS_ONLY
from rif_plugins.reports.cells import Quadrants, Value

CELL_WIDTH, CELL_HEIGHT, CELL_GAP = 122, 92, 6
CELL_LEFT, CELL_TOP = 50, 24
_PAD = 9


@dataclass(frozen=True, slots=True)
class CellBox:
    """One cell of a quadrant chart, in units of its drawing."""

    outcome: str
    x: float
    y: float
    before: int
    reached: int
    before_width: float
    reached_width: float
    is_target: bool

    @property
    def total(self) -> int:
        """Pairs in the cell."""
        return self.before + self.reached


def quadrant_cells(chart: Quadrants) -> list[CellBox]:
    """The four cells: rows right and wrong, columns alike and different; bars share one scale."""
    goals = {
        ROBUSTNESS_ONLY: {Outcome.UNROBUST_FAIR, Outcome.UNROBUST_BIASED},
        FAIRNESS_ONLY: {Outcome.ROBUST_BIASED, Outcome.UNROBUST_BIASED},
    }.get(chart.target, {chart.target})
    scale = (CELL_WIDTH - 2 * _PAD) / max(1, chart.total)
    boxes = []
    for outcome in Outcome:
        before, reached = chart.cells.get(str(outcome), (0, 0))
        boxes.append(
            CellBox(
                str(outcome),
                CELL_LEFT + (not outcome.is_fair) * (CELL_WIDTH + CELL_GAP),
                CELL_TOP + (not outcome.is_robust) * (CELL_HEIGHT + CELL_GAP),
                before,
                reached,
                round(before * scale, 2),
                round(reached * scale, 2),
                outcome in goals,
            )
        )
    return boxes


@dataclass(frozen=True, slots=True)
class RankLine:
    """One model in a rank chart: a point ``(x, y, rank)`` an axis, None where it has no rank."""

    name: str
    points: tuple[tuple[float, float, int], ...]
    is_changed: bool


@dataclass(frozen=True, slots=True)
class RankChart:
    """A rank chart in units of its drawing."""

    width: float
    height: float
    axes: tuple[tuple[str, float], ...]
    lines: tuple[RankLine, ...]


def rank_chart(axes: Sequence[str], models: Sequence[tuple[str, Sequence[int | None]]]) -> RankChart:
    """Models as lines over the axes, best rank on top; models of equal rank stand beside each other.

    Args:
        axes: Names of the axes.
        models: Name and rank on each axis of every model, 1 is best.
    """
    left, right, top, row = 190.0, 190.0, 46.0, 38.0
    width = 760.0
    step = (width - left - right) / max(1, len(axes) - 1)
    taken: dict[tuple[int, int], int] = {}
    lines = []
    for name, ranks in models:
        points = []
        for index, rank in enumerate(ranks):
            if rank is None:
                continue
            shift = taken.get((index, rank), 0)
            taken[index, rank] = shift + 1
            points.append((left + index * step, top + (rank - 1 + shift) * row, rank))
        known = {rank for rank in ranks if rank is not None}
        lines.append(RankLine(name, tuple(points), len(known) > 1))
    height = top + row * max(1, len(models)) - 6
    return RankChart(
        width, height, tuple((name, left + i * step) for i, name in enumerate(axes)), tuple(lines)
    )


def percent(value: float | None) -> str:
    """A fraction as a coordinate in percent, kept inside the drawing."""
    return f"{100 * min(1.0, max(0.0, value or 0.0)):.2f}%"


def track(value: Value) -> dict[str, str]:
    """Coordinates of a point and its interval."""
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    return {
        "point": percent(value.value),
        "low": percent(low),
        "high": percent(high),
    }
