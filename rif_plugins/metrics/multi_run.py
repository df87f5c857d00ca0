"""Rates of an attack that runs once for each violation on every row: what any run found, pooled.

Source: Li et al., RIFair white-box, "AR, IF, RIF". A row counts under every violation that some step of some
run reached, so TBR + FBR + FFR may exceed 1. Step 0 is the clean row and does not count, but a row that was
wrong from the start stays wrong at step 1: say ``require_clean`` to count only rows that were robust and fair
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import BoolArray, outcome_codes

_TB, _FF, _FB = 1, 2, 3


def reached_outcomes(runs: Sequence[ArrayLike], *, first_step: int = 1) -> BoolArray:
    """Which outcomes each row reached in any run.

    Args:
        runs: One array ``(n, steps + 1)`` a run: outcome codes of every step, -1 after a run stopped.
        first_step: The first step that counts; 0 counts the clean row too.

    Returns:
        ``(n, 4)``, columns in the order of ``confusion.OUTCOMES``.

    Raises:
        UsageError: No run, runs of different numbers of rows, or codes that are none.
    """
    if not len(runs):
        raise UsageError("there is no run to pool: give one array of outcome codes a run")
    codes = [np.asarray(run) for run in runs]
    for number, run in enumerate(codes):
        if run.ndim != 2 or len(run) != len(codes[0]):
            raise UsageError(
                f"run {number} has shape {run.shape}, expected ({len(codes[0])}, steps + 1): one row a row"
            )
    reached = np.zeros((len(codes[0]), 4), dtype=np.bool_)
    for number, run in enumerate(codes):
        steps = run[:, first_step:]
        outcome_codes(np.where(steps == -1, 0, steps), f"run {number}", ndim=2)
        for code in range(4):
            reached[:, code] |= (steps == code).any(axis=1)
    return reached


@dataclass(frozen=True, slots=True)
class MultiRunRates:
    """Shares of the rows, by what any run reached.

    Attributes:
        n_rows: N, the rows counted.
        robust_biased_rate: TBR.
        unrobust_fair_rate: FFR.
        unrobust_biased_rate: FBR.
        robust_fair_rate: TFR, rows on which no run reached a violation.
        robustness_violation_rate: AR, rows with FB or FF.
        fairness_violation_rate: IF, rows with FB or TB.
        rif_violation_rate: RIF, rows with any violation; 1 - TFR.
        n_attack: Shares of rows with 0, 1, 2 and 3 kinds of violation.
    """

    n_rows: int
    robust_biased_rate: float
    unrobust_fair_rate: float
    unrobust_biased_rate: float
    robust_fair_rate: float
    robustness_violation_rate: float
    fairness_violation_rate: float
    rif_violation_rate: float
    n_attack: tuple[float, float, float, float]

    def to_table(self) -> dict[str, Any]:
        """The rates under the names of the paper."""
        return {
            "N": self.n_rows,
            "AR": self.robustness_violation_rate,
            "IF": self.fairness_violation_rate,
            "RIF": self.rif_violation_rate,
            "TBR": self.robust_biased_rate,
            "FBR": self.unrobust_biased_rate,
            "FFR": self.unrobust_fair_rate,
            "TFR": self.robust_fair_rate,
            "n_attack": list(self.n_attack),
        }


def multi_run_rates(
    reached: ArrayLike, clean: ArrayLike | None = None, *, require_clean: bool = False
) -> MultiRunRates:
    """Rates over rows from what each row reached.

    Args:
        reached: ``(n, 4)`` from :func:`reached_outcomes`.
        clean: Outcome codes of the unchanged rows ``(n,)``; needed with ``require_clean``.
        require_clean: Count only rows that were robust and fair before the attack.

    Raises:
        UsageError: Wrong shapes, or no row left to count.
    """
    found = reached_array(reached)
    if require_clean:
        if clean is None:
            raise UsageError("require_clean needs clean: give the outcome codes of the unchanged rows")
        before = outcome_codes(clean, "clean")
        if len(before) != len(found):
            raise UsageError(f"clean has {len(before)} rows, expected {len(found)} as reached")
        found = found[before == 0]
    if not len(found):
        raise UsageError("no row is left to count: give rows, with require_clean robust and fair ones")
    violations = found[:, 1:]
    histogram = np.bincount(violations.sum(axis=1), minlength=4) / len(found)
    any_rate = float(violations.any(axis=1).mean())
    return MultiRunRates(
        n_rows=len(found),
        robust_biased_rate=float(found[:, _TB].mean()),
        unrobust_fair_rate=float(found[:, _FF].mean()),
        unrobust_biased_rate=float(found[:, _FB].mean()),
        robust_fair_rate=float(histogram[0]),
        robustness_violation_rate=float((found[:, _FB] | found[:, _FF]).mean()),
        fairness_violation_rate=float((found[:, _FB] | found[:, _TB]).mean()),
        rif_violation_rate=any_rate,
        n_attack=(float(histogram[0]), float(histogram[1]), float(histogram[2]), float(histogram[3])),
    )


def reached_array(reached: ArrayLike) -> BoolArray:
    """Checked boolean ``(n, 4)``."""
    found: NDArray[Any] = np.asarray(reached)
    if found.ndim != 2 or found.shape[1] != 4 or found.dtype != np.bool_:
        raise UsageError(f"reached is {found.dtype} of shape {found.shape}, expected bool of shape (n, 4)")
    return found
