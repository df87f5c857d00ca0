"""Values, tables and lines as every report prints them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rif_plugins.core.record_fields import is_number
from rif_plugins.reports.characters import printable

NONE = "–"


@dataclass(frozen=True, slots=True)
class Value:
    """A number of the summary with its interval; shares print as percent, other numbers plainly."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    successes: int | None = None
    total: float | None = None
    is_share: bool = False

    @classmethod
    def of(cls, data: object, *, is_share: bool = False) -> Value:
        """Read ``{"value", "low", "high", "successes", "total"}``; anything else is an absent value.

        Args:
            data: One figure of a summary.
            is_share: Print as percent even where no successes were counted.
        """
        if not isinstance(data, Mapping):
            return cls()
        known = {name: data.get(name) for name in ("value", "low", "high", "successes", "total")}
        figures = {name: number if is_number(number) else None for name, number in known.items()}
        return cls(**figures, is_share=is_share or figures["successes"] is not None)

    @property
    def is_known(self) -> bool:
        """True when there is a value."""
        return self.value is not None

    @property
    def short(self) -> str:
        """The value alone."""
        if self.value is None:
            return NONE
        return self._shown(self.value)

    @property
    def bracket(self) -> str:
        """The interval in brackets, empty when there is none."""
        return f"[{self.interval.replace(' to ', ', ')}]" if self.interval else ""

    @property
    def interval(self) -> str:
        """The interval alone, empty when there is none."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        return f"{self._shown(self.low)} to {self._shown(self.high)}"

    def _shown(self, number: float) -> str:
        return f"{number:.1%}" if self.is_share else number_text(number)

    def __str__(self) -> str:
        return f"{self.short} {self.bracket}".rstrip()


Cell = str | int | float | Value


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def texts(self) -> list[list[str]]:
        """All cells as they are printed."""
        return [[cell_text(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a chart of shares."""

    name: str
    value: Value
    help: str = ""
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Quadrants:
    """Pairs of one target by their final outcome: ``(already so before any edit, reached by edits)``."""

    target: str
    total: int
    cells: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)


def cell_text(cell: Cell) -> str:
    """A cell as it is printed."""
    return number_text(cell) if isinstance(cell, (int, float)) else printable(cell)


def number_text(number: float) -> str:
    """Whole numbers with separators, others with three digits, never in powers of ten.

    >>> number_text(12345), number_text(5375.5), number_text(0.89812), number_text(4.0)
    ('12,345', '5,376', '0.898', '4')
    """
    return f"{number:,.0f}" if isinstance(number, int) or abs(number) >= 100 else f"{number:.3g}"


def readable(name: str) -> str:
    """An identifier as words."""
    return printable(name).replace("_", " ")
