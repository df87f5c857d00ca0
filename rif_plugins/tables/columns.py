"""One column of a table: what it may hold, how far one step goes, and whether it may be changed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import UsageError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
ColumnKind = Literal["numeric", "integer", "categorical", "ordinal", "one_hot"]

KINDS: tuple[str, ...] = get_args(ColumnKind)
_RELATIVE_TOLERANCE = 1e-6
_MAX_DOMAIN = 100_000
_MAX_WIDTH = 4096  # the group's domain is a square of this size


def _holds_no_integer(low: float | None, high: float | None) -> bool:
    return math.ceil(low or 0.0) > math.floor(high or 0.0)


@dataclass(frozen=True)
class ColumnSpec:
    """One column. All numbers are in array units: what stands in the array that the model sees.

    Attributes:
        name: Column name, unique in its schema.
        kind: ``numeric`` (any number between the bounds), ``integer`` (numbers on a grid),
            ``categorical`` and ``ordinal`` (one of ``values``), ``one_hot`` (one 1 among ``width`` features).
        low, high: Bounds, inclusive; None means unbounded.
        step: Size of one local move.
        values: Allowed codes; needed for ``categorical`` and ``ordinal``, possible for numbers.
        labels: Readable names of ``values``, or of the features of a one-hot group.
        width: Number of array features that the column covers; more than 1 only for ``one_hot``.
        sensitive: Similar individuals differ in this column.
        immutable: No attack may change this column.
        grid: Spacing of an ``integer`` column that was scaled, counted from ``low``; None: whole numbers.

    Raises:
        UsageError: The description contradicts itself.
    """

    name: str
    kind: ColumnKind
    low: float | None = None
    high: float | None = None
    step: float | None = None
    values: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None
    width: int = 1
    sensitive: bool = False
    immutable: bool = False
    grid: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"a column needs a name, got {self.name!r}: name it as in the table")
        if self.kind not in KINDS:
            raise self._error(f"kind {self.kind!r} does not exist: expected one of {', '.join(KINDS)}")
        self._check_numbers()
        self._check_values()

    def _check_numbers(self) -> None:
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound is not None and not math.isfinite(bound):
                raise self._error(f"{name} is {bound}, expected a finite number: leave it out for no bound")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise self._error(f"low {self.low:g} lies above high {self.high:g}: exchange them")
        has_ends = self.low is not None and self.high is not None
        if (
            self.kind == "integer"
            and self.grid is None
            and has_ends
            and _holds_no_integer(self.low, self.high)
        ):
            raise self._error(f"no whole number lies between {self.low} and {self.high}: give a grid")
        for name, size in (("step", self.step), ("grid", self.grid)):
            if size is not None and not (math.isfinite(size) and size > 0):
                raise self._error(f"{name} is {size}, expected a positive number")
        if self.grid is not None and (self.kind != "integer" or self.low is None):
            raise self._error("grid needs the kind integer and a low bound to count from")
        if self.kind == "one_hot":
            if self.values is not None:
                raise self._error("a one_hot group takes width and labels, not values: leave values out")
            if not 1 <= self.width <= _MAX_WIDTH:
                raise self._error(
                    f"width is {self.width}, expected the number of categories, at most {_MAX_WIDTH}"
                )
        elif self.width != 1:
            raise self._error(f"width {self.width} needs the kind one_hot, got {self.kind}")

    def _check_values(self) -> None:
        if self.kind in ("categorical", "ordinal") and not self.values:
            raise self._error(f"a column of kind {self.kind} needs values: list its codes")
        if self.values is not None:
            if not self.values or not all(math.isfinite(value) for value in self.values):
                raise self._error("values must be finite numbers, one or more")
            if len(set(self.values)) != len(self.values):
                raise self._error("values holds a code twice: two categories would collide")
            for value in self.values:
                if not (
                    (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
                ):
                    raise self._error(f"the value {value:g} lies outside low and high: widen the bounds")
        if self.labels is not None:
            n_values = self.width if self.kind == "one_hot" else len(self.values or ())
            if len(self.labels) != n_values:
                raise self._error(f"{len(self.labels)} labels for {n_values} values: give one label a value")
            if len(set(self.labels)) != len(self.labels):
                raise self._error("labels holds a name twice: two categories could not be told apart")

    def _error(self, what: str) -> UsageError:
        return UsageError(f"column {self.name!r}: {what}")

    @property
    def is_discrete(self) -> bool:
        """True when only codes are allowed, not every number between the bounds."""
        return self.kind != "numeric" or self.values is not None

    @property
    def tolerance(self) -> float:
        """How far a feature may be from an allowed number and still count as that number (float32)."""
        ends = [abs(bound) for bound in (self.low, self.high, *(self.values or ())) if bound is not None]
        tolerance = _RELATIVE_TOLERANCE * max(1.0, *ends) if ends else _RELATIVE_TOLERANCE
        return min(tolerance, 0.25 * self.grid) if self.grid is not None else tolerance

    def domain(self) -> FloatArray:
        """Every allowed setting of the column in array form, shape ``(k, width)``, in a stable order.

        Raises:
            UsageError: The column has no finite domain, or one of more than 100,000 settings.
        """
        if self.kind == "one_hot":
            return np.eye(self.width, dtype=np.float64)
        if self.values is not None:
            return np.asarray(self.values, dtype=np.float64)[:, None]
        if self.kind == "numeric" or self.low is None or self.high is None:
            raise self._error(
                "it has no finite list of values, which a sensitive column needs: give values, "
                "or the kind integer with low and high"
            )
        spacing = self.grid or 1.0
        first = self.low if self.grid is not None else math.ceil(self.low)
        n_steps = (self.high - first) / spacing + 1e-6
        if n_steps >= _MAX_DOMAIN:
            raise self._error(
                f"it allows {n_steps + 1:.0f} values, expected at most {_MAX_DOMAIN}: list them in values"
            )
        count = math.floor(n_steps) + 1
        return np.asarray(first + spacing * np.arange(count), dtype=np.float64)[:, None]

    def nearest(self, x: FloatArray) -> FloatArray:
        """The nearest allowed setting of each row, shape ``(n, width)`` to ``(n, width)``.

        Ties go to the lower code, to the first feature of a one-hot group, and for whole numbers to the
        even one.
        """
        if self.kind == "one_hot":
            return np.asarray(np.eye(self.width)[np.argmax(x, axis=1)], dtype=np.float64)
        if self.values is not None:
            codes = np.sort(np.asarray(self.values, dtype=np.float64))
            middles = (codes[1:] + codes[:-1]) / 2
            return np.asarray(codes[np.searchsorted(middles, x, side="left")], dtype=np.float64)
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        if self.kind == "numeric":
            return np.asarray(np.clip(x, low, high), dtype=np.float64)
        if self.grid is None:
            return np.asarray(np.clip(np.rint(x), np.ceil(low), np.floor(high)), dtype=np.float64)
        last = np.floor((high - low) / self.grid + 1e-6)
        ticks = np.clip(np.rint((x - low) / self.grid), 0, last)
        return np.asarray(np.clip(low + ticks * self.grid, low, high), dtype=np.float64)


@dataclass(frozen=True)
class Relation:
    """A rule between columns, such as "a husband is married".

    Attributes:
        name: What messages call it.
        holds: From rows ``(n, d)`` to a boolean array ``(n,)``.
        repair: From rows that break the rule to rows that keep it, same shape; None: such a row goes back to
            its original. Sensitive and immutable columns are restored after a repair.
    """

    name: str
    holds: Callable[[FloatArray], BoolArray]
    repair: Callable[[FloatArray], FloatArray] | None = None

    def check(self, x: FloatArray) -> BoolArray:
        """Where the rule holds, shape ``(n,)``.

        Raises:
            UsageError: The predicate does not answer with one boolean a row.
        """
        answer = np.asarray(self.holds(x))
        if answer.shape != (len(x),) or answer.dtype != np.bool_:
            raise UsageError(
                f"relation {self.name!r}: its predicate returned {answer.dtype} of shape {answer.shape}, "
                f"expected bool of shape ({len(x)},): return one boolean a row"
            )
        return answer

    def mend(self, x: FloatArray) -> FloatArray:
        """The repaired rows; the rows as they are without a repair.

        Raises:
            UsageError: The repair does not keep the shape.
        """
        if self.repair is None or not len(x):
            return x
        answer = np.asarray(self.repair(x.copy()), dtype=np.float64)
        if answer.shape != x.shape or not np.isfinite(answer).all():
            raise UsageError(
                f"relation {self.name!r}: its repair returned shape {answer.shape}, "
                f"expected finite numbers of shape {x.shape}: return the repaired rows"
            )
        return answer
