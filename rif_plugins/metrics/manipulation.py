"""How far the choice of test rows moves accuracy and fairness: clean rows exchanged for perturbed ones.

Source: Li et al., RIFair white-box, Table 7. Nothing is predicted here: a row that may be replaced takes the
outcome that an attack reached on it. ``robust_fair`` as a replacement means that no run reached a violation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import CodeArray, outcome_codes
from rif_plugins.metrics.multi_run import reached_array

_TF, _TB, _FF, _FB = 0, 1, 2, 3
STRATEGIES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "accuracy_up": ((_FB, _FF), (_TB, _TF)),
    "fairness_up": ((_TB, _FB), (_FF, _TF)),
    "accuracy_up_fairness_up": ((_TB, _FB, _FF), (_TF,)),
    "accuracy_up_fairness_down": ((_TF, _FB, _FF), (_TB,)),
    "accuracy_down_fairness_up": ((_TF, _FB, _TB), (_FF,)),
}
"""Strategy -> the clean outcomes that it replaces, the outcomes that it takes, first choice first."""


def manipulated_outcomes(clean: ArrayLike, reached: ArrayLike, strategy: str) -> CodeArray:
    """Outcomes of a test set after a strategy.

    Args:
        clean: Outcome codes of the unchanged rows ``(n,)``; they are not changed.
        reached: Which outcomes an attack reached on each row, ``(n, 4)``, see ``multi_run.reached_outcomes``.
        strategy: A key of :data:`STRATEGIES`.

    Returns:
        Outcome codes ``(n,)``, to count with ``Confusion.from_outcomes``.

    Raises:
        UsageError: An unknown strategy, or arrays that do not fit.
    """
    if strategy not in STRATEGIES:
        raise UsageError(f"strategy {strategy!r} does not exist: expected one of {', '.join(STRATEGIES)}")
    before = outcome_codes(clean, "clean")
    found = reached_array(reached).copy()
    if len(found) != len(before):
        raise UsageError(f"reached has {len(found)} rows, expected {len(before)} as clean")
    found[:, _TF] = ~found[:, 1:].any(axis=1)
    replaceable, replacements = STRATEGIES[strategy]
    after = before.copy()
    open_rows = np.isin(before, replaceable)
    for code in replacements:
        chosen = open_rows & found[:, code]
        after[chosen] = code
        open_rows &= ~chosen
    return after
