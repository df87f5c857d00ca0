"""Sanity checks of a victim before a run: what would make its figures worthless, each with its reason.

They cost a few dozen rows.  ``fail`` means that figures of a run would be wrong; ``warn`` that they may be,
or that they cover less than one would think.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.predictions import OutputKind
from rif_plugins.diagnostics.answer_checks import (
    check_batch_independent,
    check_constant,
    check_deterministic,
    check_output_form,
)
from rif_plugins.diagnostics.data_checks import (
    check_balance,
    check_coverage,
    check_label_order,
    check_truncation,
)
from rif_plugins.diagnostics.victim_check import VictimCheck
from rif_plugins.errors import RIFError

FloatArray = NDArray[np.float64]
MAX_ROWS = 32
_MAX_ALONE = 6
_MAX_AGAIN = 8


def check_victim(
    probabilities: Callable[[list[str]], Any],
    texts: Sequence[str],
    labels: Sequence[int | None],
    *,
    raw: Callable[[list[str]], Any] | None = None,
    output: OutputKind = "auto",
    label_names: Sequence[str] | None = None,
    seen: Callable[[str], int | None] | None = None,
    edits_unseen: tuple[int, int] | None = None,
    covered: tuple[int, int] | None = None,
    max_rows: int = MAX_ROWS,
) -> list[VictimCheck]:
    """Run all checks that the arguments allow.

    Args:
        probabilities: Asks the victim, *without a cache*: from texts to class probabilities, (n, k).
        texts: Texts of the data; ``max_rows`` different ones, evenly spread, are asked about.
        labels: Their labels; ``None`` where there is none.
        raw: The victim itself, for its output form; ``None`` leaves that check out.
        output: What ``raw`` is said to return.
        label_names: Names of the classes, for messages.
        seen: ``Victim.tokens_seen``: where a text is cut off; ``None`` where texts are not cut.
        edits_unseen: How many edits of a run stand where the victim cannot see them, and of how many.
        covered: How many examples have a sensitive token, and of how many.
        max_rows: Most texts to ask about, in one call; up to 30 rows more ask some of them again.

    Returns:
        The checks, in a fixed order; ``answers`` alone (and what needs no victim) where the victim fails.
    """
    # Data are often sorted by label, so the first rows would not do.
    distinct = list(dict(zip(reversed(texts), reversed(labels), strict=True)).items())[::-1]
    asked = [distinct[i] for i in _spread(len(distinct), max_rows)]
    checks: list[VictimCheck] = []
    if asked:
        try:
            for check in _asking(probabilities, asked, raw, output, label_names):
                checks.append(check)
        except Exception as error:
            what = str(error) if isinstance(error, RIFError) else f"{type(error).__name__}: {error}"
            checks.append(VictimCheck("answers", "fail", " ".join(what.split())[:300]))
    if seen is not None and texts:
        checks.append(check_truncation([seen(text) is not None for text in texts], edits_unseen))
    if covered is not None:
        checks.append(check_coverage(*covered))
    return checks


def _asking(
    probabilities: Callable[[list[str]], Any],
    asked: Sequence[tuple[str, int | None]],
    raw: Callable[[list[str]], Any] | None,
    output: OutputKind,
    label_names: Sequence[str] | None,
) -> Iterator[VictimCheck]:
    """The checks that ask the victim, one by one: those before a failure stand."""

    def ask(some: list[str]) -> FloatArray:
        return np.asarray(probabilities(list(some)), dtype=np.float64)

    texts, labels = [text for text, _ in asked], [label for _, label in asked]
    few = [texts[i] for i in _spread(len(texts), _MAX_AGAIN)]
    if raw is not None:
        yield check_output_form(raw(list(few)), output)
    yield check_deterministic(ask(few), ask(few))
    rows = ask(texts)
    by_length = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    chosen = [by_length[i] for i in _spread(len(texts), _MAX_ALONE)]  # the shortest and the longest too
    yield check_batch_independent(rows[chosen], np.vstack([ask([texts[row]]) for row in chosen]))
    yield check_constant(rows)
    yield check_balance(rows, labels, label_names)
    if any(label is not None for label in labels):
        yield check_label_order(rows, labels, label_names)


def _spread(n: int, most: int) -> list[int]:
    """At most ``most`` of ``n`` places, evenly spread, the first and the last among them."""
    return sorted({round(float(place)) for place in np.linspace(0, n - 1, min(n, most))})
