"""Which of several equally short edits that lead to one label is kept: the one that keeps the meaning best.

Only states that the search has found take part, and all of those have passed the filter. The filter has
measured them in both directions for that, so their ``S_eq`` comes from its memory and costs it no row.
"""

from __future__ import annotations

from typing import TypeVar

from rif_plugins.core.reach import EQUIVALENCE_DIGITS, Path, Reach, rank
from rif_plugins.core.requests import Coroutine, Judge
from rif_plugins.core.sides import EditableSide

S = TypeVar("S")


def settle(side: EditableSide[S], reach: Reach[S]) -> Coroutine[None]:
    """Choose the paths of a finished search among those with the fewest edits, by equivalence first.

    What is equally equivalent, as all is without a filter, is chosen by ``rank``, then as found first. With
    more than two classes the equivalence of every edited end is kept as well: pairs choose among labels.

    Args:
        side: The text.
        reach: What was found; its paths are exchanged in place.
    """
    options = {label: _distinct(side, tied) for label, tied in reach.ties.items() if tied[0][-1].n_edits}
    if len(reach.clean.p) <= 2:
        options = {label: paths for label, paths in options.items() if len(paths) > 1}
    if not options:
        return
    ends = [(label, path) for label, paths in options.items() for path in paths]
    values = yield Judge(side, [path[-1].state for _, path in ends], is_graded=True)
    best: dict[int, tuple[tuple[float, tuple[int, int, float]], Path[S], float]] = {}
    for (label, path), value in zip(ends, values, strict=True):
        order = (-round(float(value), EQUIVALENCE_DIGITS), rank(path[-1]))
        if label not in best or order < best[label][0]:
            best[label] = (order, path, float(value))
    for label, (_, path, value) in best.items():
        reach.paths[label] = path
        reach.equivalence[label] = value


def _distinct(side: EditableSide[S], paths: list[Path[S]]) -> list[Path[S]]:
    """One path a text, the best one; the same edits are often found in several orders."""
    by_text: dict[str, Path[S]] = {}
    for path in paths:
        text = side.text(path[-1].state)
        if text not in by_text or rank(path[-1]) < rank(by_text[text][-1]):
            by_text[text] = path
    return list(by_text.values())
