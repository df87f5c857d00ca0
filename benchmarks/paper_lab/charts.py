"""How the figures of the studies are drawn: shares with intervals, by group and series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Interval = tuple[float, float, float]
"""Value, lower and upper end."""
COLOURS = ("#0b5c9e", "#b8650a", "#2b8a57", "#9c2f6b", "#5a6472")
HATCHES = ("", "//", "..", "xx", "--")
_INK = "#1b1f24"


def bars(
    axes: Any,
    groups: Sequence[str],
    series: Mapping[str, Sequence[Interval | None]],
    *,
    label: str,
    top: float | None = 1.0,
) -> None:
    """Grouped bars with error bars; None leaves a gap, equal ends no error bar.

    Args:
        axes: Where to draw.
        groups: Names along the horizontal axis.
        series: By name, one value a group.
        label: Of the vertical axis.
        top: Its end; None lets it fit.
    """
    width = 0.8 / max(1, len(series))
    for number, (name, values) in enumerate(series.items()):
        places = [i - 0.4 + width * (number + 0.5) for i in range(len(groups))]
        kept = [(x, v) for x, v in zip(places, values, strict=True) if v is not None]
        axes.bar(
            [x for x, _ in kept],
            [v[0] for _, v in kept],
            width * 0.92,
            label=name,
            color=COLOURS[number % len(COLOURS)],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="white",
            linewidth=0.5,
        )
        known = [(x, v) for x, v in kept if v[1] < v[2]]
        if known:
            ends = [[max(0.0, v[0] - v[1]) for _, v in known], [max(0.0, v[2] - v[0]) for _, v in known]]
            places, values = [x for x, _ in known], [v[0] for _, v in known]
            axes.errorbar(places, values, ends, fmt="none", elinewidth=1, ecolor=_INK, capsize=2)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(label)
    if top is not None:
        axes.set_ylim(0, top)
    plain(axes)


def plain(axes: Any) -> None:
    """Light frame and grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#d9dde2", linewidth=0.7)
    axes.set_axisbelow(True)


def percent(value: float | None) -> str:
    """A share as it stands in tables."""
    return "–" if value is None else f"{value:.1%}"


def share(value: float | None, low: float | None, high: float | None) -> str:
    """A share with its interval."""
    if value is None:
        return "no pairs"
    return percent(value) if low is None or high is None else f"{value:.1%} [{low:.1%}, {high:.1%}]"


def points(value: float, low: float, high: float) -> str:
    """A difference in points."""
    return f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}] points"
